"""Box-constrained duals by pair steps on working sets: support vector machines and their relatives."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import linalg

from representer import _tiles
from representer._loops import smo, symmetric
from representer.gram import Gram
from representer.problem import BoxProblem, Progress
from representer.solvers.kernel_values import is_coarse, rounding_of

FLAT_UP_TO = 6000
"""Coefficients up to which all of them form the first working set."""
SET_SIZE = 8192
"""Size of the working set beyond that; if more coefficients are free, half of this on top of them."""
MAX_SIZE = 2 * SET_SIZE
"""The largest working set."""
SHRINK_FROM = 1000
"""Size of a working set from which those who come to rest leave it also on the way to the tolerance."""
ROUND = 2
"""Steps for each of its coefficients after which it is looked who rests."""
MANY_BUSY = 0.9
"""Part of the working set that takes part in steps, below which the rest of it leaves."""
FEW_NEW = 1 / 8
"""New points, as a part of the working set, up to which they take the places of others; for more it begins anew."""
EXACT_PAIRS = 2 * 10**5
"""Kernel values in float64 that the last check may take rather than measure the size of roundings."""
VALUE = 3e-7
"""Relative standard error of the objective up to which roundings of g do not matter for it."""
LEAN_FROM = 512
"""Size of a working set from which steps take longer than all else, and g is float32 for most of them.

Fewer coefficients have a float64 matrix, as a float32 one and its check would take longer.
"""
LEAN = 1e-4
"""Where steps lead to, relative to the rates, below which they need g in float64."""
AT_ONCE = 50_000
"""Pair steps between two looks at the clock and the keyboard."""
PAIR_STEPS = "pair steps"
_Box = tuple[np.ndarray, np.ndarray, np.ndarray, float, np.ndarray]
"""Diagonal of K, lower and upper bounds, epsilon and spans of a working set."""
POLISH_UP_TO = 200
"""Coefficients up to which the last digits are found, too."""


@dataclass(frozen=True)
class BoxResult:
    """The solution of a BoxProblem, and how good it is."""

    coef: np.ndarray
    gradient: np.ndarray
    """g = K c - t."""
    intercepts: np.ndarray
    """b of each group."""
    violation: float
    """Greatest difference of rates within a group, which is what LIBSVM's tolerance means, from float64 values."""
    primal: float
    dual: float
    converged: bool
    steps: int
    kernel_evaluations: int
    bytes: int
    seconds: float
    precision: str


@dataclass
class _State:
    """Coefficients c, g = K c - t, the inputs for kernel values, a working set and its matrix, and the work so far."""

    c: np.ndarray
    g: np.ndarray
    inputs: Any
    chosen: np.ndarray = field(default_factory=lambda: np.empty(0, int))
    K: np.ndarray = field(default_factory=lambda: np.empty((0, 0), np.float32))
    buffer: np.ndarray = field(default_factory=lambda: np.empty(0))
    """Where all matrices are kept, one after the other: fresh pages of memory cost more time than kernel values."""
    lean: bool = True
    """Whether steps may keep g in float32."""
    exact: bool = False
    """Whether the matrix is float64, and of all points."""
    drift: float = 0.0
    """The standard error that this gave it."""
    stopped: bool = False
    """Whether the progress function said so."""
    steps: int = 0
    rounds: int = 0
    evaluations: int = 0
    bytes: int = 0


@dataclass
class _Rates:
    """Rates of raising and lowering some coefficients, and the least and the greatest of them in each group."""

    rise: np.ndarray
    fall: np.ndarray
    group: np.ndarray
    free: np.ndarray
    low: np.ndarray
    high: np.ndarray

    @classmethod
    def of(cls, problem: BoxProblem, state: _State, index: Any = slice(None)) -> _Rates:
        """Those of all coefficients, or of the ones with this index."""
        c, g, lower, upper = state.c[index], state.g[index], problem.lower[index], problem.upper[index]
        rise, fall, group = np.empty_like(g), np.empty_like(g), problem.group_of[index]
        smo.rates(g, c, lower, upper, problem.epsilon, rise, fall)
        members = [slice(None)] if problem.groups is None else [group == s for s in range(problem.n_groups)]
        low, high = [rise[m].min(initial=np.inf) for m in members], [fall[m].max(initial=-np.inf) for m in members]
        return cls(rise, fall, group, (c > lower) & (c < upper), np.array(low), np.array(high))

    @property
    def violation(self) -> float:
        return max(float((self.high - self.low).max()), 0.0)

    def aim(self, tol: float) -> float:
        """The violation to step to: a tenth of the present one when far from the solution, less than tol when near."""
        return 0.5 * tol if self.violation < 0.5 else max(0.5 * tol, 0.1 * self.violation)

    @property
    def violations(self) -> np.ndarray:
        """How much each coefficient violates."""
        return np.maximum(self.high[self.group] - self.rise, self.fall - self.low[self.group])

    def urgency(self, aim: float, seed: int) -> np.ndarray:
        """The violation of each coefficient, above all others for the free ones, and 0 for those that rest.

        Those that violate less than the aim would not be stepped on, so they rest, too.
        """
        violations = self.violations
        # equal violations, as all are at first, are broken by chance and not by the order of the data
        chance = np.random.default_rng(seed).uniform(1.0, 1.001, len(violations))
        urgency = np.where(violations > aim, violations * chance, 0.0)
        urgency[self.free] += violations.max()
        return urgency


