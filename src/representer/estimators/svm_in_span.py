"""Support vector machines in the span of a basis: primal problems with nonsmooth losses, and functions on m centres."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np

from representer.estimators.in_span import basis_for, function_of, refuse, rows_of
from representer.estimators.machine_in_span import MachineInSpan
from representer.estimators.ridge_in_span import TUNED
from representer.kernels import checks
from representer.kernels.base import Kernel
from representer.losses.base import Loss
from representer.losses.hinge import Hinge
from representer.result import Budget, Plan, Result, Work, certificate_of
from representer.rows.arrays import ArrayRows
from representer.rows.base import Rows
from representer.rows.validation import reset_fitted


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

    def machine(self, rows: Rows) -> MachineInSpan:
        """C sum_i w_i loss(y_i, f(x_i) + b) + ||f||^2 / 2."""
        basis: Any = basis_for(self.kernel, rows)
        options = {"threads": self.model.threads, **self.options}
        return MachineInSpan(self.kernel, basis, rows, self.loss, 1.0 / self.C, **options)

    def plan(self, X: Any, budget: Budget) -> Plan:
        """The plan of one machine on all rows."""
        n = checks.number_of(X)
        return self.machine(rows_of(X, np.ones(n), np.ones(n))).plan(budget)

    def fit(self, tasks: Iterable[Rows]) -> np.ndarray:
        """One machine for each set of rows; sets the model's function, and returns the intercepts."""
        model, budget = self.model, self._budget()
        results: list[Result] = []
        with budget.progress:
            for rows in tasks:
                machine = self.machine(rows)
                results.append(machine.solve(budget))
        w, b = np.concatenate([r.coef for r in results], axis=1), np.concatenate([r.intercept for r in results])
        single, basis = len(results) == 1, machine.basis
        model.kernel_ = self.kernel
        model.function_ = function_of(basis, w[:, 0] if single else w, b[0] if single else b, model.threads)
        parts = [r.certificate for r in results]
        taken = np.array([max(1, part.iterations) for part in parts], np.int32)
        model.n_iter_ = taken if hasattr(model, "classes_") else int(taken[0])
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
        model.certificate_ = replace(found, approximation=_of_all([part.approximation for part in parts]))
        model.dual_coef_ = np.atleast_2d(model.function_.coef.T)
        model._warn_unless_converged(model.certificate_, "use a smaller C, or a larger tol or max_iter")
        return b

    def _budget(self) -> Budget:
        budget = self.model._budget()
        return replace(budget, max_iter=min(budget.max_iter, 2000))


def _of_all(parts: list[Any]) -> Any:
    """The approximation of a sum of problems: the gap of all, and the kernels' differences on the rows of the first."""
    gaps = [None if part is None else part.full_gap for part in parts]
    return parts[0] if None in gaps else replace(parts[0], full_gap=sum(gaps))


def classifier_in_span(model: Any, kernel: Kernel) -> SvmInSpan:
    """The machines of a C-SVC; raise for a machine without a primal form here."""
    if not hasattr(model, "C"):
        refuse(kernel, f"The dual of {type(model).__name__}", "SVC, or an exact kernel")
    return SvmInSpan(model, kernel, Hinge(), model._largest_C())


def fit_pairs(model: Any, X: Any, pairs: Iterable[Rows], weights: np.ndarray | None = None) -> Any:
    """A C-SVC with one machine per pair of classes; X and weights choose the kernel's data-dependent parameters."""
    reset_fitted(model, "support_", "support_vectors_", "n_support_", "loo_error_")
    machines = classifier_in_span(model, model._definite_kernel(X, weights))
    model.C_, model.intercept_ = machines.C, machines.fit(pairs)
    return model


def pairs_of(X: Any, codes: np.ndarray, weights: np.ndarray) -> Iterator[Rows]:
    """Rows and signs of each pair of classes: +1 for the second of only two classes, and for the first of each pair."""
    n_classes = int(codes.max()) + 1
    if n_classes == 2:
        yield ArrayRows(X, np.where(codes == 1, 1.0, -1.0), weights)
        return
    for a, b in combinations(range(n_classes), 2):
        index = np.flatnonzero((codes == a) | (codes == b))
        yield ArrayRows(checks.take(X, index), np.where(codes[index] == a, 1.0, -1.0), weights[index])
