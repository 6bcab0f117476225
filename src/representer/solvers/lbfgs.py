"""L-BFGS for losses of which only value and gradient are known."""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_triangular
from scipy.optimize import minimize

from representer.features.pivoted_cholesky import LowRank
from representer.problem import Point, Problem, Progress
from representer.solvers.matrix import Matrix
from representer.solvers.newton import Dual, Solution


def solve(
    problem: Problem,
    matrix: Matrix,
    *,
    tol: float,
    max_iter: int = 2000,
    start: Point | None = None,
    progress: Progress | None = None,
) -> Solution:
    """Minimise over beta and b: sum_i w_i l(y_i, (F' beta)_i + b) + (strength / 2) |beta|^2, where F'F = K.

    The bound on the objective comes from its gradient at the end, with K itself: for a convex loss the objective is at
    most ||gradient||^2 / (2 strength) above the least one. For other losses there is no bound.
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
        if progress is not None:
            slope = objective(x)[1] * scale
            progress("L-BFGS", float(slope @ slope) / (2.0 * problem.strength * scale))

    at = np.zeros(len(F) + 1)
    if start is not None:
        L = F[:, low_rank.pivots].T
        at = np.append(solve_triangular(L, start.applied[low_rank.pivots, 0], lower=True), start.intercept)
    options = {"maxiter": max_iter, "maxfun": 2 * max_iter, "ftol": 0.0, "gtol": 1e-3 * tol, "maxcor": 30}
    best = minimize(objective, at, jac=True, method="L-BFGS-B", callback=report, options=options).x
    point = _point(problem, matrix, low_rank, best)
    image = problem.image(point)
    dual = Dual.of_slopes(problem, point, image, matrix @ image)
    return Solution(point, problem.objective(point), dual, steps)


def _point(problem: Problem, matrix: Matrix, low_rank: LowRank, x: np.ndarray) -> Point:
    """The coefficients of F' beta on the pivots, or those for which the gradient would vanish, whichever is better."""
    coef = np.zeros((problem.n, 1))
    coef[low_rank.pivots, 0] = solve_triangular(low_rank.factor[:, low_rank.pivots], x[:-1], lower=False)
    intercept = x[-1:] * problem.intercept
    first = _centred(problem, Point(coef, intercept, matrix @ coef))
    image = problem.image(first)
    second = _centred(problem, Point(image, first.intercept, matrix @ image))
    return min(first, second, key=lambda point: _bound(problem, matrix, point))


def _centred(problem: Problem, point: Point) -> Point:
    return problem.centred(point) if problem.loss.convex else point


def _bound(problem: Problem, matrix: Matrix, point: Point) -> float:
    """||gradient||^2 / (2 strength)."""
    distance = point.coef - problem.image(point)
    return 0.5 * problem.strength * max(float(np.vdot(distance, matrix @ distance)), 0.0)
