"""Any nondecreasing regulariser, reduced to the squared norm by a search for the effective strength."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from representer.problems.judgement import Judgement
from representer.problems.loss import LossProblem
from representer.problems.points import Point, Solution
from representer.result import Budget, Plan, Result, certificate_of
from representer.solvers import box_losses, newton, squared_norm
from representer.solvers.workspace import stored_bytes

FLOAT32_TOL = 1e-4
"""Tolerance down to which gaps may come from float32 products; the certificate's own are float64, or have their error
measured."""
ATTEMPTS = 4
"""Attempts with recomputed products, each to a tighter tolerance, before the certificate reports what was reached."""
STRENGTHS = 100
"""Most solutions with the squared norm in the search for another regulariser's."""
FINEST = 1e-14
"""The relative gap below which those solutions do not improve."""

name = "regularized"
way_out = "use fewer rows, a loss with a curvature, or a larger memory="


def cost(problem: LossProblem, budget: Budget) -> Plan:
    """The plan for one strength; regularisers other than the squared norm need some ten solutions."""
    loss = problem.loss
    if not loss.smooth and not loss.complete:
        refusal = (
            f"{loss!r} has kinks and gives only value and gradient; give curvature, conjugate, domain and envelope and "
            "set complete = True, or use a smooth loss."
        )
        return Plan("none", "the loss has kinks and no conjugate", 0, 0, np.inf, refusal)
    plan = squared_norm.cost(problem, budget)
    if problem.regularizer.fixed_strength is None and box_losses.applies(problem):
        held = stored_bytes(problem.n, budget.memory)  # norms and bounds in the search take products
        bytes_ = max(plan.bytes + held, newton.cost(problem, budget).bytes)
        plan = replace(plan, bytes=bytes_, form=f"{plan.form}, at each strength".removeprefix(", "))
    if not problem.convex:
        plan = replace(plan, why=f"{plan.why} (it is not convex, so this is a local minimum)")
    return plan.within(budget.memory, way_out)


def solve(problem: LossProblem, budget: Budget, reason: str, start: Any = None) -> Result:
    """Find the strength at which the solution with the squared norm has strength ||f|| = R'(||f||).

    The norm of the solution decreases with the strength, so a bracket is found by geometric steps, and closed by the
    Illinois variant of regula falsi on logarithms. Each solution warm-starts the next. f = 0 is tried first: where R
    has a kink at zero it may be the solution.
    """
    strength, plan = problem.regularizer.fixed_strength, replace(cost(problem, budget), why=reason, form="")
    if strength is not None:
        return _at_fixed(problem, strength, budget, plan)
    search = _Search(problem, budget)
    if not search.zero_is_best():
        _bracket(search)
    return search.result(plan)


def _at_fixed(problem: LossProblem, strength: float, budget: Budget, plan: Plan) -> Result:
    """Solve with the squared norm; repeat with recomputed, better products where the certificate falls short."""
    solutions, tol, start = squared_norm.Solutions(problem, budget), 0.9 * budget.tol, None
    best: tuple[Point, Judgement] | None = None
    for _ in range(ATTEMPTS):
        found = solutions.find(problem, tol, start)
        judgement = solutions.judge(found.point, found.dual.v)
        if best is None or judgement.residuals[0] < best[1].residuals[0]:
            best = found.point, judgement
        stuck = start is not None and found.steps == found.smo_steps == 0
        if judgement.residuals[0] <= budget.tol or not problem.convex or stuck or solutions.exhausted:
            break
        tol, start = 0.3 * tol, solutions.refreshed(found)
    return _result(best[0], best[1], strength, solutions, plan)  # type: ignore[index]


def _result(point: Point, judgement: Judgement, strength: float, solutions: Any, plan: Plan) -> Result:
    work, gram = solutions.work(plan), solutions.problem.gram
    certificate = certificate_of([judgement], work, solutions.budget.tol, gram.evaluations)
    return Result(point.coef, point.intercept, certificate, strength=strength, n_iter=solutions.n_iter)


