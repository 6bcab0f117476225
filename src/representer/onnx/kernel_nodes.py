"""Kernels on vectors as ONNX nodes: k(x_i, z_j) for rows x and stored points z."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import factorial
from sklearn.gaussian_process.kernels import ExpSineSquared

from representer.drop_in.process_kernels import Foreign
from representer.drop_in.white_noise import White
from representer.kernels import checks
from representer.kernels.algebra import Power, Product, Scaled, Sum
from representer.kernels.base import Kernel
from representer.kernels.columns import On
from representer.kernels.constant import Constant
from representer.kernels.dot_product import ArcCosine, Cosine, Linear, Polynomial, Sigmoid
from representer.kernels.fingerprints import MinMax, Tanimoto
from representer.kernels.histogram import Chi2, HistogramIntersection
from representer.kernels.normalized import Normalized
from representer.kernels.periodic import Periodic
from representer.kernels.series import Exp, PowerSeries
from representer.kernels.spline import Brownian
from representer.kernels.stationary import RBF, Laplacian, Matern, RationalQuadratic
from representer.onnx.angles import arcs, own_arcs
from representer.onnx.input_rows import MOST_DIFFERENCES, Rows, by_columns, dense, squared_distances
from representer.onnx.nodes import Graph

MOST_HALVES = 20
"""Largest p: Matern kernels with nu = p + 0.5, up to 20.5, are written as polynomials times exponentials."""

Outer = Callable[[Graph, Any, str], str]
"""Writes a function of values."""


@dataclass(frozen=True)
class Form:
    """Writers of k(x_i, z_j) and of k(x_i, x_i)."""

    values: Callable[[Graph, Any, Rows, Any], str]
    diagonal: Callable[[Graph, Any, Rows], str]


def block(graph: Graph, kernel: Kernel, rows: Rows, points: Any) -> str:
    """k(x_i, z_j), shape (n, m)."""
    return _form(kernel).values(graph, kernel, rows, points)


def diagonal(graph: Graph, kernel: Kernel, rows: Rows) -> str:
    """k(x_i, x_i), shape (n, 1)."""
    return _form(kernel).diagonal(graph, kernel, rows)


def _everywhere(graph: Graph, rows: Rows, value: float) -> str:
    """The same value for each row."""
    return graph.add("Add", graph.add("Mul", graph.sum(rows.name, 1), 0.0), value)


def _ones(graph: Graph, kernel: Any, rows: Rows) -> str:
    return _everywhere(graph, rows, 1.0)


def _one_or_zero(graph: Graph, inner: str) -> str:
    """1, and 0 where the inner product of x with itself is."""
    return graph.add("Where", graph.add("Equal", inner, 0.0), 0.0, graph.add("Add", graph.add("Mul", inner, 0.0), 1.0))


def _scale(kernel: Any) -> np.ndarray:
    scale = getattr(kernel, "length_scale", None)
    return np.asarray(1.0 if scale is None else scale, np.float64)


def _scaled_squares(graph: Graph, kernel: Any, rows: Rows, points: Any) -> str:
    scale = _scale(kernel)
    return squared_distances(graph, graph.add("Div", rows.name, scale), dense(points) / scale)


def _rbf(graph: Graph, kernel: Any, rows: Rows, points: Any) -> str:
    return _bell(graph, _scaled_squares(graph, kernel, rows, points))


def _bell(graph: Graph, s: str) -> str:
    """exp(-s / 2)."""
    return graph.add("Exp", graph.add("Mul", s, -0.5))


def _rational_quadratic(graph: Graph, kernel: Any, rows: Rows, points: Any) -> str:
    s = _scaled_squares(graph, kernel, rows, points)
    base = graph.add("Add", graph.add("Mul", s, 0.5 / kernel.mixture), 1.0)
    return graph.add("Pow", base, -float(kernel.mixture))


def _matern(graph: Graph, kernel: Any, rows: Rows, points: Any) -> str:
    if kernel.nu == np.inf:
        return _rbf(graph, kernel, rows, points)
    p = kernel.nu - 0.5
    if p != int(p) or p > MOST_HALVES:
        raise TypeError(f"{kernel!r} has no ONNX form, as ONNX has no Bessel functions; use nu 0.5, 1.5, 2.5 or inf.")
    if p == 0 and dense(points).size <= MOST_DIFFERENCES:
        # a kink at 0: the square root of a squared distance from products would lose half of the digits there
        each, Z = by_columns(graph, kernel, rows, points)
        apart = graph.add("Div", graph.add("Sub", each, Z), _scale(kernel))
        s = _total(graph, graph.add("Mul", apart, apart))
    else:
        s = _scaled_squares(graph, kernel, rows, points)
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


def _of_products(outer: Outer) -> Form:
    """phi(s), s the inner product divided by length scales, or times the scale."""

    def product(graph: Graph, kernel: Any, rows: Rows, points: Any) -> str:
        # a scalar times a product would be fused into its attributes, which onnxruntime keeps in float32
        factor = float(getattr(kernel, "scale", 1.0)) / _scale(kernel) ** 2
        return outer(graph, kernel, graph.add("MatMul", rows.name, (factor * dense(points)).T))

    def own(graph: Graph, kernel: Any, rows: Rows) -> str:
        scaled = graph.add("Div", rows.name, _scale(kernel))
        scaled, factor = graph.add("Mul", scaled, scaled), float(getattr(kernel, "scale", 1.0))
        return outer(graph, kernel, graph.add("Mul", graph.sum(scaled, 1), factor))

    return Form(product, own)


def _itself(graph: Graph, kernel: Any, s: str) -> str:
    return s


def _polynomial(graph: Graph, kernel: Any, s: str) -> str:
    return graph.add("Pow", graph.add("Add", s, float(kernel.offset)), float(kernel.degree))


def _sigmoid(graph: Graph, kernel: Any, s: str) -> str:
    return graph.add("Tanh", graph.add("Add", s, float(kernel.offset)))


def _cosine(graph: Graph, kernel: Any, rows: Rows, points: Any) -> str:
    Z = dense(points)
    lengths = np.linalg.norm(Z, axis=1, keepdims=True)
    norm = graph.add("Sqrt", graph.sum(graph.add("Mul", rows.name, rows.name), 1))
    unit = graph.add("Div", rows.name, graph.add("Max", norm, float(np.finfo(graph.dtype).tiny)))
    return graph.add("MatMul", unit, (Z / np.where(lengths > 0, lengths, 1.0)).T)


def _own_cosine(graph: Graph, kernel: Any, rows: Rows) -> str:
    return _one_or_zero(graph, _squared_norms(graph, rows))


def _total(graph: Graph, values: str) -> str:
    return graph.add("ReduceSum", values, np.array([2], np.int64), keepdims=0)


def _laplacian(graph: Graph, kernel: Any, rows: Rows, points: Any) -> str:
    each, Z = by_columns(graph, kernel, rows, points)
    apart = graph.add("Abs", graph.add("Sub", graph.add("Div", each, _scale(kernel)), Z / _scale(kernel)))
    return graph.add("Exp", graph.add("Neg", _total(graph, apart)))


def _chi_squares(graph: Graph, kernel: Any, rows: Rows, points: Any) -> str:
    each, Z = by_columns(graph, kernel, rows, points)
    apart = graph.add("Sub", each, Z)
    both = graph.add("Max", graph.add("Add", each, Z), float(np.finfo(graph.dtype).tiny))
    ratio = graph.add("Div", graph.add("Mul", apart, graph.add("Div", apart, both)), _scale(kernel))
    return graph.add("Exp", graph.add("Neg", _total(graph, ratio)))


def _minima(graph: Graph, kernel: Any, rows: Rows, points: Any) -> str:
    return _total(graph, graph.add("Min", *by_columns(graph, kernel, rows, points)))


def _sums(graph: Graph, kernel: Any, rows: Rows) -> str:
    return graph.sum(rows.name, 1)


def _min_max(graph: Graph, kernel: Any, rows: Rows, points: Any) -> str:
    each, Z = by_columns(graph, kernel, rows, points)
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
    # square roots of squared distances from products would lose half of the digits
    each, Z = by_columns(graph, kernel, rows, points)
    apart = graph.add("Sub", each, Z)
    between = graph.add("Pow", _total(graph, graph.add("Mul", apart, apart)), float(kernel.hurst))
    sizes = graph.add("Add", diagonal(graph, kernel, rows), (Z[0] ** 2).sum(axis=1) ** kernel.hurst)
    return graph.add("Mul", graph.add("Sub", sizes, between), 0.5)


def _sizes(graph: Graph, kernel: Any, rows: Rows) -> str:
    return graph.add("Pow", _squared_norms(graph, rows), float(kernel.hurst))


def _periodic(graph: Graph, kernel: Any, rows: Rows, points: Any) -> str:
    scale, turn = _scale(kernel), 2.0 * np.pi / np.asarray(kernel.period, np.float64)
    angles, theirs = graph.add("Mul", rows.name, turn), dense(points) * turn
    circle = [graph.add("Div", graph.add(wave, angles), scale) for wave in ("Cos", "Sin")]
    other = np.concatenate([np.cos(theirs) / scale, np.sin(theirs) / scale], axis=1)
    s = squared_distances(graph, graph.add("Concat", *circle, axis=1), other)
    return _bell(graph, s)


def _foreign(graph: Graph, kernel: Any, rows: Rows, points: Any) -> str:
    """exp(-2 sin(pi r / period)^2 / length_scale^2), r the distance: scikit-learn's kernel on several columns."""
    if type(kernel.kernel) is not ExpSineSquared:
        raise TypeError(f"{kernel.kernel!r} is evaluated by scikit-learn and has no ONNX form.")
    period, scale = float(kernel.kernel.periodicity), float(kernel.kernel.length_scale)
    r = graph.add("Sqrt", squared_distances(graph, rows.name, dense(points)))
    wave = graph.add("Div", graph.add("Sin", graph.add("Mul", r, np.pi / period)), scale)
    return graph.add("Exp", graph.add("Mul", graph.add("Mul", wave, wave), -2.0))


