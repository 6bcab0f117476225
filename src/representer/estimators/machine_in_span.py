"""Machines with any convex loss in the span of a basis."""

from __future__ import annotations

from typing import Any

import numpy as np

from representer import _parallel
from representer.estimators.in_span import (
    Gaps,
    design_of,
    distance_to_all,
    function_of,
    with_approximation,
    with_samples,
)
from representer.functions import Function
from representer.kernels.base import Kernel
from representer.kernels.basis import Basis
from representer.losses.base import Loss
from representer.problems.finite import FiniteProblem, columns_of, weights_of
from representer.regularizers import Regularizer
from representer.result import Budget, Plan, Result, Work, certificate_of
from representer.rows.arrays import inputs_of
from representer.rows.base import Rows
from representer.solvers import choose


class MachineInSpan:
    """Losses on rows and the squared norm, for a kernel with a basis."""

    def __init__(self, kernel: Kernel, basis: Basis, rows: Rows, loss: Loss, strength: float, **options: Any):
        self.kernel, self.basis, self.rows = kernel, basis, rows
        self.threads, outputs = options.pop("threads", None), options.pop("outputs", 1)
        parts = loss.parts()
        outputs = 1 if len(parts) > 1 else outputs
        design = design_of(basis, self.threads)
        self.problems = [FiniteProblem(design, rows, part, strength, outputs=outputs, **options) for part in parts]

    def plan(self, budget: Budget) -> Plan:
        """The cost of a fit; losses of several outputs are solved one after the other."""
        plan = choose.plan(self.problems[0], budget)
        return with_samples(plan, self.basis, self.rows, gap=len(self.problems) == 1)

    def solve(self, budget: Budget) -> Result:
        """Coefficients of phi, intercepts and their certificate, with the error of the approximation."""
        plan = self.plan(budget)
        plan.require()
        self.rows.expect(plan.passes)
        with _parallel.blas_threads_for(self.basis.size):
            found = [choose.solve(problem, budget) for problem in self.problems]
        w = np.concatenate([result.coef for result in found], axis=1)
        b = np.concatenate([result.intercept for result in found])
        parts = [result.certificate for result in found]
        first = parts[0]
        work = Work(
            first.solver,
            first.reason,
            sum(part.iterations for part in parts),
            max(part.bytes for part in parts),
            sum(part.seconds for part in parts),
            first.precision,
            sum(part.passes for part in parts),
        )
        certificate = certificate_of(parts, work, budget.tol, sum(part.kernel_evaluations for part in parts))
        certificate = with_approximation(certificate, self.basis, self.rows, self._full_gap(w, b, certificate.gap))
        return Result(w, b, certificate, strength=self.problems[0].strength, n_iter=work.iterations)

    def _full_gap(self, w: np.ndarray, b: np.ndarray, gap: float | None) -> float | None:
        if gap is None or len(self.problems) > 1:
            return None
        design = design_of(self.basis.astype(np.float64), self.threads)
        part = Gaps(design, self.kernel, w, b, self.problems[0].loss.gradient)
        further = distance_to_all(part, self.rows, self.problems[0].strength)
        return None if further is None else gap + further

    def function(self, result: Result) -> Function:
        """The fitted f + b."""
        single = result.coef.shape[1] == 1
        w, b = (result.coef[:, 0], result.intercept[0]) if single else (result.coef, result.intercept)
        return function_of(self.basis, w, b, self.threads)

    def representers(self, function: Function) -> tuple[Any, np.ndarray]:
        """Inputs and coefficients of f: for an exact kernel all inputs and -w_i l'(y_i, f(x_i) + b) / strength."""
        rows: Any = self.rows
        X, problem = inputs_of(rows), self.problems[0]
        if self.kernel.original is not self.kernel or X is None or len(self.problems) > 1 or not problem.loss.smooth:
            return function.X, function.coef
        y, w = columns_of(rows.y), weights_of(rows.w, rows.n_rows)[:, None]
        values = function(X)
        coef = -w * problem.loss.gradient(y, values.reshape(len(y), -1)) / problem.strength
        return X, coef.reshape(values.shape)


def has_slopes(loss: Loss, regularizer: Regularizer) -> bool:
    """Whether coefficients of the inputs follow from f: f = -sum_i w_i l'(y_i, f(x_i) + b) k(x_i, .) / strength."""
    determined = loss.smooth and loss.complete and loss.convex and len(loss.parts()) == 1
    return determined and regularizer.fixed_strength is not None


def fixed_strength(regularizer: Regularizer) -> float:
    """The strength of the squared norm; raise for other regularisers."""
    strength = regularizer.fixed_strength
    if strength is None:
        raise ValueError(
            f"{regularizer!r} is not the squared norm, which alone has a solver in the span of a basis; use "
            "SquaredNorm(strength), or an exact kernel."
        )
    return strength
