"""Kernels from features: k(x, y) = <phi(x), phi(y)> for a given map phi, and some standard maps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import expit

from representer.kernels import checks
from representer.kernels.base import Gradients, Kernel
from representer.kernels.basis import Basis, Columns, Points
from representer.kernels.parameters import Parameters
from representer.kernels.precomputed import central_differences
from representer.kernels.prepared import Prepared, lay_out

MOST_FEATURES = 2**28
"""Most entries of a feature array that the maps of this file compute: 2 GB."""


@dataclass
class Mapped(Prepared):
    """Features, and the inputs that they came from."""

    features: Any
    items: Any

    def __len__(self) -> int:
        return len(self.features)

    def __getitem__(self, index: Any) -> Mapped:
        if isinstance(self.items, list) and not isinstance(index, slice):
            return Mapped(self.features[index], [self.items[i] for i in index])
        return Mapped(self.features[index], self.items[index])

    @property
    def dtype(self) -> np.dtype:
        return self.features.dtype


class FeatureMap(Kernel):
    """k(x, y) = <phi(x), phi(y)>.

    Parameters
    ----------
    function : callable
        phi: takes all inputs (an array, a list of strings, ...) and returns one row of numbers each, dense or sparse.

    Examples
    --------
    >>> import numpy as np
    >>> from representer.kernels import FeatureMap, Quadratic
    >>> x, y = np.array([[1.0, 2.0]]), np.array([[3.0, 1.0]])
    >>> round(float(FeatureMap(Quadratic())(x, y)[0, 0]), 9), (x @ y.T + (x @ y.T) ** 2).item()
    (30.0, 30.0)
    """

    on_vectors = False
    takes_missing = True

    def __init__(self, function: Callable):
        self.function = function

    def prepare(self, X: Any, like: Mapped | None = None) -> Mapped:
        if isinstance(X, Points):
            return Mapped(lay_out(X.coordinates), X.coordinates)
        n = checks.number_of(X)
        items = checks.items(X)
        features = self.function(items)
        if getattr(features, "ndim", 0) != 2 or features.shape[0] != n:
            raise ValueError(
                f"The feature map returned shape {np.shape(features)} for {n} inputs; "
                "return one row of features for each input."
            )
        features = checks.vectors(features, self, None if like is None else like.features.values)
        mapped = Mapped(lay_out(features), items)
        checks.no_overflow(self.diagonal(mapped), self)
        return mapped

    def basis(self, X: Any) -> Basis:
        return Columns(self, self.prepare(X.iloc[:1] if hasattr(X, "iloc") else X[:1]))

    def feature_rows(self, A: Mapped) -> Any:
        """phi(x) as rows."""
        return A.features.values

    def with_features(self, W: np.ndarray) -> Points:
        """Elements of the space that have these features, which need not be those of an input."""
        return Points(W)

    def fill(self, A: Mapped, B: Mapped, tile: np.ndarray) -> None:
        A.features.products(B.features, tile)

    def diagonal(self, A: Mapped) -> np.ndarray:
        return A.features.squared_norms

    def vjp(self, A: Mapped, B: Mapped, W: np.ndarray) -> Gradients:
        return {}

    def input_vjp(self, A: Mapped, B: Mapped, W: np.ndarray) -> np.ndarray:
        """By central differences of the features: about ten digits where they vary on the scale of the data."""
        X = A.items
        if not (isinstance(X, np.ndarray) and X.ndim == 2 and isinstance(B.items, np.ndarray)):
            return super().input_vjp(A, B, W)
        weights = B.features.combine(W)

        def along(Z: np.ndarray) -> np.ndarray:
            features = self.function(Z)
            product = features.multiply(weights) if sparse.issparse(features) else features * weights
            return np.asarray(product.sum(axis=1)).ravel()

        return central_differences(along, X.astype(np.float64), B.items).astype(A.dtype)


def _check_size(X: np.ndarray, per_row: int, remedy: str) -> None:
    """Raise before allocating an array of features that is too large."""
    if len(X) * per_row > MOST_FEATURES:
        raise ValueError(
            f"There would be {per_row:,} features for each of {len(X):,} inputs, {8e-9 * len(X) * per_row:.3g} GB, "
            f"above the limit of {8e-9 * MOST_FEATURES:.2g} GB; {remedy}."
        )


class Quadratic(Parameters):
    """phi(x) = (x_f, x_f^2, sqrt(2) x_f x_g for f < g), whose kernel is <x, y> + <x, y>^2."""

    def __call__(self, X: np.ndarray) -> np.ndarray:
        _check_size(X, X.shape[1] * (X.shape[1] + 3) // 2, "use Linear() + Linear() ** 2, the same kernel")
        f, g = np.triu_indices(X.shape[1], 1)
        return np.concatenate([X, X * X, np.sqrt(2.0) * X[:, f] * X[:, g]], axis=1)


class Fourier(Parameters):
    """phi(x) = (1, cos 2 pi m x / period, sin 2 pi m x / period for m = 1 ... order), for each column."""

    def __init__(self, order: int = 3, period: float = 1.0):
        self.order = order
        self.period = period

    def __call__(self, X: np.ndarray) -> np.ndarray:
        order = checks.integer(self.order, "order", least=0)
        _check_size(X, np.shape(X)[1] * (2 * order + 1), "use a smaller order")
        angles = 2.0 * np.pi * np.asarray(X)[:, :, None] * np.arange(1, order + 1) / self.period
        waves = np.concatenate([np.ones_like(angles[:, :, :1]), np.cos(angles), np.sin(angles)], axis=2)
        return waves.reshape(len(X), -1)


class TruncatedPowers(Parameters):
    """phi(x) = (1, x, ..., x^degree, max(x - knot, 0)^degree for each knot): splines, for each column."""

    def __init__(self, knots: Any, degree: int = 3):
        self.knots = knots
        self.degree = degree

    def __call__(self, X: np.ndarray) -> np.ndarray:
        x = np.asarray(X)[:, :, None]
        powers = x ** np.arange(self.degree + 1)
        return np.concatenate([powers, np.maximum(x - np.asarray(self.knots), 0.0) ** self.degree], axis=2).reshape(
            len(X), -1
        )


class Haar(Parameters):
    """phi(x) = (1, 2^(l/2) psi(2^l x - m) for l < levels and m < 2^l), psi = 1 on [0, 1/2) and -1 on [1/2, 1).

    Meant for columns in [0, 1), each of which is mapped separately.
    """

    def __init__(self, levels: int = 3):
        self.levels = levels

    def __call__(self, X: np.ndarray) -> np.ndarray:
        levels = checks.integer(self.levels, "levels", least=0, most=52)  # float64 has no more binary digits
        _check_size(X, np.shape(X)[1] * 2**levels, "use fewer levels")
        x = np.asarray(X)[:, :, None]
        parts = [((x >= 0) & (x < 1)).astype(x.dtype)]
        for level in range(levels):
            t = 2.0**level * x - np.arange(2**level)
            parts.append(
                2.0 ** (level / 2) * (((t >= 0) & (t < 0.5)).astype(x.dtype) - ((t >= 0.5) & (t < 1)).astype(x.dtype))
            )
        return np.concatenate(parts, axis=2).reshape(len(X), -1)


class Bumps(Parameters):
    """phi(x) = exp(-(x - center)^2 / (2 width^2)) for each center, for each column."""

    def __init__(self, centers: Any, width: float = 1.0):
        self.centers = centers
        self.width = width

    def __call__(self, X: np.ndarray) -> np.ndarray:
        t = (np.asarray(X)[:, :, None] - np.asarray(self.centers)) / self.width
        return np.exp(-0.5 * t * t).reshape(len(X), -1)


class Sigmoids(Parameters):
    """phi(x) = 1 / (1 + exp(-(x - center) / width)) for each center, for each column."""

    def __init__(self, centers: Any, width: float = 1.0):
        self.centers = centers
        self.width = width

    def __call__(self, X: np.ndarray) -> np.ndarray:
        return expit((np.asarray(X)[:, :, None] - np.asarray(self.centers)) / self.width).reshape(len(X), -1)
