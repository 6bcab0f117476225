"""Laws of solvers."""

from __future__ import annotations

from typing import Any

import numpy as np

from representer.problems.ridge import RidgeProblem
from representer.result import Budget, Result


def check_solver(solver: Any, problem: RidgeProblem, budget: Budget) -> Result:
    """A solver of ridge problems does what its plan says, and its certificate holds for the returned result.

    Residuals are those of the returned coefficients, converged means that they are within the tolerance, and
    ``error_bound`` is at least the distance ||f - f*|| to the solution in extended precision, all up to rounding.

    Parameters
    ----------
    solver : object with name, cost and solve
        Such as a module of `representer.solvers`.
    problem : RidgeProblem
        With positive alphas; a few hundred rows at most, as the solution in extended precision is slow.
    budget : Budget
        The plan must be within it.
    """
    plan, before = solver.cost(problem, budget), (problem.targets.copy(), problem.alpha.copy())
    assert plan.solver == solver.name, f"the plan is for {plan.solver!r}, not for {solver.name!r}"
    assert not plan.refusal, f"the plan is refused: {plan.refusal}"
    assert min(plan.bytes, plan.seconds, plan.kernel_evaluations) > 0, f"the plan takes nothing: {plan}"
    result = solver.solve(problem, budget, plan.reason)
    assert np.array_equal(before[0], problem.targets), "the solver has changed the targets"
    assert np.array_equal(before[1], problem.alpha), "the solver has changed alpha"
    certificate, judged = result.certificate, problem.judge(result.coef, result.intercept)
    assert certificate.reason == plan.reason, f"the reason is {certificate.reason!r}, not {plan.reason!r}"
    used, planned = certificate.bytes, plan.bytes
    assert 0 < used <= 1.2 * planned, f"{used} bytes were used and {planned} were planned"
    least = problem.gram.nbytes
    assert planned > least, f"{planned} bytes are planned, and the inputs alone take {least}"
    assert certificate.kernel_evaluations > 0, "kernel values are not counted"
    within = bool(np.all(certificate.residuals <= budget.tol))
    assert certificate.converged == within, f"converged is {certificate.converged}, the tolerance says {within}"
    coef, rounding = _exact_ridge(problem, result)
    sizes = np.linalg.norm(problem.sqrt_weights * problem.targets, axis=0)
    off = np.abs(certificate.residuals - judged.residuals) * np.where(sizes > 0, sizes, 1.0)
    assert np.all(off <= rounding), f"residuals are {certificate.residuals}, those of the result {judged.residuals}"
    error, K = result.coef - coef, problem.gram.astype(np.float64).dense()
    distances = np.sqrt(np.maximum(np.einsum("ij,ij->j", error, K @ error), 0.0)).astype(np.float64)
    bound = certificate.error_bound + rounding / np.sqrt(problem.alpha)
    assert np.all(distances <= bound), f"||f - f*|| is {distances}, above the bound {certificate.error_bound}"
    return result


def _exact_ridge(problem: RidgeProblem, result: Result) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients in extended precision, and for each target the rounding error of a float64 residual."""
    K, D = problem.gram.astype(np.float64).dense().astype(np.longdouble), problem.sqrt_weights.astype(np.longdouble)
    n, coef = problem.n, np.empty(problem.targets.shape, np.longdouble)
    size = np.abs(result.coef)
    for alpha in np.unique(problem.alpha):
        columns, A = problem.alpha == alpha, D**2 * K + alpha * np.eye(n)
        right = D**2 * np.column_stack([problem.targets[:, columns], np.ones(n)])
        Z = _solve_extended(A, right)
        if problem.intercept:
            b = Z[:, :-1].sum(axis=0) / Z[:, -1].sum()
            size[:, columns] += np.abs(Z[:, -1:] * b).astype(np.float64)  # which solvers subtract at the end
            Z[:, :-1] -= Z[:, -1:] * b
        coef[:, columns] = Z[:, :-1]
    parts = D * (np.abs(K) @ size + np.abs(problem.targets - result.intercept))
    parts += problem.alpha * np.divide(size, D, out=np.zeros_like(coef), where=D > 0)
    return coef, 20 * np.finfo(np.float64).eps * np.sqrt((parts**2).sum(axis=0)).astype(np.float64)


def _solve_extended(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """A^(-1) B by Gauss-Jordan elimination with partial pivoting, in the precision of A."""
    A, n = np.concatenate([A, B], axis=1), len(A)
    for i in range(n):
        pivot = i + int(np.abs(A[i:, i]).argmax())
        A[[i, pivot]] = A[[pivot, i]]
        A[i, i:] /= A[i, i]
        others = np.delete(np.arange(n), i)
        A[others, i:] -= A[others, i : i + 1] * A[i, i:]
    return A[:, n:]
