"""The leading eigenpairs of a Gram matrix, centred or not, from block products alone."""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np
from scipy.linalg import eigh

from representer import _parallel
from representer._loops import products
from representer._loops.simd import registers
from representer.features.pivoted_cholesky import pivoted_cholesky
from representer.gram.low_rank import LowRank
from representer.gram.operator import Operator
from representer.gram.stored import Packed
from representer.problems.eigen import EigenProblem
from representer.result import Budget, Plan, Result, Stopping, Work
from representer.solvers.dense_eigen import ROUNDING, SMALL_EIGEN, finished, way_out
from representer.solvers.memory import bytes_of_tiles, stores_tiles, working_memory

FLOAT32_DOWN_TO = 3e-7
"""Tolerance down to which float32 products are used for eigenvectors; below it all products are float64."""
FLOAT64_BELOW = 1e-5
"""Tolerance below which the last products are float64; above it the rounding of float32 does not matter."""
NEAR = 0.01
"""Shifts are kept this fraction of their size away from the eigenvalues of the start."""
LEAST_POSITIVE = float(np.finfo(np.float64).tiny)
FACTOR_RUNS = 4
"""Partial sums of F F', each as large as the whole."""
BLOCKS = 8
"""Blocks that the search space may hold before a restart with one."""

name = "davidson"


def cost(problem: EigenProblem, budget: Budget) -> Plan:
    """A factor of rank about sqrt(n n_components), some block products, and n^2 / 2 floats where they fit easily."""
    n, wanted, memory = problem.n, problem.wanted, working_memory(budget.memory)
    stored = stores_tiles(n, memory)
    form = "with room for float32 tiles" if stored else "without an n x n matrix"
    rank = start_rank(n, wanted, memory)
    values = (2 if stored else 6) * n * (n + 1) // 2 + n * rank
    seconds = 2e-9 * values + 4e-11 * n * rank**2
    bytes_, seconds = _bytes(problem, rank, wanted, stored), seconds if n > SMALL_EIGEN else np.inf
    plan = Plan(name, "n is large", bytes_, values, seconds, form=form)
    if wanted > n // 10:
        refusal = (
            f"solver='davidson' finds at most a tenth of all components, here {n // 10}, but {wanted} are wanted; "
            "use fewer n_components or solver='dense'."
        )
        return replace(plan, seconds=np.inf, refusal=refusal, error=ValueError)
    return plan.within(budget.memory, way_out)


def _bytes(problem: EigenProblem, rank: int, wanted: int, stored: bool) -> int:
    """Tiles if they are stored, the factor and what derives from it, the span and its images, and tiles in flight."""
    n, span = problem.n, 16 * problem.n * BLOCKS * block_size(wanted)
    return (
        2 * n * n * stored + 8 * n * rank + span + problem.gram.nbytes + bytes_of_tiles(problem.n, problem.gram.threads)
    )


