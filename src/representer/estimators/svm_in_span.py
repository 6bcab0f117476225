"""Support vector machines in the span of a basis: primal problems with kinked losses, and functions on m centres."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np

from representer.estimators.in_span import function_of, refuse
from representer.estimators.inputs import take
from representer.estimators.machine_in_span import MachineInSpan
from representer.estimators.ridge_in_span import TUNED
from representer.kernels import checks
from representer.kernels.base import Kernel
from representer.losses.base import Loss
from representer.losses.hinge import Hinge
from representer.result import Budget, Plan, Result, Work, certificate_of
from representer.rows.arrays import ArrayRows


class SvmInSpan:
    """The machines of a model with one loss: pairs of classes, or one regression."""

    def __init__(self, model: Any, kernel: Kernel, loss: Loss, C: float, **options: Any):
        if getattr(model, "tune", None) is not None:
            raise ValueError(TUNED.format(tune=model.tune))
        if getattr(model, "probability", False):
            raise ValueError(
                "probability=True needs leave-one-out scores of support vectors, which the span of a basis does not "
                "have; use KernelLogisticRegression, or scikit-learn's CalibratedClassifierCV."
            )
        self.model, self.kernel, self.loss, self.C, self.options = model, kernel, loss, C, options

    def machine(self, X: Any, y: np.ndarray, weights: np.ndarray) -> MachineInSpan:
        """C sum_i w_i loss(y_i, f(x_i) + b) + ||f||^2 / 2."""
        assert self.kernel.basis is not None
        basis, options = self.kernel.basis(X), {"threads": self.model.threads, **self.options}
        return MachineInSpan(self.kernel, basis, ArrayRows(X, y, weights), self.loss, 1.0 / self.C, **options)

    def plan(self, X: Any, budget: Budget) -> Plan:
        """Of a machine of all rows."""
        n = len(X) if isinstance(X, list) else X.shape[0]
        return self.machine(X, np.ones(n), np.ones(n)).plan(budget)

    def fit(self, X: Any, tasks: list[tuple[np.ndarray, np.ndarray]], weights: np.ndarray) -> np.ndarray:
        """One machine for each (rows, targets); sets the model's function, and returns the intercepts."""
        model, budget = self.model, self._budget()
        results: list[Result] = []
        with budget.progress:
            for rows, y in tasks:
                every = len(rows) == len(weights)
                part = X if every else take(X, rows, self.kernel)
                results.append(self.machine(part, y, weights[rows]).solve(budget))
        w, b = np.concatenate([r.coef for r in results], axis=1), np.concatenate([r.intercept for r in results])
        assert self.kernel.basis is not None
        single, basis = len(tasks) == 1, self.kernel.basis(X)
        model.kernel_ = self.kernel
        model.function_ = function_of(basis, w[:, 0] if single else w, b[0] if single else b, model.threads)
        parts = [r.certificate for r in results]
        model.n_iter_ = max(part.iterations for part in parts)
        work = Work(
            parts[0].solver,
            parts[0].reason,
            sum(part.iterations for part in parts),
            max(part.bytes for part in parts),
            sum(part.seconds for part in parts),
            parts[0].precision,
            sum(part.passes for part in parts),
        )
        found = certificate_of(parts, work, model.tol, sum(part.kernel_evaluations for part in parts))
        model.certificate_ = replace(found, approximation=parts[0].approximation)
        model.dual_coef_ = np.atleast_2d(model.function_.coef.T)
        model._warn_unless_converged(model.certificate_, "use a smaller C, or a larger tol or max_iter")
        return b

    def _budget(self) -> Budget:
        budget = self.model._budget()
        return replace(budget, max_iter=min(budget.max_iter, 2000))


def classifier_in_span(model: Any, kernel: Kernel) -> SvmInSpan:
    """The machines of a C-SVC; raise for one whose dual has no primal form of its own."""
    if not hasattr(model, "C"):
        refuse(kernel, f"The dual of {type(model).__name__}", "SVC, or an exact kernel")
    model.C_ = float(checks.positive(model.C, "C"))
    return SvmInSpan(model, kernel, Hinge(), model.C_)


def pairs_of(codes: np.ndarray, n_classes: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Rows and signs of each pair of classes: +1 for the second of two classes, and for the first of a pair."""
    if n_classes == 2:
        return [(np.arange(len(codes)), np.where(codes == 1, 1.0, -1.0))]
    rows = [(np.flatnonzero((codes == a) | (codes == b)), a) for a, b in combinations(range(n_classes), 2)]
    return [(index, np.where(codes[index] == a, 1.0, -1.0)) for index, a in rows]
