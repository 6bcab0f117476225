"""The kernel machine: any loss, any nondecreasing regulariser of the norm."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import ClassifierTags, RegressorTags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import column_or_1d

from representer import _parallel
from representer.estimators.base import KernelEstimator, atomic, own
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
from representer.estimators.row_targets import coded
from representer.estimators.tunable import Tunable
from representer.functions import Function
from representer.kernels import checks
from representer.kernels.base import require_definite
from representer.losses.base import Loss
from representer.losses.squared import Squared
from representer.problems.intercepts import best_intercept
from representer.problems.loss import LossProblem
from representer.problems.points import Point
from representer.regularizers import Regularizer, SquaredNorm
from representer.result import Plan
from representer.rows.base import Rows
from representer.rows.distributed.lazy import lazily
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


def _classifies(model: KernelMachine) -> bool:
    if model._loss.targets in ("signs", "classes"):
        return True
    raise AttributeError(f"A machine with the loss {model._loss!r} is a regressor and has no decision_function.")


class KernelMachine(Machine):
    r"""minimise over f in H and b:  sum_i w_i loss(y_i, f(x_i) + b) + R(||f||).

    The solution is f = sum_i a_i k(x_i, .), whatever the loss and the nondecreasing R. Where both are convex, a
    certificate bounds how far the objective is above its minimum. Whether this is a regressor or a classifier depends
    on the targets of the loss.

    Parameters
    ----------
    kernel : Kernel or str
        A kernel object on inputs of any type, or a name such as "rbf", "linear" or "precomputed". A length scale that
        is not given is the typical distance of an input from the mean.
    loss : Loss, optional
        From `representer.losses`, or your own; `Squared` when not given.
    regularizer : Regularizer, optional
        From `representer.regularizers`; ``SquaredNorm(1.0)`` when not given.
    fit_intercept : bool
        Whether there is a free constant b.
    tune : {None, "loo"}
        "loo" tunes the strength of a `SquaredNorm` and all positive hyper-parameters of the kernel to minimise the
        leave-one-out loss, by gradients.
    bounds : dict, optional
        Pairs (low, high) for hyper-parameters by name, such as ``{"length_scale": (0.1, 10.0)}``.
    fixed : list of names
        Hyper-parameters that are not tuned.
    priors : dict, optional
        Distributions with a ``logpdf``, as in scipy.stats, by name.
    tol : float
        Duality gap, relative to the objective, at which the solver has converged.
    max_iter : int
        Largest number of Newton steps, of L-BFGS steps where the loss has only value and gradient, or of rounds of n
        SMO steps where the dual is box-constrained, as for hinge and pinball losses with an intercept. With ``tune`` it
        bounds the search, and these only where it is above the default.
    memory : int, optional
        Bytes that a fit may use; more is refused before work starts. The machine's memory when not given.
    threads : int, optional
    verbose : int
        1 shows each step, -1 nothing; 0 shows fits that take more than three seconds, on a terminal.

    Attributes
    ----------
    function_ : Function
        The fitted f + b.
    dual_coef_ : array of shape (n,) or (n, n_outputs)
    intercept_ : float or array of shape (n_outputs,)
    strength_ : float
        The effective strength R'(||f||) / ||f||: with ``SquaredNorm(strength_)`` the solution is the same. Infinite for
        f = 0; in a ball, that of the solution before it was shrunk to the radius.
    kernel_ : Kernel
        The kernel used, with all length scales.
    certificate_ : Certificate
        Its ``error_bound`` is for the squared norm with the effective strength.
    classes_ : array
        Of a classifier.

    Examples
    --------
    >>> import numpy as np
    >>> from representer import KernelMachine
    >>> from representer.losses import Huber
    >>> from representer.regularizers import Norm
    >>> X = np.linspace(0, 6, 50)[:, None]
    >>> y = np.sin(X).ravel()
    >>> y[::10] += 5.0
    >>> model = KernelMachine(loss=Huber(0.1), regularizer=Norm(0.1)).fit(X, y)
    >>> bool(np.abs(model.predict(X) - np.sin(X).ravel()).max() < 0.2), model.certificate_.converged
    (True, True)
    """

    def __init__(
        self,
        kernel: Any = "rbf",
        loss: Loss | None = None,
        regularizer: Regularizer | None = None,
        *,
        fit_intercept: bool = True,
        tune: str | None = None,
        bounds: dict | None = None,
        fixed: Any = (),
        priors: dict | None = None,
        tol: float = 1e-6,
        max_iter: int = 1000,
        memory: int | None = None,
        threads: int | None = None,
        verbose: int = 0,
    ):
        self.kernel = kernel
        self.loss = loss
        self.regularizer = regularizer
        self.fit_intercept = fit_intercept
        self.tune = tune
        self.bounds = bounds
        self.fixed = fixed
        self.priors = priors
        self.tol = tol
        self.max_iter = max_iter
        self.memory = memory
        self.threads = threads
        self.verbose = verbose

    _strength_name = "strength"

    @property
    def _loss(self) -> Loss:
        return Squared() if self.loss is None else self.loss

    @property
    def _regularizer(self) -> Regularizer:
        return SquaredNorm(1.0) if self.regularizer is None else self.regularizer

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        targets = getattr(self._loss, "targets", "real")
        tags.target_tags.required = True
        if targets in ("signs", "classes"):
            tags.estimator_type = "classifier"
            tags.classifier_tags = ClassifierTags(multi_class=targets == "classes")
        else:
            tags.estimator_type = "regressor"
            tags.regressor_tags = RegressorTags()
            tags.target_tags.positive_only = targets == "counts"
        return tags

    @atomic
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> KernelMachine:
        """Fit to inputs X and targets or labels y, or to rows that contain them."""
        reset_fitted(self, "classes_")
        X, targets, weights = self._checked(X, y, sample_weight)
        self._fit(X, targets, self._loss, self._regularizer, weights)
        return self

    def _check_parts(self) -> None:
        """Raise if the loss or the regulariser is not one, or has a parameter out of range."""
        for part, kind, example in ((self._loss, Loss, "Huber()"), (self._regularizer, Regularizer, "Norm(0.3)")):
            if not isinstance(part, kind):
                raise TypeError(f"{part!r} is not a {kind.__name__}; pass an object such as {example}.")
            part.check()

    def _checked(self, X: Any, y: Any, sample_weight: Any = None) -> tuple[Any, Any, np.ndarray | None]:
        """Inputs, targets as numbers, and weights, as the loss needs them."""
        self._check_parts()
        if isinstance(X, Rows):
            return coded(self, X, y, sample_weight, self._loss.targets), None, None
        X, weights = self._inputs(X, y, sample_weight)
        if self._loss.targets == "real":
            return X, self._numbers(X, y), weights
        if self._loss.targets == "counts":
            return X, self._counts(X, y, weights), weights
        return X, (self._signs if self._loss.targets == "signs" else self._labels)(X, y, weights), weights

    @available_if(_classifies)
    @lazily
    def decision_function(self, X: Any) -> np.ndarray:
        """f(x) + b for each x in X; the sign, or the largest of several columns, determines the class."""
        values = self._values(X)
        two = values.ndim == 2 and values.shape[1] == 2
        return values[:, 1] - values[:, 0] if two else values

    def predict(self, X: Any) -> np.ndarray:
        """f(x) + b for each x in X; for counts, the rate exp(f(x) + b); for labels, the class."""
        values = self._values(X)
        if self._loss.targets not in ("signs", "classes"):
            return self._loss.response(values)
        return self.classes_[values.argmax(axis=1) if values.ndim == 2 else (values > 0).astype(int)]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R^2 of a regressor, accuracy of a classifier; mean D^2 for several outputs with a loss each.

        D^2 is one minus the loss relative to that of the best constant.
        """
        predicted = self.predict(X)
        if self._loss.targets in ("signs", "classes"):
            return float(accuracy_score(y, predicted, sample_weight=sample_weight))
        if predicted.ndim == 1:
            return float(r2_score(y, predicted, sample_weight=sample_weight))
        y = self._numbers(X, y)[:, None]
        weights = check_weights(sample_weight, X)
        w = np.ones_like(y) if weights is None else weights[:, None]
        pairs = zip(self._loss.parts(), predicted.T, strict=True)
        return float(np.mean([_explained(loss, y, w, f) for loss, f in pairs]))

    def plan(self, X: Any, y: Any = None) -> Plan:
        """The solver that `fit` would use for these inputs, why, and the memory and time that it takes."""
        model = clone(self)  # checks set attributes
        model._check_parts()
        elsewhere, zeros = isinstance(X, Rows), np.zeros(checks.number_of(X))
        X, targets, _ = (X, zeros, None) if y is None or elsewhere else model._checked(X, y)
        return model._plan_for(X, targets, self._loss, self._regularizer)


def _explained(loss: Loss, y: np.ndarray, w: np.ndarray, f: np.ndarray) -> float:
    """1 - loss of f / loss of the best constant; as for R^2, 1 or 0 where all targets are equal."""
    flat = np.zeros_like(y)
    best = flat + best_intercept(loss, y, w, Point(flat, np.zeros(1), flat))
    lost, least = (float(np.sum(w * loss.value(y, values))) for values in (f[:, None], best))
    return 1.0 - lost / least if np.ptp(y) > 0.0 else float(lost == 0.0)