def start_rank(n: int, n_components: int, memory: int) -> int:
    """Rank of the initial factor, about as costly as a block product, which is cheap with stored tiles.

    At least two blocks, and beyond that at most 2,000 and a quarter of the memory.
    """
    least = 2 * block_size(n_components)
    wanted = np.sqrt((1.0 if stores_tiles(n, memory) else 2.0) * n * n_components)
    return int(min(n, max(least, 100, min(wanted, 2000.0, memory // (16 * n)))))


def block_size(n_components: int) -> int:
    """Columns of a block: a few more than wanted, so that the last wanted one converges as fast as the first.

    One less than the width of a fast product, as one more column is added to it; BLAS prefers multiples of eight.
    """
    if n_components + 4 <= products.NARROW[1]:
        return -(-(n_components + 4) // registers.TOGETHER) * registers.TOGETHER - 1
    return -(-(n_components + n_components // 2 + 1) // 8) * 8 - 1


def solve(problem: EigenProblem, budget: Budget, reason: str, start: Any = None) -> Result:
    """The leading eigenpairs by block products K V, from a low-rank factor that is often nearly enough; and the trace.

    A low-rank factor F by randomly pivoted Cholesky gives the first vectors, the eigenvectors of F'F, and Davidson's
    method improves them: residuals R = A U - U Lambda that are too large are multiplied by (Lambda - F'F)^(-1), and a
    Rayleigh-Ritz step finds the best vectors in the span of all so far. Where the eigenvalues decay fast, one or two
    block products are enough. Products are float32 at first, with stored tiles if they take less than a quarter of the
    memory. Their rounding is far below a tolerance of 1e-5; with a smaller tolerance the last Rayleigh-Ritz step and
    its residuals are float64.
    """
    begin, n, memory = perf_counter(), problem.n, working_memory(budget.memory)
    block = block_size(problem.wanted)
    budget = replace(budget, progress=Stopping(budget.progress))
    # BLAS threads spin for a while after each call and would take cores from the tiles that follow
    with _parallel.one_blas_thread():
        first, single = _start_of(problem, budget)
        stored = single and stores_tiles(n, memory)
        U, wanted = first.vectors(block), min(problem.wanted, len(first.values))
        again = budget.tol < FLOAT64_BELOW or not single or not wanted
        steps = 0
        if single and wanted:
            K32 = problem.gram.astype(np.float32)
            K: Operator = Packed(K32) if stored else K32
            goal = 0.8 * budget.tol if again else budget.tol
            found, of_root, steps = _improve(problem, K, U, first, wanted, replace(budget, tol=goal))
            U = found[1]
            del K
        if again:
            left = replace(budget, max_iter=max(budget.max_iter - steps, 0))
            K64 = problem.gram.astype(np.float64)
            found, of_root, more = _improve(problem, K64, U[:, :block], first, wanted, left)
            steps += more
    work = Work(
        solver=f"Davidson's method from a factor of rank {len(first.F)}",
        reason=reason,
        iterations=steps,
        bytes=_bytes(problem, len(first.F), problem.wanted, stored),
        seconds=perf_counter() - begin,
        precision="float64" if not single else "float32 products" + ", float64 residuals" * again,
    )
    # float32 images are off by about eps times the Frobenius norm of K, which is at most sqrt(lambda_1 trace)
    rounding = 0.0 if again else 2.0 * np.finfo(np.float32).eps * np.sqrt(problem.total * found[0].max(initial=0.0))
    return finished(problem, found, of_root, work, budget.tol, float(rounding))


def _start_of(problem: EigenProblem, budget: Budget) -> tuple[_Start, bool]:
    """The eigenvectors of a factor, in float32 where that yields as many as are wanted, and whether it does."""
    rank = start_rank(problem.n, problem.wanted, working_memory(budget.memory))
    weights = None if problem.weights is None else problem.sqrt_weights.ravel()
    for single in (True, False) if budget.tol >= FLOAT32_DOWN_TO else (False,):
        K = problem.gram.astype(np.float32 if single else np.float64)
        start = _Start(problem, pivoted_cholesky(K, rank, weights=weights, random_state=budget.random_state))
        if len(start.values) >= problem.wanted:
            break  # otherwise rounding to float32 may have hidden small components behind a large mean
    return start, single


class _Start:
    """P F'F P = B diag(values) B' for a low-rank factor F, without rounding noise; B = P F' rotation is not stored."""

    def __init__(self, problem: EigenProblem, low_rank: LowRank):
        self.problem, self.F = problem, low_rank.factor

        def visit(run: Any) -> tuple[np.ndarray, np.ndarray]:
            run = list(run)
            parts = [self.F[:, columns] for columns in run]
            gram = sum((part @ part.T).astype(np.float64) for part in parts)
            return gram, sum(part @ problem.sqrt_weights[columns] for part, columns in zip(parts, run, strict=True))

        gram, along = np.zeros((len(self.F), len(self.F))), np.zeros((len(self.F), 1))
        chunks, threads = _parallel.split(problem.n, 2048), problem.gram.threads
        for part in _parallel.map_tiles(chunks, visit, threads=threads, runs=FACTOR_RUNS):
            gram += part[0]
            along += part[1]
        self.total = gram.trace()
        if problem.center:
            gram -= along * along.T / (problem.sqrt_weights**2).sum()
        values, V = eigh(gram, overwrite_a=True, check_finite=False, driver="evd")
        keep = values > 10 * np.finfo(self.F.dtype).eps * self.total
        self.values = values[keep][::-1]
        self.rotation = (V[:, keep] / np.sqrt(values[keep]))[:, ::-1].astype(self.F.dtype)

    def vectors(self, count: int) -> np.ndarray:
        """The first eigenvectors, orthonormal in float64."""
        # where the mean dominates, subtracting it once leaves a rounding error that is not small
        return np.linalg.qr(self.problem.project(self.combine(self.rotation[:, :count])))[0]

    def combine(self, C: np.ndarray) -> np.ndarray:
        """P F' C."""
        rows = C.T.astype(self.F.dtype) @ self.F  # F' C would take twice as long
        return self.problem.project(rows.T.astype(np.float64, order="C"))

    def solve(self, R: np.ndarray, shifts: np.ndarray) -> np.ndarray:
        """(shift I - P F'F P)^(-1) r for each column and its shift; shifts near an eigenvalue are moved off it."""
        inside = (self.rotation.T @ (self.F @ R.astype(self.F.dtype))).astype(np.float64)
        gaps = shifts - self.values[:, None]
        gaps = np.where(gaps < 0, np.minimum(gaps, -NEAR * shifts), np.maximum(gaps, NEAR * shifts))
        # 1 / gap on the range of B, 1 / shift on the rest
        return R / shifts + self.combine(self.rotation @ (inside / gaps - inside / shifts).astype(self.F.dtype))


def _improve(
    problem: EigenProblem, K: Operator, Q: np.ndarray, start: _Start, wanted: int, budget: Budget
) -> tuple[tuple[np.ndarray, np.ndarray, np.ndarray], np.ndarray, int]:
    """Davidson steps from orthonormal Q until residuals are within the tolerance, or stagnate at rounding.

    Returns eigenvalues, eigenvectors and their images, K D d, and the number of block products.
    """
    D, goal = problem.sqrt_weights, budget.tol
    images = K @ (D * np.column_stack([Q, D]))  # and the image of d
    images, of_root = images[:, :-1], images[:, -1]
    block, largest, eps = Q.shape[1], [np.inf] * 3, np.finfo(K.dtype).eps
    H = Q.T @ (D * images)
    for step in range(budget.max_iter + 1):
        values, V = eigh((H + H.T) / 2, check_finite=False)
        values, V = values[: -block - 1 : -1], V[:, : -block - 1 : -1]
        U, of_U = Q @ V, images @ V
        R = problem.apply(of_U) - U * values
        sizes = np.linalg.norm(R, axis=0)
        largest.append(sizes[:wanted].max(initial=0.0) / values.max(initial=LEAST_POSITIVE))
        stopped = budget.progress is not None and budget.progress("block products", largest[-1])
        stalled = 0.5 * largest[-4] < largest[-1] < 10 * eps * start.total / values.max(initial=LEAST_POSITIVE)
        if largest[-1] <= goal or stalled or stopped or step == budget.max_iter:
            break
        bad = sizes > goal * values[0]
        bad[wanted + min(4, -wanted % registers.TOGETHER) :] = False  # a few more than wanted, where they are free
        if Q.shape[1] + bad.sum() > BLOCKS * block:
            Q, images, H = U, of_U, np.diag(values)
        T = start.solve(R[:, bad], np.maximum(values[bad], goal * values[0]))
        T = _new_directions(problem, Q, T / np.linalg.norm(T, axis=0))
        if not T.shape[1]:
            break
        of_T = K @ (D * T)
        new = 0.5 * (Q.T @ (D * of_T) + (D * images).T @ T)  # both are the same but for rounding
        H = np.block([[H, new], [new.T, T.T @ (D * of_T)]])
        Q, images = np.hstack([Q, T]), np.hstack([images, of_T])
    return (values[:wanted], U[:, :wanted], of_U[:, :wanted]), of_root, step + 1


def _new_directions(problem: EigenProblem, Q: np.ndarray, T: np.ndarray) -> np.ndarray:
    """An orthonormal basis of what T adds to the span of the orthonormal Q, with the mean subtracted.

    By eigenvectors of T'T, so that all work is in matrix products. The first pass leaves rounding errors, which lie in
    the span of Q again; a direction that loses half of its length in the second pass was nothing else.
    """
    for again in (False, True):
        T = problem.project(T - Q @ (Q.T @ T))
        squares, V = eigh(T.T @ T, check_finite=False)
        keep = squares > (0.25 if again else len(squares) * ROUNDING * squares.max(initial=LEAST_POSITIVE))
        T = T @ (V[:, keep] / np.sqrt(squares[keep]))
    return T
