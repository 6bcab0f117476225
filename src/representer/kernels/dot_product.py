"""Kernels of the inner product: k(x, y) = phi(s), s = sum_f x_f y_f / length_scale_f^2, and of the angle.

A kernel defines phi and its derivative on a tile of s, in place.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from representer.kernels import checks, laws, separated
from representer.kernels.base import CountSlopes, Gradients, Kernel, Radial, ScalarForm, add_gradients, raise_to
from representer.kernels.basis import Basis, Columns
from representer.kernels.named_features import Features, NamedFeatures
from representer.kernels.prepared import (
    SparseVectors,
    Vectors,
    directions,
    lay_out,
    overrides_nothing,
    scale_columns,
)
from representer.kernels.tiles import new_tile


class DotProduct(ScalarForm, Kernel):
    """Base of the family: products, gradients and sparse inputs, implemented once."""

    of_inner_product = True
    compares_by = "products"
    length_scale: Any = None

    def prepare(self, X: Any, like: Any = None) -> Vectors | SparseVectors:
        self.check()
        X = checks.vectors(X, self, None if like is None else like.values)
        A = lay_out(scale_columns(X, checks.length_scale(self.length_scale, X.shape[1])))
        checks.no_overflow(A.squared_norms, self)
        checks.no_overflow(self.diagonal(A), self)  # bounds values between different inputs
        return replace(A, plain=overrides_nothing(self, DotProduct)) if isinstance(A, Vectors) else A

    def fill(self, A: Any, B: Any, tile: np.ndarray) -> None:
        A.products(B, tile)
        self.phi(tile)

    def diagonal(self, A: Any) -> np.ndarray:
        s = A.squared_norms.copy()
        with np.errstate(over="ignore"):
            self.phi(s)
        return s

    def _weighted_dphi(self, A: Any, B: Any, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """G = W phi'(s), and s."""
        s = np.empty((len(A), len(B)), A.dtype)
        A.products(B, s)
        G = s.copy()
        self.dphi(G)
        G *= W
        return G, s

    def vjp(self, A: Any, B: Any, W: np.ndarray) -> Gradients:
        G, s = self._weighted_dphi(A, B, W)
        gradients = self.shape_gradients(s, W)
        if "length_scale" in vars(self):  # the class default None is not a hyper-parameter
            scale = checks.length_scale(self.length_scale, A.values.shape[1])
            total = A.cross_moments(B, G) if scale.ndim else np.vdot(G, s)
            add_gradients(gradients, {"length_scale": -2.0 * total / scale})
        return gradients

    def input_vjp(self, A: Any, B: Any, W: np.ndarray) -> np.ndarray:
        G, _ = self._weighted_dphi(A, B, W)
        return B.combine(G) / checks.length_scale(self.length_scale, A.values.shape[1]).astype(A.dtype)


class Linear(DotProduct):
    """k(x, y) = sum_f x_f y_f / length_scale_f^2.

    Parameters
    ----------
    length_scale : float, array of shape (n_columns,) or None
        None stands for 1.
    """

    linear = True
    separated = separated.of_linear

    def __init__(self, length_scale: Any = None):
        self.length_scale = length_scale

    @property
    def radial(self) -> Radial:  # type: ignore[override]
        return Radial(lambda A, B, tile: A.squared_distances(B, tile), lambda s: s)

    @property
    def features(self) -> Features:
        return Features(self._named_features)

    def _named_features(self, X: Any) -> NamedFeatures:
        names = list(map(str, X.columns)) if hasattr(X, "columns") else None
        rows: Any = self.prepare(X).values
        return NamedFeatures(
            sparse.csr_array(rows), lambda columns: [names[c] if names else f"x{c}" for c in columns.tolist()]
        )

    def phi(self, s: np.ndarray) -> None:
        """Leave s as it is."""

    def dphi(self, s: np.ndarray) -> None:
        s[...] = 1.0

    def vjp(self, A: Any, B: Any, W: np.ndarray) -> Gradients:
        by_column = A.cross_moments(B, W)  # no tile of inner products is needed
        scale = checks.length_scale(self.length_scale, A.values.shape[1])
        return {"length_scale": -2.0 * (by_column if scale.ndim else float(by_column.sum())) / scale}

    def basis(self, X: Any) -> Basis:
        return Columns(self, self.prepare(X[:1]))

    def feature_rows(self, A: Any) -> Any:
        """The rows divided by the length scales."""
        return A.values

    def with_features(self, W: np.ndarray) -> np.ndarray:
        """Inputs that have these features."""
        return W * checks.length_scale(self.length_scale, W.shape[1])


