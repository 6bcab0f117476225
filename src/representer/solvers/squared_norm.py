"""Any loss with the squared norm: dispatch to the loss's solver, at one or several strengths, with one matrix."""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter

import numpy as np

from representer.gram.stored import Packed, Stored
from representer.problems.judgement import Judgement
from representer.problems.loss import LossProblem
from representer.problems.points import Point, Solution
from representer.result import Budget, Plan, Stopping, Work
from representer.solvers import box_losses, lbfgs, newton, smo
from representer.solvers.workspace import Workspace

ROUGH_GAP_FROM = 20_000
"""Inputs from which a float64 product takes as long as all steps: then the gap is from float32 values, with their
error."""


def cost(problem: LossProblem, budget: Budget) -> Plan:
    """The plan for one strength.

    ==================  ================================  =====================================================
    solver              when                              takes
    ==================  ================================  =====================================================
    SMO                 the dual is a box with a sum:     n^2 floats, or those of a working set
                        losses of lines, an intercept
    newton              the loss has a curvature          K in float64 up to an eighth of the memory, its half in
                                                          float32 up to a quarter, beyond that only its products
    smoothed newton     the loss has kinks                the same, more often
    lbfgs               only value and gradient are       a factor of K: n^2 doubles unless its rank is low
                        known
    ==================  ================================  =====================================================
    """
    return (box_losses if box_losses.applies(problem) else _solver(problem)).cost(problem, budget)


def _solver(problem: LossProblem):
    """Newton's method, or L-BFGS where neither curvature nor conjugate of the loss can be used."""
    return newton if problem.loss.complete and problem.loss.convex else lbfgs


class Solutions:
    """Solutions at several strengths, each warm-started from the last: one matrix, and one budget of iterations.

    The budget counts steps of Newton's method or L-BFGS, for each independent output. Before them, n times as many SMO
    steps are allowed.
    """

    def __init__(self, problem: LossProblem, budget: Budget):
        self.progress = Stopping(budget.progress)
        self.problem, self.budget, self.begin = problem, replace(budget, progress=self.progress), perf_counter()
        self.limit = budget.max_iter * len(problem.loss.parts())
        self.smo_limit = self.limit * problem.n
        self.steps = self.smo_steps = self.interior_steps = 0
        self.precision = ""
        self.rough_gap = False
        self._matrix: Workspace | None = None

    @property
    def exhausted(self) -> bool:
        """Whether no steps are left, or the progress callback asked to stop."""
        return self.steps >= self.limit or self.progress.stopped

    def find(self, problem: LossProblem, tol: float, start: Solution | None = None) -> Solution:
        """The solution to a relative gap; independent outputs are solved one by one."""
        parts = problem.loss.parts()
        if len(parts) == 1:
            return self._find_one(problem, tol, start)
        starts = [None] * len(parts) if start is None else start.columns()
        pairs = zip(parts, starts, strict=True)
        return Solution.side_by_side([self._find_one(replace(problem, loss=part), tol, s) for part, s in pairs])

    def _find_one(self, problem: LossProblem, tol: float, start: Solution | None) -> Solution:
        """By SMO where the dual is a box, and by the other solver otherwise, or where SMO falls short."""
        if self.smo_steps < self.smo_limit and box_losses.applies(problem):
            budget = replace(self.budget, tol=tol, max_iter=self.smo_limit - self.smo_steps)
            start = box_losses.solve(problem, budget, None if start is None else start.dual.v)
            self.smo_steps, self.precision = self.smo_steps + start.smo_steps, start.precision
            self.interior_steps += start.interior_steps
            good = start.primal - start.dual.value <= tol * problem.scale(start.point)
            if good or self.progress.stopped or newton.cost(problem, self.budget).bytes > self.budget.memory:
                return start
            self.smo_limit = 0  # what is too hard for SMO here is so at other strengths, too
        most = max(min(self.limit - self.steps, self.budget.max_iter), 1)
        budget, point = replace(self.budget, tol=tol, max_iter=most), None if start is None else start.point
        found = _solver(problem).solve(problem, self.matrix, budget, point)
        self.steps += found.steps
        return found

    @property
    def matrix(self) -> Workspace:
        """K in the form that the memory allows, once it is needed."""
        if self._matrix is None:
            self._matrix = Workspace(self.problem.gram, self.budget.memory)
        return self._matrix

    def refine(self) -> None:
        """Use float64 products from now on."""
        if not self.matrix.exact:
            self.matrix.refine()

    def refreshed(self, found: Solution) -> Solution:
        """The same solution, with K coef recomputed in float64."""
        if self._matrix is None:
            return found
        self.refine()
        applied = self.problem.gram.astype(np.float64) @ found.point.coef
        return replace(found, point=replace(found.point, applied=applied))

    def judge(self, point: Point, dual: np.ndarray | None, slopes_at: np.ndarray | None = None) -> Judgement:
        """Judge in float64, or for many inputs by stored float32 values if their error leaves the gap small enough."""
        problem, known, kept = self.problem, (dual, slopes_at), None if self._matrix is None else self._matrix.kept
        self.rough_gap = isinstance(kept, Packed) and problem.n >= ROUGH_GAP_FROM and problem.convex
        if self.rough_gap:
            judgement = problem.judge(point.coef, point.intercept, *known, rough=kept)
            if judgement.residuals[0] <= self.budget.tol:
                return judgement
            self.rough_gap = False
        if isinstance(kept, Stored):  # values in float64, which need not be computed again
            problem = replace(problem, gram=kept)
        return problem.judge(point.coef, point.intercept, *known)

    @property
    def n_iter(self) -> int:
        """Iterations as the budget counts them."""
        return max(self.steps, -(-self.smo_steps // self.problem.n) + self.interior_steps, 1)

    def work(self, plan: Plan) -> Work:
        """The work done: as planned, and more where SMO fell short."""
        name, bytes_, precision = plan.solver, plan.bytes, self.precision
        if self.interior_steps:
            name = f"{name}, then {smo.interior}"
        if self._matrix is not None:
            precision = self._matrix.precision
            gap = "gap with their measured error" if self.rough_gap else "float64 gap"
            precision += "" if precision == "float64" else f", {gap}"
        if self.smo_steps and self.steps:
            name = f"{name}, then {newton.smoothed}"
            bytes_ = max(bytes_, newton.cost(self.problem, self.budget).bytes)
        iterations = max(self.steps + self.smo_steps + self.interior_steps, 1)
        return Work(name, plan.reason, iterations, bytes_, perf_counter() - self.begin, precision)
