"""Principal components in the span of a basis: eigenvectors of sum_i w_i (phi_i - mean) (phi_i - mean)'."""

from __future__ import annotations

from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np

from representer.estimators.in_span import basis_for, design_of, rows_of, with_approximation, with_samples
from representer.functions import Function
from representer.kernels import checks
from representer.kernels.base import Kernel
from representer.kernels.basis import Basis
from representer.problems.finite import FiniteEigen, FiniteRidge
from representer.result import Budget, Certificate, Plan, Work, certificate_of
from representer.rows.base import Rows
from representer.solvers import normal_equations
from representer.solvers.normal_equations import Sums, design_for


@dataclass(frozen=True)
class Found:
    """Eigenvalues with their certificate, and the sum of all."""

    eigenvalues: np.ndarray
    certificate: Certificate
    trace: float


@dataclass(frozen=True)
class ComponentsInSpan:
    """The components of a model whose kernel has a basis."""

    model: Any
    kernel: Kernel
    basis: Basis
    rows: Rows

    @property
    def problem(self) -> FiniteRidge:
        """A ridge problem without targets, for its moments."""
        return FiniteRidge(design_of(self.basis, self.model.threads), self.rows, np.zeros(1), self.model.center)

    def plan(self, budget: Budget) -> Plan:
        """Two passes and an m x m eigenproblem."""
        plan = normal_equations.cost(self.problem, budget)
        plan = replace(plan, solver="eigenvectors in the span", why="the kernel has a basis")
        plan = with_samples(plan, self.basis, self.rows)
        return plan.within(budget.memory, normal_equations.way_out)

    def fit(self, budget: Budget, unit: float) -> Found:
        """Set the attributes of the model; eigenvalues are multiplied by ``unit``, that of the weights."""
        begin, model, plan = perf_counter(), self.model, self.plan(budget)
        plan.require()
        self.rows.expect(plan.passes)
        found = self._pairs(design_for(self.problem), budget, 1)
        if found[3].residuals.max(initial=0.0) > budget.tol:  # sums were not in float64, or not exact enough
            wide = replace(self.problem.design, basis=self.basis.astype(np.float64), orthonormal=True)
            found = self._pairs(wide, budget, 3)
        values, U, sums, judgement, passes = found
        seconds, evaluations = perf_counter() - begin, passes * self.rows.n_rows * self.basis.size
        work = Work(plan.solver, plan.reason, 1, plan.bytes, seconds, "float64 residuals", passes)
        certificate = certificate_of([judgement], work, budget.tol, evaluations)
        kernel, X, C = self.basis.representers(np.column_stack([U, sums.mean]))
        base = Function(kernel, X, C, threads=model.threads)
        model.kernel_, model.X_fit_ = self.kernel, X
        model.mean_ = base.with_coef(C[:, -1])
        model.eigenfunctions_ = base.with_coef(C[:, :-1], -(sums.mean @ U))
        trace = float(np.trace(sums.S)) - sums.weight * float(sums.mean @ sums.mean)
        model.eigenvalues_, model.explained_variance_ratio_ = unit * values, values / max(trace, 1e-300)
        model.certificate_ = with_approximation(certificate, self.basis, self.rows, None)
        model.residuals_ = certificate.residuals
        vars(model).pop("eigenvectors_", None)
        return Found(values, model.certificate_, trace)

    def _pairs(self, design: Any, budget: Budget, passes: int) -> tuple:
        """Eigenvalues and eigenvectors from sums in the design's precision, judged by products in float64."""
        sums = Sums.of(self.problem, design)
        values, V = sums.spectrum
        values, V = values[::-1], V[:, ::-1]
        least = len(values) * np.finfo(np.float64).eps * values.max(initial=0.0)
        q = int(np.count_nonzero(values > least))
        q = q if self.model.n_components is None else min(q, self.model.n_components)
        values, U = values[:q].copy(), np.ascontiguousarray(V[:, :q])
        judgement = FiniteEigen(design, self.rows, sums.mean).judge(U, values)
        return values, U, sums, judgement, passes + (q > 0)


def components_in_span(model: Any, kernel: Kernel, X: Any, weights: np.ndarray | None) -> ComponentsInSpan:
    """The components of inputs in memory, or of rows with zeros as targets."""
    basis: Any = basis_for(kernel, X)
    return ComponentsInSpan(model, kernel, basis, rows_of(X, np.zeros(checks.number_of(X)), weights))