class Polynomial(DotProduct):
    """k(x, y) = (offset + s)^degree, s = sum_f x_f y_f / length_scale_f^2.

    Parameters
    ----------
    degree : int
    offset : float
        Positive for all monomials up to the degree, zero for those of exactly this degree.
    length_scale : float, array of shape (n_columns,) or None
        None stands for 1.
    """

    law = laws.Monomials()

    def __init__(self, degree: int = 3, offset: float = 1.0, length_scale: Any = None):
        self.degree = degree
        self.offset = offset
        self.length_scale = length_scale

    @property
    def definite(self) -> bool:  # type: ignore[override]
        return self.offset >= 0

    def check(self) -> None:
        checks.integer(self.degree, "degree")
        checks.real(self.offset, "offset")

    def phi(self, s: np.ndarray) -> None:
        raise_to(s, self.degree, self.offset)

    def dphi(self, s: np.ndarray) -> None:
        raise_to(s, self.degree - 1, self.offset)
        s *= self.degree

    def shape_gradients(self, s: np.ndarray, W: np.ndarray) -> Gradients:
        values = s.copy()
        self.dphi(values)
        return {"offset": np.vdot(W, values)}


class Sigmoid(DotProduct):
    """k(x, y) = tanh(scale <x, y> + offset).

    It is NOT positive semidefinite and says so: ``Sigmoid().definite`` is False, and norms in its space raise an error.

    Parameters
    ----------
    scale : float
    offset : float
    """

    definite = False

    def __init__(self, scale: float = 1.0, offset: float = 0.0):
        self.scale = scale
        self.offset = offset

    def check(self) -> None:
        checks.real(self.scale, "scale")
        checks.real(self.offset, "offset")

    def phi(self, s: np.ndarray) -> None:
        s *= self.scale
        s += self.offset
        np.tanh(s, out=s)

    def dphi(self, s: np.ndarray) -> None:
        self._outer_derivative(s)
        s *= self.scale

    def _outer_derivative(self, s: np.ndarray) -> None:
        self.phi(s)
        s *= -s
        s += 1.0

    def shape_gradients(self, s: np.ndarray, W: np.ndarray) -> Gradients:
        weights = s.copy()
        self._outer_derivative(weights)
        weights *= W
        return {"scale": np.vdot(weights, s), "offset": weights.sum()}


class Cosine(Kernel):
    """k(x, y) = <x, y> / (|x| |y|), the cosine of the angle; zero where a row is zero."""

    compares_by = "products"

    def prepare(self, X: Any, like: Any = None) -> Vectors | SparseVectors:
        return directions(checks.vectors(X, self, None if like is None else like.values))

    def fill(self, A: Any, B: Any, tile: np.ndarray) -> None:
        A.products(B, tile)

    def diagonal(self, A: Any) -> np.ndarray:
        return (A.norms > 0).astype(A.dtype)

    def vjp(self, A: Any, B: Any, W: np.ndarray) -> Gradients:
        return {}

    def count_slopes(self, A: Any, B: Any, W: np.ndarray) -> CountSlopes:
        a, b = (np.divide(1.0, rows.norms, out=np.zeros_like(rows.norms), where=rows.norms > 0) for rows in (A, B))
        WK = W * new_tile(self, A, B)
        return W * a[:, None] * b, -0.5 * a**2 * WK.sum(axis=1), -0.5 * b**2 * WK.sum(axis=0)

    def input_vjp(self, A: Any, B: Any, W: np.ndarray) -> np.ndarray:
        inverse = np.divide(1.0, A.norms, out=np.zeros_like(A.norms), where=A.norms > 0)
        along = np.einsum("ij,ij->i", W, new_tile(self, A, B))
        return (B.combine(W) - A.weigh(along)) * inverse[:, None]


