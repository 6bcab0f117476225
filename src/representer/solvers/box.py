"""Box-constrained duals: what is known of one on the way to its solution, pair steps on it, and what is found."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from representer import _tiles
from representer._loops import box as loops
from representer._loops import pair, smo, symmetric
from representer._loops.rates import rates
from representer.problem import BoxProblem, Progress

FEW_BELOW = 700
"""Coefficients below which all have float64 values, too: the check of a float32 matrix would take longer."""
FEW_BYTES = 12
"""Bytes of each of their values: half a matrix in float64, and a whole one in float64 if float32 does not do."""
FEW_SHARED = 3000
"""Points of several classes up to which small pairs of them share a float64 matrix."""
FAR = 2500
"""Coefficients from which rows of their matrix are in no cache when they are needed.

Two threads are faster then, and directions that need fewer steps, though each takes longer in a cache."""
AHEAD = 512
"""Entries of such a row that are loaded before they are used."""
PATIENCE = 2 * 10**6, 10**4
"""Looks of one thread at the other's turn, in all and for each step, after which it goes on alone.

A look takes about half a nanosecond, so that waiting may take a millisecond, and as long as the steps do."""
AT_ONCE = 50_000
"""Pair steps between two looks at the clock and the keyboard."""
PAIR_STEPS = "pair steps"
Box = tuple[np.ndarray, np.ndarray, np.ndarray, float, np.ndarray]
"""Diagonal of K, lower and upper bounds, epsilon and spans of a working set."""


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
class State:
    """Coefficients c, g = K c - t, the inputs for kernel values, a working set and its matrix, and the work so far."""

    c: np.ndarray
    g: np.ndarray
    inputs: Any = None
    chosen: np.ndarray = field(default_factory=lambda: np.empty(0, int))
    K: np.ndarray = field(default_factory=lambda: np.empty((0, 0), np.float32))
    half: tuple[np.ndarray, np.ndarray] | None = None
    """Few coefficients have half of their matrix in float64: what is below the diagonal, and the diagonal."""
    buffer: np.ndarray = field(default_factory=lambda: np.empty(0))
    """Where all matrices are kept, one after the other: fresh pages of memory cost more time than kernel values."""
    lean: bool = True
    """Whether steps may keep g in float32."""
    drift: float = 0.0
    """The standard error that this gave it."""
    stopped: bool = False
    """Whether the progress function said so."""
    alone: bool = False
    """Whether there is but one thread."""
    from_zero: bool = False
    """Whether all coefficients were zero at first."""
    steps: int = 0
    rounds: int = 0
    evaluations: int = 0
    bytes: int = 0

    def unpack(self, dtype: Any) -> None:
        """Let K be the whole matrix of few coefficients, for steps in this precision."""
        assert self.half is not None
        self.K, n = np.empty((0, 0), dtype), len(self.chosen)  # let go of the old one first
        self.K = np.empty((n, n), dtype)
        symmetric.unpack(*self.half, self.K)


@dataclass
class Rates:
    """Rates of raising and lowering some coefficients, and the least and the greatest of them in each group."""

    rise: np.ndarray
    fall: np.ndarray
    group: np.ndarray
    free: np.ndarray
    low: np.ndarray
    high: np.ndarray
    violation: float

    @classmethod
    def of(cls, problem: BoxProblem, state: State, index: Any = slice(None)) -> Rates:
        """Those of all coefficients, or of the ones with this index."""
        c, g, lower, upper = state.c[index], state.g[index], problem.lower[index], problem.upper[index]
        rise, fall, free, group = np.empty_like(g), np.empty_like(g), np.empty(len(g), bool), problem.group_of[index]
        low, high = np.empty(problem.n_groups), np.empty(problem.n_groups)
        violation = loops.rates(g, c, lower, upper, problem.epsilon, group, rise, fall, free, low, high)
        return cls(rise, fall, group, free, low, high, violation)

    @property
    def intercepts(self) -> np.ndarray:
        """b of each group: minus the mean rate of the free coefficients, or minus the middle of the extremes."""
        b = np.empty_like(self.low)
        loops.intercepts(self.rise, self.fall, self.group, self.low, self.high, b)
        return b

    @property
    def middle(self) -> np.ndarray:
        """Between the least and the greatest rate of each group."""
        ends = self.low + self.high
        return np.where(np.isfinite(ends), 0.5 * ends, 0.0)  # infinite where all of a group are at one bound

    def aim(self, tol: float) -> float:
        """The violation to step to: a tenth of the present one when far from the solution, less than tol when near."""
        return 0.5 * tol if self.violation < 0.5 else max(0.5 * tol, 0.1 * self.violation)

    @property
    def violations(self) -> np.ndarray:
        """How much each coefficient violates."""
        return np.maximum(self.high[self.group] - self.rise, self.fall - self.low[self.group])

    @property
    def worst(self) -> np.ndarray:
        """The coefficients with the least rate of raising and with the greatest one of lowering, in each group."""
        pairs = []
        for s in range(len(self.low)):
            mine = self.group == s
            pairs += [np.where(mine, self.rise, np.inf).argmin(), np.where(mine, self.fall, -np.inf).argmax()]
        return np.array(pairs)

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


def are_few(sizes: np.ndarray, room: int, threads: int, matrices: int = 1) -> bool:
    """Whether pairs of classes of these sizes are small, and so many float64 matrices of all points have room.

    Each thread has matrices of a pair, too.
    """
    n, largest = int(sizes.sum()), int(np.sort(sizes)[-2:].sum())
    bytes_ = 8 * matrices * n**2 + threads * FEW_BYTES * largest**2
    return largest < FEW_BELOW and n <= FEW_SHARED and bytes_ <= room


def take_steps(
    state: State, g: np.ndarray, c: np.ndarray, box: Box, aim: float, limit: int, progress: Progress | None
) -> float:
    """Pair steps that change g and c, some at a time so that they can be watched and interrupted.

    Returns the violation that they show at the end.
    """
    violation, last, spans = np.inf, state.steps + limit, box[-1]
    far = len(g) >= FAR
    one_group, two_threads = len(spans) > 1 and spans[0, 2] == spans[-1, 2], not state.alone
    while not state.stopped:
        most = min(AT_ONCE, last - state.steps)
        if far and one_group:
            taken, violation, two_threads = _far_steps(state.K, g, c, box, aim, most, two_threads)
        else:
            taken, violation = smo.pair_steps(state.K, g, c, *box, aim, most, AHEAD if far else None)
        state.steps += taken
        require_finite(g)
        if taken < AT_ONCE:
            break
        state.stopped = progress is not None and bool(progress(PAIR_STEPS, float(violation)))
    return violation


def _far_steps(
    K: np.ndarray, g: np.ndarray, c: np.ndarray, box: Box, aim: float, most: int, two_threads: bool
) -> tuple[int, float, bool]:
    """Steps along conjugate directions by two threads, and by one alone after the other was late; whether none was.

    One is late where it has no processor of its own. The steps are the same.
    """
    before, rise, fall, along, taken = c.copy(), np.empty_like(g), np.empty_like(g), np.zeros_like(g), 0
    rates(g, c, *box[1:4], rise, fall)
    if two_threads:
        taken, violation, two_threads = _by_two(K, (rise, fall, along), c, box, aim, most)
    if not two_threads:
        shared = aim, most - taken, AHEAD, PATIENCE, pair.new_lines(4)
        more, violation = smo.far_steps(K, rise, fall, along, c, *box, *shared, smo.BOTH)
        taken += more
    smo.restore(K, g, c, before, *box[1:4], rise, fall, box[-1])
    return taken, violation, two_threads


def _by_two(
    K: np.ndarray, moving: tuple[np.ndarray, np.ndarray, np.ndarray], c: np.ndarray, box: Box, aim: float, most: int
) -> tuple[int, float, bool]:
    """These steps by two threads, until one of them is late; whether none was."""
    lines, never = pair.new_lines(4), np.iinfo(np.int64).max
    shared = aim, most, AHEAD, PATIENCE, lines
    with _tiles.workers(1) as pool:
        other = pool.submit(smo.far_steps, K, *moving, c.copy(), *box, *shared, 1)
        other.add_done_callback(lambda _: lines[1::2, 0].fill(never))  # nobody waits for one that has failed
        try:
            taken, violation = smo.far_steps(K, *moving, c, *box, *shared, 0)
            late = bool(lines[:2, smo.STOP].any())
        finally:  # nor for one that was interrupted before it took part
            lines.view(np.float64)[0, smo.STOP], lines[0, 0] = 1.0, never
            other.result()
    return taken, violation, not late


def require_finite(values: np.ndarray) -> None:
    """Raise where kernel values cannot be stepped on, which would never end."""
    if not np.isfinite(values).all():
        raise ValueError(
            "The kernel has values that are not finite, or too large for float32; scale the inputs, or use another one."
        )
