"""Any nondecreasing regulariser by the squared norm: a search for the effective strength."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from representer.problem import Point, Problem, Progress
from representer.regularizers import Regularizer
from representer.solvers import lbfgs, newton
from representer.solvers.matrix import Matrix

FLOAT32_TOL = 1e-4
"""Gaps up to this are judged by float64 products, also where float32 products found the solution."""


@dataclass(frozen=True)
class Regularized:
    """The point of least objective sum_i w_i l(y_i, f(x_i) + b) + R(||f||), and what is known about it."""

    point: Point
    strength: float
    """The effective strength R'(||f||) / ||f||; infinite for f = 0."""
    primal: float
    dual: float | None
    """A lower bound of all objectives, where loss and regulariser are convex."""
    relative: float
    """The gap, or where there is none the mismatch of the strength, relative to the objective."""
    steps: int
    pair_steps: int
    """Those with two coefficients each that found the start, where the dual is a box."""
    error_bound: float
    """At least ||f - f*||, f* the minimiser for the squared norm with the effective strength."""
    precision: str


def solve(
    problem: Problem,
    matrix: Matrix,
    regularizer: Regularizer,
    *,
    tol: float,
    max_iter: int,
    progress: Progress | None = None,
) -> Regularized:
    """Find the strength at which the solution with the squared norm has strength ||f|| = R'(||f||).

    The norm of the solution falls with the strength, so a bracket is found by steps of a factor, and closed by the
    secant rule on logarithms with the safeguard of Illinois. Each solution starts from the last one. f = 0 is looked at
    first: where R has a kink at zero it may be the solution.
    """
    search = _Search(problem, matrix, regularizer, tol, max_iter, progress)
    if regularizer.fixed_strength is not None:
        return search.at_fixed(regularizer.fixed_strength)
    if search.zero_is_best():
        return search.result()
    low = high = None  # log strengths with their excess, below and above zero
    x, factor, side = search.first(), np.log(4.0), 0
    for _ in range(100):
        excess = search.at(np.exp(x))
        if search.done(excess):
            break
        if excess > 0:
            low, high, side = _weaker(low, side, +1), (x, excess), +1
        else:
            low, high, side = (x, excess), _weaker(high, side, -1), -1
        if low is None or high is None:
            x, factor = x - np.sign(excess) * factor, min(2 * factor, np.log(16.0))
        elif high[0] - low[0] > search.narrow:
            x = _between(low, high)
        elif factor := search.sharpen():  # the norms were not precise enough to tell where the zero is
            low, high, side = None, None, 0
        else:
            break
    return search.result()


def _weaker(end: Any, side: int, now: int) -> Any:
    """The end of the bracket that stays; twice in a row its excess counts half, so that it moves, too."""
    return None if end is None else (end[0], end[1] / 2) if side == now else end


def _between(low: tuple[float, float], high: tuple[float, float]) -> float:
    """The secant's zero, kept away from the ends; the middle where an end has no finite excess."""
    if not np.isfinite(low[1]) or not np.isfinite(high[1]):
        return (low[0] + high[0]) / 2
    share = -low[1] / (high[1] - low[1])
    return low[0] + np.clip(share, 0.01, 0.99) * (high[0] - low[0])


