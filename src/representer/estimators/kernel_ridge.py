"""Kernel ridge regression."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils.metaestimators import available_if

from representer import _parallel
from representer.estimators import chunks
from representer.estimators.base import KernelEstimator, observed, own
from representer.estimators.criteria import RidgeErrors, robust
from representer.estimators.in_span import basis_for, kernel_for_rows, may_span, rows_of
from representer.estimators.inputs import check_targets, check_weights
from representer.estimators.progress import CallbackSupportMixin, never, task
from representer.estimators.ridge_in_span import CHOOSING, RidgeInSpan
from representer.estimators.row_targets import check_rows, numbers
from representer.estimators.tunable import Tunable, with_weight
from representer.functions import Function
from representer.gram.tiled import Gram
from representer.kernels import checks
from representer.problems.finite import FiniteRidge
from representer.problems.ridge import RidgeProblem
from representer.result import Budget, Plan, Result
from representer.rows.base import Rows
from representer.rows.validation import check_inputs, reset_fitted
from representer.solvers import choose

MOST_ALPHAS = 10_000
"""Largest number of alphas in a path."""
RIDGE_ADVICE = (
    "use a larger alpha, a kernel with a shorter length scale, solver='cholesky' if n x n fits the memory, or a larger "
    "tol or max_iter"
)


class Ridge(CallbackSupportMixin, Tunable, KernelEstimator):
    """What regression and classification share: kernel, solver, alpha by leave-one-out, certificate."""

    _criteria = ("loo", "likelihood", "huber")
    _given_targets = True  # whether targets are the user's, so that a list of alphas is ambiguous

    def __init__(
        self,
        alpha: Any = 1.0,
        *,
        kernel: Any = "rbf",
        fit_intercept: bool = False,
        alpha_per_target: bool = False,
        tune: str | None = None,
        bounds: dict | None = None,
        fixed: Any = (),
        priors: dict | None = None,
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
        self.bounds = bounds
        self.fixed = fixed
        self.priors = priors
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.memory = memory
        self.threads = threads
        self.random_state = random_state
        self.verbose = verbose

    # ---- the steps of fit ----

    def _fit(self, X: Any, targets: Any, sample_weight: Any) -> Any:
        """The fit to numeric targets.

        Sets kernel_, alpha_, function_, dual_coef_, intercept_, certificate_.
        """
        last = getattr(self, "_solution", None) if self.warm_start else None
        reset_fitted(self, "_chunks", *CHOOSING)
        weights, budget = None if targets is None else check_weights(sample_weight, X), self._budget()
        if (spanned := self._in_span(X, targets, weights)) is not None:
            spanned[0].fit(spanned[1], budget)
            self._warn_unless_converged(self.certificate_, RIDGE_ADVICE)
            return self
        problem, alphas, path = self._problem(X, targets, weights)
        self._plan_of(problem, alphas, path, budget).require()  # before long work
        with _parallel.blas_threads_for(problem.n):
            if self.tune is not None:
                problem, path = self._tuned(problem, X), False
            if path:
                problem, result = self._along_path(problem, alphas, budget)
            else:
                solver, plan = choose.solver_of(problem, budget, self.solver)
                plan.require()
                with self._watched(solver, plan) as budget:
                    result = solver.solve(problem, budget, plan.reason, last)
        self._keep(problem, result)
        return self

    def _in_span(
        self, X: Any, targets: np.ndarray | None, weights: np.ndarray | None
    ) -> tuple[RidgeInSpan, bool] | None:
        """The problem in the span of the kernel's basis, and whether to choose alpha; None without a basis."""
        if not may_span(self._given_kernel(), X):
            return None
        kernel = kernel_for_rows(self._given_kernel(), X) if isinstance(X, Rows) else self._kernel_for(X, weights)
        basis = basis_for(kernel, X)
        exact = kernel.original is kernel and not isinstance(X, Rows)
        if basis is None or (exact and (self.tune is not None or self.solver not in ("auto", "normal_equations"))):
            return None
        alphas, path = self._alphas(self._targets_of(X) if targets is None else targets.shape[1])
        if exact and alphas.min() == 0:
            return None
        return RidgeInSpan(self, kernel, basis, rows_of(X, targets, weights), alphas), path

    @contextmanager
    def _watched(self, solver: Any, plan: Plan) -> Iterator[Budget]:
        """The budget of a solver, with callbacks following its iterations if it is iterative."""
        most = self._most_iterations()
        watched = task(self, solver.iterations, most) if hasattr(solver, "iterations") else nullcontext(never)
        with watched as step:
            budget = self._budget(step)
            with budget.progress.expect(solver.name, plan.seconds):
                yield budget

    def _problem(
        self, X: Any, targets: np.ndarray, weights: np.ndarray | None
    ) -> tuple[RidgeProblem, np.ndarray, bool]:
        """The problem with the first alpha, all alphas, and whether to choose among them."""
        alphas, path = self._alphas(targets.shape[1])
        gram = self._gram(self._kernel_for(X, weights), X)
        if len(gram) == 1 and (path or self.tune is not None):
            raise ValueError("Leave-one-out needs more than n_samples = 1 row; give a single alpha, and tune=None.")
        return RidgeProblem(gram, targets, alphas[0], weights, self.fit_intercept), alphas, path

    def _alphas(self, n_targets: int) -> tuple[np.ndarray, bool]:
        """alpha as an array of shape (n_alphas, n_targets), and whether to choose among them."""
        try:
            alpha = np.asarray(self.alpha, np.float64)
        except (TypeError, ValueError):
            alpha = np.array(np.nan)
        if alpha.ndim and len(alpha) > MOST_ALPHAS:
            raise ValueError(
                f"alpha has {len(alpha):,} entries to choose from, above the limit of {MOST_ALPHAS:,}, and for each of "
                "them leave-one-out predictions of all inputs are held; use fewer, such as np.logspace(-6, 2, 50)."
            )
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
        """Raise if the solver, or an option that chooses alpha, is unknown or would be ignored."""
        for name in ("fit_intercept", "alpha_per_target", "warm_start"):
            checks.boolean(getattr(self, name), name)
        choose.check_name(self.solver, RidgeProblem, FiniteRidge)
        self._check_tune()
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

    def _plan_of(self, problem: RidgeProblem, alphas: np.ndarray, path: bool, budget: Budget) -> Plan:
        if path:
            return choose.path_plan(problem, budget, alphas)
        plan = choose.plan(problem, budget, self.solver)
        return self._with_search(plan, problem.gram, budget.memory, problem.targets.shape[1])

    def _along_path(self, problem: RidgeProblem, alphas: np.ndarray, budget: Budget) -> tuple[RidgeProblem, Result]:
        """Choose alpha by leave-one-out from one decomposition, and solve with it."""
        plan, every = choose.path_plan(problem, budget, alphas), np.arange(alphas.shape[1])
        with budget.progress.expect("decomposition for all alphas", plan.seconds):
            decomposition, path = choose.decompose(problem, alphas, plan, budget)
        scores = self._scores(path.predictions, problem)
        best = scores.argmax(axis=0)
        if not self.alpha_per_target:
            scores = scores.mean(axis=1)
            best = np.full(alphas.shape[1], scores.argmax())
        self.loo_scores_, self.gcv_ = scores, path.gcv
        self.loo_predictions_ = path.predictions[best, :, every].T
        self.loo_residuals_ = problem.targets - self.loo_predictions_
        problem = replace(problem, alpha=alphas[best, every])
        return problem, choose.solve_decomposed(decomposition, problem, plan, budget)

    def _scores(self, predictions: np.ndarray, problem: RidgeProblem) -> np.ndarray:
        """Minus the weighted mean squared leave-one-out error, for each alpha and target."""
        return -np.average((predictions - problem.targets) ** 2, axis=1, weights=problem.weights)

    def _tuned(self, problem: RidgeProblem, X: Any) -> RidgeProblem:
        """The problem with the kernel and alpha that minimise the leave-one-out error, on growing subsets of rows."""
        kernel, (targets, loss) = problem.gram.kernel, (problem.targets, None)
        if self.tune == "huber":
            targets, loss = robust(problem.targets)
        errors = RidgeErrors(
            X,
            targets,
            problem.weights,
            problem.intercept,
            loss,
            likelihood=self.tune == "likelihood",
            precomputed=kernel.precomputed,
            threads=self.threads,
        )
        tuned = self._search(with_weight(errors, problem.weights), kernel, max(float(problem.alpha.max()), 1e-8))
        if tuned is None:
            return problem
        return replace(problem, gram=self._gram(tuned.kernel, X), alpha=np.full_like(problem.alpha, tuned.strength))

    def _keep(self, problem: RidgeProblem, result: Result) -> None:
        single, gram = self._single_output, problem.gram
        assert isinstance(gram, Gram)
        self.kernel_, self.X_fit_, self._weights = gram.kernel, gram.X, problem.weights
        self.alpha_ = float(problem.alpha[0]) if np.all(problem.alpha == problem.alpha[0]) else problem.alpha
        self.dual_coef_ = result.coef[:, 0] if single else result.coef
        intercept = result.intercept[0] if single else result.intercept
        self.intercept_ = intercept if self.fit_intercept else 0.0
        self.certificate_ = result.certificate
        self._solution = result.warm_start if self.warm_start else None
        self.function_ = Function(
            gram.kernel, gram.X, self.dual_coef_, self.intercept_, prepared=gram.inputs, threads=self.threads
        )
        self.n_iter_ = max(1, result.certificate.iterations)
        self._warn_unless_converged(result.certificate, RIDGE_ADVICE)

    def plan(self, X: Any, y: Any = None) -> Plan:
        """The solver that `fit` would use for these inputs, why, and the memory and time that it takes."""
        targets: Any = None if isinstance(X, Rows) else np.zeros((checks.number_of(X), self._count_targets(y)))
        if (spanned := self._in_span(X, targets, None)) is not None:
            return spanned[0].plan(spanned[1], self._budget())
        problem, alphas, path = self._problem(X, targets, None)
        return self._plan_of(problem, alphas, path, self._budget())

    def _targets_of(self, rows: Rows) -> int:
        """The number of targets of rows."""
        return self._count_targets(rows.beginning()[1])

    def _count_targets(self, y: Any) -> int:
        return 1 if y is None or np.ndim(y) == 1 else np.shape(y)[1]


