"""Ridge in the span of a basis by conjugate gradients: one pass over the rows per step, and no product psi psi'."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np
from scipy.linalg import cho_solve

from representer.problems.finite import FiniteRidge, weights_of
from representer.result import Budget, Certificate, Plan, Result, Work, certificate_of
from representer.solvers import normal_equations
from representer.solvers.finite_passes import (
    FLOPS,
    PAIR_SECONDS,
    PASS_SECONDS,
    SINGLE_SHARE,
    RidgePoint,
    bytes_of_blocks,
    definite_factor,
    design_for_sums,
)
from representer.solvers.memory import working_memory

FEWEST_SAMPLED, MOST_SAMPLED = 4, 64
"""Bounds on the sampled rows per function of the basis from which the preconditioner is built."""
FLOAT32_ROUNDS = 4
"""Maximum number of rounds of float32 steps, each from a float64 residual."""
LONG_ROUND = 2
"""Factor by which the steps of a round may exceed those expected."""
INNER = 3e-4
"""Factor by which float32 steps lower a residual before it is recomputed in float64: two rounds reach 1e-6."""
ROUND_SHARE = 0.8
"""Fraction of the tolerance at which a round ends. Its float32 steps miss a hundred-thousandth of the first residual, a
smaller fraction of the tolerance in all rounds but the first."""

name = "conjugate_gradient"
iterations = "conjugate gradients"
way_out = "use fewer components, or a larger memory="


def cost(problem: FiniteRidge, budget: Budget, alphas: np.ndarray | None = None) -> Plan:
    """Some dozen passes of n m values, and a factor of m x m doubles."""
    n, m = problem.n, problem.size
    sampled = rows_to_sample(problem, budget.tol)
    steps = expected_steps(sampled / m, budget.tol)
    exact = int(np.ceil(np.log(1.0 / budget.tol) / np.log(1.0 / INNER)))
    steps += 1  # the right-hand sides
    seconds = (SINGLE_SHARE * steps + exact) * n * m * PAIR_SECONDS + (steps + exact) * PASS_SECONDS
    seconds += sampled * m * m / FLOPS + m**3 / 5e10
    bytes_ = 8 * 6 * m * m + sampled * 4 * max(problem.rows.n_columns, 1) + bytes_of_blocks(problem, budget)
    passes = steps + exact
    reads = passes + problem.intercept + problem.rows.sample_passes  # of weights, and for the preconditioner
    plan = Plan(name, "the basis is large", int(bytes_), passes * n * m, seconds, passes=reads)
    if problem.alpha.min() == 0:
        refusal = "Conjugate gradients need a positive alpha; use solver='normal_equations'."
        return replace(plan, seconds=np.inf, refusal=refusal, error=ValueError)
    return plan.within(working_memory(2 * budget.memory), way_out)


def expected_steps(times: float, tol: float) -> int:
    """With a preconditioner from ``times`` m sampled rows, each step divides the error by sqrt(times).

    The eigenvalues of a sample's moments, relative to those of all rows, are between (1 -+ times^(-1/2))^2.
    """
    return int(np.ceil(np.log(2.0 / tol) / (0.5 * np.log(max(times, 2.0)))))


def rows_to_sample(problem: FiniteRidge, tol: float) -> int:
    """Rows for the preconditioner: as many as minimise its set-up plus the steps."""
    n, m = problem.n, problem.size
    choices = [c for c in (2, 4, 8, 16, 32, 64, 128) if FEWEST_SAMPLED <= c <= MOST_SAMPLED]
    seconds = [c * m**3 / FLOPS + SINGLE_SHARE * expected_steps(c, tol) * n * m * PAIR_SECONDS for c in choices]
    return min(n, choices[int(np.argmin(seconds))] * m)


class Preconditioner:
    """(n / s) Phi_s' W Phi_s + alpha I from s sampled rows, minus the part along their mean."""

    def __init__(self, problem: FiniteRidge, rows: int):
        n, design = problem.n, design_for_sums(problem.design, problem.n)
        X, _, w = problem.rows.sample(rows, 1)
        weights = weights_of(w, rows)
        G, sums = design.moments(X, np.ones((rows, 1)), weights)
        S = n / rows * design.from_moments(G)
        if problem.intercept and weights.sum() > 0:
            s = design.from_sums(sums[:, 0])
            S -= n / rows * np.multiply.outer(s, s / weights.sum())
        self.S = S
        self.factors: dict[float, Any] = {}

    def __call__(self, g: np.ndarray, alpha: np.ndarray) -> np.ndarray:
        out = np.empty_like(g)
        for each in np.unique(alpha):
            if each not in self.factors:
                A = self.S.copy()
                A.ravel()[:: len(A) + 1] += each
                self.factors[each] = definite_factor(A)
            out[:, alpha == each] = cho_solve(self.factors[each], g[:, alpha == each], check_finite=False)
        return out


