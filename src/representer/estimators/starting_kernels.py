"""Initial kernels of the model search, by type of input."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from representer.estimators.table_encoding import TableEncoding
from representer.kernels.algebra import Product, Scaled, Sum
from representer.kernels.base import Kernel
from representer.kernels.columns import On
from representer.kernels.constant import Constant
from representer.kernels.dot_product import Linear
from representer.kernels.stationary import RBF, Matern

FAMILIES = {"Matern-1/2": 0.5, "Matern-3/2": 1.5, "Matern-5/2": 2.5, "RBF": np.inf}
"""Smoothness of the kernels that are tried."""
LINEAR = 0.1
"""Initial weight of the linear part."""


@dataclass(frozen=True)
class Start:
    """Kernels that are compared, by name, all with the same hyper-parameters.

    Parameters
    ----------
    kernels : dict
        With values for all hyper-parameters.
    fixed : names of hyper-parameters that are not searched
    scales : tuple of str
        The hyper-parameters that hold one length scale per column.
    groups : array of shape (n_columns,), optional
        Columns of the same group share a length scale.
    """

    kernels: dict[str, Kernel]
    fixed: tuple[str, ...] = ()
    scales: tuple[str, ...] = ()
    groups: np.ndarray | None = None

    @property
    def has_columns(self) -> bool:
        """Whether there is more than one length scale to find."""
        known = next(iter(self.kernels.values())).get_params()
        shared = self.groups is not None and len(np.unique(self.groups)) < 2
        return sum(np.size(known[name]) for name in self.scales) > 1 and not shared

    def relative(self, kernel: Kernel, family: str) -> dict[str, np.ndarray]:
        """Per-column length scales relative to the initial ones."""
        start, known = self.kernels[family].get_params(), kernel.get_params()
        return {name: np.asarray(known[name]) / np.asarray(start[name]) for name in self.scales}

    def untied(self, kernel: Kernel, family: str) -> Kernel:
        """The kernel with the initial ratios of per-column length scales, and the geometric mean of its own."""
        if not self.scales:
            return kernel
        start, factors = self.kernels[family].get_params(), self.relative(kernel, family)
        common = np.exp(np.mean(np.log(np.concatenate([np.ravel(part) for part in factors.values()]))))
        return clone(kernel).set_params(**{name: common * np.asarray(start[name]) for name in self.scales})


def column_scales(X: np.ndarray) -> np.ndarray:
    """A robust scale of each column: normal standard deviation from its quartiles, or half the range of two values."""
    low, high = np.quantile(X, [0.25, 0.75], axis=0)
    spread, deviation = (high - low) / 1.349, X.std(axis=0)
    least, most = X.min(axis=0), X.max(axis=0)
    two = np.all((least == X) | (most == X), axis=0)
    scales = np.where(two, 0.5 * (most - least), np.where(spread > 1e-12 * np.abs(high), spread, deviation))
    return np.where(scales > 0.0, scales, 1.0)


def for_numbers(X: np.ndarray, encoding: TableEncoding | None = None) -> Start:
    """A radial kernel with one length scale per column, plus a linear part."""
    scales, groups = _table_scales(X, encoding)
    kernels = {name: _radial(name, scales) + LINEAR * Linear(scales) for name in FAMILIES}
    return Start(kernels, ("right__kernel__length_scale",), ("left__length_scale",), groups)


def for_sparse(X: sparse.csr_array) -> Start:
    """A radial kernel plus a linear part, both with one length scale."""
    mean = np.asarray(X.mean(axis=0)).ravel()
    squares = np.asarray(X.multiply(X).mean(axis=0)).ravel() - mean**2
    scale = float(np.sqrt(max(squares.sum(), 0.0))) or 1.0
    kernels = {name: _radial(name, scale) + LINEAR * Linear(scale) for name in FAMILIES}
    return Start(kernels, ("right__kernel__length_scale",))


def for_frame(frame: Any, encoding: TableEncoding) -> Start:
    """(c + k)(1 + sum_t w_t k_t): k on the numeric columns as in `for_numbers`, k_t on the others.

    So each part enters alone, and each k_t also multiplied with k. Without numeric columns it is the sum alone.
    """
    parts = [Scaled(kernel, 1.0 / len(encoding.own)) for kernel in encoding.own.values()]
    others = parts[0]
    for part in parts[1:]:
        others = Sum(others, part)
    if not (names := encoding.names):
        return Start({"sum of parts": others})
    X = np.column_stack([np.asarray(frame[name]) for name in names])
    scales, groups = _table_scales(X, encoding)
    kernels: dict[str, Kernel] = {}
    for family in FAMILIES:
        numbers = On(_radial(family, scales), names) + LINEAR * On(Linear(scales), names)
        kernels[family] = Product(Sum(Constant(1.0), numbers), Sum(Constant(1.0), others))
    fixed = ("left__right__right__kernel__kernel__length_scale", "left__left__value", "right__left__value")
    return Start(kernels, fixed, ("left__right__left__kernel__length_scale",), groups)


def for_given(kernel: Kernel, X: Any, weights: np.ndarray | None) -> Start:
    """One kernel, with length scales from the data where none were given."""
    known = kernel.with_default_scales(X, weights)
    scales = [
        name for name, value in known.get_params().items() if name.endswith("length_scale") and np.ndim(value) == 1
    ]
    return Start({type(kernel).__name__: known}, (), tuple(scales))


def _table_scales(X: np.ndarray, encoding: TableEncoding | None) -> tuple[np.ndarray, np.ndarray | None]:
    """Length scales of numeric columns, and their groups; two levels are as far apart as two typical numbers."""
    scales = column_scales(X)
    if encoding is None:
        return scales * np.sqrt(X.shape[1]), None
    scales = np.where(encoding.indicators, 1.0, scales)
    return scales * np.sqrt(len(np.unique(encoding.groups))), encoding.groups


def _radial(family: str, scales: Any) -> Kernel:
    nu = FAMILIES[family]
    return RBF(scales) if nu == np.inf else Matern(scales, nu=nu)
