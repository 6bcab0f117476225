"""Arc-cosine kernels as ONNX nodes. Runtimes have the arcsine of float32 alone; one step makes it that of float64."""

from __future__ import annotations

from typing import Any

import numpy as np

from representer.onnx.input_rows import Rows, by_columns, dense
from representer.onnx.nodes import Graph


def arcs(graph: Graph, kernel: Any, rows: Rows, points: Any) -> str:
    """|x|^n |z|^n J_n(theta) / pi for rows x and points z, see `ArcCosine`."""
    Z = dense(points)
    norms = graph.add("Sqrt", graph.sum(graph.add("Mul", rows.name, rows.name), 1)), np.linalg.norm(Z, axis=1)
    zero = graph.add("Equal", norms[0], 0.0), norms[1] == 0
    units = (
        graph.add("Div", rows.name, graph.add("Where", zero[0], 1.0, norms[0])),
        Z / np.where(zero[1], 1.0, norms[1])[:, None],
    )
    halves = _by_chords(graph, kernel, rows, *units) if kernel.order == 0 else _by_cosines(graph, *units)
    theta = graph.add("Where", graph.add("Or", *zero), np.pi / 2, _angle(graph, *halves))
    if kernel.order == 0:
        return graph.add("Sub", 1.0, graph.add("Div", theta, np.pi))
    return graph.add(
        "Mul", _response(graph, kernel.order, theta), graph.add("Pow", graph.add("Mul", *norms), float(kernel.order))
    )


def own_arcs(graph: Graph, kernel: Any, rows: Rows) -> str:
    """k(x, x) = (2 n - 1)!! |x|^(2 n), and 1/2 for x = 0 if n is 0."""
    square = graph.sum(graph.add("Mul", rows.name, rows.name), 1)
    if kernel.order == 0:
        return graph.add(
            "Where", graph.add("Equal", square, 0.0), 0.5, graph.add("Add", graph.add("Mul", square, 0.0), 1.0)
        )
    return graph.add("Mul", graph.add("Pow", square, float(kernel.order)), 2.0 * kernel.order - 1.0)


def _by_chords(graph: Graph, kernel: Any, rows: Rows, units: str, others: np.ndarray) -> tuple[str, str]:
    """sin(theta / 2) and cos(theta / 2), half of the distances of a unit vector to another and to its opposite.

    J_0 has a slope at 0 and pi, where the cosine of theta has lost half of the digits.
    """
    each, points = by_columns(graph, kernel, Rows(units, rows.n_columns), others)
    apart = [graph.add(sign, each, points) for sign in ("Sub", "Add")]
    squares = [graph.add("ReduceSum", graph.add("Mul", a, a), np.array([2], np.int64), keepdims=0) for a in apart]
    sine, cosine = (graph.add("Mul", graph.add("Sqrt", each), 0.5) for each in squares)
    return sine, cosine


def _by_cosines(graph: Graph, units: str, others: np.ndarray) -> tuple[str, str]:
    """sin(theta / 2) and cos(theta / 2) from cos(theta)."""
    squares = (
        graph.add("Add", graph.add("MatMul", units, sign * others.T), np.full(len(others), 0.5)) for sign in (-0.5, 0.5)
    )
    sine, cosine = (graph.add("Sqrt", graph.add("Max", each, 0.0)) for each in squares)
    return sine, cosine


def _angle(graph: Graph, sine: str, cosine: str) -> str:
    """theta, twice the angle of this sine and cosine: for h the arcsine in float32, d = sin(theta / 2 - h) is small."""
    number = graph.onnx.helper.np_dtype_to_tensor_dtype(graph.dtype)
    single = graph.add("Cast", graph.add("Min", sine, 1.0), to=graph.onnx.TensorProto.FLOAT)
    h = graph.add("Cast", graph.add("Asin", single), to=number)
    d = graph.add("Sub", graph.add("Mul", sine, graph.add("Cos", h)), graph.add("Mul", cosine, graph.add("Sin", h)))
    cubic = graph.add("Mul", graph.add("Mul", d, d), graph.add("Div", d, 6.0))  # the next term is below 1e-18
    return graph.add("Mul", graph.add("Add", h, graph.add("Add", d, cubic)), 2.0)


def _response(graph: Graph, order: int, theta: str) -> str:
    """J_n(theta) / pi for n = 1 or 2."""
    sine, cosine = graph.add("Sin", theta), graph.add("Cos", theta)
    rest = graph.add("Div", graph.add("Sub", np.pi, theta), np.pi)
    if order == 1:
        return graph.add("Add", graph.add("Div", sine, np.pi), graph.add("Mul", rest, cosine))
    slope = graph.add("Add", graph.add("Mul", graph.add("Mul", cosine, cosine), 2.0), 1.0)
    return graph.add(
        "Add", graph.add("Mul", graph.add("Mul", sine, cosine), 3.0 / np.pi), graph.add("Mul", rest, slope)
    )
