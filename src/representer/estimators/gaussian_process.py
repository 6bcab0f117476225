"""Gaussian process regression."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_array, check_is_fitted

from representer.estimators.hyperparameters import LogParameters
from representer.estimators.inputs import check_inputs, check_lengths, to_kernel
from representer.functions import Function
from representer.gram import machine_memory
from representer.kernels.base import Kernel, Scaled
from representer.kernels.stationary import RBF
from representer.solvers.likelihood import Factor, log_leave_one_out, log_marginal_likelihood


@dataclass(frozen=True)
class Search:
    """How the hyper-parameters were found: one entry for each start."""

    names: list[str]
    theta: np.ndarray
    bounds: np.ndarray
    values: list[float]
    message: str
    success: bool
    evaluations: int

    @property
    def at_bounds(self) -> list[str]:
        """Names of hyper-parameters that stopped at a bound, with the side."""
        low, high = np.isclose(self.theta, self.bounds[:, 0]), np.isclose(self.theta, self.bounds[:, 1])
        return [f"{n} ({'lower' if a else 'upper'})" for n, a, b in zip(self.names, low, high, strict=True) if a or b]


class GaussianProcessRegressor(MultiOutputMixin, RegressorMixin, BaseEstimator):
    r"""y = f(x) + noise with f ~ GP(0, k).

    The posterior of f has the mean k(x, X) A^(-1) y and the covariance k(x, x') - k(x, X) A^(-1) k(X, x'), A = K +
    noise I. Hyper-parameters of the kernel and the noise maximise the marginal likelihood, or the leave-one-out
    probability, by L-BFGS with exact gradients. The posterior mean is the kernel ridge solution with alpha = noise.

    Parameters
    ----------
    kernel : Kernel, str or None
        None is ``1.0 * RBF()``. A length scale that is not given starts at the typical distance of an input from the
        mean.
    noise : "estimate", float or array of shape (n,)
        Variance of the noise: estimated together with the kernel, or fixed, for all inputs or one for each.
    objective : {"likelihood", "loo"}
        What hyper-parameters maximise.
    optimizer : {"lbfgs", None}
        None keeps the hyper-parameters as they are.
    n_restarts : int
        Further starts, drawn log-uniformly between the bounds.
    bounds : dict
        From names of hyper-parameters (as in ``kernel.get_params()``, or "noise") to (low, high). Others may move by a
        factor of 1,000 to both sides, the noise between 1e-8 and 10 times the variance of y.
    priors : dict
        From names to distributions with a ``logpdf`` (such as those of scipy.stats); their logarithms are added to the
        objective.
    normalize_y : bool
        Whether targets are centred and scaled to variance one before the fit.
    memory : int, optional
        Bytes that a fit may use; more is refused before work starts. The machine's memory when not given.
    threads : int, optional
    random_state : int, RandomState or None
        Seed of restarts.

    Attributes
    ----------
    kernel_ : Kernel
        With the hyper-parameters found.
    noise_ : float or array of shape (n,)
    function_ : Function
        The posterior mean.
    log_marginal_likelihood_ : float
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
        normalize_y: bool = False,
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
        self.normalize_y = normalize_y
        self.memory = memory
        self.threads = threads
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    # ---- fit ----

    def fit(self, X: Any, y: Any) -> GaussianProcessRegressor:
        """Fit to inputs X and targets y of shape (n,) or (n, n_targets)."""
        if y is None:
            raise ValueError("GaussianProcessRegressor requires y to be passed, but the target y is None.")
        kernel = self._start_kernel()
        X = check_inputs(self, X, kernel, reset=True)
        y = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
        check_lengths(X, y)
        self._check_options(len(y))
        Y = y.reshape(len(y), -1)
        self._single_output = y.ndim == 1
        self._mean = Y.mean(axis=0) if self.normalize_y else np.zeros(Y.shape[1])
        scale = Y.std(axis=0) if self.normalize_y else np.ones(Y.shape[1])
        self._scale = np.where(scale > 0, scale, 1.0)
        Y = (Y - self._mean) / self._scale
        inputs = kernel.prepare(X)
        kernel = kernel.fitted_to(X)
        self.kernel_, self.noise_ = self._optimized(kernel, X, Y)
        return self._condition(X, Y, inputs)

    def _start_kernel(self) -> Kernel:
        return Scaled(RBF(), 1.0) if self.kernel is None else to_kernel(self.kernel)

    def _check_options(self, n: int) -> None:
        if self.objective not in ("likelihood", "loo"):
            raise ValueError(f"objective is {self.objective!r}; use 'likelihood' or 'loo'.")
        if self.optimizer not in ("lbfgs", None):
            raise ValueError(f"optimizer is {self.optimizer!r}; use 'lbfgs' or None.")
        if isinstance(self.noise, str):
            if self.noise != "estimate":
                raise ValueError(f"noise is {self.noise!r}; use 'estimate', a variance, or one variance per input.")
        else:
            noise = np.asarray(self.noise, np.float64)
            if noise.shape not in ((), (n,)) or np.any(noise < 0) or not np.all(np.isfinite(noise)):
                raise ValueError(
                    f"noise has shape {noise.shape} for {n} inputs; "
                    "give one variance, or one for each input, not negative."
                )
        needed, memory = 8 * 3 * n * n, machine_memory() if self.memory is None else self.memory
        if needed > memory:
            raise MemoryError(
                f"An exact Gaussian process on {n} inputs needs {needed / 1e9:.3g} GB, above the budget of "
                f"{memory / 1e9:.3g} GB; "
                "use KernelRidge for the mean alone, fewer inputs, or a larger memory=."
            )

    def _optimized(self, kernel: Kernel, X: Any, Y: np.ndarray) -> tuple[Kernel, Any]:
        """Kernel and noise that maximise the objective."""
        inputs = kernel.prepare(_double(X))
        parameters = LogParameters(kernel, inputs)
        estimate = isinstance(self.noise, str)
        variance = float(Y.var()) or 1.0
        noise = np.full(len(Y), 0.1 * variance) if estimate else np.broadcast_to(np.asarray(self.noise, float), len(Y))
        names = parameters.names + ["noise"] * estimate
        start = np.append(parameters.start, [np.log(0.1 * variance)] * estimate)
        bounds = self._bounds(names, start, variance)
        function = log_marginal_likelihood if self.objective == "likelihood" else log_leave_one_out
        size = len(parameters.start)

        def negative(theta: np.ndarray) -> tuple[float, np.ndarray]:
            here = parameters.kernel_at(theta[:size])
            v = np.full(len(Y), np.exp(theta[-1])) if estimate else noise
            try:
                # length scales are part of the layout of prepared inputs
                result = function(here, here.prepare(_double(X)), Y, v, self.threads)
            except np.linalg.LinAlgError:
                return np.inf, np.zeros_like(theta)
            gradient = parameters.gradient(theta[:size], result.gradients)
            gradient = np.append(gradient, [np.exp(theta[-1]) * result.by_noise.sum()] * estimate)
            prior, by_prior = self._log_prior(names, theta)
            return -(result.value + prior), -(gradient + by_prior)

        if self.optimizer is None or not len(start):
            self.search_ = Search(names, start, bounds, [-negative(start)[0]], "not optimised", True, 1)
            return kernel, float(noise[0]) if np.ndim(self.noise) == 0 else noise
        theta = self._search(negative, names, start, bounds)
        found = float(np.exp(theta[-1])) if estimate else self.noise
        return parameters.kernel_at(theta[:size]), found

    def _bounds(self, names: list[str], start: np.ndarray, variance: float) -> np.ndarray:
        wide = np.log(1000.0)
        bounds = np.stack([start - wide, start + wide], axis=1)
        given = dict(self.bounds or {})
        for i, name in enumerate(names):
            if name == "noise":
                bounds[i] = np.log([1e-8 * variance, 10.0 * variance])
            key = name if name in given else name.split("[")[0]
            if key in given:
                low, high = given[key]
                if not 0 < low <= high:
                    raise ValueError(f"The bounds of {key} are {given[key]!r}; give two positive numbers (low, high).")
                bounds[i] = np.log([low, high])
        unknown = set(given) - {name.split("[")[0] for name in names} - set(names)
        if unknown:
            raise ValueError(
                f"There is no hyper-parameter {sorted(unknown)[0]!r} to bound; there are {', '.join(names)}."
            )
        return bounds

    def _log_prior(self, names: list[str], theta: np.ndarray) -> tuple[float, np.ndarray]:
        """The sum of log prior densities of the values exp(theta), and its gradient by central differences in theta."""
        total, gradient, step = 0.0, np.zeros_like(theta), 1e-5
        for i, name in enumerate(names):
            prior = (self.priors or {}).get(name, (self.priors or {}).get(name.split("[")[0]))
            if prior is not None:
                here, low, high = prior.logpdf(np.exp(theta[i] + np.array([0.0, -step, step])))
                total, gradient[i] = total + here, (high - low) / (2.0 * step)
        return total, gradient

    def _search(self, negative: Any, names: list[str], start: np.ndarray, bounds: np.ndarray) -> np.ndarray:
        rng = check_random_state(self.random_state)
        starts = [np.clip(start, *bounds.T)] + [rng.uniform(*bounds.T) for _ in range(self.n_restarts)]
        runs = [minimize(negative, s, jac=True, method="L-BFGS-B", bounds=bounds) for s in starts]
        best = min(runs, key=lambda run: run.fun)
        if not np.isfinite(best.fun):
            raise np.linalg.LinAlgError(
                "No hyper-parameters with a positive definite covariance were found; use more noise."
            )
        self.search_ = Search(
            names,
            best.x,
            bounds,
            [-float(run.fun) for run in runs],
            str(best.message),
            bool(best.success),
            sum(run.nfev for run in runs),
        )
        if not best.success:
            warnings.warn(
                f"The search for hyper-parameters stopped early ({best.message}); see report() for what to try.",
                ConvergenceWarning,
                stacklevel=4,
            )
        return best.x

    def _condition(self, X: Any, Y: np.ndarray, inputs: Any) -> GaussianProcessRegressor:
        """Condition on the data: factor, posterior mean and likelihood."""
        self.X_fit_ = X
        noise = np.broadcast_to(np.asarray(self.noise_, np.float64), len(Y))
        self._inputs = self.kernel_.prepare(_double(X))
        self._factor = Factor(self.kernel_, self._inputs, noise, self.threads)
        a = self._factor.solve(Y)
        fit = float(np.vdot(Y, a)) + Y.shape[1] * (self._factor.log_determinant + len(Y) * np.log(2.0 * np.pi))
        self.log_marginal_likelihood_ = -0.5 * fit
        coef, constant = a * self._scale, self._mean
        self.dual_coef_ = coef[:, 0] if self._single_output else coef
        self.function_ = Function(self.kernel_, X, self.dual_coef_, constant[0] if self._single_output else constant)
        return self

    # ---- use ----

    def predict(self, X: Any, return_std: bool = False, return_cov: bool = False) -> Any:
        """Posterior mean and, if asked for, standard deviation or covariance of f at each x in X.

        Shapes are (n,), or (n, n_targets) for several targets; the covariance is (n, n) or (n, n, n_targets). An
        estimator that was not fitted predicts from the prior.
        """
        if return_std and return_cov:
            raise ValueError("Ask for return_std or return_cov, not both.")
        check_is_fitted(self)
        X = check_inputs(self, X, self.kernel_, reset=False)
        mean = self.function_(X)
        if return_std:
            std = np.sqrt(self._variance(X))
            return mean, std * self._scale[0] if self._single_output else std[:, None] * self._scale
        if return_cov:
            covariance = self._covariance(X)
            scales = self._scale**2
            return mean, covariance * scales[0] if self._single_output else covariance[:, :, None] * scales
        return mean

    def _half(self, A: Any) -> np.ndarray:
        """L^(-1) k(X_fit, A)."""
        return self._factor.half_solve(self.kernel_.block(A, self._inputs, threads=self.threads).T)

    def _variance(self, X: Any) -> np.ndarray:
        A = self.kernel_.prepare(_double(X), like=self._inputs)
        variance = self.kernel_.diagonal(A).astype(np.float64)
        for i in range(0, len(A), 2048):
            half = self._half(A[i : i + 2048])
            variance[i : i + 2048] -= np.einsum("ij,ij->j", half, half)
        return np.maximum(variance, 0.0)

    def _covariance(self, X: Any) -> np.ndarray:
        A = self.kernel_.prepare(_double(X), like=self._inputs)
        half = self._half(A)
        return self.kernel_.block(A).astype(np.float64) - half.T @ half

    def sample(self, X: Any, n_samples: int = 1, random_state: Any = 0) -> np.ndarray:
        """Joint draws of f at all x in X from the posterior: shape (n, n_samples), or (n, n_targets, n_samples)."""
        mean, covariance = self.predict(X, return_cov=True)
        rng = np.random.default_rng(random_state)
        means = mean[:, None] if self._single_output else mean
        draws = np.empty((*means.shape, n_samples))
        for t in range(means.shape[1]):
            part = covariance if self._single_output else covariance[:, :, t]
            values, vectors = np.linalg.eigh(part)
            root = vectors * np.sqrt(np.maximum(values, 0.0))
            draws[:, t] = means[:, t, None] + root @ rng.normal(size=(len(part), n_samples))
        return draws[:, 0] if self._single_output else draws

    def report(self) -> str:
        """What was fitted, why the search stopped, which bounds are active, the condition number, and what to try."""
        check_is_fitted(self)
        search, condition = self.search_, self._factor.condition
        noise = "one variance per input" if np.ndim(self.noise_) else f"{self.noise_:.4g}"
        lines = [
            f"kernel: {self.kernel_!r}",
            f"noise variance: {noise}",
            f"log marginal likelihood: {self.log_marginal_likelihood_:.6g}",
            f"search: {search.message}; {search.evaluations} evaluations; "
            f"objective at the end of each start: {', '.join(f'{v:.6g}' for v in search.values)}",
            f"at a bound: {', '.join(search.at_bounds) or 'none'}",
            f"condition number: {condition:.2g}; jitter added: {self._factor.jitter:.2g}",
        ]
        return "\n".join(lines + [f"try: {advice}" for advice in self._advice(condition)])

    def _advice(self, condition: float) -> list[str]:
        search, advice = self.search_, []
        for name in search.at_bounds:
            if "length_scale" in name and "upper" in name:
                advice.append(f"{name} grew to its bound: the column may not matter; leave it out, or widen bounds=.")
            else:
                advice.append(f"widen bounds= of {name}, or fix it.")
        if self._factor.jitter > 0:
            advice.append(
                "the matrix was singular to rounding and got jitter: use more noise, or remove repeated inputs."
            )
        elif condition > 1e12:
            advice.append("the matrix is ill-conditioned: use more noise.")
        if len(search.values) == 1 and search.evaluations > 1:
            advice.append("other starts with n_restarts=5, as the objective may have several maxima.")
        if not search.success:
            advice.append("scale inputs and targets to variance one, or give bounds= that leave out extremes.")
        return advice


def _double(X: Any) -> Any:
    """float32 numbers as float64, anything else as it is."""
    return X.astype(np.float64) if getattr(X, "dtype", None) == np.float32 else X