def _constant(graph: Graph, kernel: Any, rows: Rows, points: Any) -> str:
    return graph.add("Add", _nothing(graph, kernel, rows, points), float(kernel.value))


def _nothing(graph: Graph, kernel: Any, rows: Rows, points: Any) -> str:
    """0 between any row and any point: their noise is independent."""
    return graph.add("Mul", graph.sum(rows.name, 1), np.zeros((1, checks.number_of(points))))


def _own_constant(graph: Graph, kernel: Any, rows: Rows) -> str:
    return _everywhere(graph, rows, float(kernel.value))


def _own_noise(graph: Graph, kernel: Any, rows: Rows) -> str:
    return _everywhere(graph, rows, float(kernel.variance))


def _of_two(operator: str) -> Form:
    """A sum or product of two kernels."""

    def both(graph: Graph, kernel: Any, rows: Rows, points: Any) -> str:
        left, right = block(graph, kernel.left, rows, points), block(graph, kernel.right, rows, points)
        return graph.add(operator, left, right)

    def own(graph: Graph, kernel: Any, rows: Rows) -> str:
        return graph.add(operator, diagonal(graph, kernel.left, rows), diagonal(graph, kernel.right, rows))

    return Form(both, own)


def _of_one(outer: Outer) -> Form:
    """A function of the values of one kernel."""

    def outside(graph: Graph, kernel: Any, rows: Rows, points: Any) -> str:
        return outer(graph, kernel, block(graph, kernel.kernel, rows, points))

    def own(graph: Graph, kernel: Any, rows: Rows) -> str:
        return outer(graph, kernel, diagonal(graph, kernel.kernel, rows))

    return Form(outside, own)