def solve(problem: FiniteRidge, budget: Budget, reason: str, start: Any = None) -> Result:
    """Conjugate gradients with float32 products, restarted from float64 residuals until those are small.

    Where a few rows span much of the space, a sample says little about all of them, and steps are many: normal
    equations take over.
    """
    begin, design, alpha = perf_counter(), problem.design, problem.alpha
    exact = replace(design, basis=design.basis.astype(np.float64))
    single = replace(design, basis=design.basis.astype(np.float32))
    sampled = rows_to_sample(problem, budget.tol)
    precondition = partial(Preconditioner(problem, sampled), alpha=alpha)
    most = LONG_ROUND * expected_steps(sampled / problem.size, INNER)
    weight = float(problem.rows.total(_weight)[0]) if problem.intercept else 1.0
    w, b = np.zeros((design.basis.rank, len(alpha))), np.zeros(len(alpha))
    point, passes, steps = RidgePoint.at(problem, single, w, b, weight), 1, 0
    size = np.linalg.norm(point.g, axis=0)
    for _ in range(FLOAT32_ROUNDS):
        tol = np.maximum(INNER * np.linalg.norm(point.g, axis=0), ROUND_SHARE * budget.tol * size)
        point, taken = point.improved(problem, single, precondition, tol, min(most, budget.max_iter - steps))
        steps, passes = steps + taken, passes + taken + 1
        slow = np.any(np.linalg.norm(point.g, axis=0) > tol)
        point = RidgePoint.at(problem, exact, point.w, point.b, weight)
        judgement = problem.judge(point.w, point.b, (point.g, point.squares, size))
        if slow or steps >= budget.max_iter or judgement.residuals.max() <= budget.tol:
            break
    if judgement.residuals.max() > budget.tol and steps < budget.max_iter:
        result = normal_equations.solve(problem, budget, f"{reason}; conjugate gradients converged slowly")
        return replace(result, certificate=_with_work(result.certificate, problem, passes, perf_counter() - begin))
    precision = "float32 products, float64 residuals" if single.basis.dtype == np.float32 else "float64"
    bytes_, seconds = cost(problem, budget).bytes, perf_counter() - begin
    reads = passes + problem.intercept
    work = Work("conjugate gradients in the span", reason, max(steps, 1), bytes_, seconds, precision, reads)
    return Result(point.w, point.b, certificate_of([judgement], work, budget.tol, passes * problem.n * problem.size))


def _with_work(certificate: Certificate, problem: FiniteRidge, passes: int, seconds: float) -> Certificate:
    """The certificate with the passes made before; ``seconds`` are those of the whole fit."""
    evaluations = certificate.kernel_evaluations + passes * problem.n * problem.size
    return replace(certificate, passes=certificate.passes + passes, kernel_evaluations=evaluations, seconds=seconds)


def _weight(X: Any, y: Any, w: Any) -> tuple:
    """The sum of weights of a block."""
    return (weights_of(w, len(y)).sum(),)
