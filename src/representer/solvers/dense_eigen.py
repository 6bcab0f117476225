"""The leading eigenpairs of a Gram matrix, or all of them, from the whole matrix in float64."""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np
from scipy.linalg import eigh

from representer import _parallel
from representer.problems.eigen import COLUMNS_AT_A_TIME, EigenProblem
from representer.result import Budget, Plan, Result, Work, certify

SMALL_EIGEN = 1000
"""Rows up to which the whole matrix is decomposed; beyond, block iterations are faster."""
ROUNDING = float(np.finfo(np.float64).eps)

name = "dense"
way_out = "use fewer n_components (at most a tenth of the rows), fewer rows, or a larger memory="


def cost(problem: EigenProblem, budget: Budget) -> Plan:
    """K and the centred matrix with its eigenvectors, and then K, the eigenvectors and their images."""
    n, wanted = problem.n, problem.wanted
    reason = "n is small" if n <= SMALL_EIGEN else "many are wanted"
    seconds = 2e-10 * n**3 * (0.3 + wanted / n)
    return Plan(name, reason, _bytes(problem, wanted), n * (n + 1) // 2, seconds).within(budget.memory, way_out)


def _bytes(problem: EigenProblem, wanted: int) -> int:
    n, some = problem.n, min(COLUMNS_AT_A_TIME, problem.n)
    decomposed, judged = 2 * n + max(wanted, some), n + 2 * wanted + 3 * min(some, wanted)
    return 8 * n * max(decomposed, judged) + problem.gram.nbytes


def solve(problem: EigenProblem, budget: Budget, reason: str, start: Any = None) -> Result:
    """The leading eigenpairs, and the trace."""
    begin, n = perf_counter(), problem.n
    K = problem.gram.astype(np.float64).dense().astype(np.float64, copy=False)
    # the transposed view is the same matrix, in LAPACK's column-major order
    values, vectors = eigh(
        _covariance(problem, K).T, subset_by_index=[n - problem.wanted, n - 1], overwrite_a=True, check_finite=False
    )
    values, vectors = values[::-1], vectors[:, ::-1]
    images, of_root = np.empty((n, len(values))), K @ problem.sqrt_weights[:, 0] ** 2
    for some in _parallel.split(len(values), COLUMNS_AT_A_TIME):
        vectors[:, some] = problem.project(vectors[:, some])
        images[:, some] = K @ (problem.sqrt_weights * vectors[:, some])
    del K
    work = Work("a dense decomposition", reason, 0, _bytes(problem, len(values)), perf_counter() - begin, "float64")
    return finished(problem, (values, vectors, images), of_root, work, budget.tol)


def _covariance(problem: EigenProblem, K: np.ndarray) -> np.ndarray:
    """A = P D K D P as a new array."""
    d = problem.sqrt_weights
    A = K.copy()
    if problem.weights is not None:
        A *= d
        A *= d.T
    if problem.center:
        d = d / np.linalg.norm(d)
        along = A @ d
        along -= 0.5 * (d.T @ along) * d
        for rows in _parallel.split(problem.n, COLUMNS_AT_A_TIME):  # P A P = A - d a' - a d'
            A[rows] -= d[rows] * along.T
            A[rows] -= along[rows] * d.T
    return A


def finished(
    problem: EigenProblem,
    found: tuple[np.ndarray, np.ndarray, np.ndarray],
    image_of_root: np.ndarray,
    work: Work,
    tol: float,
    image_rounding: float = 0.0,
) -> Result:
    """The result, without eigenvalues that are zero within rounding or the tolerance; signs are fixed in place."""
    values, vectors, images = found
    largest = values.max(initial=np.finfo(np.float64).tiny)
    residuals = problem.judge(vectors, values, images).residuals * largest
    rounding = ROUNDING * max(len(vectors) * values.max(initial=0.0), 10 * problem.total)
    keep = np.flatnonzero(values > np.maximum(residuals, rounding))
    values, vectors, images = values[keep], _columns(vectors, keep), _columns(images, keep)
    # the largest score of an input is positive; scores are the same whether inputs are weighted or repeated
    roots = problem.sqrt_weights
    for some in _parallel.split(len(values), COLUMNS_AT_A_TIME):
        scores = problem.apply(images[:, some])
        scores = np.divide(scores, roots, out=np.zeros_like(scores), where=roots > 0)
        signs = np.sign(scores[np.abs(scores).argmax(axis=0), np.arange(scores.shape[1])])
        vectors[:, some] *= signs
        images[:, some] *= signs
    certificate = certify(problem, vectors, values, work, tol, images=images, rounding=image_rounding)
    trace = problem.trace(image_of_root)
    return Result(vectors, np.zeros(len(values)), certificate, eigenvalues=values, trace=trace, applied=images)


def _columns(array: np.ndarray, keep: np.ndarray) -> np.ndarray:
    """Some columns; a view, which takes no memory, where they are the first ones and more than half of all."""
    first = 2 * len(keep) > array.shape[1] and np.array_equal(keep, np.arange(len(keep)))
    return array[:, : len(keep)] if first else array[:, keep]
