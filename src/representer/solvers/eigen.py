"""The leading eigenpairs of a Gram matrix, centred or not: from a dense matrix, or from block products alone."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from scipy.linalg import eigh

from representer import _tiles
from representer.features.pivoted_cholesky import LowRank, pivoted_cholesky
from representer.gram import Gram
from representer.problem import EigenProblem, Progress
from representer.solvers.choose import TOGETHER, block_size, start_rank, stores_tiles
from representer.solvers.packed import PackedGram

FLOAT32_DOWN_TO = 3e-7
"""Tolerance down to which float32 products find the eigenvectors; below it all products are float64."""
FLOAT64_BELOW = 1e-5
"""Tolerance below which the last products are float64; above it the rounding of float32 does not matter."""
NEAR = 0.01
"""Shifts are kept this part of their size away from the start's eigenvalues."""
EPS, TINY = np.finfo(np.float64).eps, np.finfo(np.float64).tiny
RUNS = 4
"""Parts of F F' that are summed on their own: each is as large as the whole."""
LIMIT = 8
"""Blocks that the span may hold before it is cut back to one."""


@dataclass(frozen=True)
class EigenCertificate:
    """How good eigenpairs are, how they were found, and what it took.

    Within ``residuals[j] * eigenvalues[0]`` of the j-th eigenvalue lies one of the exact matrix.
    """

    solver: str
    reason: str
    converged: bool
    residuals: np.ndarray
    """|A u - lambda u| / lambda_1 for each eigenpair, recomputed in float64 at the end."""
    tolerance: float
    iterations: int
    kernel_evaluations: int
    bytes: int
    seconds: float
    precision: str

    def __str__(self) -> str:
        verdict = "converged" if self.converged else "NOT converged"
        products = f"{self.iterations} block products and " if self.iterations else ""
        return (
            f"{verdict}: residuals |A u - lambda u| up to {self.residuals.max(initial=0.0):.2g} lambda_1 (tolerance "
            f"{self.tolerance:.2g}) by {self.solver} in {products}{self.seconds:.3g} s, "
            f"{self.kernel_evaluations:.3g} kernel values, {self.bytes / 1e6:.4g} MB, {self.precision}. Chosen because "
            f"{self.reason}."
        )


@dataclass(frozen=True)
class Eigenpairs:
    """The leading eigenpairs of A = P D K D P, and what else a fit needs of K."""

    values: np.ndarray
    """Array of shape (n_components,), falling; those that rounding or the tolerance cannot tell from 0 are left out."""
    vectors: np.ndarray
    """Array of shape (n, n_components), orthonormal."""
    images: np.ndarray
    """K D u for each eigenvector, in float64."""
    trace: float
    """The sum of all eigenvalues of A."""
    certificate: EigenCertificate


def dense(problem: EigenProblem, n_components: int | None, *, tol: float, reason: str) -> Eigenpairs:
    """The leading eigenpairs, or all, from the whole matrix in float64."""
    started, n = perf_counter(), problem.n
    K = problem.kernel.block(problem.exact, threads=problem.threads).astype(np.float64, copy=False)
    A = K * problem.root
    A *= problem.root.T
    if problem.center:
        d = problem.root / np.linalg.norm(problem.root)
        A -= d * (d.T @ A)
        A -= (A @ d) * d.T
    first = 0 if n_components is None else max(n - n_components, 0)
    values, vectors = eigh(A.T, subset_by_index=[first, n - 1], overwrite_a=True, check_finite=False)
    values, vectors = values[::-1], problem.project(vectors[:, ::-1])
    images, of_root = K @ (problem.root * vectors), K @ problem.root[:, 0] ** 2
    return _finish(
        problem,
        (values, vectors, images, of_root),
        started,
        solver="a dense decomposition",
        reason=reason,
        tolerance=tol,
        iterations=0,
        kernel_evaluations=n * (n + 1) // 2,
        bytes=24 * n * n,
        precision="float64",
    )


