"""Kernel ridge regression and classification."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MultiOutputMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_array, check_is_fitted

from representer import _tiles
from representer.estimators.hyperparameters import LogParameters, largest
from representer.estimators.inputs import (
    check_inputs,
    check_labels,
    check_lengths,
    check_weights,
    evenly,
    forget,
    is_precomputed,
    take,
    to_kernel,
)
from representer.estimators.progress import CallbackSupportMixin, Progress, observed, task
from representer.estimators.search import IMPOSSIBLE, lbfgs
from representer.functions import Function
from representer.gram import machine_memory
from representer.kernels import checks
from representer.kernels.base import Kernel
from representer.problem import Certificate, Result, RidgeProblem
from representer.solvers import cholesky, conjugate_gradient
from representer.solvers.band import decompose
from representer.solvers.choose import DIRECT_UP_TO, Plan, choose_ridge, iterative_memory
from representer.solvers.leave_one_out import loo_error

TUNING_ROWS = 2000


class _Ridge(CallbackSupportMixin, BaseEstimator):
    """What regression and classification share: kernel, solver, alpha by leave-one-out, certificate."""

    _given_targets = True  # whether the user knows of several targets, to whom scikit-learn would give one alpha each

    def __init__(
        self,
        alpha: Any = 1.0,
        *,
        kernel: Any = "rbf",
        fit_intercept: bool = False,
        alpha_per_target: bool = False,
        tune: str | None = None,
        solver: str = "auto",
        tol: float = 1e-6,
        max_iter: int = 1000,
        warm_start: bool = False,
        memory: int | None = None,
        threads: int | None = None,
        random_state: Any = 0,
        verbose: int = 0,
    ):
        self.alpha = alpha
        self.kernel = kernel
        self.fit_intercept = fit_intercept
        self.alpha_per_target = alpha_per_target
        self.tune = tune
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.memory = memory
        self.threads = threads
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = is_precomputed(self.kernel)
        return tags

    # ---- the steps of fit ----

    def _fit(self, X: Any, targets: np.ndarray, sample_weight: Any) -> None:
        """Everything after the targets are numbers.

        Sets kernel_, alpha_, function_, dual_coef_, intercept_, certificate_.
        """
        forget(self, "loo_scores_", "gcv_", "loo_predictions_", "loo_residuals_", "loo_error_")
        alphas, path = self._alphas(targets.shape[1])
        weights = check_weights(sample_weight, X)
        kernel = to_kernel(self.kernel).fitted_to(X, weights)
        plan = self._plan(kernel, X, alphas, path, weights)
        problem = RidgeProblem(kernel, X, targets, alphas[0], weights, self.fit_intercept, self.threads)
        if self.tune is not None:
            problem = self._tuned(problem)
            alphas, path = problem.alpha[None], False
            plan = self._plan(problem.kernel, X, alphas, path, weights)
        with _tiles.blas_threads_for(problem.n):
            result = self._along_path(problem, alphas, plan) if path else self._solve(problem, plan)
        self._keep(problem, result)

    def _alphas(self, n_targets: int) -> tuple[np.ndarray, bool]:
        """alpha as an array of shape (n_alphas, n_targets), and whether one is to be chosen."""
        try:
            alpha = np.asarray(self.alpha, np.float64)
        except (TypeError, ValueError):
            alpha = np.array(np.nan)
        if any(isinstance(value, (str, bytes)) for value in np.array(self.alpha, object).ravel()):
            raise TypeError(f"alpha is {self.alpha!r}, with text in it; it must be a number, or an array of numbers.")
        if alpha.ndim > 2 or not np.all(np.isfinite(alpha)) or np.any(alpha < 0) or not alpha.size:
            raise ValueError(
                f"alpha is {self.alpha!r}; it must be a number that is zero or positive, or an array of them."
            )
        if self._given_targets and alpha.ndim == 1 and n_targets > 1 and len(alpha) == n_targets:
            raise ValueError(
                f"alpha has {len(alpha)} entries and there are {n_targets} targets, which can mean two things; "
                "pass alpha[None, :] for one alpha per target, or a path of another length to choose from."
            )
        if alpha.ndim == 2 and alpha.shape[1] != n_targets:
            raise ValueError(
                f"alpha has shape {alpha.shape}, but there are {n_targets} targets; give one column for each."
            )
        alphas = np.broadcast_to(
            alpha if alpha.ndim == 2 else alpha.reshape(-1, 1), (len(np.atleast_1d(alpha)), n_targets)
        )
        if self.fit_intercept and (np.any(alphas != alphas[:, :1]) or (self.alpha_per_target and n_targets > 1)):
            raise ValueError(
                "With fit_intercept all targets share one alpha; fit targets with different alphas, or with "
                "alpha_per_target, one by one."
            )
        path = len(alphas) > 1 or alpha.ndim == 1
        self._check_choices(path, n_targets)
        return alphas, path

    def _check_choices(self, path: bool, n_targets: int) -> None:
        """Raise if the solver, or what chooses alpha, is unknown or would be ignored."""
        if self.solver not in ("auto", "cholesky", "conjugate_gradient"):
            raise ValueError(f"solver is {self.solver!r}; use 'auto', 'cholesky' or 'conjugate_gradient'.")
        if self.tune not in (None, "loo"):
            raise ValueError(f"tune is {self.tune!r}; use None or 'loo'.")
        if path and self.solver != "auto":
            raise ValueError(
                f"solver is {self.solver!r}, but a path of alphas needs a decomposition of the whole matrix; "
                "use solver='auto', or a single alpha."
            )
        if path and self.tune is not None:
            raise ValueError(
                f"tune={self.tune!r} finds alpha by itself, so a path of them to choose from would be ignored; "
                "give one alpha to start from, or tune=None."
            )
        if self.tune is not None and self.alpha_per_target and n_targets > 1:
            raise ValueError(
                f"tune={self.tune!r} finds one alpha for all targets, but alpha_per_target asks for one each; "
                "choose from a path with tune=None, or fit the targets one by one."
            )

    def _plan(self, kernel: Kernel, X: Any, alphas: np.ndarray, path: bool, weights: Any = None) -> Plan:
        checks.positive(self.tol, "tol")
        checks.whole(self.max_iter, "max_iter")
        for name in ("memory", "threads"):
            if getattr(self, name) is not None:
                checks.whole(getattr(self, name), name)
        memory = machine_memory() if self.memory is None else self.memory
        n, scale = checks.number_of(X), 1.0
        if n > DIRECT_UP_TO:
            diagonal = kernel.fitted_to(X, weights).diag(X)
            scale = float(np.mean(diagonal if weights is None else weights * diagonal))
        return choose_ridge(n, alphas, path=path, memory=memory, scale=scale, solver=self.solver)

    def _solve(self, problem: RidgeProblem, plan: Plan) -> Result:
        if plan.solver == "cholesky":
            return cholesky.solve(problem, tol=self.tol, reason=plan.reason)
        memory = iterative_memory(machine_memory() if self.memory is None else self.memory)
        with (
            task(self, "conjugate gradients", self.max_iter) as step,
            Progress(self.verbose, self.tol, step) as progress,
        ):
            return conjugate_gradient.solve(
                problem,
                tol=self.tol,
                reason=plan.reason,
                max_iter=self.max_iter,
                memory=memory,
                random_state=self.random_state,
                guess=self._guess(problem),
                progress=progress,
            )

    def _guess(self, problem: RidgeProblem) -> np.ndarray | None:
        """The solution of the last fit, if it is wanted and of the same shape."""
        last = getattr(self, "_solution", None) if self.warm_start else None
        return last if last is not None and last.shape == problem.right_sides.shape else None

    def _along_path(self, problem: RidgeProblem, alphas: np.ndarray, plan: Plan) -> Result:
        """Choose alpha by leave-one-out from one decomposition, and solve with it."""
        decomposition, path = decompose(problem, alphas, banded=plan.solver == "band_reduction")
        self.loo_scores_, self.gcv_ = self._scores(path.predictions, problem), path.gcv
        per_target = self.alpha_per_target
        if per_target:
            best = self.loo_scores_.argmax(axis=0)
            problem.alpha = alphas[best, np.arange(alphas.shape[1])]
        else:
            joint = self.loo_scores_.mean(axis=1)
            best, problem.alpha = np.full(alphas.shape[1], joint.argmax()), alphas[joint.argmax()]
        self.loo_predictions_ = path.predictions[best, :, np.arange(alphas.shape[1])].T
        self.loo_residuals_ = problem.targets - self.loo_predictions_
        self.loo_scores_ = self.loo_scores_ if per_target else self.loo_scores_.mean(axis=1)
        coef, intercept = problem.finish(decomposition.solve(problem.ridges))
        relative, bound = problem.residuals(coef, intercept)
        n, reason = problem.n, plan.reason
        if plan.solver == "band_reduction" and decomposition.name != "band reduction":
            reason += ", and an alpha is zero to rounding or K is not definite, which rules out a band reduction"
        certificate = Certificate(
            solver=decomposition.name,
            reason=reason,
            converged=bool(relative.max() <= self.tol),
            residual=float(relative.max()),
            tolerance=self.tol,
            error_bound=bound,
            iterations=1,
            kernel_evaluations=n * (n + 1),
            bytes=plan.bytes,
            seconds=decomposition.seconds,
            precision="float64",
        )
        return Result(coef, intercept, certificate)

    def _scores(self, predictions: np.ndarray, problem: RidgeProblem) -> np.ndarray:
        """Minus the weighted mean squared leave-one-out error, for each alpha and target."""
        return -np.average((predictions - problem.targets) ** 2, axis=1, weights=problem.weights)

    def _tuned(self, problem: RidgeProblem) -> RidgeProblem:
        """The problem with kernel and alpha of least leave-one-out error.

        L-BFGS finds them on at most 2,000 rows evenly spread over all.
        """
        rows = evenly(problem.n, TUNING_ROWS)
        weights = None if problem.weights is None else problem.weights[rows]
        if weights is not None and np.any(weights == 0):
            rows, weights = rows[weights > 0], weights[weights > 0]
        X, targets = take(problem.X, rows, problem.kernel), problem.targets[rows]
        parameters = LogParameters(problem.kernel, problem.kernel.prepare(X))
        start = np.append(parameters.start, np.log(max(problem.alpha.max(), 1e-8)))

        def objective(theta: np.ndarray) -> tuple[float, np.ndarray]:
            kernel, alpha = parameters.kernel_at(theta[:-1]), np.exp(theta[-1])
            part = RidgeProblem(
                kernel, X, targets, np.full(targets.shape[1], alpha), weights, problem.intercept, problem.threads
            )
            try:
                value, gradients, by_alpha = loo_error(part)
            except np.linalg.LinAlgError:
                return IMPOSSIBLE, np.zeros_like(theta)
            by_theta = np.append(parameters.gradient(theta[:-1], gradients), alpha * by_alpha)
            if not value > 0 or not np.all(np.isfinite(by_theta)):
                return IMPOSSIBLE, np.zeros_like(theta)
            return np.log(value), by_theta / value

        ranges = zip(start[:-1], parameters.names, strict=True)
        bounds = [(v - 7.0, min(v + 7.0, largest(name))) for v, name in ranges] + [(np.log(1e-10), np.log(1e6))]
        with task(self, "search for hyper-parameters", 100) as step:
            best = lbfgs(objective, start, bounds, step, maxiter=100)
        if best.fun >= IMPOSSIBLE:  # nothing to learn from, such as constant targets or a single row
            self.loo_error_ = 0.0
            return problem
        self.loo_error_ = float(np.exp(best.fun))
        alpha = np.full_like(problem.alpha, np.exp(best.x[-1]))
        kernel = parameters.kernel_at(best.x[:-1])
        return RidgeProblem(
            kernel, problem.X, problem.targets, alpha, problem.weights, problem.intercept, problem.threads
        )

    def _keep(self, problem: RidgeProblem, result: Result) -> None:
        single = self._single_output
        self.kernel_ = problem.kernel
        self.alpha_ = float(problem.alpha[0]) if np.all(problem.alpha == problem.alpha[0]) else problem.alpha
        self.dual_coef_ = result.coef[:, 0] if single else result.coef
        intercept = result.intercept[0] if single else result.intercept
        self.intercept_ = intercept if self.fit_intercept else 0.0
        self.certificate_ = result.certificate
        self.X_fit_ = problem.X
        self._solution = result.solution if self.warm_start else None
        self.function_ = Function(
            problem.kernel, problem.X, self.dual_coef_, self.intercept_, prepared=problem.prepared
        )
        self.n_iter_ = max(1, result.certificate.iterations)
        if not result.certificate.converged:
            warnings.warn(
                f"The fit reached a relative residual of {result.certificate.residual:.2g}, not the tolerance "
                f"{self.tol:.2g}; "
                "use a larger alpha, a kernel with a shorter length scale, solver='cholesky' if n x n fits the "
                "memory, or "
                "a larger tol or max_iter.",
                ConvergenceWarning,
                stacklevel=6,
            )

    def plan(self, X: Any, y: Any = None) -> Plan:
        """The solver that `fit` would use for these inputs, why, and the memory and kernel values that it takes."""
        alphas, path = self._alphas(self._count_targets(y))
        return self._plan(to_kernel(self.kernel), X, alphas, path)

    def _count_targets(self, y: Any) -> int:
        return 1 if y is None or np.ndim(y) == 1 else np.shape(y)[1]

    def _decision(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        X = check_inputs(self, X, self.kernel_, reset=False)
        values = self.function_(X)
        return values.astype(np.float32) if getattr(X, "dtype", None) == np.float32 else values


class KernelRidge(MultiOutputMixin, RegressorMixin, _Ridge):
    r"""minimise over f in H and b:  sum_i w_i (y_i - f(x_i) - b)^2 + alpha ||f||^2.

    The solution is f = sum_i a_i k(x_i, .) with (K + alpha W^(-1)) a = y - b. Small problems are solved by Cholesky,
    large ones by conjugate gradients that store no n x n matrix, to the same accuracy; a certificate says what was
    reached.

    Parameters
    ----------
    alpha : float or array
        Strength of the regulariser. A list is a path: exact leave-one-out chooses from it, from one decomposition.
        An array of shape (n_alphas, n_targets) has one column for each target; shape (1, n_targets) fixes one alpha
        each.
    kernel : Kernel or str
        A kernel object on inputs of any type, or one of "rbf", "linear", "poly", "laplacian", "matern", "cosine",
        "sigmoid", "chi2", "precomputed". A length scale that is not given is the
        typical distance of an input from the mean.
    fit_intercept : bool
        Whether there is a free constant b.
    alpha_per_target : bool
        Whether leave-one-out chooses from a path for each target by itself.
    tune : {None, "loo"}
        "loo" also tunes alpha and all positive hyper-parameters of the kernel to the least leave-one-out error, by
        gradients.
    solver : {"auto", "cholesky", "conjugate_gradient"}
        For a single alpha; a path has decompositions of its own.
    tol : float
        Relative residual of the linear system at which a solution counts as found.
    max_iter : int
        Of conjugate gradients.
    warm_start : bool
        Whether conjugate gradients start from the solution of the last fit, as along a path of alphas for many rows.
    memory : int, optional
        Bytes that a fit may use; more is refused before work starts. The machine's memory when not given.
    threads : int, optional
    random_state : int or Generator
        Seed of the preconditioner.
    verbose : int
        1 shows progress on long fits; so does ``set_callbacks(sklearn.callback.ProgressBar())``.

    Attributes
    ----------
    function_ : Function
        The fitted f + b.
    dual_coef_ : array of shape (n,) or (n, n_targets)
    intercept_ : float or array of shape (n_targets,)
    alpha_ : float or array of shape (n_targets,)
        The alpha used.
    kernel_ : Kernel
        The kernel used, with all length scales.
    certificate_ : Certificate
    loo_scores_ : array of shape (n_alphas,) or (n_alphas, n_targets)
        With a path: minus the mean squared leave-one-out error for each alpha.
    loo_predictions_ : array of shape (n, n_targets)
        With a path: the prediction of each y_i by the fit without it, at the chosen alpha.
    loo_residuals_ : array of shape (n, n_targets)
        With a path: y_i less that prediction.
    gcv_ : array of shape (n_alphas, n_targets)
        With a path: generalised cross-validation.

    Examples
    --------
    >>> import numpy as np
    >>> from representer import KernelRidge
    >>> X = np.linspace(0, 6, 50)[:, None]
    >>> model = KernelRidge(alpha=np.logspace(-6, 2, 20)).fit(X, np.sin(X).ravel())
    >>> bool(model.score(X, np.sin(X).ravel()) > 0.999)
    True
    >>> model.certificate_.converged
    True
    """

    @observed
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> KernelRidge:
        """Fit to inputs X and targets y of shape (n,) or (n, n_targets)."""
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        X = check_inputs(self, X, to_kernel(self.kernel), reset=True)
        y = check_array(y, ensure_2d=False, dtype=np.float64, allow_nd=False, input_name="y")
        check_lengths(X, y)
        self._single_output = y.ndim == 1
        self._fit(X, y.reshape(len(y), -1), sample_weight)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """f(x) for each x in X."""
        return self._decision(X)


class KernelRidgeClassifier(ClassifierMixin, _Ridge):
    r"""Classification by kernel ridge regression on +1 and -1, one function for each class (one for two classes).

    Parameters and attributes are those of `KernelRidge`; ``loo_scores_`` is the leave-one-out accuracy for each alpha,
    and ``classes_`` the classes.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from representer import KernelRidgeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> bool(KernelRidgeClassifier(alpha=[0.01, 0.1, 1.0]).fit(X, y).score(X, y) > 0.95)
    True
    """

    _given_targets = False

    @observed
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> KernelRidgeClassifier:
        """Fit to inputs X and labels y."""
        X = check_inputs(self, X, to_kernel(self.kernel), reset=True)
        self.classes_, label = check_labels(self, X, y)
        # two classes are one target, the sign of which tells the second class
        columns = np.arange(len(self.classes_)) if len(self.classes_) > 2 else np.ones(1, int)
        targets = np.where(label[:, None] == columns, 1.0, -1.0)
        self._single_output = targets.shape[1] == 1
        self._fit(X, targets, sample_weight)
        return self

    def _count_targets(self, y: Any) -> int:
        classes = 2 if y is None else len(np.unique(y))
        return 1 if classes <= 2 else classes

    def _scores(self, predictions: np.ndarray, problem: RidgeProblem) -> np.ndarray:
        """Leave-one-out accuracy, the same for all targets."""
        truth = _label(problem.targets)
        accuracy = [np.average(_label(p) == truth, weights=problem.weights) for p in predictions]
        return np.repeat(np.array(accuracy)[:, None], problem.targets.shape[1], axis=1)

    def decision_function(self, X: Any) -> np.ndarray:
        """f(x) for each x in X, one column for each class of several."""
        return self._decision(X)

    def predict(self, X: Any) -> np.ndarray:
        """The class with the largest value."""
        values = self._decision(X)
        return self.classes_[_label(values if values.ndim == 2 else values[:, None])]


def _label(values: np.ndarray) -> np.ndarray:
    """Index of the class: the sign for two classes, else the column with the largest value."""
    return (values[:, 0] > 0).astype(int) if values.shape[1] == 1 else values.argmax(axis=1)