def _power(graph: Graph, kernel: Any, s: str) -> str:
    return graph.add("Pow", s, float(kernel.exponent))


def _exponential(graph: Graph, kernel: Any, s: str) -> str:
    return graph.add("Exp", s)


def _power_series(graph: Graph, kernel: Any, s: str) -> str:
    return _horner(graph, np.asarray(kernel.coefficients), s)


def _scaled(graph: Graph, kernel: Any, rows: Rows, points: Any) -> str:
    # a scalar would be fused into the attributes of a preceding product, which onnxruntime keeps in float32
    factors = np.full((1, checks.number_of(points)), float(kernel.factor))
    return graph.add("Mul", block(graph, kernel.kernel, rows, points), factors)


def _own_scaled(graph: Graph, kernel: Any, rows: Rows) -> str:
    return graph.add("Mul", diagonal(graph, kernel.kernel, rows), float(kernel.factor))


def _normalized(graph: Graph, kernel: Any, rows: Rows, points: Any) -> str:
    root = np.sqrt(kernel.kernel.diag(points))
    ours = graph.add("Sqrt", diagonal(graph, kernel.kernel, rows))
    ours = graph.add("Where", graph.add("Equal", ours, 0.0), 1.0, ours)
    inverse = np.divide(1.0, root, out=np.zeros(len(root)), where=root > 0)
    return graph.add("Mul", graph.add("Div", block(graph, kernel.kernel, rows, points), ours), inverse)


