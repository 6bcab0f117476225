"""Box-constrained duals by SMO on working sets: support vector machines and their relatives."""

from __future__ import annotations

from contextlib import nullcontext
from time import perf_counter
from typing import Any

import numpy as np

from representer import _parallel
from representer._loops import box_dual
from representer._loops import smo as loops
from representer.gram.submatrix import COARSE, Submatrix, shared_bytes, stored_precisely
from representer.problems.box import FEASIBLE, BoxProblem
from representer.result import Budget, Plan, Result, Work, certify
from representer.solvers.memory import stores_matrix
from representer.solvers.smo import interior_point, small
from representer.solvers.smo.exact import add_products, checked_kkt, exact_kkt, rebalance
from representer.solvers.smo.polish import POLISH_UP_TO, polish
from representer.solvers.smo.state import KKT, SMO_STEPS, State, require_finite, take_steps

FLAT_UP_TO = 6000
"""Coefficients up to which all of them form the first working set."""
SET_SIZE = 8192
"""Minimum size of the working set beyond that."""
SPARE = 3 * SET_SIZE // 8
"""Minimum number of coefficients in it besides the free ones."""
MAX_SIZE = 2 * SET_SIZE
"""The largest working set."""
SHRINK_FROM = 1200
"""Size from which a working set is also shrunk while stepping to the tolerance."""
STEPS_TO_SHRINK = 2
"""Steps per variable between shrinking checks."""
FLOAT32_GRADIENT = 1e-4
"""The target KKT violation, relative to the derivatives, below which steps need g in float64."""
MANY_STEPS = 100
"""Steps per coefficient after which they need it, too: that many suggest differences that float32 cannot resolve."""
CHECKS = 8
"""Maximum float64 re-checks before giving up."""

INPUT_COPIES = 3.5
"""Memory for inputs prepared in float64, in float32 and for the rows of a check, in units of the first."""
MATRIX_COPIES = 1.5
"""The same for inputs that are rows of a precomputed matrix."""
KEPT, PARTLY_KEPT = "all kernel values fit the memory", "n is large, so only a working set's matrix is kept"

name, interior = "SMO", interior_point.name
way_out = "use fewer rows, or a larger memory="


def cost(problem: BoxProblem, budget: Budget) -> Plan:
    """The plan for one dual; for pairs of classes, which share kernel values, see `cost_of_pairs`."""
    return cost_of_pairs(problem.gram, np.array([problem.n]), budget, 1 if problem.epsilon == 0.0 else 2)


def cost_of_pairs(gram: Any, sizes: np.ndarray, budget: Budget, parts: int = 1) -> Plan:
    """The plan for the duals of all pairs of classes of these sizes, or for one dual of a single size.

    ``parts`` is 2 where coefficients have positive and negative parts, as those of regression.

    ===========================  ======================================  ===============================================
    kernel matrix in memory      when                                    takes
    ===========================  ======================================  ===============================================
    whole                        n <= 6,000                              n^2 floats, and as many doubles for n < 700
    of each pair of classes      several classes, and n <= 6,000, or     at most n^2 floats; a fifth for ten equal
                                 n^2 floats fit a quarter of the memory  classes on two threads; n^2 doubles, and both
                                                                         of pairs, if those are below 700 and n <= 3,000
    of a working set             otherwise                               8,192^2 floats, and up to 16,384^2 if there is
                                                                         room and so many coefficients are free
    ===========================  ======================================  ===============================================

    Prepared inputs and a tile per thread come on top.
    """
    n, room = len(gram), _room(gram, budget)
    largest = sum(sorted(sizes.tolist())[-2:])  # coefficients of the largest dual
    values, reason, precise = n * (n + 1) // 2, KEPT, False
    if len(sizes) > 1 and keeps_all_values(n, budget):
        threads = budget.threads or _parallel.default_threads()
        precise = shares_doubles(gram, sizes, budget)
        matrices = 8 * n * n + small.pair_bytes(sizes, threads) if precise else shared_bytes(gram, sizes, threads)
    elif largest <= FLAT_UP_TO:
        precise = _is_small(largest, room)
        matrices = matrix_bytes(largest, room)
    else:
        least, most = (4 * min(largest, size) ** 2 for size in (SET_SIZE, MAX_SIZE))
        matrices, values, reason = max(least, min(most, room)), n * n, PARTLY_KEPT
    form = small.many_steps if precise and interior_point.is_few(parts * largest) else ""
    plan = Plan(name, reason, budget.memory - room + matrices, values, 3e-9 * values + 2e-7 * n, form=form)
    return plan.within(budget.memory, way_out)


