"""Ridge by preconditioned conjugate gradients on the Gram operator: no n x n matrix, no approximation of the answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np

from representer import _parallel
from representer.features.pivoted_cholesky import pivoted_cholesky
from representer.gram.low_rank import LowRank
from representer.gram.operator import Operator
from representer.gram.stored import Packed
from representer.problems.ridge import RidgeProblem
from representer.result import Budget, Plan, Progress, Result, Work, certify
from representer.solvers.cholesky import is_tiny
from representer.solvers.memory import bytes_of_packed, bytes_of_tiles, stores_tiles, working_memory
from representer.solvers.preconditioners import BLOCKS_FROM, GRAM_RUNS, GROUP_ROWS, BlockPreconditioner, blocks_help
from representer.solvers.preconditioners import Preconditioner as Preconditioner  # for processes, too

PRODUCTS_SECONDS = 1.5e-8
"""Seconds per n^2: some dozens of float32 products and the preconditioner, on two cores."""
EASY_RIDGE = 0.02
"""Fraction of the mean k(x, x) down to which alpha needs no more iterations: 7 to 22 at 16,000 rows, and 150 at
1e-3."""
TINY_RIDGE = 20
"""Slowdown for a ridge that is lost in float32 rounding: it takes float64 products, and hundreds of them."""
LITTLE_LEFT = 10.0
"""Trace of the remainder of a factor, in units of alpha, up to which corrections by the preconditioner converge fast:
spread over many eigenvalues, it is less than alpha in each direction."""

name = "conjugate_gradient"
iterations = "conjugate gradients"
way_out = "use fewer rows, or a larger memory="


def cost(problem: RidgeProblem, budget: Budget) -> Plan:
    """A preconditioner of rank x n floats, some dozens of products, and n^2 / 2 floats where they fit easily."""
    n, memory, tiny = problem.n, working_memory(budget.memory), is_tiny(problem)
    stored = _keeps_tiles(n, memory)
    form = "with room for float32 tiles" if stored else "without an n x n matrix"
    bytes_ = _bytes(problem, preconditioner_rank(n, memory // 4), 8 if tiny else 4, stored)
    plan = Plan(name, "n is large", bytes_, (4 if stored else 40) * n * n // 2, PRODUCTS_SECONDS * n * n, form=form)
    if problem.alpha.min() == 0:
        refusal = "Conjugate gradients need a positive alpha; use solver='cholesky'."
        return replace(plan, seconds=np.inf, refusal=refusal, error=ValueError)
    # iterations grow with the square root of the preconditioned condition number
    size = float(problem.diagonal.mean())
    share = float(problem.alpha.min()) / size if size > 0.0 else np.inf
    more = TINY_RIDGE if tiny else min(np.sqrt(max(EASY_RIDGE / share, 1.0)), TINY_RIDGE)
    return replace(plan, seconds=more * plan.seconds).within(budget.memory, way_out)


def _keeps_tiles(n: int, memory: int) -> bool:
    """Whether float32 tiles take less than a seventh of the memory: products are few, and more would hardly pay."""
    return stores_tiles(n, 4 * memory // 7)


def _bytes(problem: RidgeProblem, rank: int, for_each: int, stored: bool) -> int:
    """Tiles if they are kept, a factor of ``for_each`` bytes per entry, F F', vectors, and work in flight."""
    n, vectors = problem.n, 16 * problem.right_hand_sides.nbytes + problem.gram.nbytes
    in_flight = max(bytes_of_tiles(problem.n, problem.gram.threads), 8 * rank * (GRAM_RUNS * rank + 512))
    blocks = for_each * n * (rank + GROUP_ROWS) if n >= BLOCKS_FROM and np.ptp(problem.ridges) == 0.0 else 0
    return bytes_of_packed(n) * stored + for_each * rank * n + blocks + 16 * rank**2 + vectors + in_flight


@dataclass
class _State:
    """The iterate Z of A Z = B, where B has unit columns, its residual R and its size, and the factor and steps."""

    B: np.ndarray
    Z: np.ndarray
    R: np.ndarray
    size: float
    low_rank: LowRank
    steps: int = 0
    single: bool = True
    """Whether products are float32."""

    def take(self, Z: np.ndarray, R: np.ndarray) -> float:
        """Accept Z if its residual R is smaller; return the size of R."""
        size = float(np.linalg.norm(R, axis=0).max())
        if size < self.size:
            self.Z, self.R, self.size = Z, R, size
        return size


