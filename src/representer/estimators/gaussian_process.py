"""Gaussian process regression."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_array, check_is_fitted

from representer import _tiles
from representer.estimators import search
from representer.estimators.hyperparameters import LogParameters
from representer.estimators.inputs import check_inputs, check_lengths, evenly, is_precomputed, take, to_kernel
from representer.estimators.progress import CallbackSupportMixin, Progress, observed, task
from representer.estimators.search import Search
from representer.features.pivoted_cholesky import pivoted_cholesky
from representer.functions import Function, concatenate
from representer.gram import Gram, machine_memory
from representer.kernels import checks
from representer.kernels.base import Kernel, Scaled, require_definite
from representer.kernels.stationary import RBF
from representer.solvers.choose import iterative_memory
from representer.solvers.likelihood import Factor, log_leave_one_out, log_marginal_likelihood
from representer.solvers.posterior import IterativePosterior

DIRECT_UP_TO = 8000
"""Inputs up to which the posterior is computed by Cholesky."""
TUNING_ROWS = 2000
"""Inputs on which hyper-parameters are found beyond that."""


class GaussianProcessRegressor(CallbackSupportMixin, MultiOutputMixin, RegressorMixin, BaseEstimator):
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
        Variance of the noise: estimated together with the kernel, or fixed, for all inputs or one for each.
    objective : {"likelihood", "loo"}
        What hyper-parameters maximise.
    optimizer : {"lbfgs", None}
        None keeps the hyper-parameters as they are.
    n_restarts : int
        Further starts, drawn log-uniformly between the bounds.
    bounds : dict
        From names of hyper-parameters (as in ``kernel.get_params()``, or "noise") to (low, high). Others may move by a
        factor of 1,000 to both sides, the noise between 1e-6 and 10 times the variance of y.
    priors : dict
        From names to distributions with a ``logpdf`` (such as those of scipy.stats); their logarithms are added to the
        objective.
    solver : {"auto", "cholesky", "conjugate_gradient"}
        Cholesky holds an n x n matrix. Conjugate gradients, from 8,000 inputs on, hold none: hyper-parameters are then
        found on 2,000 inputs evenly spread over all, variances carry a bound on their error and the likelihood a
        standard error.
    tol : float
        Relative residual of conjugate gradients.
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
    log_marginal_likelihood_error_ : float
        Its standard error, 0 where it is exact.
    certificate_ : Certificate
        Of the posterior mean.
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
        self.solver = solver
        self.tol = tol
        self.normalize_y = normalize_y
        self.memory = memory
        self.threads = threads
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = is_precomputed(self.kernel)
        return tags

    # ---- fit ----

    search_: Search

    @observed
    def fit(self, X: Any, y: Any) -> GaussianProcessRegressor:
        """Fit to inputs X and targets y of shape (n,) or (n, n_targets)."""
        if y is None:
            raise ValueError("GaussianProcessRegressor requires y to be passed, but the target y is None.")
        kernel = Scaled(RBF(), 1.0) if self.kernel is None else to_kernel(self.kernel)
        require_definite(kernel, "a Gaussian process")
        X = check_inputs(self, X, kernel, reset=True)
        y = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
        check_lengths(X, y)
        self._check_options(len(y))
        Y = y.reshape(len(y), -1)
        self._single_output = y.ndim == 1
        self._mean = Y.mean(axis=0) if self.normalize_y else np.zeros(Y.shape[1])
        self._scale = _deviation(Y) if self.normalize_y else np.ones(Y.shape[1])
        Y = (Y - self._mean) / self._scale
        direct = self._is_direct(len(Y))
        rows = np.arange(len(Y)) if direct else evenly(len(Y), self._tuning_rows())
        given = self.noise if np.ndim(self.noise) == 0 else np.asarray(self.noise, np.float64)
        with _tiles.blas_threads_for(len(rows)):
            self.kernel_, found = self._optimized(
                kernel.fitted_to(X), take(X, rows, kernel), Y[rows], given if np.ndim(given) == 0 else given[rows]
            )
        self.noise_ = found if np.ndim(given) == 0 else given
        with _tiles.blas_threads_for(len(Y)):
            self._condition(X, Y, direct)
        if not self.search_.values:
            prior = search.log_prior(self.search_.names, self.priors, self.search_.theta)[0]
            self.search_ = replace(self.search_, values=[self.log_marginal_likelihood_ + prior])
        return self

    def _check_options(self, n: int) -> None:
        if self.objective not in ("likelihood", "loo"):
            raise ValueError(f"objective is {self.objective!r}; use 'likelihood' or 'loo'.")
        if self.optimizer not in ("lbfgs", None):
            raise ValueError(f"optimizer is {self.optimizer!r}; use 'lbfgs' or None.")
        if self.solver not in ("auto", "cholesky", "conjugate_gradient"):
            raise ValueError(f"solver is {self.solver!r}; use 'auto', 'cholesky' or 'conjugate_gradient'.")
        checks.whole(self.n_restarts, "n_restarts", least=0)
        for name in ("memory", "threads"):
            if getattr(self, name) is not None:
                checks.whole(getattr(self, name), name)
        if isinstance(self.noise, str) and self.noise == "estimate":
            return
        try:
            noise = np.asarray(self.noise, np.float64)
        except (TypeError, ValueError):
            noise = np.array(np.nan)
        if noise.shape not in ((), (n,)) or not np.all(np.isfinite(noise)) or np.any(noise < 0):
            raise ValueError(
                f"noise is {self.noise!r}; use 'estimate', one variance, or one variance for each of the {n} inputs, "
                "none of them negative."
            )

    def _is_direct(self, n: int) -> bool:
        """Whether the posterior holds an n x n matrix; raise if it should and cannot."""
        needed, memory = 8 * self._matrices() * n * n, machine_memory() if self.memory is None else self.memory
        if self.solver == "cholesky" and needed > memory:
            raise MemoryError(
                f"An exact Gaussian process on {n} inputs needs {needed / 1e9:.3g} GB, above the budget of "
                f"{memory / 1e9:.3g} GB; use solver='conjugate_gradient', fewer inputs, or a larger memory=."
            )
        return self.solver == "cholesky" or (self.solver == "auto" and n <= DIRECT_UP_TO and needed <= memory)

    def _matrices(self) -> int:
        """How many n x n matrices the search holds at once."""
        return 3 if self.objective == "likelihood" else 5

    def _tuning_rows(self) -> int:
        memory = machine_memory() if self.memory is None else self.memory
        return int(np.clip(np.sqrt(memory / (8 * self._matrices())), 2, TUNING_ROWS))

    def _optimized(self, kernel: Kernel, X: Any, Y: np.ndarray, given: Any) -> tuple[Kernel, Any]:
        """Kernel and noise that maximise the objective.

        ``given`` is the noise as it was asked for, for these inputs.
        """
        parameters = LogParameters(kernel, kernel.prepare(_double(X)))
        estimate = isinstance(given, str)
        variance = float(np.mean(_deviation(Y) ** 2))
        noise = np.full(len(Y), 0.1 * variance) if estimate else np.broadcast_to(np.asarray(given, float), len(Y))
        names = parameters.names + ["noise"] * estimate
        start = np.append(parameters.start, [np.log(0.1 * variance)] * estimate)
        bounds = search.log_bounds(names, start, variance, self.bounds)
        start = start if self.optimizer is None else search.inside(start, bounds)
        search.check_priors(names, self.priors, start)
        negative = self._objective(parameters, names, X, Y, noise, estimate)
        if self.optimizer is None or not len(start):
            # the likelihood comes with the posterior, without a gradient
            values = [-negative(start)[0]] if self.objective == "loo" else []
            self.search_ = Search(names, start, bounds, values, "not optimised", True, 0)
            return kernel, float(noise[0])
        rng = check_random_state(self.random_state)
        starts = search.starts(negative, names, start, bounds, variance, self.n_restarts, rng)
        with task(self, "search for hyper-parameters") as step:
            self.search_ = search.minimum(negative, names, starts, bounds, step)
        if not self.search_.success:
            warnings.warn(
                f"The search for hyper-parameters stopped early ({self.search_.message}); report() says what to try.",
                ConvergenceWarning,
                stacklevel=5,
            )
        theta = self.search_.theta
        found = float(np.exp(theta[-1])) if estimate else given
        return parameters.kernel_at(theta[: len(parameters.start)]), found

    def _objective(
        self, parameters: LogParameters, names: list[str], X: Any, Y: np.ndarray, noise: np.ndarray, estimate: bool
    ) -> Any:
        """Minus the objective and its gradient, as a function of theta."""
        function = log_marginal_likelihood if self.objective == "likelihood" else log_leave_one_out
        size, X = len(parameters.start), _double(X)

        def negative(theta: np.ndarray) -> tuple[float, np.ndarray]:
            kernel = parameters.kernel_at(theta[:size])
            variances = np.full(len(Y), np.exp(theta[-1])) if estimate else noise
            try:
                # length scales are part of the layout of prepared inputs
                result = function(kernel, kernel.prepare(X), Y, variances, self.threads)
            except np.linalg.LinAlgError:
                return search.IMPOSSIBLE, np.zeros_like(theta)
            gradient = parameters.gradient(theta[:size], result.gradients)
            if estimate:
                gradient = np.append(gradient, np.exp(theta[-1]) * result.by_noise.sum())
            prior, by_prior = search.log_prior(names, self.priors, theta)
            value, slope = -(result.value + prior), -(gradient + by_prior)
            good = np.isfinite(value) and np.all(np.isfinite(slope))
            return (value, slope) if good else (search.IMPOSSIBLE, np.zeros_like(theta))

        return negative

    def _condition(self, X: Any, Y: np.ndarray, direct: bool) -> None:
        """Condition on the data: posterior mean, likelihood and certificate."""
        self.X_fit_ = X
        noise = np.broadcast_to(np.asarray(self.noise_, np.float64), len(Y))
        if direct:
            self._inputs = self.kernel_.prepare(_double(X))
            self._factor: Factor | None = Factor(self.kernel_, self._inputs, noise, self.threads)
            a, determinant, error = self._factor.solve(Y), self._factor.log_determinant, 0.0
            self.certificate_ = self._factor.certificate(a, Y, noise, self.tol)
        else:
            memory = iterative_memory(machine_memory() if self.memory is None else self.memory)
            self._posterior = IterativePosterior(
                self.kernel_, X, noise, tol=self.tol, memory=memory, threads=self.threads
            )
            self._factor, self._inputs = None, self._posterior.problem.exact
            with task(self, "conjugate gradients") as step:
                result = self._posterior.solve(Y, progress=Progress(0, self.tol, step))
            a, self.certificate_ = result.coef, result.certificate
            determinant, error = self._posterior.log_determinant()
        n, targets = Y.shape
        self.log_marginal_likelihood_ = -0.5 * (
            float(np.vdot(Y, a)) + targets * (determinant + n * np.log(2.0 * np.pi))
        )
        self.log_marginal_likelihood_error_ = 0.5 * targets * error
        if not self.certificate_.converged:
            self.log_marginal_likelihood_error_ = np.inf
            warnings.warn(
                f"The posterior mean reached a relative residual of {self.certificate_.residual:.2g}, not the "
                "tolerance "
                f"{self.tol:.2g}; use more noise, solver='cholesky' if n x n fits the memory, or a larger tol.",
                ConvergenceWarning,
                stacklevel=5,
            )
        coef, constant = a * self._scale, self._mean
        self.dual_coef_ = coef[:, 0] if self._single_output else coef
        self.function_ = Function(
            self.kernel_, _double(X), self.dual_coef_, constant[0] if self._single_output else constant
        )

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

    def _explained(self, A: Any) -> np.ndarray:
        """k(x, X) A^(-1) k(X, x), the part of the prior variance that the data explain."""
        columns = self.kernel_.block(A, self._inputs, threads=self.threads).T
        if self._factor is None:
            return self._posterior.explained(columns)[0]
        half = self._factor.half_solve(columns)
        return np.einsum("ij,ij->j", half, half)

    def _variance(self, X: Any) -> np.ndarray:
        A = self.kernel_.prepare(_double(X), like=self._inputs)
        variance = self.kernel_.diagonal(A).astype(np.float64)
        size = 64 if self._factor is None else 2048
        for i in range(0, len(A), size):
            variance[i : i + size] -= self._explained(A[i : i + size])
        return np.maximum(variance, 0.0)

    def _covariance(self, X: Any) -> np.ndarray:
        A = self.kernel_.prepare(_double(X), like=self._inputs)
        columns = self.kernel_.block(A, self._inputs, threads=self.threads).T
        solved = self._posterior.solve(columns).coef if self._factor is None else self._factor.solve(columns)
        explained = columns.T @ solved
        # words or items that training inputs do not have still matter between new inputs, so the prior is prepared anew
        return self.kernel_(_double(X)) - (explained + explained.T) / 2

    def sample(self, X: Any, n_samples: int = 1, random_state: Any = 0, *, pathwise: bool | None = None) -> np.ndarray:
        """Joint draws of f at all x in X from the posterior: shape (n, n_samples), or (n, n_targets, n_samples).

        Draws from the covariance matrix take n^3 operations, so for more than 2,000 inputs they are made ``pathwise``:
        a draw of the prior, corrected by what the data say about it. The prior comes from a low-rank factor of its
        covariance at all inputs; what the factor leaves out, at most a millionth of the variance or all beyond rank
        2,000, is drawn independently at each input.
        """
        check_is_fitted(self)
        X = check_inputs(self, X, self.kernel_, reset=False)
        rng = np.random.default_rng(random_state)
        mean = self.function_(X)
        means = mean[:, None] if self._single_output else mean
        shape = (means.shape[1], checks.whole(n_samples, "n_samples"))
        many = len(means) > 2000 if pathwise is None else pathwise
        draws = self._paths(X, shape, rng) if many else self._from_covariance(X, shape, rng)
        draws = means[:, :, None] + draws * self._scale[:, None]
        return draws[:, 0] if self._single_output else draws

    def sample_y(self, X: Any, n_samples: int = 1, random_state: Any = 0) -> np.ndarray:
        """`sample` by scikit-learn's name."""
        return self.sample(X, n_samples, random_state)

    def _from_covariance(self, X: Any, shape: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
        """Draws around the mean from the eigenvectors of the posterior covariance."""
        values, vectors = np.linalg.eigh(self._covariance(X))
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        return np.tensordot(root, rng.normal(size=(len(root), *shape)), axes=1)

    def _paths(self, X: Any, shape: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
        """f - k(., X_fit) A^(-1) (f(X_fit) + noise) for draws f of the prior (Matheron's rule)."""
        n, draws = len(self.dual_coef_), shape[0] * shape[1]
        everywhere = self.kernel_.prepare(_double(concatenate(self.X_fit_, X)))
        trace = self.kernel_.diagonal(everywhere).sum()
        low_rank = pivoted_cholesky(
            self.kernel_, everywhere, 2000, stop=1e-6 * trace, random_state=rng, threads=self.threads
        )
        rest = np.sqrt(low_rank.remainder)[:, None] * rng.normal(size=(len(everywhere), draws))
        prior = low_rank.factor.T @ rng.normal(size=(len(low_rank.factor), draws)) + rest
        noise = np.sqrt(np.broadcast_to(np.asarray(self.noise_, np.float64), n))[:, None] * rng.normal(size=(n, draws))
        seen = prior[:n] + noise
        solved = self._posterior.solve(seen).coef if self._factor is None else self._factor.solve(seen)
        correction = Gram.of(self.kernel_, everywhere[n:], everywhere[:n], threads=self.threads) @ solved
        return (prior[n:] - correction).reshape(-1, *shape)

    def report(self) -> str:
        """What was fitted, why the search stopped, which bounds are active, the condition number, and what to try."""
        check_is_fitted(self)
        found, factor = self.search_, self._factor
        noise = "one variance per input" if np.ndim(self.noise_) else f"{self.noise_:.4g}"
        lines = [
            f"kernel: {self.kernel_!r}",
            f"noise variance: {noise}",
            f"log marginal likelihood: {self.log_marginal_likelihood_:.6g}"
            + (f" (standard error {self.log_marginal_likelihood_error_:.2g})" if factor is None else ""),
            f"search: {found.message}; {found.evaluations} evaluations; "
            f"objective at the end of each start: {', '.join(f'{v:.6g}' for v in found.values) or 'none'}",
            f"at a bound: {', '.join(found.at_bounds) or 'none'}",
            f"posterior mean: {self.certificate_}"
            if factor is None
            else f"condition number: {factor.condition:.2g}; jitter added: {factor.jitter:.2g}",
        ]
        return "\n".join(lines + [f"try: {advice}" for advice in self._advice()])

    def _advice(self) -> list[str]:
        found, factor, advice = self.search_, self._factor, []
        for name in found.at_bounds:
            if "length_scale[" in name and "upper" in name:
                advice.append(f"{name} grew to its bound: the column may not matter; leave it out, or widen bounds=.")
            elif name == "noise (lower)":
                advice.append("the noise fell to its bound: the data look noise-free; fix noise= at a small variance.")
            else:
                advice.append(f"widen bounds= of {name}, or fix it.")
        if factor is not None and factor.jitter > 0:
            advice.append(
                "the matrix was singular to rounding and got jitter: use more noise, or remove repeated inputs."
            )
        elif factor is not None and factor.condition > 1e12:
            advice.append("the matrix is ill-conditioned: use more noise.")
        if len(found.values) == 1 and found.evaluations > 1:
            advice.append("other starts with n_restarts=5, as the objective may have several maxima.")
        if not found.success:
            advice.append("scale inputs and targets to variance one, or give bounds= that leave out extremes.")
        return advice


def _deviation(Y: np.ndarray) -> np.ndarray:
    """The standard deviation of each column; 1 for a column that is constant to rounding."""
    deviation = Y.std(axis=0)
    return np.where(deviation > 10 * np.finfo(np.float64).eps * np.abs(Y).max(axis=0), deviation, 1.0)


def _double(X: Any) -> Any:
    """float32 numbers as float64, anything else as it is."""
    return X.astype(np.float64) if getattr(X, "dtype", None) == np.float32 else X
