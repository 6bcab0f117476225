"""Probabilities from the decision values of support vector machines."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from scipy.linalg import lapack
from scipy.special import expit

from representer import _parallel
from representer.gram.tiled import Gram
from representer.problems.box import BoxProblem
from representer.result import Result

BOUND_ROWS = 64
"""Support vectors at a bound whose leave-one-out scores are computed at once."""


@dataclass(frozen=True)
class Sigmoid:
    """P(y = 1 | s) = 1 / (1 + exp(-(slope s + offset))): Platt's calibration of scores s."""

    slope: float
    offset: float

    def __call__(self, scores: np.ndarray) -> np.ndarray:
        return expit(self.slope * scores + self.offset)

    @classmethod
    def fit(cls, scores: np.ndarray, positive: np.ndarray, weights: np.ndarray) -> Sigmoid:
        """The maximum-likelihood sigmoid, by Newton's method with step halving.

        Targets are (N+ + 1) / (N+ + 2) and 1 / (N- + 2) instead of 1 and 0, following Platt, so that separated classes
        give a finite slope.
        """
        high, low = weights[positive].sum(), weights[~positive].sum()
        targets = np.where(positive, (high + 1.0) / (high + 2.0), 1.0 / (low + 2.0))
        design = np.stack([scores, np.ones_like(scores)], axis=1)
        at = np.array([0.0, np.log((high + 1.0) / (low + 1.0))])

        def loss(theta: np.ndarray) -> float:
            z = design @ theta
            return float(weights @ (np.logaddexp(0.0, z) - targets * z))

        for _ in range(100):
            p = expit(design @ at)
            gradient = design.T @ (weights * (p - targets))
            hessian = (design.T * (weights * p * (1.0 - p))) @ design + 1e-12 * np.eye(2)
            step, factor = np.linalg.solve(hessian, gradient), 1.0
            while loss(at - factor * step) > loss(at) and factor > 1e-10:
                factor *= 0.5
            at = at - factor * step
            if np.abs(gradient).max() < 1e-8 * weights.sum():
                break
        if at[0] < 0.0:  # scores that point the wrong way carry no information
            return cls(0.0, float(np.log((high + 1.0) / (low + 1.0))))
        return cls(float(at[0]), float(at[1]))


def coupled(pairs: np.ndarray, n_classes: int) -> np.ndarray:
    """Class probabilities p from pairwise ones, r_ab = P(a | a or b): the second method of Wu, Lin and Weng.

    p minimises sum_ab (r_ba p_a - r_ab p_b)^2 with sum p = 1, which is one linear system for each sample.
    """
    n = len(pairs)
    system = np.zeros((n, n_classes + 1, n_classes + 1))
    for s, (a, b) in enumerate(combinations(range(n_classes), 2)):
        r = np.clip(pairs[:, s], 1e-7, 1.0 - 1e-7)
        system[:, a, a] += (1.0 - r) ** 2
        system[:, b, b] += r**2
        system[:, a, b] -= r * (1.0 - r)
        system[:, b, a] -= r * (1.0 - r)
    system[:, -1, :-1] = system[:, :-1, -1] = 1.0
    right = np.zeros((n, n_classes + 1, 1))
    right[:, -1] = 1.0
    p = np.maximum(np.linalg.solve(system, right)[:, :-1, 0], 0.0)
    return p / p.sum(axis=1, keepdims=True)