def solve(
    problem: RidgeProblem,
    budget: Budget,
    reason: str,
    start: Any = None,
    low_rank: LowRank | None = None,
    precondition: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None,
) -> Result:
    """Conjugate gradients with float32 products in inner iterations, and true float64 residuals in outer ones.

    Each outer step computes the residual in float64 and solves for a correction with float32 products. Where that no
    longer lowers the residual, because the ridge is too small for float32, inner iterations use float64 products, too.
    Float32 tiles of half the matrix that take less than a seventh of the working memory are kept, which may halve the
    time of a product. Where the remainder of a low-rank factor is small compared with alpha, corrections by the
    preconditioner come first; often one or two of them are enough, and no tiles are computed.

    ``start`` is a warm start, the solution of a similar problem such as one with another alpha; ``low_rank`` and the
    preconditioner built from it come from an earlier problem with the same matrix.
    """
    begin, memory = perf_counter(), working_memory(budget.memory)
    B, stored = problem.right_hand_sides, _keeps_tiles(problem.n, memory)
    scale = np.maximum(np.linalg.norm(B, axis=0), np.finfo(np.float64).tiny)
    K64, K32 = problem.gram.astype(np.float64), problem.gram.astype(np.float32)
    # BLAS threads spin for a while after each call and would take cores from the tiles that follow
    with _parallel.one_blas_thread():
        low_rank = low_rank or approximate(problem, K32, memory // 4, budget.random_state)
        state = _State(B / scale, np.zeros_like(B), B / scale, 1.0, low_rank)
        del low_rank  # the state frees it where float64 is needed
        if start is not None and start.shape == B.shape:
            state.take(start / scale, state.B - problem.apply(start / scale, problem.ridges, K64))
        precondition = precondition or _preconditioner(problem, state, budget)
        goal = budget.tol / 3 if problem.intercept else budget.tol  # residuals of y and of D 1 add up
        done = is_complete(state.low_rank, problem) and _correct(problem, K64, state, budget, scale, precondition)
        stored = stored and not done
        if not done:
            _outer(problem, (Packed(K32) if stored else K32, K64), state, budget, goal, precondition)
    Z, rank = state.Z * scale, state.low_rank.rank
    coef, intercept, residual = problem.finish(Z, state.R * scale)
    work = Work(
        solver=f"conjugate gradients, preconditioner of rank {rank}",
        reason=reason,
        iterations=state.steps,
        bytes=_bytes(problem, rank, state.low_rank.dtype.itemsize, stored),
        seconds=perf_counter() - begin,
        precision="float32 products, float64 residuals" if state.single else "float64 products",
    )
    certificate = certify(problem, coef, intercept, work, budget.tol, residual=residual)
    return Result(coef, intercept, certificate, residual=residual, warm_start=Z)


def is_complete(low_rank: LowRank, problem: RidgeProblem) -> bool:
    """Whether the remainder of a factor of D K D is small compared with alpha, which float32 cannot resolve."""
    exact = low_rank.rank > 0 and low_rank.dtype == np.float64
    return exact and bool(low_rank.remainder.sum() <= LITTLE_LEFT * problem.ridges.min())


def _correct(
    problem: RidgeProblem, K64: Operator, state: _State, budget: Budget, scale: np.ndarray, precondition: Any
) -> bool:
    """Corrections by the preconditioner with float64 products, as long as each lowers the residual to a third.

    It is done when the certificate will say so: residuals of y and of D 1 add up, but seldom to the sum of their sizes.
    Returns whether it is done, or ``budget`` allows no more.
    """
    before, stopped, done = np.inf, False, False
    while not done and state.size <= before / 3.0 and state.steps < budget.max_iter and not stopped:
        before, Z = state.size, state.Z + precondition(state.R, problem.ridges)
        state.take(Z, state.B - problem.apply(Z, problem.ridges, K64))
        state.steps += 1
        stopped = budget.progress is not None and bool(budget.progress(iterations, state.size))
        done = bool(problem.judge(*problem.finish(state.Z * scale, state.R * scale)).residuals.max() <= budget.tol)
    state.single = not done
    return stopped or done or state.steps >= budget.max_iter


def _outer(
    problem: RidgeProblem,
    forms: tuple[Operator, Operator],
    state: _State,
    budget: Budget,
    goal: float,
    precondition: Any,
) -> None:
    """Corrections by products with K in two forms, until the residual by the second one, in float64, is small enough.

    If residuals decrease by less than a twentieth in a quarter of ``max_iter`` iterations, or in a tenth of them for
    float32, that precision stops early: the certificate then says that it did not converge.
    """
    (K, K64), max_iter = forms, budget.max_iter
    while state.size > goal and state.steps < max_iter:
        lowest = 1e-10 if not state.single else 1e-4 if goal < 1e-5 else 0.0
        reduction = max(0.3 * goal / state.size, lowest)
        report = None if budget.progress is None else _scaled(budget.progress, state.size)
        left = max_iter - state.steps
        # float32 makes its progress in few steps, so it may not use up all of them
        limits = (
            (min(left, max(100, max_iter // 4)), max(100, max_iter // 10))
            if state.single
            else (left, max(100, max_iter // 4))
        )
        change, taken, stopped = _inner(problem, K, state.R, precondition, reduction, limits, report)
        state.steps, before, Z = state.steps + taken, state.size, state.Z + change
        stalled = state.take(Z, state.B - problem.apply(Z, problem.ridges, K64)) > 0.5 * before
        if stopped or (stalled and not state.single):
            break
        if stalled:
            K, state.single = K64, False
            del precondition, state.low_rank  # free their memory for the float64 factor
            state.low_rank = approximate(problem, K64, working_memory(budget.memory) // 4, budget.random_state)
            precondition = Preconditioner(state.low_rank, problem.ridges, budget.threads)


def _preconditioner(problem: RidgeProblem, state: _State, budget: Budget) -> Any:
    """From the low-rank factor, and from blocks of its remainder where that is large.

    A float32 factor that ends at a small rank leaves only rounding, which may exceed alpha: then it is replaced by a
    float64 one, in the memory of a float32 factor of the wanted rank.
    """
    wanted = preconditioner_rank(problem.n, working_memory(budget.memory) // 4)
    if blocks_help(problem, state.low_rank, wanted):
        K = problem.gram.astype(np.float32)
        return BlockPreconditioner(problem, K, state.low_rank, budget.random_state, budget.threads)
    if state.low_rank.rank <= wanted // 2 and state.low_rank.dtype == np.float32:
        K64 = problem.gram.astype(np.float64)
        del state.low_rank  # free its memory for the other one
        state.low_rank = _factored(problem, K64, wanted // 2, budget.random_state)
    return Preconditioner(state.low_rank, problem.ridges, budget.threads)


def _scaled(progress: Progress, size: float) -> Progress:
    return lambda what, residual: progress(what, residual * size)


def preconditioner_rank(n: int, memory: int) -> int:
    """n / 12, at most 2,000 and within the memory: twice the rank halves the iterations and doubles the set-up."""
    return int(min(n, 2000, max(100, n / 12), max(memory // (5 * n), 50)))


def approximate(problem: RidgeProblem, K: Any, memory: int, random_state: Any) -> LowRank:
    """A factor of D K D for a preconditioner, of lower rank if the trace of the remainder falls below alpha."""
    return _factored(problem, K, preconditioner_rank(problem.n, memory), random_state)


def _factored(problem: RidgeProblem, K: Any, rank: int, random_state: Any) -> LowRank:
    weights = None if problem.weights is None else problem.sqrt_weights.ravel()
    return pivoted_cholesky(K, rank, stop=float(problem.ridges.min()), weights=weights, random_state=random_state)


def _inner(
    problem: RidgeProblem,
    K: Operator,
    R: np.ndarray,
    precondition: Any,
    reduction: float,
    limits: tuple[int, int],
    progress: Progress | None,
) -> tuple[np.ndarray, int, bool]:
    """Conjugate gradients for all columns at once until each residual is reduced; finished columns are left out.

    ``limits`` are the maximum number of iterations, and the patience: iterations in which the largest residual must
    fall by a twentieth. Returns the solution, the iterations taken, and whether ``progress`` stopped them.
    """
    ridges, (max_iter, patience) = problem.ridges, limits
    X, R, D = np.zeros_like(R), R.copy(), problem.sqrt_weights
    start = np.linalg.norm(R, axis=0)
    S = precondition(R, ridges)
    P, rho = S.copy(), np.einsum("ij,ij->j", R, S)
    best = before = 1.0
    for step in range(1, max_iter + 1):
        live = np.flatnonzero((np.linalg.norm(R, axis=0) > reduction * start) & (rho > 0))
        if not len(live):
            return X, step - 1, False
        Q = D * (K @ (D * P[:, live])) + ridges[live] * P[:, live]
        curvature = np.einsum("ij,ij->j", P[:, live], Q)
        length = np.divide(rho[live], curvature, out=np.zeros_like(curvature), where=curvature > 0)
        X[:, live] += length * P[:, live]
        R[:, live] -= length * Q
        S = precondition(R[:, live], ridges[live])
        new = np.einsum("ij,ij->j", R[:, live], S)
        P[:, live] = S + (new / rho[live]) * P[:, live]
        rho[live] = np.where(curvature > 0, new, 0.0)  # a direction without curvature is rounding: stop
        size = float((np.linalg.norm(R, axis=0) / np.maximum(start, 1e-300)).max())
        best = min(best, size)
        if progress is not None and progress(iterations, size):
            return X, step, True
        if step % patience == 0:
            if best > 0.95 * before:
                return X, step, False
            before = best
    return X, max_iter, False