class KernelRidge(MultiOutputMixin, RegressorMixin, Ridge):
    r"""minimise over f in H and b:  sum_i w_i (y_i - f(x_i) - b)^2 + alpha ||f||^2.

    The solution is f = sum_i a_i k(x_i, .) with (K + alpha W^(-1)) a = y - b. Small problems are solved by Cholesky,
    large ones by conjugate gradients that store no n x n matrix, to the same accuracy; a certificate reports the
    accuracy reached.

    Parameters
    ----------
    alpha : float or array
        Strength of the regulariser. A list is a path, from which exact leave-one-out chooses by one decomposition.
        An array of shape (n_alphas, n_targets) has one column per target; shape (1, n_targets) fixes one alpha per
        target.
    kernel : Kernel or str
        A kernel object on inputs of any type, or one of "rbf", "linear", "poly", "laplacian", "matern", "cosine",
        "sigmoid", "chi2", "precomputed". A length scale that is not given is the
        typical distance of an input from the mean.
    fit_intercept : bool
        Whether there is a free constant b.
    alpha_per_target : bool
        Whether leave-one-out chooses from a path for each target separately.
    tune : {None, "loo", "likelihood", "huber"}
        "loo" tunes alpha and all positive hyper-parameters of the kernel to minimise the leave-one-out error, by
        gradients; "likelihood" maximises the probability of each target given all others; "huber" does not square large
        errors, so that a few corrupt rows do not dominate.
    bounds : dict, optional
        Pairs (low, high) for hyper-parameters by name, such as ``{"length_scale": (0.1, 10.0), "alpha": (1e-6, 1.0)}``.
    fixed : list of names
        Hyper-parameters that are not tuned.
    priors : dict, optional
        Distributions with a ``logpdf``, as in scipy.stats, by name.
    solver : {"auto", "cholesky", "conjugate_gradient", "normal_equations"}
        For a single alpha; a path uses its own decompositions. Kernels with a basis, such as `Nystroem`, use normal
        equations or conjugate gradients in its span.
    tol : float
        Relative residual of the linear system at which the solver has converged.
    max_iter : int
        Largest number of iterations of conjugate gradients; with ``tune`` that of the search, which takes at most 100,
        and of conjugate gradients only where it is above the default.
    warm_start : bool
        Whether conjugate gradients start from the solution of the last fit, as along a path of alphas for many rows.
    memory : int, optional
        Bytes that a fit may use; more is refused before work starts. The machine's memory when not given.
    threads : int, optional
    random_state : int or Generator
        Seed of the preconditioner.
    verbose : int
        1 shows each step, -1 nothing; 0 shows fits that take more than three seconds, on a terminal. So does
        ``set_callbacks(sklearn.callback.ProgressBar())``.

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
    loo_error_ : float
        With ``tune``: the mean leave-one-out loss, in squared units of y; for "likelihood" the exponential of minus the
        mean log probability.
    loo_scores_ : array of shape (n_alphas,) or (n_alphas, n_targets)
        With a path: minus the mean squared leave-one-out error for each alpha.
    loo_predictions_ : array of shape (n, n_targets)
        With a path: the prediction of each y_i by the fit without it, at the chosen alpha.
    loo_residuals_ : array of shape (n, n_targets)
        With a path: y_i minus that prediction.
    gcv_ : array of shape (n_alphas, n_targets)
        With a path: generalised cross-validation, by which alpha is chosen where leave-one-out takes too long. Weights
        count as repeated rows.

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

    takes_rows = takes_streams = True

    @observed
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> KernelRidge:
        """Fit to inputs X and targets y of shape (n,) or (n, n_targets), or to rows that contain their targets."""
        if isinstance(X, Rows):
            self._single_output = check_rows(self, X, y, sample_weight) == 1
            rows = numbers(self, X, y, sample_weight, several=True)
            return chunks.fit_once(self, rows) if rows.passes == 1 else self._fit(rows, None, None)
        X = own(check_inputs(self, X, self._given_kernel(), reset=True))
        y = check_targets(self, X, y)
        self._single_output = y.ndim == 1
        return self._fit(X, y.reshape(len(y), -1), sample_weight)

    @available_if(chunks.takes_chunks)
    @observed
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> KernelRidge:
        """Add a chunk of rows to those of earlier calls, and solve with all of them.

        For kernels whose basis does not depend on rows: `Nystroem` with given landmarks, `RandomFeatures`, `Linear`.
        After all chunks the fit is that of `fit` with all rows, to rounding. From a path, alpha is chosen by GCV.
        """
        return chunks.absorb(self, X, y, sample_weight)

    def predict(self, X: Any) -> np.ndarray:
        """f(x) for each x in X."""
        return self._values(X)
