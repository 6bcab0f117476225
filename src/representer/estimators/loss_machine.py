"""What all machines with a loss share: from targets to the solution, its plan and its certificate."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import column_or_1d

from representer import _parallel
from representer.estimators.base import KernelEstimator, own
from representer.estimators.criteria import Part, functions_of
from representer.estimators.in_span import basis_for, is_approximation, kernel_for_rows, may_span, rows_of
from representer.estimators.inputs import (
    check_labels,
    check_targets,
    check_weights,
    require_bounded,
    to_kernel,
)
from representer.estimators.machine_in_span import MachineInSpan, fixed_strength, has_slopes
from representer.estimators.ridge_in_span import TUNED
from representer.estimators.tunable import Tunable
from representer.functions import Function
from representer.kernels.base import require_definite
from representer.losses.base import Loss
from representer.problems.loss import LossProblem
from representer.regularizers import Regularizer, SquaredNorm
from representer.result import Plan
from representer.rows.base import Rows
from representer.rows.validation import check_inputs, reset_fitted
from representer.solvers import choose

MACHINE_ADVICE = "use a stronger regulariser, a kernel with a shorter length scale, or a larger tol or max_iter"


class Machine(Tunable, KernelEstimator):
    """What all machines share: from inputs and numeric targets to a function with its certificate.

    Subclasses have the parameters kernel, fit_intercept, tune, bounds, fixed, priors, tol, max_iter, memory, threads
    and verbose.
    """

    takes_rows = True
    _strength_name = "alpha"
    _search_factor = 5.0  # Newton steps

    def _problem(
        self, X: Any, y: np.ndarray, loss: Loss, regularizer: Regularizer, weights: np.ndarray | None
    ) -> LossProblem:
        kernel = self._kernel_for(X, weights)
        require_definite(kernel, "a kernel machine")
        w = np.ones((len(y), 1)) if weights is None else weights[:, None]
        share = float(w.max() / min(regularizer.fixed_strength or 1.0, 1.0))
        what = "The largest sample_weight, by itself or over the strength of the regulariser,"
        require_bounded(share, what, "use smaller weights, or a stronger regulariser")
        return LossProblem(self._gram(kernel, X), y[:, None], loss, regularizer, w, self.fit_intercept)

    def _in_span(
        self, X: Any, y: Any, loss: Loss, regularizer: Regularizer, weights: np.ndarray | None
    ) -> MachineInSpan | None:
        """The problem in the span of a basis: of an approximation, of rows elsewhere, or of few functions; else None.

        Targets are those of y, or those of the rows.
        """
        elsewhere, kernel = isinstance(X, Rows), to_kernel(self.kernel)
        exact = not elsewhere and not is_approximation(kernel)
        if exact and (self.tune is not None or not may_span(kernel, X) or not has_slopes(loss, regularizer)):
            return None
        if self.tune is not None:
            raise ValueError(TUNED.format(tune=self.tune))
        kernel = kernel_for_rows(kernel, X) if elsewhere else self._kernel_for(X, weights)
        require_definite(kernel, "a kernel machine")
        basis = basis_for(kernel, X)
        if basis is None:
            return None
        targets = np.asarray(range(len(getattr(self, "classes_", (0, 1)))) if elsewhere else y, np.float64)
        outputs, strength = loss.outputs(targets[:, None]), fixed_strength(regularizer)
        options = {"intercept": self.fit_intercept, "outputs": outputs, "threads": self.threads}
        return MachineInSpan(kernel, basis, rows_of(X, targets, weights), loss, strength, **options)

    def _keep_span(self, spanned: MachineInSpan) -> None:
        """Solve in the span of a basis, and keep the function on its centres."""
        budget = self._budget()
        with budget.progress:
            result = spanned.solve(budget)
        self.kernel_, self.certificate_, self.function_ = spanned.kernel, result.certificate, spanned.function(result)
        self.X_fit_, self.dual_coef_ = spanned.representers(self.function_)
        strength: Any = result.strength
        self.strength_, self.n_iter_ = strength, result.n_iter
        self.intercept_ = float(result.intercept[0]) if len(result.intercept) == 1 else result.intercept
        self._warn_unless_converged(result.certificate, MACHINE_ADVICE)

    def _fit(self, X: Any, y: Any, loss: Loss, regularizer: Regularizer, weights: np.ndarray | None) -> None:
        """The fit to numeric targets: sets kernel_, function_, certificate_ and related attributes."""
        reset_fitted(self, "loo_error_")
        if (spanned := self._in_span(X, y, loss, regularizer, weights)) is not None:
            self._keep_span(spanned)
            return
        problem, budget = self._problem(X, y, loss, regularizer, weights), self._budget()
        self._plan_of(problem).require()
        if self.tune is not None:
            problem = self._tuned(problem, X)
        solver, plan = choose.solver_of(problem, budget)
        with budget.progress.expect(plan.solver, plan.seconds), _parallel.blas_threads_for(problem.n):
            result = solver.solve(problem, budget, plan.reason)
        gram, single = problem.gram, result.coef.shape[1] == 1
        self.kernel_, self.X_fit_, self.certificate_ = gram.kernel, gram.X, result.certificate
        strength: Any = result.strength
        self.strength_, self.n_iter_ = strength, result.n_iter
        self.dual_coef_ = result.coef[:, 0] if single else result.coef
        self.intercept_ = float(result.intercept[0]) if single else result.intercept
        self.function_ = Function(
            gram.kernel, gram.X, self.dual_coef_, self.intercept_, prepared=gram.inputs, threads=self.threads
        )
        self._warn_unless_converged(result.certificate, MACHINE_ADVICE)

    def _tuned(self, problem: LossProblem, X: Any) -> LossProblem:
        """The problem with the kernel and strength that minimise the leave-one-out loss."""
        inverse = self._strength_name == "C"
        if problem.regularizer.fixed_strength is None:
            raise ValueError(f"tune={self.tune!r} is for the squared norm, not for {problem.regularizer!r}.")
        y, weights = problem.y[:, 0], problem.weights[:, 0]
        parts = [Part(signs, loss, weights) for signs, loss in functions_of(problem.loss, y)]
        strength = 1.0 / problem.strength if inverse else problem.strength
        kernel, strength = self._search_machine(problem.gram, parts, weights, strength, problem.intercept)
        return replace(
            problem, gram=self._gram(kernel, X), regularizer=SquaredNorm(1.0 / strength if inverse else strength)
        )

    def _plan_for(self, X: Any, y: np.ndarray, loss: Loss, regularizer: Regularizer) -> Plan:
        """The plan of a fit without weights."""
        if (spanned := self._in_span(X, y, loss, regularizer, None)) is not None:
            return spanned.plan(self._budget())
        return self._plan_of(self._problem(X, y, loss, regularizer, None))

    def _plan_of(self, problem: LossProblem) -> Plan:
        """The plan of a fit, including the search before it."""
        budget = self._budget()
        return self._with_search(choose.plan(problem, budget), problem.gram, budget.memory)

    def _inputs(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, np.ndarray | None]:
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        X = own(check_inputs(self, X, to_kernel(self.kernel), reset=True))
        return X, check_weights(sample_weight, X)

    def _numbers(self, X: Any, y: Any) -> np.ndarray:
        """Numeric targets."""
        return column_or_1d(check_targets(self, X, y), warn=True)

    def _counts(self, X: Any, y: Any, weights: np.ndarray | None) -> np.ndarray:
        """Nonnegative targets, not all zero where there is an intercept."""
        y = self._numbers(X, y)
        if y.min() < 0:
            raise ValueError(f"y has the value {y.min():g}; counts are zero or positive.")
        if self.fit_intercept and np.average(y, weights=weights) == 0:
            raise ValueError("All counts are zero, so the best intercept is minus infinity; use fit_intercept=False.")
        return y

    def _labels(self, X: Any, y: Any, weights: np.ndarray | None) -> np.ndarray:
        """The class index of each label; sets classes_. Raises for a single class."""
        self.classes_, label = check_labels(self, X, y)
        seen = label if weights is None else label[weights > 0]
        if len(np.unique(seen)) < len(self.classes_):
            raise ValueError(
                f"y has only one class with a positive weight, or a class without any, among {self.classes_.tolist()}; "
                "a classifier needs samples of at least two classes, and of each."
            )
        return label

    def _signs(self, X: Any, y: Any, weights: np.ndarray | None) -> np.ndarray:
        """-1 and +1 for the first and second of two classes."""
        label = self._labels(X, y, weights)
        if len(self.classes_) > 2:
            raise ValueError(
                f"Only binary classification is supported. The type of the target is {type_of_target(y)}. "
                "Use KernelLogisticRegression, the loss Multinomial(), or scikit-learn's OneVsRestClassifier."
            )
        return 2.0 * label - 1.0
