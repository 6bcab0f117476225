"""Gaussian process regression."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from representer import _parallel
from representer.estimators import hyperparameter_search, process_plan
from representer.estimators.base import KernelEstimator, observed
from representer.estimators.hyperparameter_search import Guide, Search
from representer.estimators.hyperparameters import ProcessParameters, deviation
from representer.estimators.inputs import check_targets, evenly_spaced, is_precomputed, take, to_kernel
from representer.estimators.marginal_likelihood import RegressionLikelihood
from representer.estimators.measurement_noise import NO_NOISE, MeasurementNoise, check_noise
from representer.estimators.process_in_span import through_span
from representer.estimators.progress import CallbackSupportMixin, Progress, task
from representer.estimators.spectrum import Periods
from representer.functions import Function
from representer.kernels import checks
from representer.kernels.algebra import Scaled
from representer.kernels.base import Kernel, require_definite
from representer.kernels.stationary import RBF
from representer.processes.gaussian import GaussianProcess, copied, doubled
from representer.processes.likelihood import log_leave_one_out, log_marginal_likelihood
from representer.result import Plan
from representer.rows.validation import check_inputs

OPTIONS = {
    "objective": ("likelihood", "loo"),
    "optimizer": ("lbfgs", None),
    "solver": ("auto", "cholesky", "conjugate_gradient"),
}
SEARCH = "search for hyper-parameters"
COVARIANCE_WAY_OUT = "return_std=True, sample(pathwise=True), fewer inputs at a time, or a larger memory="
MEAN_ADVICE = "use more noise, solver='cholesky' if n x n fits the memory, or a larger tol"


class GaussianProcessRegressor(
    RegressionLikelihood, CallbackSupportMixin, MultiOutputMixin, RegressorMixin, KernelEstimator
):
    r"""y = f(x) + noise with f ~ GP(0, k).

    The posterior of f has the mean k(x, X) A^(-1) y and the covariance k(x, x') - k(x, X) A^(-1) k(X, x'), A = K +
    noise I. Hyper-parameters of the kernel and the noise maximise the marginal likelihood, or the leave-one-out
    probability, by L-BFGS with exact gradients. The posterior mean is the kernel ridge solution with alpha = noise.
    Callbacks of scikit-learn such as ``ProgressBar`` follow the iterations: ``set_callbacks``.

    Parameters
    ----------
    kernel : Kernel, str or None
        None is ``1.0 * RBF()``. A length scale that is not given starts at the typical distance of an input from the
        mean.
    noise : "estimate", float or array of shape (n,)
        Variance of the noise: estimated together with the kernel, or fixed, for all inputs or one for each. With
        ``normalize_y`` it is relative to the variance of y, as are factors of the kernel, and as scikit-learn's alpha.
    objective : {"likelihood", "loo"}
        What hyper-parameters maximise.
    optimizer : {"lbfgs", None}
        None keeps the hyper-parameters as they are.
    n_restarts : int
        Further starts, drawn log-uniformly between the bounds.
    bounds : dict
        From names of hyper-parameters (as in ``kernel.get_params()``, or "noise") to (low, high). Others may change by
        a factor of 1,000 either way, the noise between 1e-6 and 10 times the variance of y.
    priors : dict
        From names to distributions with a ``logpdf`` (such as those of scipy.stats); their logarithms are added to the
        objective.
    solver : {"auto", "cholesky", "conjugate_gradient"}
        "auto" is a Cholesky factor in float64 up to 8,000 inputs, and in float32 with float64 corrections up to 20,000
        where it fits the memory; then conjugate gradients, which hold no n x n matrix. Beyond 8,000 inputs
        hyper-parameters are found on 2,000 of them, evenly spaced, the likelihood carries a standard error, and
        `variance_bounds` bounds the variances. "cholesky" is always in float64.
    tol : float
        Relative residual of conjugate gradients.
    max_iter : int
        Largest number of L-BFGS iterations from each start.
    normalize_y : bool
        Whether targets are centred and scaled to variance one before the fit.
    verbose : int
        1 shows each iteration, -1 nothing; 0 shows fits that take more than three seconds, on a terminal.
    memory : int, optional
        Bytes that a fit may use; more is refused before work starts. The machine's memory when not given.
    threads : int, optional
    random_state : int, RandomState or None
        Seed of restarts.

    Attributes
    ----------
    kernel_ : Kernel
        With the hyper-parameters found.
    noise_ : float or array
        The variance of the noise in squared units of y, also with ``normalize_y``; its square root is the standard
        deviation of a measurement about f. One number per input where the noise was given that way; with several
        normalised targets, one per target in the last dimension.
    function_ : Function
        The posterior mean.
    log_marginal_likelihood_ : float
    log_marginal_likelihood_error_ : float
        Its standard error, 0 where it is exact: for conjugate gradients the spread of a stochastic estimate, the
        distance between its bounds, residuals and rounding.
    certificate_ : Certificate
        Of the posterior mean.
    X_fit_, y_fit_ : copies of the data
    n_iter_ : int
        Iterations of the search, from all starts.
    search_ : Search
        How the hyper-parameters were found; `report` puts it into words.

    Examples
    --------
    >>> import numpy as np
    >>> from representer import GaussianProcessRegressor
    >>> X = np.linspace(0, 6, 30)[:, None]
    >>> gp = GaussianProcessRegressor().fit(X, np.sin(X).ravel())
    >>> mean, std = gp.predict(X, return_std=True)
    >>> bool(np.abs(mean - np.sin(X).ravel()).max() < 0.01)
    True
    """

    def __init__(
        self,
        kernel: Any = None,
        *,
        noise: Any = "estimate",
        objective: str = "likelihood",
        optimizer: str | None = "lbfgs",
        n_restarts: int = 0,
        bounds: dict | None = None,
        priors: dict | None = None,
        solver: str = "auto",
        tol: float = 1e-6,
        max_iter: int = 1000,
        normalize_y: bool = False,
        verbose: int = 0,
        memory: int | None = None,
        threads: int | None = None,
        random_state: Any = None,
    ):
        self.kernel = kernel
        self.noise = noise
        self.objective = objective
        self.optimizer = optimizer
        self.n_restarts = n_restarts
        self.bounds = bounds
        self.priors = priors
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.normalize_y = normalize_y
        self.verbose = verbose
        self.memory = memory
        self.threads = threads
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        return tags

    takes_rows = True

    @observed
    @through_span
    def fit(self, X: Any, y: Any) -> GaussianProcessRegressor:
        """Fit to inputs X and targets y of shape (n,) or (n, n_targets), or to rows with targets. Keeps a copy."""
        kernel = self._prior_kernel()
        X = copied(check_inputs(self, X, kernel, reset=True))
        y = check_targets(self, X, y)
        self._check_options(len(y))
        plan = self._plan(X, y.size // len(y))
        self._refuse(plan.bytes, f"A Gaussian process on {len(y)} inputs", process_plan.WAYS_OUT[plan.solver])
        Y = y.reshape(len(y), -1)
        self._single_output = y.ndim == 1
        self._mean = Y.mean(axis=0) if self.normalize_y else np.zeros(Y.shape[1])
        self._scale = deviation(Y) if self.normalize_y else np.ones(Y.shape[1])
        Y = (Y - self._mean) / self._scale
        direct = process_plan.is_direct(plan)
        rows = np.arange(len(Y)) if direct else evenly_spaced(len(Y), self._work().search_rows)
        given = check_noise(self.noise, len(Y))
        here = given[rows] if np.ndim(given) else given
        with _parallel.blas_threads_for(len(rows)):
            self.search_, self.kernel_, found = self._optimized(
                kernel.with_default_scales(X), X if direct else take(X, rows, kernel), Y[rows], here
            )
        self._fitted_noise = given if np.ndim(given) else found  # in units of normalised targets
        self.noise_, self.y_fit_ = MeasurementNoise.of(self._fitted_noise, self._scale).variance, y.copy()
        self.n_iter_ = max(self.search_.iterations, 1)
        with _parallel.blas_threads_for(len(Y)):
            self._condition(self.kernel_, X, Y, plan)
        if not self.search_.values:
            prior = hyperparameter_search.log_prior(self.search_.names, self.priors, self.search_.theta)[0]
            self.search_ = replace(self.search_, values=[self.log_marginal_likelihood_ + prior])
        return self

    def _prior_kernel(self) -> Kernel:
        kernel = Scaled(RBF(), 1.0) if self.kernel is None else to_kernel(self.kernel)
        require_definite(kernel, "a Gaussian process")
        return kernel

    def _check_options(self, n: int) -> None:
        for name, known in OPTIONS.items():
            value = getattr(self, name)
            if not isinstance(value, str | None) or value not in known:
                *most, last = map(repr, known)
                raise ValueError(f"{name} is {value!r}; use {', '.join(most)} or {last}.")
        checks.integer(self.n_restarts, "n_restarts", least=0, most=10_000)
        self._budget()
        check_noise(self.noise, n)

    @through_span
    def plan(self, X: Any, y: Any = None) -> Plan:
        """The solver that `fit` would use for these inputs, why, and the memory and kernel values that it takes.

        A fit that would be refused has a plan that says so.
        """
        self._check_options(checks.number_of(X))
        plan = self._plan(X, 1 if y is None or np.ndim(y) == 1 else np.shape(y)[1])
        return self._judged(plan, process_plan.WAYS_OUT[plan.solver])

    def _plan(self, X: Any, targets: int) -> Plan:
        inputs = (1 if is_precomputed(self.kernel) else 2) * 8 * int(getattr(X, "size", 0))  # a copy, and prepared
        return process_plan.plan(checks.number_of(X), targets, inputs, self._work())

    def _work(self) -> process_plan.Asked:
        """The computations that the options request."""
        evaluations = 0 if self.optimizer is None else 30 * (1 + self.n_restarts)  # about
        matrices = 1 if self.objective == "likelihood" else 2
        return process_plan.Asked(self.solver, evaluations, matrices, self._memory(), self.tol, self.threads)

    # ---- hyper-parameters and posterior ----

    def _optimized(
        self, kernel: Kernel, X: Any, Y: np.ndarray, given: Any, function: Any = None
    ) -> tuple[Search, Kernel, Any]:
        """How the objective was maximised, and the kernel and the noise that maximise it.

        ``given`` is the noise as given by the user, for these inputs; ``function`` replaces the objective.
        """
        X, variance, estimate = doubled(X), float(np.mean(deviation(Y) ** 2)), isinstance(given, str)
        noise = np.broadcast_to(np.asarray(0.1 * variance if estimate else given, np.float64), len(Y))
        unknowns = ProcessParameters(kernel, kernel.prepare(X), noise, estimate)
        function = function or (log_marginal_likelihood if self.objective == "likelihood" else log_leave_one_out)

        def objective(theta: np.ndarray) -> tuple[float, np.ndarray]:
            kernel = unknowns.kernel_at(theta)
            # length scales are part of the layout of prepared inputs
            value = function(kernel, kernel.prepare(X), Y, unknowns.noise_at(theta), self.threads)
            prior, by_prior = hyperparameter_search.log_prior(unknowns.names, self.priors, theta)
            return value.value + prior, unknowns.gradient(theta, value) + by_prior

        names, start = unknowns.names, unknowns.start
        bounds = hyperparameter_search.log_bounds(names, start, variance, self.bounds)
        bounds = hyperparameter_search.accepted(bounds, start, unknowns.kernel_at, X)
        start = start if self.optimizer is None else hyperparameter_search.inside(start, bounds)
        hyperparameter_search.check_priors(names, self.priors, start)
        if self.optimizer is None or not len(start):
            # the likelihood comes with the posterior, without a gradient
            values = [objective(start)[0]] if self.objective == "loo" else []
            return Search(names, start, bounds, values, "not optimised", True, 0), kernel, float(noise[0])
        periods = Periods(kernel, X, Y, names)
        with task(self, SEARCH) as step, Progress(self.verbose, self.tol, step) as progress:
            progress.expect(SEARCH, self._work().seconds(len(Y)))
            step_of = partial(progress.iterate, SEARCH)
            known = periods.units(start), periods.others(start, bounds)
            guide = Guide(variance, self.n_restarts, self.random_state, self.max_iter, step_of, *known)
            search = hyperparameter_search.maximum(objective, names, start, bounds, guide)
        search.warn(self.bounds)
        found = float(np.exp(search.theta[-1])) if estimate else given
        return search, unknowns.kernel_at(search.theta), found

    def _condition(self, kernel: Kernel, X: Any, Y: np.ndarray, plan: Plan) -> None:
        """Condition on the data: posterior mean, likelihood and certificate."""
        inputs = doubled(X)
        with Progress(self.verbose, self.tol) as progress:
            alone = process_plan.plan(len(Y), Y.shape[1], 0, replace(self._work(), evaluations=0))
            progress.expect(f"posterior by {plan.solver}", alone.seconds)
            posterior = process_plan.posterior(kernel, X, self._fitted_noise, plan, self._work())
        if process_plan.is_direct(plan):
            found = posterior.condition(Y)
        else:
            with task(self, "conjugate gradients") as step, Progress(self.verbose, self.tol, step) as progress:
                found = posterior.condition(Y, progress)
        self._warn_unless_converged(found.certificate, MEAN_ADVICE)
        coef, single = found.coef * self._scale, self._single_output
        self.dual_coef_, constant = (coef[:, 0], self._mean[0]) if single else (coef, self._mean)
        self.X_fit_, self.certificate_ = X, found.certificate
        self.log_marginal_likelihood_, self.log_marginal_likelihood_error_ = found.log_likelihood, found.error
        self._process = GaussianProcess(kernel, inputs, posterior, self.threads)
        self.function_ = Function(
            kernel, inputs, self.dual_coef_, constant, prepared=posterior.inputs, threads=self.threads
        )

    @property
    def _noise(self) -> MeasurementNoise:
        return MeasurementNoise.of(self._fitted_noise, self._scale) if hasattr(self, "function_") else NO_NOISE

    @cached_property
    def _process(self) -> GaussianProcess:
        """The posterior process; set by `fit`, and refactorised by a model loaded from a file."""
        X, plan, kernel = self.X_fit_, self._plan(self.X_fit_, len(self._mean)), self.function_.kernel
        with _parallel.blas_threads_for(checks.number_of(X)):
            posterior = process_plan.posterior(kernel, X, self._fitted_noise, plan, self._work())
        return GaussianProcess(kernel, doubled(X), posterior, self.threads)

    # ---- use ----

    def predict(self, X: Any, return_std: bool = False, return_cov: bool = False, noise: Any = False) -> Any:
        """Posterior mean and, on request, standard deviation or covariance of f at each x in X.

        With ``noise=True`` they are those of a new measurement y; an array gives the noise variance of each x. All are
        in the units of y, and variances in squared units. Shapes are (n,), or (n, n_targets) for several targets; the
        covariance is (n, n) or (n, n, n_targets). An unfitted estimator predicts from the prior, with length scales of
        one where none were given.
        """
        if return_std and return_cov:
            raise ValueError("Ask for return_std or return_cov, not both.")
        X, process, mean, scale = self._at(X)
        single, more = mean.ndim == 1, self._noise.of_new(noise, len(mean))
        if return_std:
            std = np.sqrt(process.variance(X)[:, None] * scale**2 + more)
            return mean, std[:, 0] if single else std
        if return_cov:
            self._refuse_covariance(len(mean), 1 if single else 1 + len(scale))
            covariance = process.covariance(X)
            covariance = covariance * scale[0] ** 2 if single else covariance[:, :, None] * scale**2
            covariance[np.diag_indices(len(mean))] += more[:, 0] if single else more
            return mean, covariance
        return mean

    def variance_bounds(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper bounds on the exact variance of f at each x in X, in squared units of y.

        They are equal to rounding for a Cholesky factor in float64. For float32 and conjugate gradients they come from
        float64 residuals, and the standard deviation of `predict` is sqrt(upper bound), or within 0.1 % of it.
        """
        X, process, mean, scale = self._at(X)
        low, high = (bound[:, None] * scale**2 for bound in process.variance_bounds(X))
        return (low[:, 0], high[:, 0]) if mean.ndim == 1 else (low, high)

    def _at(self, X: Any) -> tuple[Any, GaussianProcess, np.ndarray, np.ndarray]:
        """Checked inputs, the process, its mean there, and the scale of each target."""
        if hasattr(self, "function_"):
            X = check_inputs(self, X, self.function_.kernel, reset=False)
            return X, self._process, self.function_(X), self._scale
        kernel = self._prior_kernel()
        X = check_inputs(self, X, kernel, reset=False)
        return X, GaussianProcess(kernel, threads=self.threads), np.zeros(checks.number_of(X)), np.ones(1)

    def _refuse_covariance(self, new: int, matrices: int) -> None:
        """Raise if the covariances among new inputs, and between them and the data, exceed the budget."""
        data = len(self.dual_coef_) if hasattr(self, "function_") else 0
        self._refuse(8 * new * (matrices * new + 2 * data), f"The covariance of {new} inputs", COVARIANCE_WAY_OUT)

    def sample(self, X: Any, n_samples: int = 1, random_state: Any = 0, *, pathwise: bool | None = None) -> np.ndarray:
        """Joint draws of f at all x in X from the posterior: shape (n, n_samples), or (n, n_targets, n_samples).

        Draws from the covariance matrix take n^3 operations, so for more than 2,000 inputs they are made ``pathwise``:
        a draw from the prior, conditioned on the data by Matheron's rule. The prior is approximated by a factor of rank
        2,000, or one that leaves out a millionth of the variance; the rest is drawn independently at each input. An
        unfitted estimator draws from the prior.
        """
        count = checks.integer(n_samples, "n_samples")
        X, process, mean, scale = self._at(X)
        rng = np.random.default_rng(random_state)
        if pathwise or (pathwise is None and len(mean) > 2000):
            draws = process.paths(X, len(scale) * count, rng)
        else:
            self._refuse_covariance(len(mean), 4)
            draws = process.draws(X, len(scale) * count, rng)
        draws = draws.reshape(len(mean), len(scale), count) * scale[:, None]
        draws += mean.reshape(len(mean), -1, 1)
        return draws[:, 0] if mean.ndim == 1 else draws

    def sample_y(self, X: Any, n_samples: int = 1, random_state: Any = 0) -> np.ndarray:
        """`sample` under scikit-learn's name."""
        return self.sample(X, n_samples, random_state)

    def report(self) -> str:
        """What was fitted, why the search stopped, which bounds are active, the condition number, and what to try."""
        check_is_fitted(self, "function_")
        found, factor = self.search_, getattr(self._process.posterior, "factor", None)
        error = "" if factor else f" (standard error {self.log_marginal_likelihood_error_:.2g})"
        lines = [
            f"kernel: {self.kernel_!r}",
            f"noise variance: {self._noise}",
            f"log marginal likelihood: {self.log_marginal_likelihood_:.6g}{error}",
            f"search: {found.message}; {found.evaluations} evaluations; "
            f"objective at the end of each start: {', '.join(f'{v:.6g}' for v in found.values) or 'none'}",
            f"at a bound: {', '.join(found.at_bounds) or 'none'}",
            f"condition number: {factor.condition:.2g}; jitter added: {factor.jitter:.2g}"
            if factor
            else f"posterior mean: {self.certificate_}",
        ]
        return "\n".join(lines + [f"try: {each}" for each in found.advice() + process_plan.advice_on(factor)])