def _bracket(search: _Search) -> None:
    low = high = None  # (log strength, excess) with excess below and above zero
    x, factor, side = search.first(), np.log(4.0), 0
    for _ in range(STRENGTHS):
        excess = search.at(np.exp(x))
        if search.done(excess):
            return
        if search.blurred(excess):
            continue
        if excess > 0:
            low, high, side = _weaker(low, side, +1), (x, excess), +1
        else:
            low, high, side = (x, excess), _weaker(high, side, -1), -1
        if low is None or high is None:
            x, factor = x - np.sign(excess) * factor, min(2 * factor, np.log(16.0))
        elif high[0] - low[0] > search.narrow:
            x = _between(low, high)
        elif factor := search.sharpen():  # norms were not precise enough to locate the root
            low, high, side = None, None, 0
        else:
            return


def _weaker(end: Any, side: int, now: int) -> Any:
    """The end of the bracket that stays; the second time in a row its excess is halved, so that it moves, too."""
    return None if end is None else (end[0], end[1] / 2) if side == now else end


def _between(low: tuple[float, float], high: tuple[float, float]) -> float:
    """The root of the secant, kept away from the ends; the midpoint where an end has no finite excess."""
    if not np.isfinite(low[1]) or not np.isfinite(high[1]):
        return (low[0] + high[0]) / 2
    share = -low[1] / (high[1] - low[1])
    return low[0] + np.clip(share, 0.01, 0.99) * (high[0] - low[0])