def davidson(
    problem: EigenProblem,
    n_components: int,
    *,
    tol: float,
    reason: str,
    max_iter: int = 100,
    memory: int = 2 * 10**9,
    random_state: Any = 0,
    progress: Progress | None = None,
) -> Eigenpairs:
    """The leading eigenpairs by block products K V, from a start that is often nearly there.

    A factor F of low rank by randomly pivoted Cholesky gives the first vectors, the eigenvectors of F'F, and
    Davidson's method improves them: residuals R = A U - U Lambda that are too large are multiplied by
    (Lambda - F'F)^(-1), and Rayleigh and Ritz find the best vectors in the span of all so far. Where the eigenvalues
    fall fast, one or two block products are enough. Products are float32 at first, with stored tiles if they take
    less than a quarter of the memory. Their rounding is far below a tolerance of 1e-5; with a smaller one the last step
    of Rayleigh and Ritz and its residuals are float64.
    """
    started, n = perf_counter(), problem.n
    # BLAS threads spin for a while after each call and would take cores from the walks that follow
    with _tiles.one_blas_thread():
        for single in (True, False) if tol >= FLOAT32_DOWN_TO else (False,):
            inputs = problem.fast if single else problem.exact
            low_rank = pivoted_cholesky(
                problem.kernel,
                inputs,
                start_rank(n, n_components, memory),
                weights=None if problem.weights is None else problem.root.ravel(),
                random_state=random_state,
                threads=problem.threads,
            )
            start = _Start(problem, low_rank)
            if len(start.values) >= n_components:
                break  # otherwise rounding to float32 may have hidden small components behind a large mean
        stored = single and stores_tiles(n, memory)
        U, wanted, steps = start.vectors(block_size(n_components)), min(n_components, len(start.values)), 0
        more, again = 0, tol < FLOAT64_BELOW or not single or not wanted
        if single and wanted:
            K = (PackedGram if stored else Gram.of)(problem.kernel, inputs, threads=problem.threads)
            images, of_root = _first_product(problem, K, U)
            goal = 0.8 * tol if again else tol
            found, steps = _improve(problem, K, U, images, start, wanted, goal, max_iter, progress)
            U = found[1]
            steps += 1
            del K
        if again:
            images, of_root = _first_product(problem, problem.gram, U)
            left = max(max_iter - steps, 0)
            found, more = _improve(problem, problem.gram, U, images, start, wanted, tol, left, progress)
            more += 1
    half = n * (n + 1) // 2
    return _finish(
        problem,
        (*found, of_root),
        started,
        solver=f"Davidson's method from a factor of rank {len(low_rank.factor)}",
        reason=reason,
        tolerance=tol,
        iterations=steps + more,
        kernel_evaluations=low_rank.evaluations + half * ((1 if stored else steps) + more),
        bytes=low_rank.factor.nbytes + 2 * n * n * stored + 16 * n * LIMIT * block_size(n_components),
        precision="float64" if not single else "float32 products" + ", float64 residuals" * again,
    )


