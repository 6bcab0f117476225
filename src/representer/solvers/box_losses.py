"""Losses with a box-constrained dual, by SMO: hinge, absolute, epsilon-insensitive and pinball losses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from representer.problems.box import BoxProblem
from representer.problems.loss import LossProblem
from representer.problems.points import DualPoint, Point, Solution
from representer.result import Budget, Plan
from representer.solvers import smo

FIRST_VIOLATION = 10.0
"""KKT violation at which the gap is first computed, in units of the tolerance times the mean loss of f = 0."""
TIGHTENINGS = 10
"""How many times the KKT violation is lowered until the gap is small enough."""

name = "SMO"


def applies(problem: LossProblem) -> bool:
    """Whether the dual is a box with one equality constraint, which a free intercept gives."""
    return problem.intercept and problem.loss.box(problem.y) is not None


def dual_of(problem: LossProblem) -> BoxProblem:
    """The dual over c = -w v / strength, with v between the ends of the loss's domain."""
    lower, upper, epsilon = problem.loss.box(problem.y)  # type: ignore[misc]
    size = problem.weights / problem.strength
    low, high = (np.broadcast_to(-end * size, problem.y.shape).flatten() for end in (upper, lower))
    return BoxProblem(problem.gram, problem.y.ravel(), low, high, epsilon)


def cost(problem: LossProblem, budget: Budget) -> Plan:
    """The plan for one output; outputs are solved one by one."""
    _, _, epsilon = problem.loss.box(problem.y)  # type: ignore[misc]
    return smo.cost_of_pairs(problem.gram, np.array([problem.n]), budget, 1 if epsilon == 0.0 else 2)


def solve(problem: LossProblem, budget: Budget, start: np.ndarray | None = None) -> Solution:
    """SMO to ever smaller KKT violations, until the duality gap is ``tol`` times the objective or SMO falls short.

    ``start`` is a feasible dual point.
    """
    dual = dual_of(problem)
    c = None if start is None else -(problem.weights * start / problem.strength).ravel()
    mean_loss = problem.losses(problem.zero().values) / problem.weights.sum()
    violation, steps = FIRST_VIOLATION * max(budget.tol, 1e-15) * max(mean_loss, 1e-300), 0
    interior = 0
    for _ in range(TIGHTENINGS):
        limits = replace(budget, tol=violation, max_iter=budget.max_iter - steps)
        found = smo.solve(dual, limits, "its dual is a box", c)
        c, steps = found.coef, steps + found.n_iter
        interior += found.certificate.iterations - found.n_iter
        point = problem.centred(Point(c[:, None], found.intercept, found.applied[:, None]))  # type: ignore[index]
        bound, primal = DualPoint.near(problem, point), problem.objective(point)
        share = budget.tol * problem.scale(point) / max(primal - bound.value, 1e-300)
        if share >= 1.0 or not found.certificate.converged or steps >= budget.max_iter:
            break
        violation *= float(np.clip(0.7 * share, 1e-3, 0.5))
    return Solution(point, primal, bound, 0, steps, interior, found.certificate.precision)