class _Search:
    """The search over strengths: the point of least objective and the dual point of the highest bound so far."""

    def __init__(self, problem: LossProblem, budget: Budget):
        self.problem, self.budget, self.regularizer = problem, budget, problem.regularizer
        self.solutions = squared_norm.Solutions(problem, budget)
        self.rounded = stored_bytes(problem.n, budget.memory) < 8 * problem.n**2 and budget.tol < FLOAT32_TOL
        """Whether stored float32 products are too coarse for the tolerance."""
        self.start: Solution | None = None
        self.inner, self.margin = 0.1 * budget.tol, 0.9
        self.failed, self.blur, self.off, self.at_zero = 0, 0.0, np.inf, np.inf
        self.best, self.strength, self.upper = problem.zero(), np.inf, problem.upper_bound(problem.zero())
        self.lower = problem.least
        self.v: np.ndarray | None = None
        self.slopes_at: np.ndarray | None = None
        self.judged: tuple[Point, Judgement] | None = None

    def zero_is_best(self) -> bool:
        """Whether f = 0 with the best intercept is within the tolerance."""
        problem, values = self.problem, self.best.values
        v = problem.loss.gradient(problem.y, values)
        v = v if problem.loss.smooth else problem.feasible(v)
        product = self._product(-problem.weights * v)
        if problem.convex:
            self._bound(v, product, self.best, values)
            return self._certified()
        slope, kink = np.sqrt(max(-float(np.sum(problem.weights * v * product)), 0.0)), self.regularizer.derivative(0.0)
        # the limit of the excess as f goes to 0; if it is at most zero, f = 0 is a local minimum
        self.at_zero = np.log(slope / kink) if slope > 0.0 and kink > 0.0 else -np.inf if kink > 0.0 else np.inf
        return False

    def first(self) -> float:
        """The logarithm of the initial strength: a hundredth of that at which the data hardly count."""
        return float(np.log(0.01 * self.problem.weights.sum() * self.problem.diagonal.mean() + 1e-300))

    def at(self, strength: float) -> float:
        """Solve with the squared norm, keep the best so far, and return the excess of the strength."""
        problem = self.problem.with_strength(strength)
        found = self.solutions.find(problem, self.inner, self.start)
        duals = [found.dual.v]
        if problem.loss.complete:
            duals.append(problem.dual_variable(found.point.coef, strength))
        coefs = [found.point.coef, *(-problem.weights * v for v in duals)]
        applied, *products = np.split(self._product(np.concatenate(coefs, axis=1)), len(coefs), axis=1)
        point = replace(found.point, applied=applied)
        point = problem.centred(point) if problem.loss.convex else point
        self.start, excess = replace(found, point=point), self.regularizer.excess(strength, np.sqrt(point.squared_norm))
        if not self.problem.convex:
            self._keep_nearest(abs(excess), self._allowed(point), strength, found)
            return excess
        self._keep(self._allowed(point), strength)
        for v, product in zip(duals, products, strict=True):
            self._bound(v, product, point, found.point.values)
        squared_norm = float(np.vdot(coefs[1], products[0])) / strength**2
        gap = problem.objective(point) - replace(found.dual, squared_norm=squared_norm).value
        self.failed = self.failed + 1 if gap > 10 * self.budget.tol * problem.scale(point) else 0
        # the norm of a solution with a gap is off by at most sqrt(2 gap / strength)
        self.blur = np.sqrt(2.0 * max(gap, 0.0) / (strength * max(point.squared_norm, 1e-300)))
        if self.failed > 2 and self.rounded:
            self.sharpen()
        return excess

    def _product(self, V: np.ndarray) -> np.ndarray:
        """K V, as precise as the tolerance requires."""
        return self.problem.gram.astype(np.float64) @ V if self.rounded else self.solutions.matrix @ V

    def _allowed(self, point: Point) -> Point:
        """The point, shrunk to the largest norm that the regulariser allows, with the best intercept there."""
        t, largest = self.problem.norm_bound(point.coef, point.applied), self.regularizer.largest
        if t <= largest:
            return point
        return self.problem.centred(replace(point, coef=largest / t * point.coef, applied=largest / t * point.applied))

    def _keep(self, point: Point, strength: float) -> None:
        """Keep a point if its objective, rounding errors included, is lower."""
        value = self.problem.upper_bound(point)
        if value < self.upper:
            self.best, self.upper, self.strength = point, value, strength

    def _keep_nearest(self, off: float, point: Point, strength: float, found: Solution) -> None:
        """Without convexity: keep a point if its strength is nearer to the effective one, whatever its objective."""
        if off <= self.off:
            self.best, self.strength, self.off = point, strength, off
            self.v, self.slopes_at = found.dual.v, found.point.values

    def _bound(self, v: np.ndarray, product: np.ndarray, point: Point, slopes_at: np.ndarray) -> None:
        """Keep a dual point if its bound is higher."""
        value = self.problem.lower_bound(v, product, point, slopes_at)
        if value > self.lower:
            self.lower, self.v, self.slopes_at = value, v, slopes_at

    def blurred(self, excess: float) -> bool:
        """Whether the norm is too imprecise for the sign of the excess; if so, later solutions are more precise."""
        if not abs(excess) < self.blur or self.inner < FINEST:
            return False
        self.inner *= 0.01
        return True

    @property
    def narrow(self) -> float:
        """The width of a bracket in which norms no longer locate the root."""
        return 1e-5 if self.rounded else 1e-10

    def sharpen(self) -> float:
        """From now on use float64 products, then also solutions to rounding; return the step to restart with.

        Zero if solutions are that precise already.
        """
        if self.rounded:
            self.solutions.refine()
            self.rounded, self.failed = False, 0
            if self.start is not None:
                self.start = self.solutions.refreshed(self.start)
            return 1e-4
        before, self.inner = self.inner, 0.0
        return 1e-9 if before > 0.0 else 0.0

    def done(self, excess: float) -> bool:
        """Whether the tolerance is reached, or solutions fail and more of them would not help."""
        if self.solutions.exhausted or self.failed > 2:
            return True
        if self.problem.convex:
            return self._certified()
        # where f decays as 1 / strength, stronger regularisers bring nothing new
        vanishes = self.at_zero - 0.01 <= excess <= self.at_zero + 0.01 <= 0.01
        return abs(excess) <= self.budget.tol or vanishes

    def _certified(self) -> bool:
        """Whether the gap is within the tolerance, and the certificate's own products agree."""
        if self.upper - self.lower > self.margin * self.budget.tol * self.problem.scale(self.best):
            return False
        self.margin *= 0.3  # for the next time, if it does not agree
        return bool(self._judge().residuals[0] <= self.budget.tol)

    def _judge(self) -> Judgement:
        """Judge the best point, after rescaling it exactly to the norm that the regulariser allows."""
        if self.judged is None or self.judged[0] is not self.best:
            if np.isfinite(self.regularizer.largest):
                applied = self.problem.gram.astype(np.float64) @ self.best.coef
                self.best = self._allowed(replace(self.best, applied=applied))
            point = self.best
            self.judged = point, self.solutions.judge(point, self.v, self.slopes_at)
        return self.judged[1]

    def result(self, plan: Plan) -> Result:
        """The best point with its certificate."""
        problem, zero = self.problem, self.problem.zero()
        if self.at_zero <= 0.0 and problem.objective(zero) <= problem.objective(self.best):  # another local minimum
            self.best, self.strength, self.v, self.slopes_at = zero, np.inf, None, None
        judgement = self._judge()
        return _result(self.best, judgement, self.strength, self.solutions, plan)
