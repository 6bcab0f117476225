"""Box-constrained duals by pair steps on working sets: support vector machines and their relatives."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from representer import _tiles
from representer._loops import symmetric
from representer._loops.box import gradient, spans
from representer._loops.smo import SPAN
from representer.gram import Gram
from representer.problem import BoxProblem, Progress
from representer.solvers.box import (
    FEW_BELOW,
    FEW_BYTES,
    PAIR_STEPS,
    BoxResult,
    Rates,
    State,
    require_finite,
    take_steps,
)
from representer.solvers.kernel_values import is_coarse, rounding_of
from representer.solvers.polish import polish

FLAT_UP_TO = 6000
"""Coefficients up to which all of them form the first working set."""
SET_SIZE = 8192
"""Least size of the working set beyond that."""
MORE = 3 * SET_SIZE // 8
"""Points that it has at least on top of the free coefficients."""
MAX_SIZE = 2 * SET_SIZE
"""The largest working set."""
SHRINK_FROM = 1200
"""Size of a working set from which those who come to rest leave it also on the way to the tolerance."""
ROUND = 2
"""Steps for each of its coefficients after which it is looked who rests."""
FEW_NEW = 1 / 4
"""New points, as a part of the working set, up to which its matrix has room for them; for more it begins anew."""
EXACT_PAIRS = 2 * 10**5
"""Kernel values in float64 that the last check may take rather than measure the size of roundings."""
VALUE = 3e-7
"""Relative standard error of the objective up to which roundings of g do not matter for it."""
LEAN = 1e-4
"""Where steps lead to, relative to the rates, below which they need g in float64."""
COARSE = 1e-5
"""The same for the greatest rate, where all is computed anew in float64 after these steps."""
MANY_STEPS = 100
"""Steps for each coefficient from which they need it, too: so many hint at what float32 cannot resolve."""
LARGE = 1e30
"""Kernel values from which float32 leaves no room for sums of them."""
CHECKS = 8
"""How often the violation is computed anew from float64 values before it is told that steps lead no further."""
POLISH_UP_TO = 200
"""Coefficients up to which the last digits are found, too."""


def solve(
    problem: BoxProblem,
    *,
    tol: float = 1e-3,
    start: np.ndarray | None = None,
    max_steps: int | None = None,
    memory: int | None = None,
    progress: Progress | None = None,
) -> BoxResult:
    """Rounds of: choose the free coefficients and the worst violators, step on them alone, correct all gradients.

    Steps keep g in float32 as long as that resolves it, and otherwise in float64, and take kernel values in float32
    until the violation that they show is below the tolerance. Then it is computed from float64 values, which few
    coefficients have from the beginning, for all points that can decide it; again after all further steps, which are
    float64 from then on. So a fit ends with the true violation below the tolerance, or says that it did not.

    Parameters
    ----------
    problem : BoxProblem
    tol : float
    start : array of shape (n,), optional
        Coefficients within their boxes; their sums over groups are kept. All zero when not given.
    max_steps : int, optional
        max(10^7, 100 n) when not given.
    memory : int, optional
        Bytes that the matrix of a working set may take. It begins with SET_SIZE rows, up to MAX_SIZE if many
        coefficients are free, and may grow by a quarter.
    progress : function of what is done and the violation, optional
        Called after each round and some steps in between; whether to stop.
    """
    begin, n = time.perf_counter(), problem.n
    limit = max(10**7, 100 * n) if max_steps is None else max_steps
    c = np.zeros(n) if start is None else start.astype(np.float64)
    state = State(c, -problem.targets.astype(np.float64))
    few = n < min(FEW_BELOW, FLAT_UP_TO) and (memory is None or FEW_BYTES * n * n <= memory)
    if few if problem.matrix is None else problem.matrix.dtype == np.float64:
        rates = _few(problem, state, tol, limit, progress)
    else:
        rates = _rounds(problem, state, tol, limit, memory, progress)
    if n <= POLISH_UP_TO and rates.violation <= max(tol, 1e-5):

        def settle(rates: Rates, tol: float) -> bool:
            _choose(problem, state, rates, tol)
            return _settle(problem, state, rates, tol, limit)

        if state.half is not None:
            state.unpack(np.float64)
        with _tiles.one_blas_thread():
            polish(problem, state, rates, settle)
        rates = _exact(problem, state, np.arange(n))
    intercepts = rates.intercepts
    primal, dual = problem.values(state.c, state.g, intercepts)
    return BoxResult(
        coef=state.c,
        gradient=state.g,
        intercepts=intercepts,
        violation=rates.violation,
        primal=primal,
        dual=dual,
        converged=rates.violation <= tol,
        steps=state.steps,
        kernel_evaluations=state.evaluations,
        bytes=state.bytes,
        seconds=time.perf_counter() - begin,
        precision="float64" if state.inputs is problem.exact else "float32 values, float64 check",
    )


def _few(problem: BoxProblem, state: State, tol: float, limit: int, progress: Progress | None) -> Rates:
    """Steps on the matrix of all coefficients, and g anew from float64 values, which further steps take, too."""
    n, state.inputs = problem.n, problem.exact
    in_order = problem.groups is None or bool(np.all(np.diff(problem.groups) >= 0))
    state.chosen = np.arange(n) if in_order else np.argsort(problem.group_of, kind="stable")
    order = slice(None) if in_order else state.chosen
    if problem.matrix is None:
        points = state.inputs if in_order and problem.rows is None else problem.at(state.inputs, state.chosen)
        below, diagonal = problem.kernel.half_block(points, threads=problem.threads)
        below, diagonal = below.astype(np.float64, copy=False), diagonal.astype(np.float64, copy=False)
        state.evaluations = n * (n + 1) // 2
    else:
        columns = state.chosen if problem.columns is None else problem.columns[state.chosen]
        below, diagonal = symmetric.half(problem.matrix, columns), problem.matrix.diagonal()[columns]
    state.half, state.bytes, groups = (below, diagonal), FEW_BYTES * n * n, problem.group_of[order]
    largest = float(np.abs(diagonal).max())
    if not largest < np.inf:
        require_finite(diagonal)
    box = problem.lower[order], problem.upper[order], problem.epsilon, spans(groups, np.arange(n), SPAN)
    rates = _exact(problem, state, state.chosen) if state.c.any() else Rates.of(problem, state)
    coarse, moved = max(largest, float(np.abs(state.g).max())) < LARGE, True
    for _ in range(CHECKS):
        state.stopped |= progress is not None and bool(progress(PAIR_STEPS, rates.violation))
        if rates.violation <= tol or state.steps >= limit or state.stopped or not moved:
            break
        before, c, g = state.steps, state.c[order], state.g[order] - rates.middle[groups]
        aim, most = 0.5 * tol, limit - before
        if coarse:  # as far as float32 resolves the rates
            aim, most = max(aim, COARSE * float(np.abs(g).max())), min(most, MANY_STEPS * n)
            state.unpack(np.float32)
            take_steps(state, g.astype(np.float32), c, (diagonal.astype(np.float32), *box), aim, most, progress)
        else:
            if state.K.dtype != np.float64:
                state.unpack(np.float64)
            take_steps(state, g, c, (diagonal, *box), aim, most, progress)
        state.c[order] = c
        moved, coarse = state.steps > before or coarse, False
        rates = _exact(problem, state, state.chosen)
    return rates


@_tiles.one_blas_thread()
def _rounds(
    problem: BoxProblem, state: State, tol: float, limit: int, memory: int | None, progress: Progress | None
) -> Rates:
    """Rounds on working sets, with float32 values and a check in float64."""
    state.alone = (problem.threads or _tiles.default_threads()) == 1
    state.inputs, moved = problem.fast, np.flatnonzero(state.c)
    state.from_zero = not len(moved)
    _add(problem, state, state.inputs, moved, state.c[moved], np.arange(problem.n))
    checked, checks_left, stuck = -1, CHECKS, False
    while True:
        rates = Rates.of(problem, state)
        if rates.violation <= tol and checked != state.steps and checks_left:
            rates = _checked(problem, state, rates, tol)
            checked, checks_left = state.steps, checks_left - 1
            if rates.violation > tol:
                _use_float64(problem, state)
        state.stopped |= progress is not None and bool(progress(PAIR_STEPS, rates.violation))
        if rates.violation <= tol or state.steps >= limit or not checks_left or state.stopped:
            break
        _choose(problem, state, rates, tol, memory)
        if _settle(problem, state, rates, tol, limit, progress):
            stuck = False
        elif stuck or len(state.chosen) == problem.n:
            break
        else:  # the working set has no pair to step on, so another one is chosen from all points
            stuck, state.chosen = True, np.empty(0, int)
    # where it stopped on the way, what was reached is told from float64 values, too
    return rates if checked == state.steps else _exact(problem, state, np.arange(problem.n))


def _choose(problem: BoxProblem, state: State, rates: Rates, tol: float, memory: int | None = None) -> None:
    """Put the free coefficients and the worst violators into the working set: behind others, or into a new one.

    Coefficients at a bound that they press against leave it if they are many; who comes to violate enters again.
    """
    n = problem.n
    if not len(state.chosen) and (problem.matrix is not None or n <= FLAT_UP_TO):
        _start(problem, state, np.arange(n), n)
    if len(state.chosen) == n:
        return
    urgency = rates.urgency(rates.aim(tol), state.rounds)
    most = min(n, MAX_SIZE) if memory is None else min(n, MAX_SIZE, max(2, int(np.sqrt(memory // 4))))
    free = int(np.count_nonzero(rates.free))
    # the first set of a fit from zero is a sample, of violators at least: its share of free coefficients tells of all
    first = state.from_zero and state.rounds == 1 and len(state.chosen) > 0
    expected = n * free // len(state.chosen) if first else 0
    size = min(most, max(SET_SIZE, free + MORE, expected))
    wanted = np.flatnonzero(urgency > 0.0)
    if len(wanted) > size:
        if free > size // 2:  # those alone may have no pair to step on
            urgency[_largest(rates.violations, wanted, size // 2)] += 2.0 * urgency.max()
        urgency[rates.worst] += urgency.max()  # else there may be no pair among them, either
        wanted = np.sort(_largest(urgency, wanted, size))
    new = np.setdiff1d(wanted, state.chosen, assume_unique=True)
    if len(new) > FEW_NEW * len(state.chosen) or len(state.chosen) + len(new) > _room(state):
        _start(problem, state, wanted, most)
        return
    _grow(problem, state, new)
    busy = np.flatnonzero(urgency[state.chosen] > 0.0)
    if _pays(state, busy):
        _leave(state, busy)


def _largest(values: np.ndarray, index: np.ndarray, count: int) -> np.ndarray:
    """Those of the index that have the largest values."""
    return index[np.argpartition(-values[index], count - 1)[:count]]


def _start(problem: BoxProblem, state: State, chosen: np.ndarray, most: int) -> None:
    """Begin a working set, with its kernel matrix; there will be no larger one than the given number of points.

    The largest matrix has its place from the first one on: most systems take memory only where it is written to.
    """
    state.chosen = chosen[_by_groups(problem, chosen)]
    if problem.matrix is not None and state.K.size == 0:
        state.K = problem.matrix
        return
    n, state.K = len(chosen), np.empty((0, 0), np.float32)
    width = _width(n, most)
    if len(state.buffer) < n * width:
        state.buffer = np.empty(0)  # let go of the old one first
        try:
            state.buffer = np.empty(most * most, np.float32)
        except MemoryError:  # where memory is taken whether it is written to or not
            state.buffer = np.empty(n * width, np.float32)
    _fill(problem, state, width, 0)


def _width(n: int, most: int) -> int:
    """Columns of the matrix of n points, with room for some more, unless n is the most that the memory allows.

    Rows do not all begin at the same place of a page of memory, as then they would drive each other out of the cache.
    """
    width = n + int(FEW_NEW * n)
    width += 16 if width % 1024 < 16 else 0
    return max(n, min(width, most * most // n))


def _by_groups(problem: BoxProblem, index: np.ndarray) -> np.ndarray:
    """Places of an index in an order in which those of a group stand together."""
    return np.arange(len(index)) if problem.groups is None else np.argsort(problem.groups[index], kind="stable")


def _room(state: State) -> int:
    """Points that the matrix of the working set has room for."""
    width = state.K.shape[1]
    return min(width, len(state.buffer) // max(width, 1))


def _grow(problem: BoxProblem, state: State, new: np.ndarray) -> None:
    """Put more points behind those of the working set, and their kernel values behind those in its matrix."""
    if len(new):
        known, state.chosen = len(state.chosen), np.append(state.chosen, new[_by_groups(problem, new)])
        _fill(problem, state, state.K.shape[1], known)


def _fill(problem: BoxProblem, state: State, width: int, known: int) -> None:
    """The kernel matrix of the working set, at the front of its memory, where that of its first points may be."""
    n = len(state.chosen)
    state.K = state.buffer[: n * width].reshape(n, width)
    state.bytes = max(state.bytes, state.K.nbytes)
    points = problem.at(state.inputs, state.chosen)
    problem.kernel.block(points, threads=problem.threads, out=state.K, known=known)
    state.evaluations += n * (n + 1) // 2 - known * (known + 1) // 2


def _pays(state: State, kept: np.ndarray) -> bool:
    """Whether it takes less time to remove all others than steps take for them, if as many follow as there were."""
    return len(kept) ** 2 < state.steps * (len(state.chosen) - len(kept))


def _leave(state: State, kept: np.ndarray) -> None:
    """Keep only these places of the working set: steps on fewer points are cheaper."""
    symmetric.compact(state.K, kept)
    state.chosen, state.K = state.chosen[kept], state.K[: len(kept)]


def _settle(
    problem: BoxProblem, state: State, rates: Rates, tol: float, limit: int, progress: Progress | None = None
) -> bool:
    """Step on the working set, which loses those who come to rest, and correct g elsewhere; False if nothing moved."""
    c, g = state.c.copy(), state.g.copy()
    aim = 0.5 * tol if len(state.chosen) == problem.n else rates.aim(tol)
    while True:
        most = limit - state.steps
        if aim < tol and len(state.chosen) >= SHRINK_FROM and len(state.buffer):  # where a matrix of its own is
            most = min(most, ROUND * len(state.chosen))
        taken = _step(problem, state, rates.middle, aim, most, progress)
        if taken < most or state.steps == limit:
            break
        now = Rates.of(problem, state, state.chosen)
        busy = np.flatnonzero(now.free | (now.violations > aim))
        if state.stopped or not len(busy):
            break
        if _pays(state, busy):
            _leave(state, busy)
    state.rounds += 1
    others = np.ones(problem.n, bool)
    others[state.chosen] = False
    state.g[others] = g[others]
    moved = np.flatnonzero(state.c != c)
    _add(problem, state, state.inputs, moved, state.c[moved] - c[moved], np.flatnonzero(others))
    return len(moved) > 0


def _step(
    problem: BoxProblem, state: State, middle: np.ndarray, aim: float, most: int, progress: Progress | None
) -> int:
    """At most so many pair steps on the working set, which correct its g; how many it took."""
    K, before = state.K, state.steps
    columns = _by_groups(problem, state.chosen)
    subset = state.chosen[columns]
    if K is problem.matrix:
        columns = subset if problem.columns is None else problem.columns[subset]
    c, g, groups, diagonal = state.c[subset], state.g[subset], problem.group_of[subset], K.diagonal()[columns]
    require_finite(diagonal)
    box = diagonal, problem.lower[subset], problem.upper[subset], problem.epsilon, spans(groups, columns, SPAN)
    centre = middle[groups]
    size = np.partition(np.abs(g - centre), len(g) // 2)[len(g) // 2]  # the median takes four times as long
    left, violation = min(most, MANY_STEPS * problem.n - before), np.inf
    if state.lean and K.dtype == np.float32 and aim > LEAN * size and left > 0:
        lean = (g - centre).astype(np.float32)
        violation = take_steps(state, lean, c, box, aim, left, progress)
        # a rounding is uniform within half a unit of the last place
        rounding = np.finfo(np.float32).eps / np.sqrt(12.0) * float(np.abs(lean).max())
        state.drift = float(np.hypot(state.drift, rounding * np.sqrt(state.steps - before)))
        g = lean + centre
    if violation > aim:
        take_steps(state, g, c, box, aim, most - (state.steps - before), progress)
    state.c[subset], state.g[subset] = c, g
    return state.steps - before


def _add(
    problem: BoxProblem, state: State, inputs: Any, index: np.ndarray, change: np.ndarray, rows: np.ndarray
) -> None:
    """g[rows] <- g[rows] + K[rows, index] change, in the precision of the inputs."""
    if len(index) and len(rows):
        columns = None if rows is index else problem.at(inputs, index)
        K = Gram.of(problem.kernel, problem.at(inputs, rows), columns, threads=problem.threads)
        state.g[rows] += K @ change
        state.evaluations += len(index) * (len(index) + 1) // 2 if rows is index else len(rows) * len(index)


def _checked(problem: BoxProblem, state: State, rates: Rates, tol: float) -> Rates:
    """Rates from float64 values, for all points that can decide the violation.

    The roundings of float32 kernel values, whose size is measured on some pairs, give each g_i a standard error of
    about that size times the root of k_ii and of the sum of c_j^2 k_jj, and steps on a float32 g add their own; points
    that are ten times as far from both extremes cannot decide. If they agree, others are computed as well: all if the
    error is no small part of the tolerance, so that the duality gap is true, and those with a coefficient if it shows
    in the objective. Some thousand points are computed at once, as two walks over tiles take longer than their values.
    """
    few = EXACT_PAIRS if problem.rounding is None else POLISH_UP_TO**2  # their last digits need all of g
    if np.count_nonzero(state.c) * problem.n <= few:
        return _exact(problem, state, np.arange(problem.n))
    root = np.sqrt(np.abs(problem.diagonal))
    error = np.hypot(rounding_of(problem) * root * np.linalg.norm(root * state.c), state.drift)
    low, high = rates.low[rates.group], rates.high[rates.group]
    near = (rates.rise <= low + 10.0 * error) | (rates.fall >= high - 10.0 * error)
    value = 0.5 * abs(state.c @ (problem.targets - state.g))
    shown = 0.5 * np.linalg.norm(error * state.c) > VALUE * value
    others = np.ones(problem.n, bool) if error.max() > 0.1 * tol else (state.c != 0.0) & shown
    if problem.n <= FLAT_UP_TO:
        near |= others
    rates = _exact(problem, state, np.flatnonzero(near))
    others &= ~near
    if rates.violation <= tol and others.any():
        rates = _exact(problem, state, np.flatnonzero(others))
    return rates


def _exact(problem: BoxProblem, state: State, index: np.ndarray) -> Rates:
    """Compute g of these points in float64, or of all if their values are known; the rates of all."""
    if state.half is not None:
        g = np.empty(problem.n)
        gradient(*state.half, state.c[state.chosen], problem.targets[state.chosen], g)
        require_finite(g)  # steps have not seen kernel values between points that stayed where they were
        state.g[state.chosen] = g
        return Rates.of(problem, state)
    active, wanted = np.flatnonzero(state.c), np.zeros(problem.n, bool)
    wanted[index] = True
    if 2 * np.count_nonzero(wanted[active]) > len(active):  # a value between two of them is that of both
        parts, wanted[active] = [active], False
    else:
        parts = []
    for rows in (*parts, np.flatnonzero(wanted)):
        state.g[rows] = -problem.targets[rows]
        _add(problem, state, problem.exact, active, state.c[active], rows)
    return Rates.of(problem, state)


def _use_float64(problem: BoxProblem, state: State) -> None:
    """Step and correct in float64; build the matrix anew from float64 if float32 inputs are too coarse even for it."""
    state.lean = False
    if state.inputs is problem.fast:
        state.inputs = problem.exact
        if is_coarse(problem):
            state.chosen, state.K = np.empty(0, int), np.empty((1, 1), np.float32)