def _own_normalized(graph: Graph, kernel: Any, rows: Rows) -> str:
    return _one_or_zero(graph, diagonal(graph, kernel.kernel, rows))


def _on(graph: Graph, kernel: Any, rows: Rows, points: Any) -> str:
    return block(graph, kernel.kernel, _picked(graph, kernel, rows), kernel.pick(points))


def _own_on(graph: Graph, kernel: Any, rows: Rows) -> str:
    return diagonal(graph, kernel.kernel, _picked(graph, kernel, rows))


def _picked(graph: Graph, kernel: On, rows: Rows) -> Rows:
    """The columns that a part of a kernel takes."""
    if isinstance(kernel.columns, str) or not np.iterable(kernel.columns):
        raise TypeError(f"{kernel!r} is on a single column as it is, which has no ONNX form; give a list of columns.")
    wanted = list(kernel.columns)
    known = None if rows.columns is None else list(rows.columns)
    index = [known.index(str(each)) if known is not None else int(each) for each in wanted]
    picked = graph.add("Gather", rows.name, np.array(index, np.int64), axis=1)
    return Rows(picked, len(index), None if known is None else tuple(known[i] for i in index))


FORMS: dict[type, Form] = {
    RBF: Form(_rbf, _ones),
    Matern: Form(_matern, _ones),
    RationalQuadratic: Form(_rational_quadratic, _ones),
    Linear: _of_products(_itself),
    Polynomial: _of_products(_polynomial),
    Sigmoid: _of_products(_sigmoid),
    Cosine: Form(_cosine, _own_cosine),
    ArcCosine: Form(arcs, own_arcs),
    Laplacian: Form(_laplacian, _ones),
    Chi2: Form(_chi_squares, _ones),
    HistogramIntersection: Form(_minima, _sums),
    MinMax: Form(_min_max, _ones),
    Tanimoto: Form(_tanimoto, _ones),
    Brownian: Form(_brownian, _sizes),
    Periodic: Form(_periodic, _ones),
    Constant: Form(_constant, _own_constant),
    White: Form(_nothing, _own_noise),
    Sum: _of_two("Add"),
    Product: _of_two("Mul"),
    Scaled: Form(_scaled, _own_scaled),
    Power: _of_one(_power),
    Exp: _of_one(_exponential),
    PowerSeries: _of_one(_power_series),
    Normalized: Form(_normalized, _own_normalized),
    On: Form(_on, _own_on),
    Foreign: Form(_foreign, _ones),
}
"""The kernels that have an ONNX form. Only this table names their classes: a form repeats the formula of one class in
operators of ONNX, and a subclass may have another formula."""


def _form(kernel: Kernel) -> Form:
    if type(kernel) not in FORMS:
        known = ", ".join(sorted(each.__name__ for each in FORMS))
        raise TypeError(
            f"{kernel!r} has no ONNX form: runtimes have operators for rows of numbers, not for strings, graphs or "
            f"code in Python. There are forms of {known}; representer.save keeps models of this "
            "library, except those with functions as kernels."
        )
    return FORMS[type(kernel)]
