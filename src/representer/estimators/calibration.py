"""Probabilities from the values of support vector machines."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy import linalg
from scipy.special import expit

from representer.gram import Gram
from representer.problem import BoxProblem
from representer.solvers.box import BoxResult


@dataclass(frozen=True)
class Sigmoid:
    """P(y = 1 | s) = 1 / (1 + exp(-(slope s + offset))): Platt's calibration of scores s."""

    slope: float
    offset: float

    def __call__(self, scores: np.ndarray) -> np.ndarray:
        return expit(self.slope * scores + self.offset)

    @classmethod
    def fit(cls, scores: np.ndarray, positive: np.ndarray, weights: np.ndarray) -> Sigmoid:
        """The most likely sigmoid, by Newton's method with step halving.

        Targets are (N+ + 1) / (N+ + 2) and 1 / (N- + 2) instead of 1 and 0, as Platt has it, so that separated classes
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
        if at[0] < 0.0:  # scores that tell the opposite tell nothing
            return cls(0.0, float(np.log((high + 1.0) / (low + 1.0))))
        return cls(float(at[0]), float(at[1]))


def coupled(pairs: np.ndarray, n_classes: int) -> np.ndarray:
    """Probabilities p of all classes from those of pairs, r_ab = P(a | a or b): the second method of Wu, Lin and Weng.

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


def left_out(problem: BoxProblem, result: BoxResult) -> np.ndarray:
    """f(x_i) of the machine fitted without x_i, for each i, from one linear system: Vapnik and Chapelle's span rule.

    Without x_i the value at x_i falls by c_i S_i^2, where S_i is the distance in H of k(x_i, .) from the span of the
    free support vectors; exact as long as no other coefficient reaches or leaves a bound. Where c_i = 0, nothing
    changes.
    """
    c, values = result.coef, result.gradient + problem.targets
    free = np.flatnonzero((c > problem.lower) & (c < problem.upper) & (c != 0.0))
    bound = np.setdiff1d(np.flatnonzero(c), free)
    diagonal = problem.kernel.diagonal(problem.at(problem.exact, np.arange(problem.n))).astype(np.float64)
    out = values.copy()
    if not len(free):
        out[bound] -= c[bound] * diagonal[bound]
        return out
    # the inverse of the bordered matrix [[K, G], [G', 0]] by W'W = K^(-1), U = W G and the inverse of U'U
    W = _inverse_root(problem, free, diagonal[free].mean())
    U = W @ _members(problem, free)
    inner = np.linalg.pinv(U.T @ U, rcond=1e-12, hermitian=True)
    shared = W.T @ U
    # a lone free support vector spans nothing that could replace it
    precision = np.maximum(np.einsum("ij,ij->j", W, W) - np.einsum("ij,ij->i", shared @ inner, shared), 0.0)
    lone = precision <= 1e-8 / diagonal[free]
    out[free] -= c[free] * np.where(lone, diagonal[free], 1.0 / np.where(lone, 1.0, precision))
    at_free = problem.at(problem.exact, free)
    for part in np.array_split(bound, 1 + len(bound) // 2048):
        rows = problem.kernel.block(problem.at(problem.exact, part), at_free, threads=problem.threads) @ W.T
        rest = rows @ U - _members(problem, part)
        spanned = np.einsum("ij,ij->i", rows, rows) - np.einsum("ij,ij->i", rest @ inner, rest)
        out[part] -= c[part] * np.maximum(diagonal[part] - spanned, 0.0)
    return out


def _members(problem: BoxProblem, index: np.ndarray) -> np.ndarray:
    """G: a column for each group, with ones for its members among some coefficients."""
    return (problem.group_of[index][:, None] == np.unique(problem.group_of)).astype(np.float64)


def _inverse_root(problem: BoxProblem, free: np.ndarray, size: float) -> np.ndarray:
    """W with W'W = K^(-1) for the free support vectors, in the memory of K.

    Where rounding leaves K indefinite, its diagonal is raised.
    """
    for raised in 10.0 ** np.arange(-10.0, -2.0):
        K = Gram.of(problem.kernel, problem.at(problem.exact, free), threads=problem.threads).dense()
        K = K.astype(np.float64, copy=False)
        K.ravel()[:: len(K) + 1] += raised * size
        L, failed = linalg.lapack.dpotrf(K.T, lower=1, clean=1, overwrite_a=1)
        if not failed:
            return linalg.lapack.dtrtri(L, lower=1, overwrite_c=1)[0]
    raise np.linalg.LinAlgError("The kernel matrix is far from positive semidefinite; see representer.psd.report.")
