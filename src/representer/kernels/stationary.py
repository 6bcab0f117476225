"""Stationary kernels: k(x, y) = phi(s), s = sum_f (x_f - y_f)^2 / length_scale_f^2.

A kernel gives phi and its derivative on a tile of s, in place; a new one is about ten lines. Laplacian and Periodic use
other distances.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import sparse, special
from sklearn.base import clone

from representer._loops import distances, radial, symmetric
from representer.kernels import checks
from representer.kernels.base import Gradients, Kernel, OfOneNumber, add_gradients
from representer.kernels.prepared import SOME_COLUMNS, SparseVectors, Vectors, lay_out, scale_columns

ONE_TILE = 2**22
"""Bytes of a matrix up to which one thread has computed it when two have shared out the tiles and done theirs."""


class Stationary(OfOneNumber):
    """The family: distances, gradients and sparse inputs, written once. phi(0) must be 1.

    A kernel whose phi falls everywhere says so by ``of_distance = True``.
    """

    length_scale: Any
    _quick = False  # whether phi takes about a nanosecond, less than the distances

    def prepare(self, X: Any, like: Any = None) -> Vectors | SparseVectors:
        self.check()
        X = checks.vectors(X, self, None if like is None else like.values)
        scale = checks.length_scale(self.length_scale, X.shape[1])
        if sparse.issparse(X):
            return lay_out(scale_columns(X, scale))
        return _centred(X, scale, like)

    def fitted_to(self, X: Any, weights: np.ndarray | None = None) -> Kernel:
        if self.length_scale is not None:
            return clone(self)
        typical = float(np.sqrt(self.prepare(X).variances(weights).sum()))
        return clone(self).set_params(length_scale=typical or 1.0)

    def fill(self, A: Any, B: Any, tile: np.ndarray) -> None:
        A.squared_distances(B, tile)
        self.phi(tile)

    def between(self, A: Any, B: Any) -> tuple[Any, Any]:
        return self._without_zeros(Stationary, A, B)

    def _each_pair_once(self, A: Any) -> bool:
        plain = type(A) is Vectors and len(A) > 1 and A.values.shape[1] <= SOME_COLUMNS
        return plain and self._fills_as(Stationary)

    def _is_one_tile(self, A: Any) -> bool:
        if not self._each_pair_once(A):
            return super()._is_one_tile(A)
        return len(A) <= 512 or (self._quick and len(A) ** 2 * A.dtype.itemsize <= ONE_TILE)

    def fill_symmetric(self, A: Any, tile: np.ndarray) -> None:
        if not self._each_pair_once(A):
            super().fill_symmetric(A, tile)
            return
        values = tile.reshape(1, -1)[:, : len(A) * (len(A) - 1) // 2]
        self._fill_pairs(A, values)
        symmetric.unpack(values[0], self.diagonal(A), tile)

    def half_block(self, A: Any, *, threads: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        if not (self._each_pair_once(A) and self._is_one_tile(A)):
            return super().half_block(A, threads=threads)
        values = np.empty((1, len(A) * (len(A) - 1) // 2), A.dtype)
        self._fill_pairs(A, values)
        return values[0], self.diagonal(A)

    def _fill_pairs(self, A: Vectors, values: np.ndarray) -> None:
        """Values of a_1 with a_0, then of a_2 with a_0 and a_1, and so on, in one row, as phi takes tiles."""
        A.distances_within(values[0])
        self.phi(values)

    def fill_distances(self, A: Any, B: Any, tile: np.ndarray) -> None:
        A.squared_distances(B, tile)

    def squares_from(self, distances: np.ndarray) -> np.ndarray:
        values = distances.copy()
        self.phi(values)
        return 2.0 - 2.0 * values

    def diagonal(self, A: Any) -> np.ndarray:
        return np.ones(len(A), A.dtype)

    @property
    def isotropic(self) -> bool:
        """Whether |x - y| is all that decides: one length scale, and no other distance than the Euclidean one."""
        own = type(self).prepare is Stationary.prepare and type(self).fill is Stationary.fill
        return own and np.ndim(self.length_scale) == 0

    def _slopes(self, A: Any, B: Any, W: np.ndarray) -> tuple[np.ndarray, Gradients, float]:
        """G = W phi'(s), the gradients of phi's own parameters, and sum_ij G_ij s_ij."""
        s = np.empty((len(A), len(B)), A.dtype)
        A.squared_distances(B, s)
        gradients = self.shape_gradients(s, W)
        G = s.copy()
        self.slope(G)
        G *= W
        return G, gradients, float(np.vdot(G, s))

    def pull(self, A: Any, B: Any, W: np.ndarray) -> Gradients:
        G, gradients, total = self._slopes(A, B, W)
        scale = checks.length_scale(self.length_scale, A.values.shape[1])
        if scale.ndim:
            total = A.second_moments(G.sum(axis=1)) + B.second_moments(G.sum(axis=0)) - 2.0 * A.cross_moments(B, G)
        return add_gradients(gradients, {"length_scale": -2.0 * total / scale})

    def pull_input(self, A: Any, B: Any, W: np.ndarray) -> np.ndarray:
        G = self._slopes(A, B, W)[0]
        scale = checks.length_scale(self.length_scale, A.values.shape[1]).astype(A.dtype)
        return 2.0 * (A.weigh(G.sum(axis=1)) - B.combine(G)) / scale


class SquaredDistance(Stationary):
    r"""|x - y|^2 / length_scale^2, which is no kernel, but what stationary kernels are functions of."""

    definite = False

    def __init__(self, length_scale: Any = None):
        self.length_scale = length_scale

    def phi(self, s: np.ndarray) -> None:
        """Nothing."""

    def diagonal(self, A: Any) -> np.ndarray:
        return np.zeros(len(A), A.dtype)


def _centred(X: np.ndarray, scale: np.ndarray, like: Vectors | None) -> Vectors:
    """Rows less a centre (on both sides the same one), so that distances far from the origin keep their digits."""
    if scale.min() <= np.finfo(X.dtype).max ** -0.5:  # one over its square would be infinite
        raise ValueError(f"length_scale is {scale!r}, too small for {X.dtype}; use a larger one, or float64 inputs.")
    raw, width = np.ascontiguousarray(X), X.shape[1]
    shift = np.empty(width, X.dtype) if like is None else np.asarray(like.shift, X.dtype)
    if like is None:
        distances.centres(raw, shift)
    values, squares = np.empty_like(raw), np.empty(len(raw), X.dtype)
    distances.shift_and_scale(raw, shift, np.full(width, scale, X.dtype), values, squares)
    return Vectors(values, squares, raw=raw, shift=shift, inverse=np.full(width, scale**-2.0, X.dtype))


class RBF(Stationary):
    r"""k(x, y) = exp(-|x - y|^2 / (2 length_scale^2)), the Gaussian kernel.

    Parameters
    ----------
    length_scale : float, array of shape (n_columns,) or None
        One number, or one per column. None stands for 1 when the kernel is used by itself, and lets an estimator choose
        from its data.

    Examples
    --------
    >>> from representer.kernels import RBF
    >>> RBF(length_scale=2.0)([[0.0], [2.0]]).round(4)
    array([[1.    , 0.6065],
           [0.6065, 1.    ]])
    """

    of_distance = True
    _quick = True

    def __init__(self, length_scale: Any = None):
        self.length_scale = length_scale

    def phi(self, s: np.ndarray) -> None:
        radial.exponential(s, 0.5)

    def slope(self, s: np.ndarray) -> None:
        radial.exponential(s, 0.5)
        s *= -0.5

    def squares_from(self, distances: np.ndarray) -> np.ndarray:
        return -2.0 * np.expm1(-0.5 * distances)

    def logs_from(self, distances: np.ndarray) -> np.ndarray:
        return -0.5 * distances


class Matern(Stationary):
    r"""k(x, y) = 2^(1 - nu) / Gamma(nu) r^nu K_nu(r), r = sqrt(2 nu) |x - y| / length_scale.

    For nu = 1/2, 3/2, 5/2 these are exp(-r), (1 + r) exp(-r) and (1 + r + r^2 / 3) exp(-r); nu = inf is the RBF kernel.
    Functions of its space have about nu derivatives.

    Parameters
    ----------
    length_scale : float, array of shape (n_columns,) or None
    nu : float
        Smoothness: up to 100, or infinity. It is not a hyper-parameter with a gradient.
    """

    of_distance = True

    def __init__(self, length_scale: Any = None, nu: float = 1.5):
        self.length_scale = length_scale
        self.nu = nu

    @property
    def _quick(self) -> bool:  # type: ignore[override]
        return self.nu in (0.5, 1.5, 2.5, np.inf)

    def check(self) -> None:
        if self.nu != np.inf and checks.positive(self.nu, "nu") > 100:
            raise ValueError(
                f"nu is {self.nu!r}; above 100 use nu=inf, the RBF kernel, which differs by less than 0.003."
            )

    def phi(self, s: np.ndarray) -> None:
        if self.nu == 0.5:
            radial.matern12(s)
        elif self.nu == 1.5:
            radial.matern32(s)
        elif self.nu == 2.5:
            radial.matern52(s)
        elif self.nu == np.inf:
            radial.exponential(s, 0.5)
        else:
            s[...] = _bessel(np.sqrt(2.0 * self.nu * s, dtype=np.float64), self.nu)

    def logs_from(self, distances: np.ndarray) -> np.ndarray:
        if self.nu == np.inf:
            return -0.5 * distances
        r = np.sqrt(2.0 * self.nu * distances)
        if self.nu == 0.5:
            return -r
        if self.nu == 1.5:
            return np.log1p(r) - r
        if self.nu == 2.5:
            return np.log1p(r + r * r / 3.0) - r
        near = np.minimum(r, 100.0)  # beyond, K_nu(r) may underflow, but exp(r) K_nu(r) does not
        far = np.maximum(r, 100.0)
        ends = np.log(special.kve(self.nu, far)) - far + self.nu * np.log(0.5 * far) + np.log(2.0)
        return np.where(r < 100.0, np.log(_bessel(near, self.nu)), ends - special.gammaln(self.nu))

    def slope(self, s: np.ndarray) -> None:
        if self.nu == np.inf:
            radial.exponential(s, 0.5)
            s *= -0.5
            return
        r = np.sqrt(2.0 * self.nu * s)
        if self.nu == 0.5:
            radial.matern12(s)
            np.divide(s, -2.0 * r, out=s, where=r > 0)
            s[r == 0] = 0.0
        elif self.nu == 1.5:
            radial.matern12(np.multiply(s, 3.0, out=s))
            s *= -1.5
        elif self.nu == 2.5:
            radial.matern12(np.multiply(s, 5.0, out=s))
            s *= -(5.0 / 6.0) * (1.0 + r)
        else:
            # (r^nu K_nu)' = -r^nu K_(nu-1) and ds = r dr / nu
            s[...] = self._bessel_slope(r.astype(np.float64))

    def _bessel_slope(self, r: np.ndarray) -> np.ndarray:
        if self.nu > 1:
            return -0.5 * self.nu / (self.nu - 1.0) * _bessel(r, self.nu - 1.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            constant = 2.0 ** (1.0 - self.nu) / special.gamma(self.nu)
            slope = -self.nu * constant * r ** (self.nu - 1.0) * special.kv(1.0 - self.nu, r)
        return np.where(r > 0, slope, 0.0)


def _bessel(r: np.ndarray, order: float) -> np.ndarray:
    """2^(1 - order) / Gamma(order) r^order K_order(r) for a positive order, with its limit 1 near zero."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        logarithm = np.log(2.0) * (1.0 - order) - special.gammaln(order) + order * np.log(r) - r
        bessel = special.kve(order, r)
        near = np.ones_like(r)
        if order > 2:  # where K overflows, r is small and two terms of the series are exact to rounding
            near = 1.0 - r**2 / (4.0 * (order - 1.0)) + r**4 / (32.0 * (order - 1.0) * (order - 2.0))
        near = np.where(r < 700.0 + order, near, 0.0)
        return np.where(np.isfinite(bessel) & (r > 0), np.exp(logarithm + np.log(bessel)), near)


