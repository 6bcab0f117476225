"""Kernel ridge regression in the span of a basis: alpha paths from one pass over rows stored anywhere."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np

from representer.estimators.in_span import (
    Gaps,
    design_of,
    distance_to_all,
    function_of,
    with_approximation,
    with_samples,
)
from representer.kernels.base import Kernel
from representer.kernels.basis import Basis
from representer.problems.finite import FiniteRidge, columns_of
from representer.result import Budget, Certificate, Plan, Result
from representer.rows.arrays import inputs_of
from representer.rows.base import Rows
from representer.solvers import choose, normal_equations

TUNED = (
    "tune={tune!r} needs gradients of the kernel, which an approximation does not have; tune the exact kernel on some "
    "rows, and fit with Nystroem(model.kernel_, n_components)."
)
CHOOSING = ("loo_scores_", "gcv_", "loo_predictions_", "loo_residuals_", "loo_error_")
"""Attributes that tell how alpha was chosen, which another fit may not set."""


class RidgeInSpan:
    """A ridge model whose kernel has a basis. ``model`` is the estimator, whose parameters are used."""

    def __init__(self, model: Any, kernel: Kernel, basis: Basis, rows: Rows, alphas: np.ndarray):
        self.model, self.kernel, self.basis, self.rows, self.alphas = model, kernel, basis, rows, alphas
        if model.tune is not None:
            raise ValueError(TUNED.format(tune=model.tune))
        self.problem = FiniteRidge(design_of(basis, model.threads), rows, alphas[0], model.fit_intercept)

    def plan(self, path: bool, budget: Budget) -> Plan:
        """The cost of a fit."""
        if path:
            plan = normal_equations.cost(self.problem, budget, self.alphas)
            if normal_equations.leaves_out(self.problem, self.alphas):
                plan = replace(plan, passes=plan.passes + self.rows.sample_passes)  # for the targets
        else:
            plan = choose.plan(self.problem, budget, self.model.solver)
        return with_samples(plan, self.basis, self.rows, gap=True)

    def fit(self, path: bool, budget: Budget) -> None:
        """Solve, and set the attributes of the model."""
        plan = self.plan(path, budget)
        plan.require()
        self.rows.expect(plan.passes)
        if path:
            alpha, result = self._along_path(plan, budget)
        else:
            solver, plan = choose.solver_of(self.problem, budget, self.model.solver)
            with self.model._watched(solver, plan) as watched:
                alpha, result = self.alphas[0], solver.solve(self.problem, watched, plan.reason)
        self._keep(alpha, result)

    def _along_path(self, plan: Plan, budget: Budget) -> tuple[np.ndarray, Result]:
        """Choose alpha by leave-one-out, or by generalised cross-validation where that takes too long."""
        model, alphas, every = self.model, self.alphas, np.arange(self.alphas.shape[1])
        path = normal_equations.Path(self.problem, budget)
        model.gcv_ = path.sums.gcv(alphas)
        leaves_out = normal_equations.leaves_out(self.problem, alphas)
        if leaves_out:
            y, w = self._targets()
            predictions = path.leave_out(alphas)
            left_out = model._scores(predictions, SimpleNamespace(targets=y, weights=w))
            possible = np.isfinite(left_out).any(axis=0)
            scores = np.where(possible, left_out, -model.gcv_)  # rows that no alpha can leave out
        else:
            scores = -model.gcv_
        best = scores.argmax(axis=0)
        if not model.alpha_per_target:
            best = np.full(alphas.shape[1], scores.mean(axis=1).argmax())
        if leaves_out:
            model.loo_scores_ = left_out if model.alpha_per_target else left_out.mean(axis=1)
            model.loo_predictions_ = predictions[best, :, every].T
            model.loo_residuals_ = y - model.loo_predictions_
        by_rows = leaves_out and np.any(possible)
        reason = plan.reason + (" by leave-one-out" if by_rows else " by generalised cross-validation")
        alpha = alphas[best, every]
        return alpha, path.solve(alpha, reason)

    def _targets(self) -> tuple[np.ndarray, np.ndarray | None]:
        """All targets and weights."""
        blocks = self.rows.map(_side)
        self.rows.counted(self.rows.sample_passes)
        weights = None if blocks[0][1] is None else np.concatenate([w for _, w in blocks])
        return np.concatenate([y for y, _ in blocks]), weights

    def keep(self, alpha: np.ndarray, result: Result, certificate: Certificate) -> None:
        """Set the attributes of the model."""
        model, basis, single = self.model, self.basis, self.model._single_output
        w = result.coef[:, 0] if single else result.coef
        intercept: Any = result.intercept[0] if single else result.intercept
        model.intercept_ = intercept if model.fit_intercept else 0.0
        model.kernel_, model.alpha_ = self.kernel, float(alpha[0]) if np.all(alpha == alpha[0]) else alpha
        model.function_ = function_of(basis, w, model.intercept_, model.threads)
        model.X_fit_, model.dual_coef_ = model.function_.X, model.function_.coef
        model.certificate_, model._solution = certificate, None
        model.n_iter_ = max(1, certificate.iterations)

    def _keep(self, alpha: np.ndarray, result: Result) -> None:
        design = design_of(self.basis.astype(np.float64), self.model.threads)
        part = Gaps(design, self.kernel, result.coef, result.intercept, _residual)
        # with (y - f)^2 the slopes are -2 r and the strength is 2 alpha
        further = distance_to_all(part, self.rows, alpha / 2.0) if np.all(alpha > 0) else None
        gap = result.certificate.gap
        full = None if further is None or gap is None else gap + further
        self.keep(alpha, result, with_approximation(result.certificate, self.basis, self.rows, full))
        self._keep_dual(alpha, result)

    def _keep_dual(self, alpha: np.ndarray, result: Result) -> None:
        """For an exact kernel on inputs that a fit may keep, the coefficients (y - f - b) w / alpha of representers."""
        X = inputs_of(self.rows)
        if self.kernel.original is not self.kernel or X is None or np.any(alpha == 0):
            return
        y, w = self._targets()
        left = (y - self.model.function_(X).reshape(y.shape)) / alpha
        left = left if w is None else w[:, None] * left
        self.model.X_fit_, self.model.dual_coef_ = X, left[:, 0] if self.model._single_output else left
        self.model._weights = w


def _side(X: Any, y: Any, w: Any) -> tuple:
    return columns_of(y), w


def _residual(y: np.ndarray, f: np.ndarray) -> np.ndarray:
    return y - f