def keeps_all_values(n: int, budget: Budget) -> bool:
    """Whether the kernel values of all pairs of classes fit the memory, so that none is computed twice."""
    return n <= FLAT_UP_TO or stores_matrix(n, budget.memory)


def shares_doubles(gram: Any, sizes: np.ndarray, budget: Budget) -> bool:
    """Whether small pairs of classes share a float64 matrix of all inputs."""
    return small.pairs_share_doubles(sizes, _room(gram, budget), budget.threads or _parallel.default_threads())


def keep(gram: Any, budget: Budget) -> Any:
    """The matrix for a dual with several coefficients per input, with all values stored where `cost` plans that."""
    if len(gram) > FLAT_UP_TO:
        return gram
    return stored_precisely(gram, np.float64 if _is_small(len(gram), _room(gram, budget)) else np.float32)


def overhead(gram: Any, budget: Budget) -> int:
    """Bytes of prepared inputs and of a tile per thread; matrices come on top."""
    tiles = _parallel.TILE_BYTES * (budget.threads or _parallel.default_threads())
    in_memory = isinstance(gram.X, np.ndarray) and not isinstance(gram.X, np.memmap)  # prepared now, or on demand
    inputs = max(gram.nbytes, gram.X.nbytes if in_memory else 0) * 8 // gram.dtype.itemsize
    return int((INPUT_COPIES if gram.kernel.rowwise else MATRIX_COPIES) * inputs) + tiles


def _room(gram: Any, budget: Budget) -> int:
    """Bytes left for matrices; negative if not even inputs and tiles fit."""
    return budget.memory - overhead(gram, budget)


def _is_small(n: int, room: float) -> bool:
    """Whether a dual is small enough to store all its kernel values in float64."""
    return n < min(small.SMALL_BELOW, FLAT_UP_TO) and small.SMALL_BYTES * n * n <= room


def matrix_bytes(n: int, room: float = np.inf) -> int:
    """Bytes of the matrices of a dual that keeps all values."""
    return (small.SMALL_BYTES if _is_small(n, room) else 4) * n * n


def solve(problem: BoxProblem, budget: Budget, reason: str, start: np.ndarray | None = None) -> Result:
    """Rounds of working-set selection (free coefficients and worst violators), SMO steps, and gradient updates.

    Steps keep g in float32 as long as that resolves it, and otherwise in float64, and use float32 kernel values until
    the KKT violation that these show is below the tolerance. Then the violation is recomputed from float64 values
    wherever they can decide it, and again after any further steps, which are float64 from then on; small duals use
    float64 values from the start. So a fit ends with the true violation below the tolerance, or reports that it did not
    converge.

    ``start`` is a warm start: feasible coefficients, within their boxes and with the problem's sums; zero when not
    given.
    """
    begin, gram = perf_counter(), problem.gram
    is_small = _is_small(problem.n, _room(gram, budget)) if gram.stored is None else gram.stored.dtype == np.float64
    c = np.zeros(problem.n) if start is None else start.astype(np.float64)
    single = gram if is_small or gram.stored is not None else gram.astype(np.float32)
    state = State(c, -problem.targets.astype(np.float64), single, Submatrix(single))
    # BLAS takes one thread for sums over some hundred coefficients; others would depend on the number of threads
    with nullcontext() if is_small else _parallel.one_blas_thread():
        if is_small:
            kkt, K = small.solve(problem, state, budget)
            error, taken = 0.0, K.nbytes
        else:
            kkt, error = _rounds(problem, state, budget)
            K, taken = gram.astype(np.float64), state.working.peak
        if problem.n <= POLISH_UP_TO and kkt.violation <= max(budget.tol, 1e-5):
            kkt = polish(problem, state, kkt, K.dense().astype(np.float64, copy=False), budget.max_iter)
            error = 0.0
        if problem.infeasibility(state.c) > 0.1 * FEASIBLE:
            rebalance(problem, state)
            kkt = KKT.of(problem, state.c, state.g)
        work = Work(
            solver=f"{name}, then {interior}" if state.interior_steps else name,
            reason=reason,
            iterations=state.steps + state.interior_steps,
            bytes=taken,
            seconds=perf_counter() - begin,
            precision="float64" if is_small or state.gram is not single else "float32 values, float64 check",
        )
        known, b = {"gradient": state.g, "error": error}, problem.raised(kkt.intercepts, kkt.violation, state.c)
        certificate = certify(problem, state.c, b, work, budget.tol, **known)
    return Result(state.c, b, certificate, applied=state.g + problem.targets, n_iter=state.steps)


