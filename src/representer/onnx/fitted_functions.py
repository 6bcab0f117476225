"""Fitted functions and random features as ONNX nodes."""

from __future__ import annotations

from typing import Any

import numpy as np

from representer.features.random_features import RandomFeatures
from representer.functions import Function
from representer.kernels.basis import Points
from representer.onnx.input_rows import Rows
from representer.onnx.kernel_nodes import block
from representer.onnx.nodes import Graph
from representer.onnx.random_maps import features


def values_of(graph: Graph, function: Function, rows: Rows) -> str:
    """f(x), one column per output."""
    coef = function.coef.reshape(len(function.coef), -1)
    if isinstance(function.X, Points):
        values = graph.add("MatMul", waves(graph, function.kernel, rows), function.X.coordinates.T @ coef)
    else:
        values = graph.add("MatMul", block(graph, function.kernel, rows, function.X), coef)
    return graph.add("Add", values, np.broadcast_to(np.asarray(function.constant, np.float64), coef.shape[1:]))


def waves(graph: Graph, kernel: Any, rows: Rows) -> str:
    """phi(x) of random features."""
    if not isinstance(kernel, RandomFeatures):
        raise TypeError(f"{kernel!r} has no ONNX form; Nystroem and random features have.")
    return features(graph, kernel.draw(rows.n_columns), rows)


def centre_features(graph: Graph, basis: Any, rows: Rows) -> str:
    """phi(x) of a basis of combinations of k(z, .)."""
    root = basis.root if basis.combination is None else basis.combination @ basis.root
    return graph.add("MatMul", block(graph, basis.of, rows, basis.centres), root)
