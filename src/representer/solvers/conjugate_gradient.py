"""Ridge by preconditioned conjugate gradients on the Gram operator: no n x n matrix, no approximation of the answer."""

from __future__ import annotations

from contextlib import nullcontext
from time import perf_counter
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from representer import _tiles
from representer.features.pivoted_cholesky import LowRank, pivoted_cholesky
from representer.gram import Gram
from representer.problem import Certificate, Progress, Result, RidgeProblem
from representer.solvers.choose import stores_matrix


class Preconditioner:
    """(F'F + alpha I)^(-1) = (I - F' (F F' + alpha I)^(-1) F) / alpha for a factor F of low rank; one alpha per column.

    F F' is small; it is summed in float64 where alpha is so far below its largest eigenvalue that float32 would not do.
    """

    def __init__(self, low_rank: LowRank, ridges: np.ndarray, threads: int | None = None):
        self.F = low_rank.factor
        total = np.einsum("ij,ij->", self.F, self.F, dtype=np.float64)
        wide: Any = np.float64 if ridges.min() < 1e-6 * total else np.float32

        def visit(run: list[_tiles.Tile]) -> np.ndarray:
            gram = np.zeros((len(self.F), len(self.F)))
            for _, columns in run:
                part = self.F[:, columns].astype(wide)
                gram += part @ part.T
            return gram

        chunks = [(slice(0, 1), columns) for columns in _tiles.split(self.F.shape[1], 2048)]
        gram: Any = sum(_tiles.walk(chunks, visit, threads=threads, runs=4))
        self.factors = {}
        for ridge in np.unique(ridges):
            gram.ravel()[:: len(gram) + 1] += ridge
            self.factors[ridge] = cho_factor(gram, lower=True, check_finite=False)
            gram.ravel()[:: len(gram) + 1] -= ridge

    def __call__(self, R: np.ndarray, ridges: np.ndarray) -> np.ndarray:
        """(F'F + alpha I)^(-1) R."""
        inside = (self.F @ R.astype(self.F.dtype)).astype(np.float64)
        for ridge in np.unique(ridges):
            inside[:, ridges == ridge] = cho_solve(self.factors[ridge], inside[:, ridges == ridge], check_finite=False)
        return (R - self.F.T @ inside.astype(self.F.dtype)) / ridges