def _rounds(problem: BoxProblem, state: State, budget: Budget) -> tuple[KKT, Any]:
    """Rounds on working sets, with float32 values and a float64 check; returns KKT conditions and gradient errors."""
    tol, progress, limit = budget.tol, budget.progress, budget.max_iter
    state.one_thread = (problem.gram.threads or _parallel.default_threads()) == 1
    moved = np.flatnonzero(state.c)
    state.from_zero = not len(moved)
    add_products(problem, state, np.float32, moved, state.c[moved], np.arange(problem.n))
    checked, checks_left, stuck, error = -1, CHECKS, False, 0.0
    while True:
        kkt = KKT.of(problem, state.c, state.g)
        if kkt.violation <= tol and checked != state.steps and checks_left:
            kkt, error = checked_kkt(problem, state, kkt, tol, problem.n <= FLAT_UP_TO)
            checked, checks_left = state.steps, checks_left - 1
            if kkt.violation > tol:
                _use_float64(problem, state)
        state.stopped |= progress is not None and bool(progress(SMO_STEPS, kkt.violation))
        if kkt.violation <= tol or state.steps >= limit or not checks_left or state.stopped:
            break
        _select(problem, state, kkt, budget)
        if _settle(problem, state, kkt, budget):
            stuck = False
        elif stuck or len(state.working.index) == problem.n:
            break
        else:  # no violating pair in the working set, so select another one
            stuck, state.working.index = True, np.empty(0, int)
    # where it stopped early, the violation reached is computed from float64 values, too
    if checked == state.steps:
        return kkt, error
    return exact_kkt(problem, state, np.arange(problem.n)), 0.0