class RationalQuadratic(Stationary):
    r"""k(x, y) = (1 + |x - y|^2 / (2 mixture length_scale^2))^(-mixture), a mixture of RBF kernels.

    Parameters
    ----------
    length_scale : float, array of shape (n_columns,) or None
    mixture : float
        Small for a wide mixture of length scales; at infinity it is the RBF kernel.
    """

    of_distance = True

    def __init__(self, length_scale: Any = None, mixture: float = 1.0):
        self.length_scale = length_scale
        self.mixture = mixture

    def check(self) -> None:
        checks.positive(self.mixture, "mixture")

    def _power(self, s: np.ndarray, exponent: float) -> None:
        """s <- (1 + s / (2 mixture))^(-exponent)."""
        s *= 0.5 / self.mixture
        np.log1p(s, out=s)
        radial.exponential(s, exponent)

    def phi(self, s: np.ndarray) -> None:
        self._power(s, self.mixture)

    def slope(self, s: np.ndarray) -> None:
        self._power(s, self.mixture + 1.0)
        s *= -0.5

    def logs_from(self, distances: np.ndarray) -> np.ndarray:
        return -self.mixture * np.log1p(distances * (0.5 / self.mixture))

    def shape_gradients(self, s: np.ndarray, W: np.ndarray) -> Gradients:
        t = s / (2.0 * self.mixture)
        derivative = t / (1.0 + t) - np.log1p(t)
        values = s.copy()
        self.phi(values)
        values *= derivative
        return {"mixture": np.vdot(W, values)}