def _first_product(problem: EigenProblem, K: Any, U: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The images K D U, and K D d, the mean of the k(x_i, .) up to a factor, which comes along."""
    images = K @ (problem.root * np.column_stack([U, problem.root]))
    return images[:, :-1], images[:, -1]


class _Start:
    """P F'F P = B diag(values) B' for a factor F of low rank, without its rounding; B = P F' rotation is not stored."""

    def __init__(self, problem: EigenProblem, low_rank: LowRank):
        self.problem, self.F = problem, low_rank.factor

        def visit(run: list[slice]) -> tuple[np.ndarray, np.ndarray]:
            parts = [self.F[:, columns] for columns in run]
            gram = sum((part @ part.T).astype(np.float64) for part in parts)
            return gram, sum(part @ problem.root[columns] for part, columns in zip(parts, run, strict=True))

        gram, along = np.zeros((len(self.F), len(self.F))), np.zeros((len(self.F), 1))
        for part in _tiles.walk(_tiles.split(problem.n, 2048), visit, threads=problem.threads, runs=RUNS):
            gram += part[0]
            along += part[1]
        self.total = gram.trace()
        if problem.center:
            gram -= along * along.T / (problem.root**2).sum()
        values, V = eigh(gram, overwrite_a=True, check_finite=False, driver="evd")
        keep = values > 10 * np.finfo(self.F.dtype).eps * self.total
        self.values = values[keep][::-1]
        self.rotation = (V[:, keep] / np.sqrt(values[keep]))[:, ::-1].astype(self.F.dtype)

    def vectors(self, count: int) -> np.ndarray:
        """The first eigenvectors, orthonormal in float64."""
        # where the mean outweighs what varies, taking it off once leaves a rounding of it that is not small
        return np.linalg.qr(self.problem.project(self.combine(self.rotation[:, :count])))[0]

    def combine(self, C: np.ndarray) -> np.ndarray:
        """P F' C."""
        rows = C.T.astype(self.F.dtype) @ self.F  # F' C would take twice as long
        return self.problem.project(rows.T.astype(np.float64, order="C"))

    def solve(self, R: np.ndarray, shifts: np.ndarray) -> np.ndarray:
        """(shift I - P F'F P)^(-1) r for each column and its shift; shifts next to an eigenvalue are moved off it."""
        inside = (self.rotation.T @ (self.F @ R.astype(self.F.dtype))).astype(np.float64)
        gaps = shifts - self.values[:, None]
        gaps = np.where(gaps < 0, np.minimum(gaps, -NEAR * shifts), np.maximum(gaps, NEAR * shifts))
        # 1 / gap on the range of B, 1 / shift on the rest
        return R / shifts + self.combine(self.rotation @ (inside / gaps - inside / shifts).astype(self.F.dtype))


def _improve(
    problem: EigenProblem,
    K: Any,
    Q: np.ndarray,
    images: np.ndarray,
    start: _Start,
    wanted: int,
    goal: float,
    max_iter: int,
    progress: Progress | None,
) -> tuple[tuple[np.ndarray, np.ndarray, np.ndarray], int]:
    """Davidson's steps from orthonormal Q until residuals are at most the goal, or are rounding and fall no longer.

    Gives eigenvalues, eigenvectors and their images, and the number of block products.
    """
    block, largest, eps = Q.shape[1], [np.inf] * 3, np.finfo(K.dtype).eps
    H = Q.T @ (problem.root * images)
    for step in range(max_iter + 1):
        values, V = eigh((H + H.T) / 2, check_finite=False)
        values, V = values[: -block - 1 : -1], V[:, : -block - 1 : -1]
        U, of_U = Q @ V, images @ V
        R = problem.apply(of_U) - U * values
        sizes = np.linalg.norm(R, axis=0)
        largest.append(sizes[:wanted].max(initial=0.0) / values.max(initial=TINY))
        if progress is not None:
            progress("block products", largest[-1])
        stalled = 0.5 * largest[-4] < largest[-1] < 10 * eps * start.total / values.max(initial=TINY)
        if largest[-1] <= goal or stalled or step == max_iter:
            break
        bad = sizes > goal * values[0]
        bad[wanted + min(4, -wanted % TOGETHER) :] = False  # some more than wanted, where they take no time
        if Q.shape[1] + bad.sum() > LIMIT * block:
            Q, images, H = U, of_U, np.diag(values)
        T = start.solve(R[:, bad], np.maximum(values[bad], goal * values[0]))
        T = _new_directions(problem, Q, T / np.linalg.norm(T, axis=0))
        if not T.shape[1]:
            break
        of_T = K @ (problem.root * T)
        new = 0.5 * (Q.T @ (problem.root * of_T) + (problem.root * images).T @ T)  # the same but for rounding
        H = np.block([[H, new], [new.T, T.T @ (problem.root * of_T)]])
        Q, images = np.hstack([Q, T]), np.hstack([images, of_T])
    return (values[:wanted], U[:, :wanted], of_U[:, :wanted]), step


def _new_directions(problem: EigenProblem, Q: np.ndarray, T: np.ndarray) -> np.ndarray:
    """An orthonormal basis of what T adds to the span of the orthonormal Q, with the mean taken off.

    By eigenvectors of T'T, so that all work is in products of matrices. The first time leaves roundings, which lie in
    the span again; what loses half of its length the second time was nothing else.
    """
    for again in (False, True):
        T = problem.project(T - Q @ (Q.T @ T))
        squares, V = eigh(T.T @ T, check_finite=False)
        keep = squares > (0.25 if again else len(squares) * EPS * squares.max(initial=TINY))
        T = T @ (V[:, keep] / np.sqrt(squares[keep]))
    return T


def _finish(
    problem: EigenProblem, found: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray], started: float, **facts: Any
) -> Eigenpairs:
    """Drop what cannot be told from zero, fix signs, and judge; all in float64."""
    values, vectors, images, of_root = found
    residuals = np.linalg.norm(problem.apply(images) - vectors * values, axis=0)
    rounding = EPS * max(len(vectors) * values.max(initial=0.0), 10 * problem.total)
    keep = values > np.maximum(residuals, rounding)
    values, vectors, images, residuals = values[keep], vectors[:, keep], images[:, keep], residuals[keep]
    residuals = residuals / values.max(initial=TINY)
    # the largest score of an input is positive; scores are the same whether inputs are weighted or repeated
    scores = np.divide(problem.apply(images), problem.root, out=np.zeros_like(images), where=problem.root > 0)
    signs = np.sign(scores[np.abs(scores).argmax(axis=0), np.arange(len(values))])
    certificate = EigenCertificate(
        converged=bool(np.all(residuals <= facts["tolerance"])),
        residuals=residuals,
        seconds=perf_counter() - started,
        **facts,
    )
    return Eigenpairs(values, vectors * signs, images * signs, problem.trace(of_root), certificate)
