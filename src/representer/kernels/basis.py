"""The interface of a basis: psi_1, ..., psi_m in H, whose span with H's norm has the kernel k^ = psi' M^+ psi.

M_ij = <psi_i, psi_j> is the metric, and R with R' M R = I its inverse root, so that phi = R' psi are orthonormal and k^
= phi' phi. A kernel of finite rank by construction has a basis (`Kernel.basis`), and problems with it are solved in m
dimensions.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import lapack, solve_triangular

from representer._loops import products

DEPENDENT = 10.0
"""Smallest pivot of M, in units of m eps times the largest, whose function is linearly independent of the others."""
PART_OF_HEAD = 24
"""One in this many functions is projected out of the others where sums of products must keep their digits."""


@dataclass(frozen=True)
class Points:
    """Elements of H as inputs of k^, given by coordinates in an orthonormal basis: k^(x, p) = <phi(x), p>."""

    coordinates: np.ndarray

    def __len__(self) -> int:
        return len(self.coordinates)

    def followed_by(self, other: Any) -> Points:
        """These elements, followed by the others."""
        if not isinstance(other, Points):
            raise TypeError("Functions on coordinates and on inputs are not combined; add up their values instead.")
        return Points(np.concatenate([self.coordinates, other.coordinates]))


@dataclass(frozen=True)
class Both:
    """Inputs of two kernels side by side: the same ones prepared for two bases, or parts of points of a sum."""

    left: Any
    right: Any

    def __len__(self) -> int:
        return len(self.left)

    def __getitem__(self, index: Any) -> Both:
        return Both(self.left[index], self.right[index])


class Basis:
    """psi_1, ..., psi_m. Subclasses define the attributes, `prepare`, `fill`, `astype` and `points`."""

    kernel: Any
    """k^."""
    size: int
    """m."""
    dtype: Any
    """The precision of the values."""
    root: np.ndarray | None = None
    """R of shape (m, rank), in float64; None where psi are orthonormal."""

    @property
    def rank(self) -> int:
        """The dimension of the span."""
        return self.size if self.root is None else self.root.shape[1]

    def prepare(self, X: Any) -> Any:
        """Inputs prepared for `fill`."""
        raise NotImplementedError

    def fill(self, A: Any, tile: np.ndarray) -> None:
        """tile_ij <- psi_j(a_i), for a slice of prepared inputs; the tile is C-contiguous and of the basis's dtype."""
        raise NotImplementedError

    def residuals(self, A: Any) -> Any:
        """A compiled loop over rows of these prepared inputs, as in `Kernel.residuals`; None where there is none."""
        return None

    def astype(self, dtype: Any) -> Basis:
        """The same functions, computed in another precision; the same object where that is not supported."""
        return self

    def deflated(self) -> Basis:
        """The same span and phi, by functions whose sums of products keep more digits; the same object without any."""
        return self

    def bare(self) -> Basis:
        """The same functions without their root, for sums of the functions alone."""
        return self

    def points(self, W: np.ndarray) -> Any:
        """Inputs p of k^ with <phi(x), W_i> = k^(x, p_i)."""
        return Points(W)

    def representers(self, w: np.ndarray) -> tuple[Any, Any, np.ndarray]:
        """Kernel, inputs and coefficients of f = sum_j w_j phi_j, for a vector or several columns w."""
        W = np.atleast_2d(w.T)
        return self.kernel, self.points(W), np.ones(1) if w.ndim == 1 else np.eye(len(W))


@dataclass(frozen=True)
class Columns(Basis):
    """The feature columns of a kernel k(x, y) = <phi(x), phi(y)>."""

    kernel: Any
    like: Any
    """Prepared inputs, in whose layout others are prepared."""

    @property
    def size(self) -> int:  # type: ignore[override]
        return self.kernel.feature_rows(self.like).shape[1]

    @property
    def dtype(self) -> Any:
        return self.like.dtype

    def prepare(self, X: Any) -> Any:
        return self.kernel.prepare(X, like=self.like)

    def fill(self, A: Any, tile: np.ndarray) -> None:
        values = self.kernel.feature_rows(A)
        tile[...] = values.toarray() if hasattr(values, "toarray") else values

    def points(self, W: np.ndarray) -> Any:
        return self.kernel.with_features(W)