@dataclass
class Angles(Vectors):
    """Columns wrapped around circles: the points (cos, sin) / length_scale, and the angles themselves."""

    angles: Any = None
    per_row: ClassVar[tuple[str, ...]] = (*Vectors.per_row, "angles")


class Periodic(Stationary):
    r"""k(x, y) = exp(-2 sum_f sin^2(pi (x_f - y_f) / period_f) / length_scale_f^2).

    It is the RBF kernel of the points (cos, sin) 2 pi x / period, so it is positive definite for any number of columns.

    Parameters
    ----------
    length_scale : float, array of shape (n_columns,) or None
    period : float or array of shape (n_columns,)
    """

    of_distance = True

    def __init__(self, length_scale: Any = None, period: Any = 1.0):
        self.length_scale = length_scale
        self.period = period

    phi = RBF.phi
    slope = RBF.slope
    squares_from = RBF.squares_from
    logs_from = RBF.logs_from

    def prepare(self, X: Any, like: Any = None) -> Angles:
        X = checks.vectors(X, self, None if like is None else like.angles)
        if sparse.issparse(X):
            raise TypeError("Periodic does not take sparse input, because zeros do not stay zero; pass X.toarray().")
        scale = checks.length_scale(self.length_scale, X.shape[1])
        period = checks.length_scale(self.period, X.shape[1], "period")
        # whole turns are taken off in float64, so that many periods away from zero no digits are lost
        angles = (2.0 * np.pi * np.remainder(X.astype(np.float64) / period, 1.0)).astype(X.dtype)
        points = np.concatenate([np.cos(angles) / scale, np.sin(angles) / scale], axis=1).astype(X.dtype)
        turns = (2.0 * np.pi * X / period).astype(X.dtype)
        return Angles.of(points, angles=turns)

    def _along(self, A: Angles, pulls: np.ndarray) -> np.ndarray:
        """The gradient with respect to points (cos, sin), turned into one with respect to angles."""
        cosines, sines = np.split(A.values, 2, axis=1)
        by_cosine, by_sine = np.split(pulls, 2, axis=1)
        return by_sine * cosines - by_cosine * sines

    def pull(self, A: Angles, B: Angles, W: np.ndarray) -> Gradients:
        G = self._slopes(A, B, W)[0]
        scale = checks.length_scale(self.length_scale, A.angles.shape[1])
        period = checks.length_scale(self.period, A.angles.shape[1], "period")
        r, c = G.sum(axis=1), G.sum(axis=0)
        total = A.second_moments(r) + B.second_moments(c) - 2.0 * A.cross_moments(B, G)
        by_scale = -2.0 * (total[: len(total) // 2] + total[len(total) // 2 :]) / scale
        by_a = np.einsum("if,if->f", self._along(A, 2.0 * (A.weigh(r) - B.combine(G))), A.angles)
        by_b = np.einsum("if,if->f", self._along(B, 2.0 * (B.weigh(c) - A.combine(G.T))), B.angles)
        by_period = -(by_a + by_b) / period
        return {
            "length_scale": by_scale if scale.ndim else by_scale.sum(),
            "period": by_period if period.ndim else by_period.sum(),
        }

    def pull_input(self, A: Angles, B: Angles, W: np.ndarray) -> np.ndarray:
        G = self._slopes(A, B, W)[0]
        period = checks.length_scale(self.period, A.angles.shape[1], "period").astype(A.dtype)
        return self._along(A, 2.0 * (A.weigh(G.sum(axis=1)) - B.combine(G))) * (2.0 * np.pi) / period


class Laplacian(Kernel):
    r"""k(x, y) = exp(-sum_f |x_f - y_f| / length_scale_f), with the sum of absolute differences as the distance.

    Matern(nu=0.5) is the same with the Euclidean distance.

    Parameters
    ----------
    length_scale : float, array of shape (n_columns,) or None
    """

    of_distance = True

    def __init__(self, length_scale: Any = None):
        self.length_scale = length_scale

    def prepare(self, X: Any, like: Any = None) -> Vectors | SparseVectors:
        X = checks.vectors(X, self, None if like is None else like.values)
        if sparse.issparse(X):
            return lay_out(scale_columns(X, checks.length_scale(self.length_scale, X.shape[1])))
        return _centred(X, checks.length_scale(self.length_scale, X.shape[1]), like)

    def fitted_to(self, X: Any, weights: np.ndarray | None = None) -> Kernel:
        if self.length_scale is not None:
            return clone(self)
        typical = float(np.sqrt(self.prepare(X).variances(weights)).sum())
        return clone(self).set_params(length_scale=typical or 1.0)

    def fill(self, A: Any, B: Any, tile: np.ndarray) -> None:
        A.absolute_differences(B, tile)
        radial.exponential(tile, 1.0)

    def fill_distances(self, A: Any, B: Any, tile: np.ndarray) -> None:
        A.absolute_differences(B, tile)

    def squares_from(self, distances: np.ndarray) -> np.ndarray:
        return -2.0 * np.expm1(-distances)

    def logs_from(self, distances: np.ndarray) -> np.ndarray:
        return -distances

    def diagonal(self, A: Any) -> np.ndarray:
        return np.ones(len(A), A.dtype)

    def pull(self, A: Any, B: Any, W: np.ndarray) -> Gradients:
        G = W * self._tile(A, B)
        A, B = A.dense(), B.dense()
        scale = checks.length_scale(self.length_scale, A.values.shape[1])
        sums = [np.vdot(G, np.abs(np.subtract.outer(a, b))) for a, b in zip(A.columns, B.columns, strict=True)]
        by_scale = np.array(sums) / scale
        return {"length_scale": by_scale if scale.ndim else by_scale.sum()}

    def pull_input(self, A: Any, B: Any, W: np.ndarray) -> np.ndarray:
        G = W * self._tile(A, B)
        A, B = A.dense(), B.dense()
        scale = checks.length_scale(self.length_scale, A.values.shape[1]).astype(A.dtype)
        signs = [
            np.einsum("ij,ij->i", G, np.sign(np.subtract.outer(a, b)))
            for a, b in zip(A.columns, B.columns, strict=True)
        ]
        return -np.stack(signs, axis=1) / scale
