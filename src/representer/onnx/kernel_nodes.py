"""Kernels on vectors as ONNX nodes: k(x_i, z_j) for rows x and stored points z."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import factorial

from representer.drop_in.white_noise import White
from representer.kernels import checks
from representer.kernels.algebra import Power, Product, Scaled, Sum
from representer.kernels.base import Kernel
from representer.kernels.columns import On
from representer.kernels.constant import Constant
from representer.kernels.dot_product import Cosine, Linear, Polynomial, Sigmoid
from representer.kernels.fingerprints import MinMax, Tanimoto
from representer.kernels.histogram import Chi2, HistogramIntersection
from representer.kernels.normalized import Normalized
from representer.kernels.periodic import Periodic
from representer.kernels.series import Exp, PowerSeries
from representer.kernels.spline import Brownian
from representer.kernels.stationary import RBF, Laplacian, Matern, RationalQuadratic
from representer.onnx.nodes import Graph

MOST_HALVES = 20
"""Largest p: Matern kernels with nu = p + 0.5, up to 20.5, are written as polynomials times exponentials."""
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
        scaled, factor = graph.add("Mul", scaled, scaled), float(getattr(kernel, "scale", 1.0))
        return _outer(graph, kernel, graph.add("Mul", graph.sum(scaled, 1), factor))
    if isinstance(kernel, Exp | PowerSeries):
        return _unary(graph, kernel, diagonal(graph, kernel.kernel, rows))
    if isinstance(kernel, HistogramIntersection):
        return graph.sum(rows.name, 1)
    if isinstance(kernel, Brownian):
        return graph.add("Pow", _squared_norms(graph, rows), float(kernel.hurst))
    _writer(kernel)  # raises for kernels without an ONNX form
    if isinstance(kernel, Cosine | Normalized):  # zero where x is
        inner = _squared_norms(graph, rows) if isinstance(kernel, Cosine) else diagonal(graph, kernel.kernel, rows)
        return graph.add(
            "Where", graph.add("Equal", inner, 0.0), 0.0, graph.add("Add", graph.add("Mul", inner, 0.0), 1.0)
        )
    if isinstance(kernel, Constant | White):
        value = float(kernel.value if isinstance(kernel, Constant) else kernel.variance)
    else:
        value = 1.0
    return graph.add("Add", graph.add("Mul", graph.sum(rows.name, 1), 0.0), value)


def _scale(kernel: Any) -> np.ndarray:
    scale = getattr(kernel, "length_scale", None)
    return np.asarray(1.0 if scale is None else scale, np.float64)


def _squared_distances(graph: Graph, rows: str, points: np.ndarray) -> str:
    """|x_i - z_j|^2, with rows and points centred at the mean of the points, so that few digits are lost."""
    mean = points.mean(axis=0)
    A, B = graph.add("Sub", rows, mean), points - mean
    squares = graph.add("Add", graph.sum(graph.add("Mul", A, A), 1), (B**2).sum(axis=1))
    return graph.add("Max", graph.add("Sub", squares, graph.add("MatMul", A, 2.0 * B.T)), 0.0)


def _stationary(graph: Graph, kernel: Any, rows: Rows, points: Any) -> str:
    scale, Z = _scale(kernel), dense(points)
    if isinstance(kernel, Matern) and kernel.nu == 0.5 and Z.size <= MOST_DIFFERENCES:
        # a kink at 0: the square root of a squared distance from products would lose half of the digits there
        each, Z = _by_columns(graph, kernel, rows, points)
        apart = graph.add("Div", graph.add("Sub", each, Z), scale)
        return _of_distance(graph, kernel, _total(graph, graph.add("Mul", apart, apart)))
    return _of_distance(graph, kernel, _squared_distances(graph, graph.add("Div", rows.name, scale), Z / scale))


def _of_distance(graph: Graph, kernel: Any, s: str) -> str:
    """phi(s), s the scaled squared distance."""
    if isinstance(kernel, RationalQuadratic):
        base = graph.add("Add", graph.add("Mul", s, 0.5 / kernel.mixture), 1.0)
        return graph.add("Pow", base, -float(kernel.mixture))
    if not isinstance(kernel, Matern) or kernel.nu == np.inf:
        return graph.add("Exp", graph.add("Mul", s, -0.5))
    p = kernel.nu - 0.5
    if p != int(p) or p > MOST_HALVES:
        raise TypeError(f"{kernel!r} has no ONNX form, as ONNX has no Bessel functions; use nu 0.5, 1.5, 2.5 or inf.")
    r = graph.add("Sqrt", graph.add("Mul", s, 2.0 * kernel.nu))
    i = np.arange(int(p) + 1)
    terms = factorial(p + i) / (factorial(i) * factorial(p - i)) * factorial(p) / factorial(2.0 * p) * 2.0 ** (p - i)
    return graph.add("Mul", _horner(graph, terms[::-1], r), graph.add("Exp", graph.add("Neg", r)))


def _horner(graph: Graph, coefficients: np.ndarray, x: str) -> str:
    """sum_p coefficients_p x^p."""
    total = graph.add("Add", graph.add("Mul", x, 0.0), float(coefficients[-1]))
    for each in coefficients[-2::-1]:
        total = graph.add("Add", graph.add("Mul", total, x), float(each))
    return total


def _product(graph: Graph, kernel: Any, rows: Rows, points: Any) -> str:
    # a scalar times a product would be fused into its attributes, which onnxruntime keeps in float32
    factor = float(getattr(kernel, "scale", 1.0)) / _scale(kernel) ** 2
    return _outer(graph, kernel, graph.add("MatMul", rows.name, (factor * dense(points)).T))


def _outer(graph: Graph, kernel: Any, s: str) -> str:
    """phi(s), s the inner product divided by length scales, or times the scale."""
    if isinstance(kernel, Polynomial):
        return graph.add("Pow", graph.add("Add", s, float(kernel.offset)), float(kernel.degree))
    if isinstance(kernel, Sigmoid):
        return graph.add("Tanh", graph.add("Add", s, float(kernel.offset)))
    return s


def _cosine(graph: Graph, kernel: Any, rows: Rows, points: Any) -> str:
    Z = dense(points)
    lengths = np.linalg.norm(Z, axis=1, keepdims=True)
    norm = graph.add("Sqrt", graph.sum(graph.add("Mul", rows.name, rows.name), 1))
    unit = graph.add("Div", rows.name, graph.add("Max", norm, float(np.finfo(graph.dtype).tiny)))
    return graph.add("MatMul", unit, (Z / np.where(lengths > 0, lengths, 1.0)).T)


def _by_columns(graph: Graph, kernel: Any, rows: Rows, points: Any) -> tuple[str, np.ndarray]:
    """Rows of shape (n, 1, d) and points of shape (1, m, d), for elementwise comparisons."""
    Z = dense(points)
    if Z.size > MOST_DIFFERENCES:
        raise ValueError(
            f"{type(kernel).__name__} with {Z.size:,} stored numbers needs as many for each row; use a kernel of inner "
            "products or Euclidean distances, such as Matern(nu=0.5)."
        )
    return graph.add("Unsqueeze", rows.name, np.array([1], np.int64)), Z[None]


def _total(graph: Graph, values: str) -> str:
    return graph.add("ReduceSum", values, np.array([2], np.int64), keepdims=0)


def _laplacian(graph: Graph, kernel: Any, rows: Rows, points: Any) -> str:
    each, Z = _by_columns(graph, kernel, rows, points)
    apart = graph.add("Abs", graph.add("Sub", graph.add("Div", each, _scale(kernel)), Z / _scale(kernel)))
    return graph.add("Exp", graph.add("Neg", _total(graph, apart)))


def _chi_squares(graph: Graph, kernel: Any, rows: Rows, points: Any) -> str:
    each, Z = _by_columns(graph, kernel, rows, points)
    apart = graph.add("Sub", each, Z)
    both = graph.add("Max", graph.add("Add", each, Z), float(np.finfo(graph.dtype).tiny))
    ratio = graph.add("Div", graph.add("Mul", apart, graph.add("Div", apart, both)), _scale(kernel))
    return graph.add("Exp", graph.add("Neg", _total(graph, ratio)))


def _minima(graph: Graph, kernel: Any, rows: Rows, points: Any) -> str:
    return _total(graph, graph.add("Min", *_by_columns(graph, kernel, rows, points)))


def _min_max(graph: Graph, kernel: Any, rows: Rows, points: Any) -> str:
    each, Z = _by_columns(graph, kernel, rows, points)
    return _ratio(graph, _total(graph, graph.add("Min", each, Z)), _total(graph, graph.add("Max", each, Z)))


def _tanimoto(graph: Graph, kernel: Any, rows: Rows, points: Any) -> str:
    if kernel.packed:
        raise TypeError("Tanimoto of packed bits has no ONNX form; give rows of zeros and ones.")
    Z = dense(points)
    common = graph.add("MatMul", rows.name, Z.T)
    either = graph.add("Sub", graph.add("Add", _squared_norms(graph, rows), (Z**2).sum(axis=1)), common)
    return _ratio(graph, common, either)


def _ratio(graph: Graph, part: str, whole: str) -> str:
    """part / whole, and 1 where both are 0."""
    empty = graph.add("Equal", whole, 0.0)
    return graph.add("Where", empty, 1.0, graph.add("Div", part, graph.add("Where", empty, 1.0, whole)))


def _squared_norms(graph: Graph, rows: Rows) -> str:
    """|x_i|^2, shape (n, 1)."""
    return graph.sum(graph.add("Mul", rows.name, rows.name), 1)


def _brownian(graph: Graph, kernel: Any, rows: Rows, points: Any) -> str:
    each, Z = _by_columns(
        graph, kernel, rows, points
    )  # square roots of squared distances from products would lose half the digits
    apart = graph.add("Sub", each, Z)
    between = graph.add("Pow", _total(graph, graph.add("Mul", apart, apart)), float(kernel.hurst))
    sizes = graph.add("Add", diagonal(graph, kernel, rows), (Z[0] ** 2).sum(axis=1) ** kernel.hurst)
    return graph.add("Mul", graph.add("Sub", sizes, between), 0.5)


def _periodic(graph: Graph, kernel: Any, rows: Rows, points: Any) -> str:
    scale, turn = _scale(kernel), 2.0 * np.pi / np.asarray(kernel.period, np.float64)
    angles, theirs = graph.add("Mul", rows.name, turn), dense(points) * turn
    circle = [graph.add("Div", graph.add(wave, angles), scale) for wave in ("Cos", "Sin")]
    other = np.concatenate([np.cos(theirs) / scale, np.sin(theirs) / scale], axis=1)
    s = _squared_distances(graph, graph.add("Concat", *circle, axis=1), other)
    return graph.add("Exp", graph.add("Mul", s, -0.5))


def _constant(graph: Graph, kernel: Any, rows: Rows, points: Any) -> str:
    return graph.add("Add", _nothing(graph, kernel, rows, points), float(kernel.value))


def _nothing(graph: Graph, kernel: Any, rows: Rows, points: Any) -> str:
    """0 between any row and any point: their noise is independent."""
    return graph.add("Mul", graph.sum(rows.name, 1), np.zeros((1, checks.number_of(points))))


def _binary(graph: Graph, kernel: Any, rows: Rows, points: Any) -> str:
    left, right = block(graph, kernel.left, rows, points), block(graph, kernel.right, rows, points)
    return graph.add("Add" if isinstance(kernel, Sum) else "Mul", left, right)


def _scaled(graph: Graph, kernel: Any, rows: Rows, points: Any) -> str:
    # a scalar would be fused into the attributes of a preceding product, which onnxruntime keeps in float32
    factors = np.full((1, checks.number_of(points)), float(kernel.factor))
    return graph.add("Mul", block(graph, kernel.kernel, rows, points), factors)


def _power(graph: Graph, kernel: Any, rows: Rows, points: Any) -> str:
    return graph.add("Pow", block(graph, kernel.kernel, rows, points), float(kernel.exponent))


def _unary(graph: Graph, kernel: Any, values: str) -> str:
    """A function of kernel values."""
    return (
        graph.add("Exp", values) if isinstance(kernel, Exp) else _horner(graph, np.asarray(kernel.coefficients), values)
    )


def _outside(graph: Graph, kernel: Any, rows: Rows, points: Any) -> str:
    return _unary(graph, kernel, block(graph, kernel.kernel, rows, points))


def _normalized(graph: Graph, kernel: Any, rows: Rows, points: Any) -> str:
    root = np.sqrt(kernel.kernel.diag(points))
    ours = graph.add("Sqrt", diagonal(graph, kernel.kernel, rows))
    ours = graph.add("Where", graph.add("Equal", ours, 0.0), 1.0, ours)
    inverse = np.divide(1.0, root, out=np.zeros(len(root)), where=root > 0)
    return graph.add("Mul", graph.add("Div", block(graph, kernel.kernel, rows, points), ours), inverse)


def _on(graph: Graph, kernel: Any, rows: Rows, points: Any) -> str:
    return block(graph, kernel.kernel, _picked(graph, kernel, rows), kernel.pick(points))


def _picked(graph: Graph, kernel: On, rows: Rows) -> Rows:
    """The columns that a part of a kernel takes."""
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
    Chi2: _chi_squares,
    HistogramIntersection: _minima,
    MinMax: _min_max,
    Tanimoto: _tanimoto,
    Brownian: _brownian,
    Periodic: _periodic,
    Constant: _constant,
    White: _nothing,
    Sum: _binary,
    Product: _binary,
    Scaled: _scaled,
    Power: _power,
    Exp: _outside,
    PowerSeries: _outside,
    Normalized: _normalized,
    On: _on,
}


def _writer(kernel: Kernel) -> Callable[[Graph, Any, Rows, Any], str]:
    if type(kernel) not in WRITERS:
        known = ", ".join(sorted(each.__name__ for each in WRITERS))
        raise TypeError(
            f"{kernel!r} has no ONNX form: runtimes have operators for rows of numbers, not for strings, graphs, code "
            f"in Python, or angles in float64. There are forms of {known}; representer.save keeps any model."
        )
    return WRITERS[type(kernel)]
