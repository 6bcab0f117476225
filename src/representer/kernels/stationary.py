"""Stationary kernels: k(x, y) = phi(s), s = sum_f (x_f - y_f)^2 / length_scale_f^2.

A kernel defines phi and its derivative on a tile of s, in place. Laplacian uses another distance.
"""

from __future__ import annotations

from math import hypot
from typing import Any

import numpy as np
from scipy import sparse, special
from sklearn.base import clone

from representer._loops import radial, squared_distances, symmetric
from representer.kernels import checks, laws, radial_sums, separated
from representer.kernels.base import Gradients, Kernel, Radial, ScalarForm, add_gradients
from representer.kernels.bessel import bessel
from representer.kernels.prepared import (
    FEW_COLUMNS,
    SparseVectors,
    Vectors,
    lay_out,
    overrides_nothing,
    scale_columns,
    standard_deviations,
)
from representer.kernels.tiles import new_tile


class Stationary(ScalarForm, Kernel):
    """Base of the family: distances, gradients and sparse inputs, implemented once. phi(0) must be 1.

    A kernel whose phi is decreasing sets ``decreasing = True``.
    """

    length_scale: Any
    decreasing: bool = False
    """Whether phi is decreasing, so that neighbours in H are neighbours in input space."""

    def prepare(self, X: Any, like: Any = None) -> Vectors | SparseVectors:
        self.check()
        X = checks.vectors(X, self, None if like is None else like.values)
        scale = checks.length_scale(self.length_scale, X.shape[1])
        plain = overrides_nothing(self, Stationary)
        A = lay_out(scale_columns(X, scale)) if sparse.issparse(X) else _centred(X, scale, like, plain)
        if isinstance(A, SparseVectors) or X.shape[1] > FEW_COLUMNS:  # distances are differences of squared norms
            _require_range(A.squared_norms.max() < np.finfo(A.dtype).max / 4.0, A.dtype)
        return A

    def with_default_scales(self, X: Any, weights: np.ndarray | None = None) -> Kernel:
        if self.length_scale is not None:
            return clone(self)
        typical = hypot(*standard_deviations(self._rows(X), weights))
        return clone(self).set_params(length_scale=checks.default_scale(typical))

    def _rows(self, X: Any) -> Any:
        """The rows whose distances are computed, before division by length scales."""
        return checks.vectors(X, self)

    def fill(self, A: Any, B: Any, tile: np.ndarray) -> None:
        if A is B and isinstance(A, Vectors) and A.each_pair_once:
            self._fill_pairs(A, tile)
            return
        A.squared_distances(B, tile)
        self.phi(tile)

    def _fill_pairs(self, A: Vectors, tile: np.ndarray) -> None:
        """Compute the packed lower triangle at the front of the tile, then unpack it in place."""
        values = tile.reshape(1, -1)[:, : len(A) * (len(A) - 1) // 2]
        A.distances_within(values[0])
        self.phi(values)
        symmetric.unpack(values[0], self.diagonal(A), tile)

    @property
    def radial(self) -> Radial | None:  # type: ignore[override]
        fill, log = lambda A, B, tile: A.squared_distances(B, tile), getattr(self, "log_phi", None)
        return Radial(fill, self.squared_distance_in_H, log) if self.decreasing else None

    def squared_distance_in_H(self, s: np.ndarray) -> np.ndarray:
        """2 - 2 phi(s), which subclasses compute accurately where phi is nearly 1."""
        values = s.copy()
        self.phi(values)
        return 2.0 - 2.0 * values

    def diagonal(self, A: Any) -> np.ndarray:
        return np.ones(len(A), A.dtype)

    @property
    def of_squared_distance(self) -> bool:  # type: ignore[override]
        return type(self).prepare is Stationary.prepare and type(self).fill is Stationary.fill

    @property
    def compares_by(self) -> str | None:  # type: ignore[override]
        return "distances" if self.of_squared_distance else None

    @property
    def isotropic(self) -> bool:  # type: ignore[override]
        return self.of_squared_distance and np.ndim(self.length_scale) == 0

    def _weighted_dphi(self, A: Any, B: Any, W: np.ndarray) -> tuple[np.ndarray, Gradients, float]:
        """G = W phi'(s), the gradients of phi's own parameters, and sum_ij G_ij s_ij."""
        s = np.empty((len(A), len(B)), A.dtype)
        A.squared_distances(B, s)
        gradients = self.shape_gradients(s, W)
        G = s.copy()
        self.dphi(G)
        G *= W
        return G, gradients, float(np.vdot(G, s))

    def vjp(self, A: Any, B: Any, W: np.ndarray) -> Gradients:
        G, gradients, total = self._weighted_dphi(A, B, W)
        scale = checks.length_scale(self.length_scale, A.values.shape[1])
        if scale.ndim:
            total = A.second_moments(G.sum(axis=1)) + B.second_moments(G.sum(axis=0)) - 2.0 * A.cross_moments(B, G)
        return add_gradients(gradients, {"length_scale": -2.0 * total / scale})

    def input_vjp(self, A: Any, B: Any, W: np.ndarray) -> np.ndarray:
        G = self._weighted_dphi(A, B, W)[0]
        scale = checks.length_scale(self.length_scale, A.values.shape[1]).astype(A.dtype)
        return 2.0 * (A.weigh(G.sum(axis=1)) - B.combine(G)) / scale


class SquaredDistance(Stationary):
    r"""|x - y|^2 / length_scale^2, not a kernel itself, but what stationary kernels are functions of."""

    definite = False

    def __init__(self, length_scale: Any = None):
        self.length_scale = length_scale

    def phi(self, s: np.ndarray) -> None:
        """Leave s as it is."""

    def diagonal(self, A: Any) -> np.ndarray:
        return np.zeros(len(A), A.dtype)


def _centred(X: np.ndarray, scale: np.ndarray, like: Vectors | None, plain: bool = False) -> Vectors:
    """Rows minus a centre (the same on both sides), so that distances far from the origin keep their digits."""
    raw, dtype, scale = np.ascontiguousarray(X), X.dtype, np.full(X.shape[1], scale)
    exponents = np.frexp(scale)[1]
    unit: Any = 1.0
    if np.abs(exponents).max() > np.finfo(dtype).maxexp // 4:  # squares might over- or underflow
        unit = np.ldexp(1.0, exponents)  # exact powers of two
        with np.errstate(over="ignore"):
            raw, scale = (raw / unit).astype(dtype), scale / unit
        _require_range(checks.are_finite(raw), dtype)
    if like is None:
        shift = np.empty(len(scale), dtype)
        squared_distances.centres(raw, shift)
    else:
        shift = (np.asarray(like.shift) / unit).astype(dtype, copy=False)
    values, squares = np.empty_like(raw), np.empty(len(raw), dtype)
    squared_distances.shift_and_scale(raw, shift, scale.astype(dtype, copy=False), values, squares)
    shift = (shift * unit).astype(dtype, copy=False)
    inverse = (1.0 / (scale * scale)).astype(dtype, copy=False)
    return Vectors(values, squares, raw=raw, shift=shift, inverse=inverse, plain=plain)


def _require_range(inside: Any, dtype: np.dtype) -> None:
    if not inside:
        more = ", float64 inputs" if dtype == np.float32 else ""
        raise ValueError(
            f"Squared distances of inputs over length_scale overflow {dtype}; scale the inputs, or use a larger "
            f"length_scale{more}."
        )


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

    decreasing = True
    cheap = True
    law = laws.Normal()
    separated = separated.of_rbf

    def __init__(self, length_scale: Any = None):
        self.length_scale = length_scale

    def phi(self, s: np.ndarray) -> None:
        radial.exponential(s, 0.5)

    def residuals(self, A: Any, B: Any) -> Any:
        return radial_sums.residuals(A, B, np.inf) if type(self).phi is RBF.phi else None

    def dphi(self, s: np.ndarray) -> None:
        radial.exponential(s, 0.5)
        s *= -0.5

    def squared_distance_in_H(self, s: np.ndarray) -> np.ndarray:
        return -2.0 * np.expm1(-0.5 * s)

    def log_phi(self, s: np.ndarray) -> np.ndarray:
        return -0.5 * s


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

    decreasing = True
    law = laws.Student()
    separated = separated.of_matern

    def __init__(self, length_scale: Any = None, nu: float = 1.5):
        self.length_scale = length_scale
        self.nu = nu

    @property
    def cheap(self) -> bool:  # type: ignore[override]
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
            s[...] = bessel(np.sqrt(2.0 * self.nu * s, dtype=np.float64), self.nu)

    def residuals(self, A: Any, B: Any) -> Any:
        return radial_sums.residuals(A, B, self.nu) if type(self).phi is Matern.phi else None

    def log_phi(self, s: np.ndarray) -> np.ndarray:
        if self.nu == np.inf:
            return -0.5 * s
        r = np.sqrt(2.0 * self.nu * s)
        if self.nu == 0.5:
            return -r
        if self.nu == 1.5:
            return np.log1p(r) - r
        if self.nu == 2.5:
            return np.log1p(r + r * r / 3.0) - r
        near, far = np.minimum(r, 100.0), np.maximum(r, 100.0)  # beyond, K_nu(r) may underflow, but not exp(r) K_nu(r)
        ends = np.log(special.kve(self.nu, far)) - far + self.nu * np.log(0.5 * far) + np.log(2.0)
        return np.where(r < 100.0, np.log(bessel(near, self.nu)), ends - special.gammaln(self.nu))

    def dphi(self, s: np.ndarray) -> None:
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
            s[...] = self._bessel_slope(r.astype(np.float64))  # (r^nu K_nu)' = -r^nu K_(nu-1) and ds = r dr / nu

    def _bessel_slope(self, r: np.ndarray) -> np.ndarray:
        if self.nu > 1:
            return -0.5 * self.nu / (self.nu - 1.0) * bessel(r, self.nu - 1.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            constant = 2.0 ** (1.0 - self.nu) / special.gamma(self.nu)
            slope = -self.nu * constant * r ** (self.nu - 1.0) * special.kv(1.0 - self.nu, r)
        return np.where(r > 0, slope, 0.0)


class RationalQuadratic(Stationary):
    r"""k(x, y) = (1 + |x - y|^2 / (2 mixture length_scale^2))^(-mixture), a mixture of RBF kernels.

    Parameters
    ----------
    length_scale : float, array of shape (n_columns,) or None
    mixture : float
        Small for a wide mixture of length scales; in the limit of infinity this is the RBF kernel.
    """

    decreasing = True
    law = laws.Mixture()
    separated = separated.of_rational_quadratic

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

    def dphi(self, s: np.ndarray) -> None:
        self._power(s, self.mixture + 1.0)
        s *= -0.5

    def log_phi(self, s: np.ndarray) -> np.ndarray:
        return -self.mixture * np.log1p(s * (0.5 / self.mixture))

    def shape_gradients(self, s: np.ndarray, W: np.ndarray) -> Gradients:
        t = s / (2.0 * self.mixture)
        derivative = t / (1.0 + t) - np.log1p(t)
        values = s.copy()
        self.phi(values)
        values *= derivative
        return {"mixture": np.vdot(W, values)}


class Laplacian(Kernel):
    r"""k(x, y) = exp(-sum_f |x_f - y_f| / length_scale_f), with the sum of absolute differences as the distance.

    Matern(nu=0.5) is the same with the Euclidean distance.

    Parameters
    ----------
    length_scale : float, array of shape (n_columns,) or None
    """

    law = laws.Cauchy()
    separated = separated.of_laplacian

    def __init__(self, length_scale: Any = None):
        self.length_scale = length_scale

    def prepare(self, X: Any, like: Any = None) -> Vectors | SparseVectors:
        X = checks.vectors(X, self, None if like is None else like.values)
        scale = checks.length_scale(self.length_scale, X.shape[1])
        return lay_out(scale_columns(X, scale)) if sparse.issparse(X) else _centred(X, scale, like)

    def with_default_scales(self, X: Any, weights: np.ndarray | None = None) -> Kernel:
        if self.length_scale is not None:
            return clone(self)
        typical = float(standard_deviations(checks.vectors(X, self), weights).sum())
        return clone(self).set_params(length_scale=checks.default_scale(typical))

    def fill(self, A: Any, B: Any, tile: np.ndarray) -> None:
        A.absolute_differences(B, tile)
        radial.exponential(tile, 1.0)

    @property
    def radial(self) -> Radial:  # type: ignore[override]
        return Radial(lambda A, B, tile: A.absolute_differences(B, tile), lambda d: -2.0 * np.expm1(-d), lambda d: -d)

    def diagonal(self, A: Any) -> np.ndarray:
        return np.ones(len(A), A.dtype)

    def vjp(self, A: Any, B: Any, W: np.ndarray) -> Gradients:
        G = W * new_tile(self, A, B)
        A, B = A.dense(), B.dense()
        scale = checks.length_scale(self.length_scale, A.values.shape[1])
        sums = [np.vdot(G, np.abs(np.subtract.outer(a, b))) for a, b in zip(A.columns, B.columns, strict=True)]
        by_scale = np.array(sums) / scale
        return {"length_scale": by_scale if scale.ndim else by_scale.sum()}

    def input_vjp(self, A: Any, B: Any, W: np.ndarray) -> np.ndarray:
        G = W * new_tile(self, A, B)
        A, B = A.dense(), B.dense()
        scale = checks.length_scale(self.length_scale, A.values.shape[1]).astype(A.dtype)
        signs = [
            np.einsum("ij,ij->i", G, np.sign(np.subtract.outer(a, b)))
            for a, b in zip(A.columns, B.columns, strict=True)
        ]
        return -np.stack(signs, axis=1) / scale
