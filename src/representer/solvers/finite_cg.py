"""Ridge in the span of a basis by conjugate gradients: a pass over the rows for each step, no product psi psi'."""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from representer.gram.design import Design
from representer.problems.finite import Applied, FiniteRidge, Residuals, weights_of
from representer.result import Budget, Plan, Result, Work, certificate_of
from representer.solvers.finite_passes import PAIR_SECONDS, PASS_SECONDS, bytes_of_blocks
from representer.solvers.memory import working_memory

SAMPLED = 4
"""Rows for each function of the basis on which the preconditioner is built."""
TYPICAL_STEPS = 15
RESTARTS = 4
"""Times that float64 residuals are taken and float32 steps begin anew."""
INNER = 1e-3
"""By how much steps with float32 products lower a residual before it is taken in float64."""

name = "conjugate_gradient"
iterations = "conjugate gradients"
way_out = "use fewer components, or a larger memory="


def cost(problem: FiniteRidge, budget: Budget, alphas: np.ndarray | None = None) -> Plan:
    """Some dozen passes of n m values, and a factor of m x m doubles."""
    n, m = problem.n, problem.size
    passes = TYPICAL_STEPS + 2
    seconds = passes * (PASS_SECONDS + n * m * PAIR_SECONDS) + (SAMPLED + 1) * m**3 / 5e10
    bytes_ = 8 * 4 * m * m + 8 * SAMPLED * m * m + bytes_of_blocks(problem, budget)
    plan = Plan(name, "the basis is large", int(bytes_), passes * n * m, seconds, passes=passes)
    if problem.alpha.min() == 0:
        refusal = "Conjugate gradients need a positive alpha; use solver='normal_equations'."
        return replace(plan, seconds=np.inf, refusal=refusal, error=ValueError)
    return plan.within(working_memory(2 * budget.memory), way_out)


class Preconditioner:
    """(n / s) Phi_s' W Phi_s + alpha I from s sampled rows, less the part along their mean."""

    def __init__(self, problem: FiniteRidge):
        # row by row in float64: R' G R of float32 sums loses so many digits that it may not be definite
        design = replace(problem.design, basis=problem.design.basis.astype(np.float64), orthonormal=True)
        m, n = problem.size, problem.n
        X, _, w = problem.rows.sample(min(n, SAMPLED * m), 1)
        weights = weights_of(w, min(n, SAMPLED * m))
        factor = n / len(weights)
        S = factor * design.from_moments(design.second_moments(X, weights))
        if problem.intercept and weights.sum() > 0:
            s = design.from_sums(design.transposed(X, weights))
            S -= factor * np.multiply.outer(s, s / weights.sum())
        self.S = S
        self.factors: dict[float, Any] = {}

    def __call__(self, g: np.ndarray, alpha: np.ndarray) -> np.ndarray:
        out = np.empty_like(g)
        for each in np.unique(alpha):
            if each not in self.factors:
                A = self.S.copy()
                A.ravel()[:: len(A) + 1] += each
                self.factors[each] = cho_factor(A, overwrite_a=True, check_finite=False)
            out[:, alpha == each] = cho_solve(self.factors[each], g[:, alpha == each], check_finite=False)
        return out


def solve(problem: FiniteRidge, budget: Budget, reason: str, start: Any = None) -> Result:
    """Conjugate gradients with float32 products, begun anew from float64 residuals until those are small."""
    begin, passes, steps = perf_counter(), 0, 0
    alpha, rows = problem.alpha, problem.rows
    exact = replace(problem.design, basis=problem.design.basis.astype(np.float64))
    single = replace(problem.design, basis=problem.design.basis.astype(np.float32))
    precondition = Preconditioner(problem)
    w, b = np.zeros((problem.design.basis.rank, len(alpha))), np.zeros(len(alpha))
    size = best = None
    mean, weight = _mean(problem, exact) if problem.intercept else (np.zeros(len(w)), 1.0)
    passes += problem.intercept
    for _ in range(1 + RESTARTS):
        found, total, squares = rows.total(Residuals(exact, w, b))
        passes, total = passes + 1, np.atleast_1d(total)
        g = exact.from_sums(found) - alpha * w
        if problem.intercept:
            g, squares, b = g - np.multiply.outer(mean, total), squares - total**2 / weight, b + total / weight
        size = np.linalg.norm(g, axis=0) if size is None else size
        judgement = problem.judge(w, b, (g, squares, size))
        worst = judgement.residuals.max()
        if best is None or worst < best[0].residuals.max():
            best = judgement, w, b
        if worst <= budget.tol or steps >= budget.max_iter or worst > 2.0 * best[0].residuals.max():
            break
        tol = np.maximum(INNER * np.linalg.norm(g, axis=0), 0.3 * budget.tol * size)
        change, taken, shift = _steps(problem, single, precondition, g, mean, tol, budget.max_iter - steps)
        w, steps, passes = w + change, steps + taken, passes + taken
        b = b - shift / weight if problem.intercept else b
    judgement, w, b = best  # type: ignore[misc]
    plan = cost(problem, budget)
    work = Work(
        "conjugate gradients in the span",
        reason,
        max(steps, 1),
        plan.bytes,
        perf_counter() - begin,
        "float32 products, float64 residuals" if single.basis.dtype == np.float32 else "float64",
        passes,
    )
    return Result(w, b, certificate_of([judgement], work, budget.tol, passes * problem.n * problem.size))


def _mean(problem: FiniteRidge, design: Design) -> tuple[np.ndarray, float]:
    """The weighted mean of the features and the sum of weights."""
    s, weight = problem.rows.total(Weights(design))
    return design.from_sums(s) / weight, float(weight)


class Weights:
    """Sums of w psi and w."""

    def __init__(self, design: Design):
        self.design = design

    def __call__(self, X: Any, y: Any, w: Any) -> tuple:
        weights = weights_of(w, X.shape[0] if hasattr(X, "shape") else len(X))
        return self.design.transposed(X, weights), weights.sum()


def _steps(
    problem: FiniteRidge,
    design: Design,
    precondition: Preconditioner,
    g: np.ndarray,
    mean: np.ndarray,
    tol: np.ndarray,
    most: int,
) -> tuple[np.ndarray, int, np.ndarray]:
    """The solution of (S + alpha I) x = g up to a residual, the steps, and sum_i w_i <x, phi_i>."""
    alpha = problem.alpha
    x, sums = np.zeros_like(g), np.zeros(g.shape[1])
    z = precondition(g, alpha)
    p, rho, taken = z, np.sum(g * z, axis=0), 0
    while taken < most and np.any(np.linalg.norm(g, axis=0) > tol):
        found, total = problem.rows.total(Applied(design, p))
        taken, total = taken + 1, np.atleast_1d(total)
        q = design.from_sums(found) + alpha * p
        if problem.intercept:
            q -= np.multiply.outer(mean, total)
        curved = np.sum(p * q, axis=0)
        step = np.divide(rho, curved, out=np.zeros_like(rho), where=curved > 0)
        x, g, sums = x + step * p, g - step * q, sums + step * total
        z = precondition(g, alpha)
        new = np.sum(g * z, axis=0)
        p, rho = z + np.divide(new, rho, out=np.zeros_like(rho), where=rho > 0) * p, new
    return x, taken, sums