class _Search:
    """Solutions along strengths: the best point and the best bound of all so far."""

    def __init__(self, problem: Problem, matrix: Matrix, regularizer: Regularizer, tol: float, max_iter: int, progress):
        self.problem, self.matrix, self.regularizer = problem, matrix, regularizer
        self.tol, self.max_iter, self.progress = tol, max_iter, progress
        self.solver = newton if problem.loss.complete and problem.loss.convex else lbfgs
        self.convex = problem.loss.convex and regularizer.convex
        self.rounded = matrix.form != "float64" and tol < FLOAT32_TOL
        self.start: Point | None = None
        self.steps = self.pair_steps = self.failed = 0
        self.inner = 0.1 * tol
        self.mismatch, self.at_zero, self.inside, self.least = np.inf, np.inf, 0.0, 0.0
        self.best, self.strength, self.primal, self.dual = problem.zero(), np.inf, np.inf, -np.inf

    def at_fixed(self, strength: float) -> Regularized:
        problem = replace(self.problem, strength=strength)
        found = self._found(problem, self.tol)
        point, dual = self._exact(problem, found)
        short = problem.objective(point) - dual.value > self.tol * problem.scale(point)
        if short and self.rounded and self.steps < self.max_iter:
            self.sharpen()
            found = self._found(problem, self.tol, point)
            point, dual = found.point, found.dual
        self.best, self.strength, self.primal = point, strength, problem.objective(point)
        self.dual, self.inside = dual.value, self.primal - dual.value
        self.mismatch = self.inside / self._scale()
        return self.result()

    def _found(self, problem: Problem, tol: float, start: Point | None = None) -> newton.Solution:
        """The solution with the squared norm, and its steps counted."""
        left = max(self.max_iter - self.steps, 1)
        found = self.solver.solve(problem, self.matrix, tol=tol, max_iter=left, start=start, progress=self.progress)
        self.steps, self.pair_steps = self.steps + found.steps, self.pair_steps + found.pair_steps
        return found

    def zero_is_best(self) -> bool:
        """Whether f = 0 with the best intercept is within the tolerance."""
        self.primal = self.problem.losses(self.best.values) + self.regularizer.value(0.0)
        self.least = 1e-3 * self._scale()  # in a ball the least objective may be zero, and all gaps large next to it
        problem = replace(self.problem, strength=1.0)
        if problem.loss.smooth:
            image = problem.image(self.best)
            dual = newton.Dual.of_slopes(problem, self.best, image, self._product(image))
        else:
            v = problem.feasible(problem.loss.gradient(problem.y, self.best.values))
            dual = newton.Dual.at(problem, v, self._product)
        if not self.convex:
            self.at_zero = self._excess_at_zero(np.sqrt(dual.square))
            return False
        self._bound(dual)
        return self.primal - self.dual <= self.tol * self._scale()

    def _excess_at_zero(self, slope: float) -> float:
        """log(slope / R'(0)), the limit of the excess as f goes to 0: up to zero, f = 0 is a local minimum."""
        kink = self.regularizer.derivative(0.0)
        return float(np.log(slope / kink)) if slope > 0.0 and kink > 0.0 else -np.inf if kink > 0.0 else np.inf

    def _product(self, V: np.ndarray) -> np.ndarray:
        """K V, as precise as the tolerance asks for."""
        return self.matrix.exactly(V) if self.rounded else self.matrix @ V

    def _exact(self, problem: Problem, found: newton.Solution) -> tuple[Point, newton.Dual]:
        """A solution with its best dual point, both with products as precise as the tolerance asks for."""
        if not self.rounded:
            return found.point, found.dual
        outputs = found.point.coef.shape[1]
        coef = -problem.weights * found.dual.v / problem.strength
        applied = self.matrix.exactly(np.concatenate([found.point.coef, coef], axis=1))
        point = replace(found.point, applied=applied[:, :outputs])
        point = problem.centred(point) if problem.loss.convex else point
        dual = replace(found.dual, square=max(float(np.vdot(coef, applied[:, outputs:])), 0.0))
        if problem.loss.complete:
            dual |= newton.Dual.near(problem, point, self.matrix.diagonal)
        return point, dual

    def first(self) -> float:
        """The logarithm of the strength to start with: a hundredth of where the data hardly count."""
        return float(np.log(0.01 * self.problem.weights.sum() * self.matrix.diagonal.mean() + 1e-300))

    def at(self, strength: float) -> float:
        """Solve with the squared norm; keep what is best so far; return the excess of the strength."""
        problem = replace(self.problem, strength=strength)
        found = self._found(problem, self.inner, self.start)
        point, dual = self._exact(problem, found)
        gap = max(problem.objective(point) - dual.value, 0.0)
        self.failed = self.failed + 1 if gap > 10 * self.tol * problem.scale(point) else 0
        self.start = found.point
        if self.failed > 2 and self.rounded:
            self.sharpen()
        t = np.sqrt(point.square)
        self._keep(problem, self._allowed(point, t), strength, gap)
        if self.convex:
            self._bound(dual)
        excess = self.regularizer.excess(strength, t)
        self.mismatch = abs(excess)
        return excess

    def _allowed(self, point: Point, t: float) -> Point:
        """The point, shrunk to the largest norm that the regulariser allows."""
        if t <= self.regularizer.largest:
            return point
        shrink = self.regularizer.largest / t
        return self.problem.centred(Point(shrink * point.coef, point.intercept, shrink * point.applied))

    def _keep(self, problem: Problem, point: Point, strength: float, gap: float) -> None:
        value = problem.losses(point.values) + self.regularizer.value(np.sqrt(point.square))
        if value < self.primal:
            self.best, self.primal, self.strength, self.inside = point, value, strength, gap

    def _bound(self, dual: newton.Dual) -> None:
        """-sum_i w_i l*(y_i, v_i) - R*(s) at a dual point, where s = ||sum_i w_i v_i k(x_i, .)||."""
        s = dual.strength * np.sqrt(max(dual.square, 0.0))
        shrink = self.regularizer.within(s)
        if shrink < 1.0 and not self.problem.loss.complete:
            return
        conjugates = dual.conjugates if shrink == 1.0 else self.problem.conjugates(shrink * dual.v)
        self.dual = max(self.dual, -conjugates - self.regularizer.conjugate(shrink * s))

    @property
    def narrow(self) -> float:
        """The width of a bracket in which norms no longer tell where the zero is."""
        return 1e-5 if self.rounded else 1e-10

    def sharpen(self) -> float:
        """Ask for float64 products, then for solutions to rounding, from now on; return the step to begin anew with.

        Zero if they are that precise already.
        """
        if self.rounded:
            self.matrix.refine()
            self.rounded, self.failed = False, 0
            if self.start is not None:
                self.start = replace(self.start, applied=self.matrix @ self.start.coef)
            return 1e-4
        before, self.inner = self.inner, 0.0
        return 1e-9 if before > 0.0 else 0.0

    def _scale(self) -> float:
        values = np.abs(self.problem.loss.value(self.problem.y, self.best.values))
        t = np.sqrt(self.best.square)
        scale = float(np.sum(self.problem.weights * values)) + self.regularizer.value(t)
        return max(scale, self.least, 1e-300)

    def done(self, excess: float) -> bool:
        """Whether the tolerance is reached, or solutions fail and there is no use in more of them."""
        if self.steps >= self.max_iter or self.failed > 2:
            return True
        if self.convex:
            return self.primal - self.dual <= self.tol * self._scale()
        # from where f falls as 1 / strength, stronger regularisers tell nothing new
        vanishes = self.at_zero - 0.01 <= excess <= self.at_zero + 0.01 <= 0.01
        return abs(excess) <= self.tol or vanishes

    def result(self) -> Regularized:
        precision = "float64" if self.matrix.form.startswith("float64") else "float32 products"
        precision += ", float64 gap" if self.rounded else ""
        # without convexity there is no gap, but the same difference vanishes at a stationary point, from either side
        mismatch = abs(self.mismatch) if np.isfinite(self.strength) else max(self.at_zero, 0.0)
        relative = max(self.primal - self.dual, 0.0) / self._scale() if self.convex else mismatch
        squared = self.convex and self.regularizer.fixed_strength is not None
        bound = float(np.sqrt(2.0 * max(self.inside, 0.0) / self.strength)) if squared else np.inf
        dual = self.dual if self.convex else None
        steps = max(self.steps, 1), self.pair_steps
        return Regularized(self.best, self.strength, self.primal, dual, relative, *steps, bound, precision)
