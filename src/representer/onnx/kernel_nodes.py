"""Kernels on vectors as ONNX nodes: k(x_i, z_j) for rows x and stored points z."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from representer.kernels.algebra import Power, Product, Scaled, Sum
from representer.kernels.base import Kernel
from representer.kernels.columns import On
from representer.kernels.constant import Constant
from representer.kernels.dot_product import Cosine, Linear, Polynomial, Sigmoid
from representer.kernels.periodic import Periodic
from representer.kernels.stationary import RBF, Laplacian, Matern, RationalQuadratic
from representer.onnx.nodes import Graph

MOST_DIFFERENCES = 2**24
"""Stored points times columns up to which kernels of absolute differences are written out."""


@dataclass(frozen=True)
class Rows:
    """The rows x by name, how many columns they have, and what these are called."""

    name: str
    n_columns: int
    columns: tuple[str, ...] | None = None


def dense(points: Any) -> np.ndarray:
    """Stored points as an array of float64."""
    return np.asarray(points.toarray() if hasattr(points, "toarray") else points, np.float64)


def block(graph: Graph, kernel: Kernel, rows: Rows, points: Any) -> str:
    """k(x_i, z_j), shape (n, m)."""
    return _writer(kernel)(graph, kernel, rows, points)


def diagonal(graph: Graph, kernel: Kernel, rows: Rows) -> str:
    """k(x_i, x_i), shape (n, 1)."""
    if isinstance(kernel, Sum | Product):
        left, right = diagonal(graph, kernel.left, rows), diagonal(graph, kernel.right, rows)
        return graph.add("Add" if isinstance(kernel, Sum) else "Mul", left, right)
    if isinstance(kernel, Scaled):
        return graph.add("Mul", diagonal(graph, kernel.kernel, rows), float(kernel.factor))
    if isinstance(kernel, Power):
        return graph.add("Pow", diagonal(graph, kernel.kernel, rows), float(kernel.exponent))
    if isinstance(kernel, On):
        return diagonal(graph, kernel.kernel, _picked(graph, kernel, rows))
    if kernel.of_inner_product:
        scaled = graph.add("Div", rows.name, _scale(kernel))
        return _outer(graph, kernel, graph.sum(graph.add("Mul", scaled, scaled), 1))
    _writer(kernel)  # raises for kernels that are not written
    value = float(kernel.value) if isinstance(kernel, Constant) else 1.0
    return graph.add("Add", graph.add("Mul", graph.sum(rows.name, 1), 0.0), value)


def _scale(kernel: Any) -> np.ndarray:
    scale = getattr(kernel, "length_scale", None)
    return np.asarray(1.0 if scale is None else scale, np.float64)


def _squared_distances(graph: Graph, rows: str, points: np.ndarray) -> str:
    """|x_i - z_j|^2, of rows and points about the mean of the points, so that few digits are lost."""
    mean = points.mean(axis=0)
    A, B = graph.add("Sub", rows, mean), points - mean
    squares = graph.add("Add", graph.sum(graph.add("Mul", A, A), 1), (B**2).sum(axis=1))
    return graph.add("Max", graph.add("Sub", squares, graph.add("MatMul", A, 2.0 * B.T)), 0.0)


def _stationary(graph: Graph, kernel: Any, rows: Rows, points: Any) -> str:
    scale = _scale(kernel)
    s = _squared_distances(graph, graph.add("Div", rows.name, scale), dense(points) / scale)
    return _of_distance(graph, kernel, s)


def _of_distance(graph: Graph, kernel: Any, s: str) -> str:
    """phi(s), s the scaled squared distance."""
    if isinstance(kernel, RationalQuadratic):
        base = graph.add("Add", graph.add("Mul", s, 0.5 / kernel.mixture), 1.0)
        return graph.add("Pow", base, -float(kernel.mixture))
    if not isinstance(kernel, Matern) or kernel.nu == np.inf:
        return graph.add("Exp", graph.add("Mul", s, -0.5))
    r = graph.add("Sqrt", graph.add("Mul", s, 2.0 * kernel.nu))
    falling = graph.add("Exp", graph.add("Neg", r))
    if kernel.nu == 0.5:
        return falling
    factor = graph.add("Add", r, 1.0)
    if kernel.nu == 2.5:
        factor = graph.add("Add", factor, graph.add("Mul", graph.add("Mul", r, r), 1.0 / 3.0))
    elif kernel.nu != 1.5:
        raise TypeError(f"{kernel!r} has no ONNX form, for its Bessel function has none; use nu 0.5, 1.5, 2.5 or inf.")
    return graph.add("Mul", factor, falling)


def _product(graph: Graph, kernel: Any, rows: Rows, points: Any) -> str:
    scale = _scale(kernel)
    return _outer(graph, kernel, graph.add("MatMul", rows.name, (dense(points) / scale**2).T))


def _outer(graph: Graph, kernel: Any, s: str) -> str:
    """phi(s), s the inner product over length scales."""
    if isinstance(kernel, Polynomial):
        return graph.add("Pow", graph.add("Add", s, float(kernel.offset)), float(kernel.degree))
    if isinstance(kernel, Sigmoid):
        return graph.add("Tanh", graph.add("Add", graph.add("Mul", s, float(kernel.scale)), float(kernel.offset)))
    return s


def _cosine(graph: Graph, kernel: Any, rows: Rows, points: Any) -> str:
    Z = dense(points)
    lengths = np.linalg.norm(Z, axis=1, keepdims=True)
    norm = graph.add("Sqrt", graph.sum(graph.add("Mul", rows.name, rows.name), 1))
    unit = graph.add("Div", rows.name, graph.add("Max", norm, float(np.finfo(graph.dtype).tiny)))
    return graph.add("MatMul", unit, (Z / np.where(lengths > 0, lengths, 1.0)).T)


def _laplacian(graph: Graph, kernel: Any, rows: Rows, points: Any) -> str:
    Z, scale = dense(points), _scale(kernel)
    if Z.size > MOST_DIFFERENCES:
        raise ValueError(f"Laplacian with {Z.size:,} stored numbers needs as many for each row; use Matern(nu=0.5).")
    each = graph.add("Unsqueeze", graph.add("Div", rows.name, scale), np.array([1], np.int64))
    apart = graph.add("Abs", graph.add("Sub", each, (Z / scale)[None]))
    total = graph.add("ReduceSum", apart, np.array([2], np.int64), keepdims=0)
    return graph.add("Exp", graph.add("Neg", total))


def _periodic(graph: Graph, kernel: Any, rows: Rows, points: Any) -> str:
    scale, turn = _scale(kernel), 2.0 * np.pi / np.asarray(kernel.period, np.float64)
    angles, theirs = graph.add("Mul", rows.name, turn), dense(points) * turn
    circle = [graph.add("Div", graph.add(wave, angles), scale) for wave in ("Cos", "Sin")]
    other = np.concatenate([np.cos(theirs) / scale, np.sin(theirs) / scale], axis=1)
    s = _squared_distances(graph, graph.add("Concat", *circle, axis=1), other)
    return graph.add("Exp", graph.add("Mul", s, -0.5))


def _constant(graph: Graph, kernel: Any, rows: Rows, points: Any) -> str:
    zeros = graph.add("Mul", graph.sum(rows.name, 1), np.zeros((1, len(points))))
    return graph.add("Add", zeros, float(kernel.value))


def _binary(graph: Graph, kernel: Any, rows: Rows, points: Any) -> str:
    left, right = block(graph, kernel.left, rows, points), block(graph, kernel.right, rows, points)
    return graph.add("Add" if isinstance(kernel, Sum) else "Mul", left, right)


def _scaled(graph: Graph, kernel: Any, rows: Rows, points: Any) -> str:
    return graph.add("Mul", block(graph, kernel.kernel, rows, points), float(kernel.factor))


def _power(graph: Graph, kernel: Any, rows: Rows, points: Any) -> str:
    return graph.add("Pow", block(graph, kernel.kernel, rows, points), float(kernel.exponent))


def _on(graph: Graph, kernel: Any, rows: Rows, points: Any) -> str:
    return block(graph, kernel.kernel, _picked(graph, kernel, rows), kernel.pick(points))


def _picked(graph: Graph, kernel: On, rows: Rows) -> Rows:
    """The columns that a part of a kernel sees."""
    if isinstance(kernel.columns, str) or not np.iterable(kernel.columns):
        raise TypeError(f"{kernel!r} is on a single column as it is, which has no ONNX form; give a list of columns.")
    wanted = list(kernel.columns)
    known = None if rows.columns is None else list(rows.columns)
    index = [known.index(str(each)) if known is not None else int(each) for each in wanted]
    picked = graph.add("Gather", rows.name, np.array(index, np.int64), axis=1)
    return Rows(picked, len(index), None if known is None else tuple(known[i] for i in index))


WRITERS: dict[type, Callable[[Graph, Any, Rows, Any], str]] = {
    RBF: _stationary,
    Matern: _stationary,
    RationalQuadratic: _stationary,
    Linear: _product,
    Polynomial: _product,
    Sigmoid: _product,
    Cosine: _cosine,
    Laplacian: _laplacian,
    Periodic: _periodic,
    Constant: _constant,
    Sum: _binary,
    Product: _binary,
    Scaled: _scaled,
    Power: _power,
    On: _on,
}


def _writer(kernel: Kernel) -> Callable[[Graph, Any, Rows, Any], str]:
    if type(kernel) not in WRITERS:
        known = ", ".join(sorted(each.__name__ for each in WRITERS))
        raise TypeError(
            f"{kernel!r} has no ONNX form: ONNX has operators for rows of numbers, not for strings, graphs or code "
            f"in Python. There are forms of {known}; representer.save keeps any model."
        )
    return WRITERS[type(kernel)]
