"""The state of a box-constrained dual during its solution, its KKT conditions, and SMO steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from representer import _parallel
from representer._loops import box_dual as loops
from representer._loops import gradient_bounds, smo
from representer._loops import smo_out_of_cache as out_of_cache
from representer._loops.simd import spin_barrier
from representer.gram.submatrix import Submatrix
from representer.problems.box import BoxProblem
from representer.result import Progress

OUT_OF_CACHE = 2500
"""Coefficients from which rows of their matrix do not stay in cache.

Then two threads are faster, and so are conjugate directions, which take fewer but longer steps.
"""
PATIENCE = 2 * 10**6, 10**4
"""Spin budget of a thread, in total and per step, before it continues alone: about half a nanosecond per spin."""
AT_ONCE = 50_000
"""SMO steps between progress and interrupt checks."""
SMO_STEPS = "SMO steps"
Box = tuple[np.ndarray, np.ndarray, np.ndarray, float, np.ndarray]
"""Diagonal of K, lower and upper bounds, epsilon and spans of a working set."""


@dataclass
class State:
    """Coefficients c, the gradient g = K c - t, the source of kernel values, a working set, and the work so far."""

    c: np.ndarray
    g: np.ndarray
    gram: Any
    """K in the precision of gradient corrections."""
    working: Submatrix
    float32_gradient: bool = True
    """Whether steps may keep g in float32."""
    rounding_error: float = 0.0
    """The standard error of g from float32 steps."""
    stopped: bool = False
    """Whether the progress callback asked to stop."""
    one_thread: bool = False
    from_zero: bool = False
    """Whether the fit started from zero coefficients."""
    steps: int = 0
    interior_steps: int = 0
    """Steps of the interior point method, which ``steps`` does not count."""
    rounds: int = 0


@dataclass
class KKT:
    """The KKT conditions  g_down_i <= -b_s <= g_up_i  of each coefficient i, b_s the intercept of its group s.

    g_up and g_down are the one-sided derivatives of the objective at c_i: g_i + epsilon and g_i - epsilon at the kink,
    infinite at a bound, and equal for free coefficients. ``low`` is the smallest g_up of each group and ``high`` the
    largest g_down; the KKT violation is the largest high - low.
    """

    g_up: np.ndarray
    g_down: np.ndarray
    group: np.ndarray
    free: np.ndarray
    low: np.ndarray
    high: np.ndarray
    violation: float

    @classmethod
    def of(cls, problem: BoxProblem, c: np.ndarray, g: np.ndarray, index: Any = slice(None)) -> KKT:
        """The KKT conditions of all coefficients, or of those at ``index``."""
        c, g, lower, upper = c[index], g[index], problem.lower[index], problem.upper[index]
        g_up, g_down, free, group = np.empty_like(g), np.empty_like(g), np.empty(len(g), bool), problem.group_of[index]
        low, high = np.empty(problem.n_groups), np.empty(problem.n_groups)
        violation = loops.kkt_violation(g, c, lower, upper, problem.epsilon, group, g_up, g_down, free, low, high)
        return cls(g_up, g_down, group, free, low, high, violation)

    @property
    def intercepts(self) -> np.ndarray:
        """b of each group: minus the mean derivative of free coefficients, or minus the midpoint of low and high."""
        b = np.empty_like(self.low)
        loops.intercepts(self.g_up, self.g_down, self.group, self.low, self.high, b)
        return b

    @property
    def middle(self) -> np.ndarray:
        """The midpoint of low and high of each group."""
        ends = self.low + self.high
        return np.where(np.isfinite(ends), 0.5 * ends, 0.0)  # infinite if a whole group is at one bound

    def aim(self, tol: float) -> float:
        """The KKT violation to step to: a tenth of the current one far from the solution, less than tol near it."""
        return 0.5 * tol if self.violation < 0.5 else max(0.5 * tol, 0.1 * self.violation)

    @property
    def violations(self) -> np.ndarray:
        """The KKT violation of each coefficient."""
        return np.maximum(self.high[self.group] - self.g_up, self.g_down - self.low[self.group])

    @property
    def worst(self) -> np.ndarray:
        """The coefficients with the smallest g_up and with the largest g_down in each group."""
        pairs = []
        for s in range(len(self.low)):
            mine = self.group == s
            pairs += [np.where(mine, self.g_up, np.inf).argmin(), np.where(mine, self.g_down, -np.inf).argmax()]
        return np.array(pairs)

    def priority(self, aim: float, seed: int) -> np.ndarray:
        """Working-set priorities: the KKT violation of each coefficient, raised above all others for free ones.

        Zero for bounded ones that violate less than ``aim``, which no step would touch.
        """
        violations = self.violations
        # ties, as all are at first, are broken at random, not by the order of the data
        chance = np.random.default_rng(seed).uniform(1.0, 1.001, len(violations))
        priority = np.where(violations > aim, violations * chance, 0.0)
        priority[self.free] += violations.max()
        return priority


def take_steps(
    K: np.ndarray,
    g: np.ndarray,
    c: np.ndarray,
    box: Box,
    aim: float,
    limit: int,
    state: State,
    progress: Progress | None,
) -> float:
    """SMO steps that update g and c, with progress and interrupt checks; returns the final KKT violation."""
    violation, last, spans = np.inf, state.steps + limit, box[-1]
    far = len(g) >= OUT_OF_CACHE
    one_group, two_threads = len(spans) > 1 and spans[0, 2] == spans[-1, 2], not state.one_thread
    while not state.stopped:
        most = min(AT_ONCE, last - state.steps)
        if far and one_group:
            taken, violation, two_threads = _steps_out_of_cache(K, g, c, box, aim, most, two_threads)
        else:
            taken, violation = smo.smo_steps(K, g, c, *box, aim, most)
        state.steps += taken
        require_finite(g)
        if taken < AT_ONCE:
            break
        state.stopped = progress is not None and bool(progress(SMO_STEPS, float(violation)))
    return violation


def _steps_out_of_cache(
    K: np.ndarray, g: np.ndarray, c: np.ndarray, box: Box, aim: float, most: int, two_threads: bool
) -> tuple[int, float, bool]:
    """Steps along conjugate directions by two threads, or by one after a timeout; whether there was no timeout.

    A timeout means that the threads do not have a core each. The steps are the same.
    """
    before, g_up, g_down, along, taken = c.copy(), np.empty_like(g), np.empty_like(g), np.zeros_like(g), 0
    gradient_bounds.one_sided_gradients(g, c, *box[1:4], g_up, g_down)
    moving = g_up, g_down, along
    if two_threads:
        taken, violation, two_threads = _by_two(K, moving, c, box, aim, most)
    if not two_threads:
        shared = aim, most - taken, PATIENCE, spin_barrier.new_lines(4)
        more, violation = out_of_cache.smo_steps_out_of_cache(K, *moving, c, *box, *shared, out_of_cache.BOTH)
        taken += more
    smo.restore_gradient(K, g, c, before, *box[1:4], g_up, g_down, box[-1])
    return taken, violation, two_threads


def _by_two(
    K: np.ndarray, moving: tuple[np.ndarray, np.ndarray, np.ndarray], c: np.ndarray, box: Box, aim: float, most: int
) -> tuple[int, float, bool]:
    """These steps by two threads, until one times out; whether there was no timeout."""
    lines, never = spin_barrier.new_lines(4), np.iinfo(np.int64).max
    steps, shared, stop = out_of_cache.smo_steps_out_of_cache, (aim, most, PATIENCE, lines), out_of_cache.STOP
    own = c.copy()
    with _parallel.workers(1) as pool:
        other = pool.submit(lambda: steps(K, *moving, own, *box, *shared, 1))
        other.add_done_callback(lambda _: lines[1::2, 0].fill(never))  # a failed thread must not block the other
        try:
            taken, violation = steps(K, *moving, c, *box, *shared, 0)
            timeout = bool(lines[:2, stop].any())
        finally:  # nor must one interrupted before its first step
            lines.view(np.float64)[0, stop], lines[0, 0] = 1.0, never
            other.result()
    return taken, violation, not timeout


def require_finite(values: np.ndarray) -> None:
    """Raise if kernel values are not finite, on which steps would never end."""
    if not np.isfinite(values).all():
        raise ValueError(
            "The kernel has values that are not finite, or too large for float32; scale the inputs, or use "
            "another kernel."
        )
