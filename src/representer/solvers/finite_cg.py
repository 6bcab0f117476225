"""Ridge in the span of a basis by conjugate gradients: one pass over the rows per step, and no product psi psi'."""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np
from scipy.linalg import cho_solve

from representer.problems.finite import FiniteRidge, columns_of, weights_of
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
MOST_ROUNDS = 4
"""Maximum number of rounds of steps, all but the first from a float64 residual."""
LONG_ROUND = 2
"""Factor by which the steps of a round may exceed those expected."""
INNER, OBLIQUE = 1e-5, 2e-3
"""Factor by which float32 steps lower a residual before it is recomputed in float64, where psi are orthonormal, and
where they are not: the start is off in directions that little of the rows lies in, whose coefficients cancel."""
START = 1e-2
"""About the relative residual of the start."""
EXACT_STEPS = 2
"""So few remaining steps are float64: each takes as long as two, but the residual needs no further pass."""
ROUND_SHARE = 0.8
"""Fraction of the tolerance at which a round ends; float32 steps may miss the rest of it."""

name = "conjugate_gradient"
iterations = "conjugate gradients"
way_out = "use fewer components, or a larger memory="


def cost(problem: FiniteRidge, budget: Budget, alphas: np.ndarray | None = None) -> Plan:
    """Some dozen passes of n m values, and a factor of m x m doubles."""
    n, m = problem.n, problem.size
    sampled = rows_to_sample(problem, budget.tol)
    steps = expected_steps(sampled / m, budget.tol / START) + 1  # the first residual
    exact = int(np.ceil(np.log(START / budget.tol) / np.log(1.0 / inner(problem))))
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


def inner(problem: FiniteRidge) -> float:
    """By how much a round of float32 steps lowers the residual."""
    return INNER if problem.design.basis.root is None else OBLIQUE


def expected_steps(times: float, tol: float) -> int:
    """With a preconditioner from ``times`` m sampled rows, each step divides the error by sqrt(times).

    The eigenvalues of a sample's moments, relative to those of all rows, are between (1 -+ times^(-1/2))^2.
    """
    return int(np.ceil(np.log(2.0 / tol) / (0.5 * np.log(max(times, 2.0)))))


def rows_to_sample(problem: FiniteRidge, tol: float) -> int:
    """Rows for the preconditioner: as many as minimise its set-up plus the steps."""
    n, m = problem.n, problem.size
    choices = [c for c in (2, 4, 8, 16, 32, 64, 128) if FEWEST_SAMPLED <= c <= MOST_SAMPLED]
    seconds = [c * m**3 / FLOPS + SINGLE_SHARE * expected_steps(c, tol / START) * n * m * PAIR_SECONDS for c in choices]
    return min(n, choices[int(np.argmin(seconds))] * m)


class Sampled:
    """(n / s) Phi_s' W Phi_s + alpha I from s sampled rows, minus the part along their mean: a preconditioner.

    The solution for these rows alone is where conjugate gradients start: it is off by the noise of the sample, which
    saves the steps that would otherwise lead there.
    """

    def __init__(self, problem: FiniteRidge, rows: int):
        n, design, self.alpha = problem.n, design_for_sums(problem.design, problem.n), problem.alpha
        X, y, w = problem.rows.sample(rows, 1)
        weights, y = weights_of(w, rows), columns_of(y)
        weight = float(weights.sum()) if problem.intercept else 0.0
        centre = weights @ y / weight if weight > 0.0 else np.zeros(y.shape[1])
        G, sums = design.moments(X, np.column_stack([y - centre, np.ones(rows)]), weights)
        S, sums = design.from_moments(G), design.from_sums(sums)
        self.mean = sums[:, -1] / weight if weight > 0.0 else np.zeros(len(S))
        self.S = n / rows * (S - weight * np.multiply.outer(self.mean, self.mean))
        self.sides, self.centre = n / rows * sums[:, :-1], centre
        self.factors: dict[float, Any] = {}

    def __call__(self, g: np.ndarray) -> np.ndarray:
        out = np.empty_like(g)
        for each in np.unique(self.alpha):
            if each not in self.factors:
                A = self.S.copy()
                A.ravel()[:: len(A) + 1] += each
                self.factors[each] = definite_factor(A)
            own = self.alpha == each
            out[:, own] = cho_solve(self.factors[each], g[:, own], check_finite=False)
        return out

    def start(self) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients and intercepts for the sampled rows."""
        w = self(self.sides)
        return w, self.centre - self.mean @ w


def solve(problem: FiniteRidge, budget: Budget, reason: str, start: Any = None) -> Result:
    """Conjugate gradients with float32 products, restarted from float64 residuals until those are small.

    Where a few rows span much of the space, a sample says little about all of them, and steps are many: normal
    equations take over.
    """
    begin, design = perf_counter(), problem.design
    exact = replace(design, basis=design.basis.astype(np.float64))
    single = replace(design, basis=design.basis.astype(np.float32))
    sampled = rows_to_sample(problem, budget.tol)
    precondition, times = Sampled(problem, sampled), sampled / problem.size
    weight = float(problem.rows.total(_weight)[0]) if problem.intercept else 1.0
    point, passes, steps = RidgePoint.at(problem, single, *precondition.start(), weight, sides=True), 1, 0
    size = np.linalg.norm(np.asarray(point.sides), axis=0)
    goal, checked = ROUND_SHARE * budget.tol * size, False
    for _ in range(MOST_ROUNDS):
        lengths = np.linalg.norm(point.g, axis=0)
        few = checked and expected_steps(times, _share(goal, lengths)) <= EXACT_STEPS
        tol = goal if few else np.maximum(inner(problem) * lengths, goal)
        most = min(LONG_ROUND * expected_steps(times, _share(tol, lengths)), budget.max_iter - steps)
        point, taken = point.improved(problem, exact if few else single, precondition, tol, most)
        steps, passes, slow = steps + taken, passes + taken, np.any(np.linalg.norm(point.g, axis=0) > tol)
        if not few:
            point, passes, checked = RidgePoint.at(problem, exact, point.w, point.b, weight), passes + 1, True
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


def _share(tol: np.ndarray, lengths: np.ndarray) -> float:
    """The smallest factor by which steps are to lower one of these lengths."""
    return float(np.min(np.divide(tol, lengths, out=np.ones_like(tol), where=lengths > tol)))


def _with_work(certificate: Certificate, problem: FiniteRidge, passes: int, seconds: float) -> Certificate:
    """The certificate with the passes made before; ``seconds`` are those of the whole fit."""
    evaluations = certificate.kernel_evaluations + passes * problem.n * problem.size
    return replace(certificate, passes=certificate.passes + passes, kernel_evaluations=evaluations, seconds=seconds)


def _weight(X: Any, y: Any, w: Any) -> tuple:
    """The sum of weights of a block."""
    return (weights_of(w, len(y)).sum(),)