def _select(problem: BoxProblem, state: State, kkt: KKT, budget: Budget) -> None:
    """Working-set selection: the free coefficients and the worst violators, appended or in a new set.

    Bounded variables are shrunk when that pays; KKT violators re-enter.
    """
    n, working = problem.n, state.working
    if not len(working.index) and (problem.gram.stored is not None or n <= FLAT_UP_TO):
        working.restart(_by_groups(problem, np.arange(n)), n)
    if len(working.index) == n:
        return
    priority = kkt.priority(kkt.aim(budget.tol), state.rounds)
    most = min(n, MAX_SIZE, max(2, int(np.sqrt(max(_room(problem.gram, budget), 0) // 4))))
    free = int(np.count_nonzero(kkt.free))
    # the first set of a fit from zero is a sample of violators, so its fraction of free ones is an estimate
    first = state.from_zero and state.rounds == 1 and len(working.index) > 0
    expected = n * free // len(working.index) if first else 0
    size = min(most, max(SET_SIZE, free + SPARE, expected))
    wanted = np.flatnonzero(priority > 0.0)
    if len(wanted) > size:
        if free > size // 2:  # free ones alone may hold no violating pair
            priority[_largest(kkt.violations, wanted, size // 2)] += 2.0 * priority.max()
        priority[kkt.worst] += priority.max()  # else these may hold no violating pair, either
        wanted = np.sort(_largest(priority, wanted, size))
    new = np.setdiff1d(wanted, working.index, assume_unique=True)
    if not working.has_room_for(len(new)):
        working.restart(_by_groups(problem, wanted), most)
        return
    working.grow(_by_groups(problem, new))
    kept = np.flatnonzero(priority[working.index] > 0.0)
    if _pays(state, kept):
        working.shrink(kept)


def _largest(values: np.ndarray, index: np.ndarray, count: int) -> np.ndarray:
    """The ``count`` entries of the index with the largest values."""
    return index[np.argpartition(-values[index], count - 1)[:count]]


def _by_groups(problem: BoxProblem, index: np.ndarray) -> np.ndarray:
    """An index sorted so that groups are contiguous."""
    return index if problem.groups is None else index[np.argsort(problem.groups[index], kind="stable")]


def _pays(state: State, kept: np.ndarray) -> bool:
    """Whether shrinking to ``kept`` costs less than it saves, if as many steps follow as there were."""
    return len(kept) ** 2 < state.steps * (len(state.working.index) - len(kept))


def _settle(problem: BoxProblem, state: State, kkt: KKT, budget: Budget) -> bool:
    """Step on the working set, shrinking it on the way, and update g elsewhere; False if nothing moved."""
    c, g, working, tol = state.c.copy(), state.g.copy(), state.working, budget.tol
    aim = 0.5 * tol if len(working.index) == problem.n else kkt.aim(tol)
    while True:
        most = budget.max_iter - state.steps
        if aim < tol and len(working.index) >= SHRINK_FROM and working.owned:
            most = min(most, STEPS_TO_SHRINK * len(working.index))
        taken = _step(problem, state, kkt.middle, aim, most, budget)
        if taken < most or state.steps == budget.max_iter:
            break
        now = KKT.of(problem, state.c, state.g, working.index)
        kept = np.flatnonzero(now.free | (now.violations > aim))
        if state.stopped or not len(kept):
            break
        if _pays(state, kept):
            working.shrink(kept)
    state.rounds += 1
    others = np.ones(problem.n, bool)
    others[working.index] = False
    state.g[others] = g[others]
    moved = np.flatnonzero(state.c != c)
    dtype = np.float32 if state.gram.dtype == np.float32 else np.float64
    add_products(problem, state, dtype, moved, state.c[moved] - c[moved], np.flatnonzero(others))
    return len(moved) > 0


def _step(problem: BoxProblem, state: State, middle: np.ndarray, aim: float, most: int, budget: Budget) -> int:
    """At most ``most`` SMO steps on the working set, which update its g; returns how many were taken."""
    working, before, progress = state.working, state.steps, budget.progress
    order = np.arange(len(working.index))
    if problem.groups is not None:
        order = np.argsort(problem.groups[working.index], kind="stable")
    subset, columns, K = working.index[order], working.columns[order], working.values
    c, g, groups, diagonal = state.c[subset], state.g[subset], problem.group_of[subset], K.diagonal()[columns]
    require_finite(diagonal)
    box = (
        diagonal,
        problem.lower[subset],
        problem.upper[subset],
        problem.epsilon,
        box_dual.spans(groups, columns, loops.SPAN),
    )
    centre = middle[groups]
    size = np.partition(np.abs(g - centre), len(g) // 2)[len(g) // 2]  # np.median takes four times as long
    left, violation = min(most, MANY_STEPS * problem.n - before), np.inf
    if state.float32_gradient and aim > FLOAT32_GRADIENT * size and left > 0:
        single = (g - centre).astype(np.float32)
        violation = take_steps(K, single, c, box, aim, left, state, progress)
        # a rounding error is uniform within half a unit in the last place
        rounding = np.finfo(np.float32).eps / np.sqrt(12.0) * float(np.abs(single).max())
        state.rounding_error = float(np.hypot(state.rounding_error, rounding * np.sqrt(state.steps - before)))
        g = single + centre
    if violation > aim:
        take_steps(K, g, c, box, aim, most - (state.steps - before), state, progress)
    state.c[subset], state.g[subset] = c, g
    return state.steps - before


def _use_float64(problem: BoxProblem, state: State) -> None:
    """Step and update in float64; rebuild the working matrix from float64 inputs if float32 ones are too coarse."""
    state.float32_gradient = False
    if state.gram.dtype == np.float32:
        state.gram = problem.gram.astype(np.float64)
        if problem.gram.float32_error() > COARSE:
            state.working.use(state.gram)
