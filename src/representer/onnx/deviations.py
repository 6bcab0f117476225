"""Standard deviations of Gaussian processes as ONNX nodes."""

from __future__ import annotations

from typing import Any

import numpy as np

from representer.onnx.fitted_functions import centre_features, waves
from representer.onnx.input_rows import Rows
from representer.onnx.kernel_nodes import block, diagonal
from representer.onnx.nodes import Graph
from representer.processes.spanned import SpanProcess


def deviation_nodes(graph: Graph, model: Any, rows: Rows, single: bool) -> dict[str, Any]:
    """The node "std", the square root of the variance of f, in units of y; none where no matrix was factorised."""
    process = model._process
    if isinstance(process, SpanProcess):
        variance = _in_span(graph, process, rows)
    elif (factor := getattr(process.posterior, "factor", None)) is not None:
        variance = _by_factor(graph, model.function_, factor, rows)
    else:
        return {}
    std = graph.add("Mul", graph.add("Sqrt", variance), model._scale[None])
    graph.add("Reshape", std, np.array([-1] if single else [0, -1], np.int64), name="std")
    return {"std": (graph.dtype, 1 if single else 2)}


def _by_factor(graph: Graph, function: Any, factor: Any, rows: Rows) -> str:
    """k(x, x) - |L^(-1) k(X, x)|^2."""
    inverse = factor.half_solve(np.eye(len(factor.L)))
    half = graph.add("MatMul", block(graph, function.kernel, rows, function.X), inverse.T)
    return _positive(graph, diagonal(graph, function.kernel, rows), _squares(graph, half))


def _in_span(graph: Graph, process: SpanProcess, rows: Rows) -> str:
    """k(x, x) - |phi(x)|^2 + noise phi(x)' (S + noise I)^(-1) phi(x)."""
    basis = process.design.basis
    phi = centre_features(graph, basis, rows) if hasattr(basis, "centres") else waves(graph, process.kernel, rows)
    root = process.vectors * np.sqrt(process.noise / (process.values + process.noise))
    left = _positive(graph, diagonal(graph, process.kernel.original, rows), _squares(graph, phi))
    return graph.add("Add", left, _squares(graph, graph.add("MatMul", phi, root)))


def _squares(graph: Graph, values: str) -> str:
    return graph.sum(graph.add("Mul", values, values), 1)


def _positive(graph: Graph, whole: str, part: str) -> str:
    return graph.add("Max", graph.add("Sub", whole, part), 0.0)
