"""L-BFGS for losses that define only value and gradient."""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_triangular
from scipy.optimize import minimize

from representer.problems.loss import LossProblem
from representer.problems.points import DualPoint, Point, Solution
from representer.result import Budget, Plan
from representer.solvers.workspace import Workspace, stored_bytes

name = "lbfgs"


def cost(problem: LossProblem, budget: Budget) -> Plan:
    """A factor of K and its triangle, each n^2 doubles unless the rank is low; K for norms of other regularisers."""
    n, convex = problem.n, problem.loss.convex
    reason = "only value and gradient of the loss are known" if convex else "the loss is not convex"
    held = stored_bytes(n, budget.memory) if problem.regularizer.fixed_strength is None else 0
    return Plan(name, reason, held + problem.gram.nbytes + 16 * n * n, n * (n + 1), 2e-7 * n * n)


def solve(problem: LossProblem, matrix: Workspace, budget: Budget, start: Point | None = None) -> Solution:
    """Minimise over beta and b: sum_i w_i l(y_i, (F' beta)_i + b) + (strength / 2) |beta|^2, where F'F = K.

    The bound on the objective comes from its final gradient, with K itself: for a convex loss the objective is at most
    ||gradient||^2 / (2 strength) above its minimum. For other losses there is no bound.
    """
    low_rank = matrix.factor()
    F, y, w = low_rank.factor, problem.y[:, 0], problem.weights[:, 0]
    scale = max(problem.scale(problem.zero()), 1e-300)
    steps = 0

    def objective(x: np.ndarray) -> tuple[float, np.ndarray]:
        beta, values = x[:-1], F.T @ x[:-1] + x[-1] * problem.intercept
        slope = w * problem.loss.gradient(y, values)
        value = float(np.sum(w * problem.loss.value(y, values))) + 0.5 * problem.strength * float(beta @ beta)
        gradient = np.append(F @ slope + problem.strength * beta, slope.sum() * problem.intercept)
        if not np.isfinite(value) or not np.all(np.isfinite(gradient)):
            return 1e100, np.zeros_like(x)
        return value / scale, gradient / scale

    def report(x: np.ndarray) -> None:
        nonlocal steps
        steps += 1
        if budget.progress is not None:
            slope = objective(x)[1] * scale
            if budget.progress("L-BFGS", float(slope @ slope) / (2.0 * problem.strength * scale)):
                raise StopIteration

    at = np.zeros(len(F) + 1)
    if start is not None:
        known = start.applied[low_rank.pivots, 0]
        at = np.append(solve_triangular(F[:, low_rank.pivots].T, known, lower=True), start.intercept)
    options = {
        "maxiter": budget.max_iter,
        "maxfun": 2 * budget.max_iter,
        "ftol": 0.0,
        "gtol": 1e-3 * budget.tol,
        "maxcor": 30,
    }
    best = minimize(objective, at, jac=True, method="L-BFGS-B", callback=report, options=options).x
    coef = np.zeros((problem.n, 1))
    coef[low_rank.pivots, 0] = solve_triangular(F[:, low_rank.pivots], best[:-1], lower=False)
    return _solution(problem, coef, best[-1:] * problem.intercept, steps)


def _solution(problem: LossProblem, coef: np.ndarray, intercept: np.ndarray, steps: int) -> Solution:
    """These coefficients, or the stationary ones that belong to their slopes, whichever has the smaller gradient."""
    K, candidates = problem.gram.astype(np.float64), []
    applied = K @ coef
    for _ in range(2):
        point = Point(coef, intercept, applied)
        point = problem.centred(point) if problem.loss.convex else point
        stationary = problem.stationary_coef(point)
        product = K @ stationary
        gradient = float(np.vdot(point.coef - stationary, point.applied - product))
        candidates.append((abs(gradient), point, DualPoint.of_slopes(problem, point, stationary, product)))
        coef, intercept, applied = stationary, point.intercept, product
    _, point, dual = min(candidates, key=lambda each: each[0])
    return Solution(point, problem.objective(point), dual, steps)
