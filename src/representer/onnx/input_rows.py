"""The rows that enter an ONNX graph, and their squared distances from stored points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from representer.onnx.nodes import Graph

MOST_DIFFERENCES = 2**24
"""Largest number of stored points times columns for kernels of absolute differences."""


@dataclass(frozen=True)
class Rows:
    """The name of the rows x in the graph, the number of their columns, and the column names."""

    name: str
    n_columns: int
    columns: tuple[str, ...] | None = None


def dense(points: Any) -> np.ndarray:
    """Stored points as an array of float64."""
    return np.asarray(points.toarray() if hasattr(points, "toarray") else points, np.float64)


def squared_distances(graph: Graph, rows: str, points: np.ndarray) -> str:
    """|x_i - z_j|^2, with rows and points centred at the mean of the points, so that few digits are lost."""
    mean = points.mean(axis=0)
    A, B = graph.add("Sub", rows, mean), points - mean
    squares = graph.add("Add", graph.sum(graph.add("Mul", A, A), 1), (B**2).sum(axis=1))
    return graph.add("Max", graph.add("Sub", squares, graph.add("MatMul", A, 2.0 * B.T)), 0.0)


def by_columns(graph: Graph, kernel: Any, rows: Rows, points: Any) -> tuple[str, np.ndarray]:
    """Rows of shape (n, 1, d) and points of shape (1, m, d), for elementwise comparisons."""
    Z = dense(points)
    if Z.size > MOST_DIFFERENCES:
        raise ValueError(
            f"{type(kernel).__name__} with {Z.size:,} stored numbers needs as many for each row; use a kernel of inner "
            "products or Euclidean distances, such as Matern(nu=0.5)."
        )
    return graph.add("Unsqueeze", rows.name, np.array([1], np.int64)), Z[None]