class ArcCosine(Kernel):
    r"""k(x, y) = |x|^n |y|^n J_n(theta) / pi, where theta is the angle between x and y.

    It is the kernel of a layer of infinitely many rectified units. J_0 = pi - theta, J_1 = sin theta + (pi - theta) cos
    theta, J_2 = 3 sin theta cos theta + (pi - theta)(1 + 2 cos^2 theta).

    Parameters
    ----------
    order : {0, 1, 2}
        The power n of the units: steps, ramps, or squared ramps.

    References
    ----------
    Cho and Saul, Kernel methods for deep learning, NeurIPS 2009.
    """

    law = laws.Arcs()

    def __init__(self, order: int = 1):
        self.order = order

    def prepare(self, X: Any, like: Any = None) -> Vectors | SparseVectors:
        if self.order not in (0, 1, 2):
            raise ValueError(f"order is {self.order!r}; ArcCosine has the orders 0, 1 and 2.")
        A = directions(checks.vectors(X, self, None if like is None else like.values))
        checks.no_overflow(self.diagonal(A), self)
        return A

    def _angles(self, A: Any, B: Any, tile: np.ndarray) -> None:
        """tile <- theta from the chord |u - v| = 2 sin(theta / 2).

        This keeps the digits of small angles, where the cosine loses half of them.
        """
        A.squared_distances(B, tile)
        opposite = tile > 3.9
        np.sqrt(tile, out=tile)
        tile *= 0.5
        np.arcsin(np.minimum(tile, 1.0, out=tile), out=tile)
        tile *= 2.0
        if np.any(opposite):  # near pi the chord from x to -y keeps the digits
            to_opposite = np.empty_like(tile)
            A.squared_distances(B.negated(), to_opposite)
            tile[opposite] = np.pi - 2.0 * np.arcsin(np.minimum(0.5 * np.sqrt(to_opposite[opposite]), 1.0))
        tile[A.norms == 0] = np.pi / 2
        tile[:, B.norms == 0] = np.pi / 2

    def _values(self, theta: np.ndarray, size: np.ndarray, order: int) -> np.ndarray:
        if order == 0:
            return 1.0 - theta / np.pi
        if order == 1:
            return size * (np.sin(theta) + (np.pi - theta) * np.cos(theta)) / np.pi
        cosine = np.cos(theta)
        return size**2 * (3.0 * np.sin(theta) * cosine + (np.pi - theta) * (1.0 + 2.0 * cosine**2)) / np.pi

    def fill(self, A: Any, B: Any, tile: np.ndarray) -> None:
        self._angles(A, B, tile)
        size = np.multiply.outer(A.norms, B.norms) if self.order else np.ones(1)  # may overflow where it is not used
        tile[...] = self._values(tile, size, self.order)

    def diagonal(self, A: Any) -> np.ndarray:
        with np.errstate(over="ignore"):
            return self._values(np.where(A.norms > 0, 0.0, np.pi / 2), A.norms**2, self.order).astype(A.dtype)

    def vjp(self, A: Any, B: Any, W: np.ndarray) -> Gradients:
        return {}

    def input_vjp(self, A: Any, B: Any, W: np.ndarray) -> np.ndarray:
        theta = np.empty((len(A), len(B)), A.dtype)
        self._angles(A, B, theta)
        size = np.multiply.outer(A.norms, B.norms)
        if self.order == 0:
            slope = np.zeros_like(theta)  # of k with respect to <x, y>; none where x and y are parallel
            np.divide(1.0 / np.pi, size * np.sin(theta), out=slope, where=(theta > 0) & (size > 0))
        else:
            slope = self.order**2 * self._values(theta, size, self.order - 1)
        slope *= W
        # k is homogeneous of degree n in x, which gives the part along x
        along = self.order * W * self._values(theta, size, self.order) - slope * size * np.cos(theta)
        inverse = np.divide(1.0, A.norms, out=np.zeros_like(A.norms), where=A.norms > 0)
        return B.combine(slope * B.norms) + A.weigh(along.sum(axis=1) * inverse)
