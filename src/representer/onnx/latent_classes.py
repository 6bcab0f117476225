"""Gaussian-process classifiers as ONNX nodes: mean and variance of f, and the mean of its sigmoid."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from representer.onnx.input_rows import Rows
from representer.onnx.kernel_nodes import block, diagonal
from representer.onnx.nodes import Graph, library

NODE_SPACING, NODE_RANGE = 0.02, 9.0
"""Nodes of the trapezoidal rule for E s(m + d z), z normal: error about exp(-2 pi^2 / (d 0.02)), 2e-11 for d = 40."""


def class_outputs(graph: Graph, model: Any, rows: Rows) -> dict[str, Any]:
    """Nodes "label", "decision", which is the mean of f, and "probability"."""
    if getattr(model, "multi_class", "") == "one_vs_one" and len(model.classes_) > 2:
        raise TypeError("Votes of pairs of processes have no ONNX form; use multi_class='one_vs_rest'.")
    means, columns = [], []
    for part in model._parts:
        mean, deviation = _moments(graph, part, rows, model.X_fit_)
        means.append(mean)
        columns.append(_mean_of_sigmoid(graph, mean, deviation))
    if len(columns) == 1:
        graph.add("Reshape", means[0], np.array([-1], np.int64), name="decision")
        probability = graph.add("Concat", graph.add("Sub", 1.0, columns[0]), columns[0], axis=1)
        index = graph.add("Cast", graph.add("Greater", "decision", 0.0), to=library().TensorProto.INT64)
    else:
        graph.add("Concat", *means, axis=1, name="decision")
        values = graph.add("Concat", *columns, axis=1)
        probability = graph.add("Div", values, graph.sum(values, 1))
        index = graph.add("ArgMax", values, axis=1, keepdims=0)
    graph.add("Identity", probability, name="probability")
    label = graph.labels(model.classes_, index)
    return {"label": label, "decision": (graph.dtype, min(len(means), 2)), "probability": (graph.dtype, 2)}


def _moments(graph: Graph, part: Any, rows: Rows, points: Any) -> tuple[str, str]:
    """Mean k(x, X) a and standard deviation sqrt(k(x, x) - |L^(-1) R k(X, x)|^2) of f, shape (n, 1)."""
    kernel = part.problem.gram.kernel
    values = block(graph, kernel, rows, points)
    inverse = solve_triangular(part.L[0], np.diag(part.root), lower=True)
    half = graph.add("MatMul", values, inverse.T)
    explained = graph.sum(graph.add("Mul", half, half), 1)
    variance = graph.add("Max", graph.add("Sub", diagonal(graph, kernel, rows), explained), 0.0)
    return graph.add("MatMul", values, part.coef[:, None]), graph.add("Sqrt", variance)


def _mean_of_sigmoid(graph: Graph, mean: str, deviation: str) -> str:
    """E 1 / (1 + exp(-f)) for f ~ N(mean, deviation^2), shape (n, 1), by the trapezoidal rule."""
    z = np.arange(-NODE_RANGE, NODE_RANGE + 0.5 * NODE_SPACING, NODE_SPACING)
    weights = np.exp(-0.5 * z**2)
    values = graph.add("Sigmoid", graph.add("Add", mean, graph.add("Mul", deviation, z[None])))
    return graph.add("MatMul", values, (weights / weights.sum())[:, None])