def solve(
    problem: RidgeProblem,
    *,
    tol: float,
    reason: str,
    max_iter: int = 1000,
    memory: int = 2 * 10**9,
    random_state: Any = 0,
    low_rank: LowRank | None = None,
    guess: np.ndarray | None = None,
    progress: Progress | None = None,
) -> Result:
    """Conjugate gradients with float32 products inside, and true float64 residuals outside.

    Each outer step computes the residual in float64 and solves for a correction with float32 products. Where that no
    longer lowers the residual, because the ridge is too small for float32, the products inside are float64, too. A
    float32 matrix that takes less than a quarter of the memory is stored, which halves the time of a product.

    Residuals that fall by less than a twentieth in a quarter of ``max_iter`` iterations, or in a tenth of them for
    float32, end that precision's work before its time: the certificate then says that it did not converge. A ``guess``
    is a solution of a similar problem, such as one with another alpha.
    """
    start = perf_counter()
    B, n = problem.right_sides, problem.n
    scale = np.maximum(np.linalg.norm(B, axis=0), np.finfo(np.float64).tiny)
    stored = stores_matrix(n, memory)
    # BLAS threads spin for a while after each call and would take cores from the walks that follow
    with _tiles.one_blas_thread():
        low_rank = low_rank or approximate(problem, memory // 4, random_state)
        precondition = Preconditioner(low_rank, problem.ridges, problem.threads)
        fast: Any = _Stored(problem) if stored else Gram.of(problem.kernel, problem.fast, threads=problem.threads)
    K, Z, R, size = fast, np.zeros_like(B), B / scale, 1.0
    if guess is not None:
        rest = R - problem.apply(guess / scale, problem.ridges)
        if (new := float(np.linalg.norm(rest, axis=0).max())) < size:
            Z, R, size = guess / scale, rest, new
    goal = tol / 3 if problem.intercept else tol  # residuals of y and of the intercept's right side add up
    steps, products = 0, int(guess is not None)
    with nullcontext() if stored else _tiles.one_blas_thread():
        while size > goal and steps < max_iter:
            reduction = max(0.3 * goal / size, 1e-4 if K is fast else 1e-10)
            report = None if progress is None else _scaled(progress, size)
            # what float32 can do it does in few steps, so there it may not use up all of them
            most = max_iter - steps if K is not fast else min(max_iter - steps, max(100, max_iter // 4))
            patience = max(100, max_iter // (10 if K is fast else 4))
            change, taken, stopped = _inner(problem, K, R, precondition, reduction, most, patience, report)
            R_new = B / scale - problem.apply(Z + change, problem.ridges)
            steps, products = steps + taken, products + 1
            new = float(np.linalg.norm(R_new, axis=0).max())
            stalled = new > 0.5 * size
            if new < size:
                Z, R, size = Z + change, R_new, new
            if stopped or (stalled and K is not fast):
                break
            if stalled:
                K = problem.gram
                low_rank = approximate(problem, memory // 4, random_state, exact=True)
                precondition = Preconditioner(low_rank, problem.ridges, problem.threads)
    Z, R = Z * scale, R * scale
    coef, intercept = problem.finish(Z)
    R = R[:, :-1] - R[:, -1:] * intercept if problem.intercept else R
    relative, bound = problem.judge(R)
    return Result(
        coef,
        intercept,
        Certificate(
            solver=f"conjugate gradients, preconditioner of rank {len(low_rank.factor)}",
            reason=reason,
            converged=bool(relative.max() <= tol),
            residual=float(relative.max()),
            tolerance=tol,
            error_bound=bound,
            iterations=steps,
            kernel_evaluations=low_rank.evaluations + n * (n + 1) // 2 * ((1 if stored else steps) + products),
            bytes=low_rank.factor.nbytes + 8 * 6 * B.size + 4 * n * n * stored,
            seconds=perf_counter() - start,
            precision="float32 products, float64 residuals" if K is fast else "float64 products",
        ),
        R,
        Z,
    )


class _Stored:
    """The float32 kernel matrix in memory."""

    def __init__(self, problem: RidgeProblem):
        self.K = problem.kernel.block(problem.fast, threads=problem.threads).astype(np.float32, copy=False)

    def __matmul__(self, V: np.ndarray) -> np.ndarray:
        return (self.K @ V.astype(np.float32)).astype(np.float64)


def _scaled(progress: Progress, size: float) -> Progress:
    return lambda what, residual: progress(what, residual * size)


def approximate(problem: RidgeProblem, memory: int, random_state: Any, *, exact: bool = False) -> LowRank:
    """A preconditioner of rank n / 12, at most 2,000 and within the memory, or less if the remainder falls below alpha.

    Measured: twice the rank halves the iterations and doubles the set-up, which are about equal there.
    """
    n = problem.n
    rank = int(min(2000, max(100, n / 12), max(memory // (5 * n), 50)))
    weights = None if problem.weights is None else problem.root.ravel()
    return pivoted_cholesky(
        problem.kernel,
        problem.exact if exact else problem.fast,
        rank,
        stop=float(problem.ridges.min()),
        weights=weights,
        random_state=random_state,
        threads=problem.threads,
    )


def _inner(
    problem: RidgeProblem,
    K: Any,
    R: np.ndarray,
    precondition: Preconditioner,
    reduction: float,
    max_iter: int,
    patience: int,
    progress: Progress | None,
) -> tuple[np.ndarray, int, bool]:
    """Conjugate gradients for all columns at once until each residual is reduced; a column that is done is left out.

    They also end after ``patience`` iterations in which the largest residual has not fallen by a twentieth. The
    solution, the iterations taken, and whether ``progress`` stopped them.
    """
    ridges = problem.ridges
    X, R = np.zeros_like(R), R.copy()
    start = np.linalg.norm(R, axis=0)
    S = precondition(R, ridges)
    P, rho = S.copy(), np.einsum("ij,ij->j", R, S)
    best = before = 1.0
    for step in range(1, max_iter + 1):
        live = np.flatnonzero((np.linalg.norm(R, axis=0) > reduction * start) & (rho > 0))
        if not len(live):
            return X, step - 1, False
        Q = problem.apply(P[:, live], ridges[live], K)
        curvature = np.einsum("ij,ij->j", P[:, live], Q)
        length = np.divide(rho[live], curvature, out=np.zeros_like(curvature), where=curvature > 0)
        X[:, live] += length * P[:, live]
        R[:, live] -= length * Q
        S = precondition(R[:, live], ridges[live])
        new = np.einsum("ij,ij->j", R[:, live], S)
        P[:, live] = S + (new / rho[live]) * P[:, live]
        rho[live] = np.where(curvature > 0, new, 0.0)  # a direction without curvature is rounding, and ends its column
        size = float((np.linalg.norm(R, axis=0) / np.maximum(start, 1e-300)).max())
        best = min(best, size)
        if progress is not None and progress("conjugate gradients", size):
            return X, step, True
        if step % patience == 0:
            if best > 0.95 * before:
                return X, step, False
            before = best
    return X, max_iter, False