def left_out(problem: BoxProblem, result: Result) -> np.ndarray:
    """Leave-one-out values f(x_i), for each i, from one linear system: Vapnik and Chapelle's span rule.

    Without x_i the value at x_i falls by c_i S_i^2, where S_i is the distance in H of k(x_i, .) from the span of the
    free support vectors; exact as long as no other coefficient reaches or leaves a bound. Where c_i = 0, nothing
    changes.
    """
    c, K = result.coef, problem.gram.astype(np.float64)
    free = np.flatnonzero((c > problem.lower) & (c < problem.upper) & (c != 0.0))
    bound = np.setdiff1d(np.flatnonzero(c), free)
    diagonal = K.diag().astype(np.float64)
    out = np.array(result.applied)
    if not len(free):
        out[bound] -= c[bound] * diagonal[bound]
        return out
    # the inverse of the bordered matrix [[K, G], [G', 0]] by K = LL', U = L^(-1) G and the inverse of U'U
    L = PackedCholesky(K.take(free), diagonal[free].mean())
    U = L.solve(_members(problem, free))
    inner = np.linalg.pinv(U.T @ U, rcond=1e-12, hermitian=True)
    for part in np.array_split(bound, 1 + len(bound) // BOUND_ROWS):
        rows = L.solve(K.block(free, part).astype(np.float64, copy=False))
        rest = rows.T @ U - _members(problem, part)
        spanned = np.einsum("ij,ij->j", rows, rows) - np.einsum("ij,ij->i", rest @ inner, rest)
        out[part] -= c[part] * np.maximum(diagonal[part] - spanned, 0.0)
    shared = L.solve(U, transposed=True)
    # a single free support vector leaves no span that could replace it
    precision = np.maximum(L.inverse_diagonal() - np.einsum("ij,ij->i", shared @ inner, shared), 0.0)
    lone = precision * diagonal[free] <= 1e-8
    out[free] -= c[free] * np.where(lone, diagonal[free], 1.0 / np.where(lone, 1.0, precision))
    return out


def _members(problem: BoxProblem, index: np.ndarray) -> np.ndarray:
    """G: one column per group, with ones for its members among these coefficients."""
    return (problem.group_of[index][:, None] == np.unique(problem.group_of)).astype(np.float64)


class PackedCholesky:
    """L with LL' = K, in the memory of half a float64 matrix: LAPACK's rectangular full packed format.

    With K = [[A, B'], [B, D]] of an even size 2h, its 2h + 1 rows and h columns hold the lower triangle of A, and B,
    below the first row, and the upper triangle of D above them. An odd size is padded with one row of the identity.
    Where K is indefinite, by rounding or because its kernel is, its diagonal is raised by a fraction of ``size``.
    """

    def __init__(self, K: Gram, size: float):
        self.n, self.half = len(K), (len(K) + 1) // 2
        most = -2.0 if K.kernel.definite else 2.0  # an indefinite kernel may need more than rounding
        for raised in 10.0 ** np.arange(-10.0, most):
            packed = self._packed(K, raised * size).ravel(order="F")
            self._factor, failed = lapack.dpftrf(2 * self.half, packed, uplo="L", overwrite_a=1)
            if not failed:
                return
        raise np.linalg.LinAlgError("The kernel matrix is far from positive semidefinite; see representer.psd.report.")

    def _packed(self, K: Gram, raised: float) -> np.ndarray:
        """The lower triangle of K."""
        n, h, shape = self.n, self.half, _parallel.tile_shape(np.dtype(np.float64))
        out = np.zeros((2 * h + 1, h), order="F")

        def visit(run: Any) -> None:
            for i, j, values in run:
                part = out[i.start + 1 : i.stop + 1, j]
                if j.start >= h:
                    part = out[j.start - h : j.stop - h, i.start - h : i.stop - h].T
                np.copyto(part, values, where=np.arange(i.start, i.stop)[:, None] >= np.arange(j.start, j.stop))

        rows, columns = (_halves(h, n, size) for size in shape)
        for _ in K.map_tiles(visit, tiles=[(i, j) for i in rows for j in columns if j.start < i.stop]):
            pass
        diagonal = np.ones(2 * h)
        diagonal[:n] = K.diag() + raised
        out[np.arange(1, h + 1), np.arange(h)], out[np.arange(h), np.arange(h)] = diagonal[:h], diagonal[h:]
        return out

    def solve(self, B: np.ndarray, transposed: bool = False) -> np.ndarray:
        """L^(-1) B, or L'^(-1) B."""
        padded = np.zeros((2 * self.half, B.shape[1]), order="F")
        padded[: self.n] = B
        return lapack.dtfsm(1.0, self._factor, padded, uplo="L", trans="T" if transposed else "N", overwrite_b=1)[
            : self.n
        ]

    def inverse_diagonal(self) -> np.ndarray:
        """The diagonal of K^(-1), computed in the memory of L, which is overwritten."""
        h = self.half
        inverse = lapack.dpftri(2 * h, self._factor, uplo="L", overwrite_a=1)[0].reshape(2 * h + 1, h, order="F")
        return np.append(inverse.diagonal(-1), inverse.diagonal())[: self.n]


def _halves(h: int, n: int, size: int) -> list[slice]:
    """Slices of at most this size that cover 0:h and then h:n."""
    return _parallel.split(h, size) + [slice(h + s.start, h + s.stop) for s in _parallel.split(n - h, size)]