@dataclass(frozen=True)
class Concatenated(Basis):
    """The bases of two kernels concatenated: the basis of their sum."""

    kernel: Any
    left: Basis
    right: Basis

    @property
    def size(self) -> int:  # type: ignore[override]
        return self.left.size + self.right.size

    @property
    def dtype(self) -> Any:
        return np.result_type(self.left.dtype, self.right.dtype)

    @property
    def root(self) -> np.ndarray | None:  # type: ignore[override]
        if self.left.root is None and self.right.root is None:
            return None
        out = np.zeros((self.size, self.left.rank + self.right.rank))
        for part, at, to in ((self.left, 0, 0), (self.right, self.left.size, self.left.rank)):
            out[at : at + part.size, to : to + part.rank] = np.eye(part.size) if part.root is None else part.root
        return out

    def prepare(self, X: Any) -> Any:
        return Both(self.left.prepare(X), self.right.prepare(X))

    def fill(self, A: Any, tile: np.ndarray) -> None:
        for part, inputs, at in ((self.left, A.left, 0), (self.right, A.right, self.left.size)):
            values = np.empty((len(tile), part.size), part.dtype)
            part.fill(inputs, values)
            tile[:, at : at + part.size] = values

    def astype(self, dtype: Any) -> Concatenated:
        return Concatenated(self.kernel, self.left.astype(dtype), self.right.astype(dtype))

    def deflated(self) -> Concatenated:
        return Concatenated(self.kernel, self.left.deflated(), self.right.deflated())

    def bare(self) -> Concatenated:
        return Concatenated(self.kernel, self.left.bare(), self.right.bare())

    def points(self, W: np.ndarray) -> Any:
        return Both(self.left.points(W[:, : self.left.rank]), self.right.points(W[:, self.left.rank :]))


@dataclass(frozen=True)
class Rescaled(Basis):
    """The basis of a kernel times a factor: the same psi, whose squared norms are those of the part over the factor."""

    kernel: Any
    part: Basis
    factor: float

    @property
    def size(self) -> int:  # type: ignore[override]
        return self.part.size

    @property
    def dtype(self) -> Any:
        return self.part.dtype

    @property
    def root(self) -> np.ndarray:  # type: ignore[override]
        return np.sqrt(self.factor) * (np.eye(self.size) if self.part.root is None else self.part.root)

    def prepare(self, X: Any) -> Any:
        return self.part.prepare(X)

    def fill(self, A: Any, tile: np.ndarray) -> None:
        self.part.fill(A, tile)

    def residuals(self, A: Any) -> Any:
        return self.part.residuals(A)

    def astype(self, dtype: Any) -> Rescaled:
        return Rescaled(self.kernel, self.part.astype(dtype), self.factor)

    def deflated(self) -> Rescaled:
        return Rescaled(self.kernel, self.part.deflated(), self.factor)

    def bare(self) -> Basis:
        return self.part.bare()

    def points(self, W: np.ndarray) -> Any:
        return self.part.points(W / np.sqrt(self.factor))

    def representers(self, w: np.ndarray) -> tuple[Any, Any, np.ndarray]:
        kernel, X, coef = self.part.representers(w)
        return type(self.kernel)(kernel, self.factor), X, coef / np.sqrt(self.factor)


@dataclass(frozen=True)
class Centres(Basis):
    """psi_j = k(z_j, .), or combinations C of them: psi = C' k(Z, .), with M = C' k(Z, Z) C."""

    kernel: Any
    of: Any
    """k, in whose space H the functions are."""
    centres: Any
    like: Any
    """The centres as k has prepared them."""
    pivots: np.ndarray
    """The order in which the root is upper triangular: functions that span most come first."""
    root: Any
    combination: np.ndarray | None = None

    @classmethod
    def on(cls, kernel: Any, of: Any, centres: Any, combination: np.ndarray | None = None) -> Centres:
        """The basis of centres z_j, in their precision."""
        metric = of(widened(centres)).astype(np.float64)
        if combination is not None:
            metric = combination.T @ metric @ combination
        root, pivots = pivoted_root(metric)
        return cls(kernel, of, centres, of.prepare(centres), pivots, root, combination)

    @property
    def size(self) -> int:  # type: ignore[override]
        return len(self.like) if self.combination is None else self.combination.shape[1]

    @property
    def dtype(self) -> Any:
        return self.like.dtype

    def prepare(self, X: Any) -> Any:
        return self.of.prepare(X, like=self.like)

    def fill(self, A: Any, tile: np.ndarray) -> None:
        if self.combination is None:
            self.of.fill(A, self.like, tile)
            return
        values = np.empty((len(A), len(self.like)), A.dtype)
        self.of.fill(A, self.like, values)
        np.matmul(values, self.combination.astype(tile.dtype), out=tile)

    def residuals(self, A: Any) -> Any:
        found = self.of.residuals
        return None if found is None or self.combination is not None else found(A, self.like)

    def astype(self, dtype: Any) -> Centres:
        numbers = isinstance(self.centres, np.ndarray) and self.centres.dtype.kind == "f"
        if self.dtype == dtype or not numbers:
            return self
        like = self.of.prepare(self.centres.astype(dtype))
        return replace(self, like=like)

    def deflated(self) -> Deflated:
        return Deflated.of(self)

    def bare(self) -> Centres:
        return replace(self, kernel=None, root=None)

    def representers(self, w: np.ndarray) -> tuple[Any, Any, np.ndarray]:
        coef = self.root @ w
        return self.of, self.centres, coef if self.combination is None else self.combination @ coef


