"""Fitted functions and random features as ONNX nodes."""

from __future__ import annotations

from typing import Any

import numpy as np

from representer.features.random_features import RandomFeatures
from representer.functions import Function
from representer.kernels.basis import Points
from representer.kernels.laws import Waves
from representer.onnx.input_rows import Rows
from representer.onnx.kernel_nodes import block
from representer.onnx.nodes import Graph


def values_of(graph: Graph, function: Function, rows: Rows) -> str:
    """f(x), one column per output."""
    coef = function.coef.reshape(len(function.coef), -1)
    if isinstance(function.X, Points):
        features = waves(graph, function.kernel, rows)
        values = graph.add("MatMul", features, function.X.coordinates.T @ coef)
    else:
        values = graph.add("MatMul", block(graph, function.kernel, rows, function.X), coef)
    return graph.add("Add", values, np.broadcast_to(np.asarray(function.constant, np.float64), coef.shape[1:]))


def waves(graph: Graph, kernel: Any, rows: Rows) -> str:
    """phi(x) of random features."""
    maps = kernel.draw(rows.n_columns) if isinstance(kernel, RandomFeatures) else None
    if not isinstance(maps, Waves):
        raise TypeError(f"{kernel!r} has no ONNX form; Nystroem and Fourier features of stationary kernels have.")
    p = len(maps.frequencies)
    paired, phases, factors = maps.size - p, np.zeros(p), np.full(maps.size, np.sqrt(1.0 / p))
    if maps.phase is not None:
        phases[-1], factors[p - 1] = maps.phase, np.sqrt(2.0 / p)
    cosines = graph.add("Cos", graph.add("Add", graph.add("MatMul", rows.name, maps.frequencies.T), phases))
    sines = graph.add("Sin", graph.add("MatMul", rows.name, maps.frequencies[:paired].T))
    return graph.add("Mul", graph.add("Concat", cosines, sines, axis=1), factors)


def centre_features(graph: Graph, basis: Any, rows: Rows) -> str:
    """phi(x) of a basis of combinations of k(z, .)."""
    root = basis.root if basis.combination is None else basis.combination @ basis.root
    return graph.add("MatMul", block(graph, basis.of, rows, basis.centres), root)