@_tiles.one_blas_thread()
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

    Few coefficients have float64 kernel values. For more, g is kept in float64, but for steps on many of them; kernel
    values are float32 until the violation that they show is below the tolerance. Then it is computed from float64
    values for all points that can decide it, again after all further steps (roundings of steps add up also for few
    coefficients), and steps on g and its corrections are float64 from then on. So a fit ends with the true violation
    below the tolerance, or says that it did not.

    Parameters
    ----------
    problem : BoxProblem
    tol : float
    start : array of shape (n,), optional
        Coefficients within their boxes; their sums over groups are kept. All zero when not given.
    max_steps : int, optional
        max(10^7, 100 n) when not given.
    memory : int, optional
        Bytes that the matrix of a working set may take. It has SET_SIZE rows, up to MAX_SIZE if many coefficients are
        free.
    progress : function of what is done and the violation, optional
        Called after each round and some steps in between; whether to stop.
    """
    begin, n = time.perf_counter(), problem.n
    limit = max(10**7, 100 * n) if max_steps is None else max_steps
    c = np.zeros(n) if start is None else start.astype(np.float64)
    exact = n < min(LEAN_FROM, FLAT_UP_TO) and problem.matrix is None and (memory is None or 8 * n * n <= memory)
    state = _State(c, -problem.targets.astype(np.float64), problem.exact if exact else problem.fast, exact=exact)
    _add(problem, state, state.inputs, np.flatnonzero(c), c[c != 0.0], np.arange(n))
    checked, checks_left, stuck = -1, 8, False
    while True:
        rates = _Rates.of(problem, state)
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
        elif stuck or len(state.chosen) == n:
            break
        else:  # the working set has no pair to step on, so another one is chosen from all points
            stuck, state.chosen = True, np.empty(0, int)
    if checked != state.steps:  # stopped on the way: what was reached is told from float64 values, too
        rates = _exact(problem, state, np.arange(n))
    if n <= POLISH_UP_TO and rates.violation <= max(tol, 1e-5):
        _polish(problem, state, rates, limit)
        rates = _exact(problem, state, np.arange(n))
    intercepts = _intercepts(problem, state, rates)
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


def _choose(problem: BoxProblem, state: _State, rates: _Rates, tol: float, memory: int | None = None) -> None:
    """Put the free coefficients and the worst violators into the working set, in place of those that are neither.

    Coefficients at a bound that they press against leave it if they are many; who comes to violate enters again.
    """
    n = problem.n
    if not len(state.chosen) and (problem.matrix is not None or n <= FLAT_UP_TO):
        _start(problem, state, np.argsort(problem.group_of, kind="stable"), n)
    if len(state.chosen) == n:
        return
    urgency = rates.urgency(rates.aim(tol), state.rounds)
    most = min(n, MAX_SIZE) if memory is None else min(n, MAX_SIZE, max(2, int(np.sqrt(memory // 4))))
    size = min(most, max(SET_SIZE, int(np.count_nonzero(rates.free)) + SET_SIZE // 2))
    wanted = np.flatnonzero(urgency > 0.0)
    if len(wanted) > size:
        if np.count_nonzero(rates.free) > size // 2:  # those alone may have no pair to step on
            urgency[_largest(rates.violations, wanted, size // 2)] += 2.0 * urgency.max()
        wanted = np.sort(_largest(urgency, wanted, size))
    new = np.setdiff1d(wanted, state.chosen, assume_unique=True)
    if len(new) > FEW_NEW * len(state.chosen):
        _start(problem, state, wanted[np.argsort(problem.group_of[wanted], kind="stable")], most)
        return
    for s in range(len(rates.low)):
        slots = np.flatnonzero(problem.group_of[state.chosen] == s)
        slots = slots[np.argsort(urgency[state.chosen[slots]])]
        waiting = new[problem.group_of[new] == s]
        waiting = waiting[np.argsort(-urgency[waiting])]
        slots, waiting = slots[: len(waiting)], waiting[: len(slots)]
        better = urgency[waiting] > urgency[state.chosen[slots]]
        _replace(problem, state, np.sort(slots[better]), waiting[better])
    busy = np.flatnonzero(urgency[state.chosen] > 0.0)
    if len(busy) < MANY_BUSY * len(state.chosen):
        _leave(state, busy)


def _largest(values: np.ndarray, index: np.ndarray, count: int) -> np.ndarray:
    """Those of the index that have the largest values."""
    return index[np.argpartition(-values[index], count - 1)[:count]]


def _start(problem: BoxProblem, state: _State, chosen: np.ndarray, most: int) -> None:
    """Begin a working set, with its kernel matrix; there will be no larger one than the given number of points.

    The largest matrix has its place from the first one on: most systems take memory only where it is written to.
    """
    state.chosen = chosen
    if problem.matrix is not None and state.K.size == 0:
        state.K = problem.matrix
        return
    n = len(chosen)
    if len(state.buffer) < n * n:
        state.K = state.buffer = np.empty(0)  # let go of the old one first
        number = np.float64 if state.exact else np.float32
        try:
            state.buffer = np.empty(most * most, number)
        except MemoryError:  # where memory is taken whether it is written to or not
            state.buffer = np.empty(n * n, number)
    state.K = state.buffer[: n * n].reshape(n, n)
    state.bytes = max(state.bytes, state.K.nbytes)
    problem.kernel.block(problem.at(state.inputs, chosen), threads=problem.threads, out=state.K)
    state.evaluations += n * (n + 1) // 2


def _replace(problem: BoxProblem, state: _State, slots: np.ndarray, points: np.ndarray) -> None:
    """Put points into slots of the working set, and their kernel values into its matrix."""
    if not len(slots):
        return
    state.chosen[slots] = points
    new, all_ = problem.at(state.inputs, points), problem.at(state.inputs, state.chosen)
    block = problem.kernel.block(new, all_, threads=problem.threads).astype(np.float32, copy=False)
    state.K[slots] = block
    parts = [(rows, slice(0, 0)) for rows in _tiles.split(len(state.K), 512)]

    def write(run: list[_tiles.Tile]) -> None:
        for rows, _ in run:
            symmetric.write_columns(block[:, rows], slots, state.K[rows])

    for _ in _tiles.walk(parts, write, threads=problem.threads):
        pass
    state.evaluations += block.size


def _leave(state: _State, kept: np.ndarray) -> None:
    """Keep only these places of the working set: steps on fewer points are cheaper."""
    symmetric.compact(state.buffer, len(state.chosen), kept)
    state.chosen = state.chosen[kept]
    state.K = state.buffer[: len(kept) ** 2].reshape(len(kept), len(kept))


def _settle(
    problem: BoxProblem, state: _State, rates: _Rates, tol: float, limit: int, progress: Progress | None = None
) -> bool:
    """Step on the working set, which loses those who come to rest, and correct g elsewhere; False if nothing moved."""
    c, g = state.c.copy(), state.g.copy()
    aim = 0.5 * tol if len(state.chosen) == problem.n else rates.aim(tol)
    ends = rates.low + rates.high
    middle = np.where(np.isfinite(ends), 0.5 * ends, 0.0)  # infinite where all of a group are at one bound
    while True:
        most = limit - state.steps
        if aim < tol and len(state.chosen) >= SHRINK_FROM and state.K is not problem.matrix:
            most = min(most, ROUND * len(state.chosen))
        taken = _step(problem, state, middle, aim, most, progress)
        if taken < most or state.steps == limit:
            break
        now = _Rates.of(problem, state, state.chosen)
        busy = np.flatnonzero(now.free | (now.violations > aim))
        if state.stopped or not len(busy):
            break
        if len(busy) < MANY_BUSY * len(state.chosen):
            _leave(state, busy)
    state.rounds += 1
    others = np.ones(problem.n, bool)
    others[state.chosen] = False
    state.g[others] = g[others]
    moved = np.flatnonzero(state.c != c)
    _add(problem, state, state.inputs, moved, state.c[moved] - c[moved], np.flatnonzero(others))
    return len(moved) > 0


def _step(
    problem: BoxProblem, state: _State, middle: np.ndarray, aim: float, most: int, progress: Progress | None
) -> int:
    """At most so many pair steps on the working set, which correct its g; how many it took."""
    subset, K, before = state.chosen, state.K, state.steps
    columns = np.arange(len(subset))
    if K is problem.matrix:
        columns = subset if problem.columns is None else problem.columns[subset]
    c, g, groups, diagonal = state.c[subset], state.g[subset], problem.group_of[subset], K.diagonal()[columns]
    _require_finite(diagonal)
    box = diagonal, problem.lower[subset], problem.upper[subset], problem.epsilon, spans(groups, columns)
    centre = middle[groups]
    small = len(subset) >= LEAN_FROM and aim > LEAN * np.median(np.abs(g - centre))
    if state.lean and small and state.steps < 100 * problem.n:  # more steps hint at what float32 cannot resolve
        lean = (g - centre).astype(np.float32)
        state.steps += _take_steps(state, lean, c, box, aim, most, progress)
        # a rounding is uniform within half a unit of the last place
        rounding = np.finfo(np.float32).eps / np.sqrt(12.0) * float(np.abs(lean).max())
        state.drift = float(np.hypot(state.drift, rounding * np.sqrt(state.steps - before)))
        g = lean + centre
    state.steps += _take_steps(state, g, c, box, aim, most - (state.steps - before), progress)
    state.c[subset], state.g[subset] = c, g
    return state.steps - before


def _take_steps(
    state: _State, g: np.ndarray, c: np.ndarray, box: _Box, aim: float, limit: int, progress: Progress | None
) -> int:
    """Pair steps that change g and c, some at a time so that they can be watched and interrupted; how many."""
    steps = 0
    while not state.stopped:
        taken, violation = smo.pair_steps(state.K, g, c, *box, aim, min(AT_ONCE, limit - steps))
        steps += taken
        _require_finite(g)
        if taken < AT_ONCE:
            break
        state.stopped = progress is not None and bool(progress(PAIR_STEPS, float(violation)))
    return steps


def _require_finite(values: np.ndarray) -> None:
    """Raise where kernel values cannot be stepped on, which would never end."""
    if not np.all(np.isfinite(values)):
        raise ValueError(
            "The kernel has values that are not finite, or too large for float32; scale the inputs, or use another one."
        )


def _add(
    problem: BoxProblem, state: _State, inputs: Any, index: np.ndarray, change: np.ndarray, rows: np.ndarray
) -> None:
    """g[rows] <- g[rows] + K[rows, index] change, in the precision of the inputs."""
    if len(index) and len(rows):
        K = Gram.of(problem.kernel, problem.at(inputs, rows), problem.at(inputs, index), threads=problem.threads)
        state.g[rows] += K @ change
        state.evaluations += len(rows) * len(index)


def _checked(problem: BoxProblem, state: _State, rates: _Rates, tol: float) -> _Rates:
    """Rates from float64 values, for all points that can decide the violation.

    The roundings of float32 kernel values, whose size is measured on some pairs, give each g_i a standard error of
    about that size times the root of k_ii and of the sum of c_j^2 k_jj, and steps on a float32 g add their own; points
    that are ten times as far from both extremes cannot decide. Once the others agree, they are computed as well if the
    error is no small part of the tolerance, so that the duality gap is true; and those with a coefficient are, if it
    shows in the objective.
    """
    error, near = np.zeros(problem.n), np.ones(problem.n, bool)
    few = EXACT_PAIRS if problem.rounding is None else POLISH_UP_TO**2  # their last digits need all of g
    if not state.exact and np.count_nonzero(state.c) * problem.n > few:
        root = np.sqrt(np.abs(problem.diagonal))
        error = np.hypot(rounding_of(problem) * root * np.linalg.norm(root * state.c), state.drift)
        low, high = rates.low[rates.group], rates.high[rates.group]
        near = (rates.rise <= low + 10.0 * error) | (rates.fall >= high - 10.0 * error)
    rates = _exact(problem, state, np.flatnonzero(near))
    if rates.violation <= tol and not near.all():
        value = 0.5 * abs(state.c @ (problem.targets - state.g))
        if error.max() > 0.1 * tol:
            rates = _exact(problem, state, np.flatnonzero(~near))
        elif 0.5 * np.linalg.norm(error * state.c) > VALUE * value:
            rates = _exact(problem, state, np.flatnonzero(~near & (state.c != 0.0)))
    return rates


def _exact(problem: BoxProblem, state: _State, index: np.ndarray) -> _Rates:
    """Compute g of these points in float64, or of all if the matrix is there; the rates of all."""
    if state.exact and len(state.chosen):
        state.g[state.chosen] = state.K @ state.c[state.chosen] - problem.targets[state.chosen]
        return _Rates.of(problem, state)
    active = np.flatnonzero(state.c)
    state.g[index] = -problem.targets[index]
    _add(problem, state, problem.exact, active, state.c[active], index)
    return _Rates.of(problem, state)


def _polish(problem: BoxProblem, state: _State, rates: _Rates, limit: int) -> None:
    """The last digits of small problems, once it is known which coefficients are free, or some more steps tell it."""
    for tol in (np.inf, 1e-5, 1e-7, 1e-9):
        if rates.violation > tol:
            _choose(problem, state, rates, tol)
            if not _settle(problem, state, rates, tol, limit):
                break
            rates = _Rates.of(problem, state)
        trial = _State(state.c.copy(), state.g.copy(), problem.exact)
        for _ in range(problem.n):
            if _newton_step(problem, trial):
                break
        polished = _Rates.of(problem, trial)
        if polished.violation < rates.violation:
            state.c, state.g = trial.c, trial.g
            break


def _newton_step(problem: BoxProblem, state: _State) -> bool:
    """Solve for the free coefficients F, as far as the next bound or kink allows; whether it was the whole way.

    Their changes d solve K_FF d + b = -rate_F with sum d = 0 over each group.
    """
    rates = _Rates.of(problem, state)
    free = np.flatnonzero(rates.free & (rates.rise == rates.fall))
    if not len(free):
        return True
    groups = (problem.group_of[free][:, None] == np.unique(problem.group_of[free])).astype(np.float64)
    K = problem.kernel.block(problem.at(problem.exact, free)).astype(np.float64)
    system = np.block([[K, groups], [groups.T, np.zeros((groups.shape[1],) * 2)]])
    change = linalg.lstsq(system, np.append(-rates.rise[free], np.zeros(groups.shape[1])))[0][: len(free)]
    c = state.c[free]
    bound = np.where(change > 0.0, problem.upper[free], problem.lower[free])
    if problem.epsilon > 0.0:
        bound = np.where(c * bound < 0.0, 0.0, bound)
    room = np.divide(bound - c, change, out=np.full(len(c), np.inf), where=change != 0.0)
    step, first = min(1.0, room.min()), room.argmin()
    moved = c + step * change
    if step < 1.0:
        moved[first] = bound[first]
    state.c[free] = moved
    _add(problem, state, problem.exact, free, moved - c, np.arange(problem.n))
    return step == 1.0


def _use_float64(problem: BoxProblem, state: _State) -> None:
    """Step and correct in float64; build the matrix anew from float64 if float32 inputs are too coarse even for it."""
    state.lean = False
    if state.inputs is problem.fast:
        state.inputs = problem.exact
        if is_coarse(problem):
            state.chosen, state.K = np.empty(0, int), np.empty((1, 1), np.float32)


def _intercepts(problem: BoxProblem, state: _State, rates: _Rates) -> np.ndarray:
    """b of each group: minus the mean rate of the free coefficients, or minus the middle of the extremes."""
    free = rates.free & (rates.rise == rates.fall)
    groups = [free & (problem.group_of == s) for s in range(len(rates.low))]
    low, high = (np.where(np.isfinite(a), a, b) for a, b in ((rates.low, rates.high), (rates.high, rates.low)))
    middle = np.where(np.isfinite(low), 0.5 * (low + high), 0.0)  # infinite where all are at one bound, or at both
    return np.array([-rates.rise[mine].mean() if mine.any() else -middle[s] for s, mine in enumerate(groups)])


def spans(groups: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Rows (begin, end, group, shift) as `smo` needs them: runs of one group and of consecutive columns, cut short."""
    shifts = columns - np.arange(len(columns))
    edges = np.flatnonzero((np.diff(groups) != 0) | (np.diff(shifts) != 0)) + 1
    rows = []
    for begin, end in zip([0, *edges], [*edges, len(groups)], strict=True):
        pieces = _tiles.split(end - begin, smo.SPAN)
        rows += [(begin + p.start, begin + p.stop, groups[begin], shifts[begin]) for p in pieces]
    return np.array(rows, np.int64)