@dataclass(frozen=True)
class Deflated(Basis):
    """chi = psi - A' psi_h: a few functions h are orthonormalised, and their span is projected out of all others.

    Kernel values are positive and nearly equal, so that float32 sums of psi psi' lose the small differences that R' G R
    consists of. What the projection leaves is small where M is ill-conditioned: sums of chi chi' are nearly as precise
    as those of orthonormal functions, for a small fraction of the work.
    """

    part: Basis
    head: np.ndarray
    weights: np.ndarray
    """A', of shape (m, number of functions h), in the precision of the part."""
    root: Any

    @classmethod
    def of(cls, part: Centres) -> Deflated:
        """The functions h are the first pivots of the root."""
        order, R = part.pivots, part.root[part.pivots]
        r = -(-len(order) // PART_OF_HEAD)
        weights, root = np.zeros((part.size, r)), np.zeros_like(part.root)
        weights[order[:r]] = np.eye(r) - R[:r, :r].T
        weights[order[r:]] = -solve_triangular(R[r:, r:], R[:r, r:].T, trans="T", check_finite=False)
        root[order[:r], np.arange(r)] = 1.0
        root[np.ix_(order[r:], np.arange(r, len(order)))] = R[r:, r:]
        return cls(part, order[:r], weights.astype(part.dtype), root)

    @property
    def kernel(self) -> Any:
        return self.part.kernel

    @property
    def size(self) -> int:  # type: ignore[override]
        return self.part.size

    @property
    def dtype(self) -> Any:
        return self.part.dtype

    def prepare(self, X: Any) -> Any:
        return self.part.prepare(X)

    def fill(self, A: Any, tile: np.ndarray) -> None:
        self.part.fill(A, tile)
        products.subtract_product(tile.take(self.head, 1), self.weights, tile)

    def astype(self, dtype: Any) -> Basis:
        """In another precision the functions are not deflated, since the extra digits are not needed there."""
        return self if dtype == self.dtype else self.part.astype(dtype)

    def bare(self) -> Deflated:
        return replace(self, part=self.part.bare(), root=None)

    def points(self, W: np.ndarray) -> Any:
        return self.part.points(W)

    def representers(self, w: np.ndarray) -> tuple[Any, Any, np.ndarray]:
        return self.part.representers(w)


def widened(X: Any) -> Any:
    """Numbers of an array in float64, and anything else as it is."""
    return X.astype(np.float64) if isinstance(X, np.ndarray) and X.dtype.kind == "f" else X


def root_of(metric: np.ndarray) -> np.ndarray:
    """R with R' M R = I by pivoted Cholesky; functions that depend linearly on others are left out."""
    return pivoted_root(metric)[0]


def pivoted_root(metric: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """R with R' M R = I, and the pivots: the pivot rows of R are upper triangular, and the others are zero."""
    m = len(metric)
    least = DEPENDENT * m * np.finfo(np.float64).eps * max(float(metric.diagonal().max()), 0.0)
    L, pivots, rank, _ = lapack.dpstrf(metric, lower=1, tol=max(least, float(np.finfo(np.float64).tiny)))
    if not rank:
        raise ValueError("All functions of the basis are zero; choose other landmarks, or another kernel.")
    inverse, _ = lapack.dtrtri(L[:rank, :rank], lower=1)
    R, pivots = np.zeros((m, rank)), pivots[:rank] - 1
    R[pivots] = np.tril(inverse).T
    return R, pivots
