"""scikit-learn's Gaussian process regression, with the likelihoods and factors of this library."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor as Theirs
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from representer import _parallel
from representer.drop_in.process_kernels import from_sklearn
from representer.drop_in.theta_search import asked_kernel, best_theta, checked_inputs, values_of
from representer.estimators import gaussian_process
from representer.estimators.base import atomic
from representer.estimators.hyperparameters import deviation
from representer.kernels.base import Kernel
from representer.processes.gaussian import GaussianProcess, copied
from representer.processes.likelihood import Factor, log_evidence, log_marginal_likelihood
from representer.result import Plan

SMALLER = "fewer inputs"


class GaussianProcessRegressor(gaussian_process.GaussianProcessRegressor):
    r"""y = f(x) + noise with f ~ GP(0, k).

    Parameters, attributes and defaults are those of ``sklearn.gaussian_process.GaussianProcessRegressor``: the kernel
    is an object of scikit-learn (or of this library), noise is `alpha` or a WhiteKernel, the kernel's bounds are those
    of the search, and `kernel_` is again scikit-learn's. Where the matrix of the fit is singular to rounding, jitter is
    added instead of raising an error. `function_`, `certificate_` and `plan` are also available.
    """

    _parameter_constraints = Theirs._parameter_constraints | {
        "kernel": [*Theirs._parameter_constraints["kernel"], Kernel]
    }
    noise = 0.0
    objective = "likelihood"
    solver = "cholesky"
    tol = 1e-6
    max_iter = 1000
    verbose = 0
    bounds = priors = memory = threads = None

    def __init__(
        self,
        kernel: Any = None,
        *,
        alpha: Any = 1e-10,
        optimizer: Any = "fmin_l_bfgs_b",
        n_restarts_optimizer: int = 0,
        normalize_y: bool = False,
        copy_X_train: bool = True,
        n_targets: int | None = None,
        random_state: Any = None,
    ):
        self.kernel = kernel
        self.alpha = alpha
        self.optimizer = optimizer
        self.n_restarts_optimizer = n_restarts_optimizer
        self.normalize_y = normalize_y
        self.copy_X_train = copy_X_train
        self.n_targets = n_targets
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags

    @property
    def n_restarts(self) -> int:  # type: ignore[override]
        """Random starts of the search."""
        return self.n_restarts_optimizer

    @property
    def report(self) -> Any:
        """Raise: the search is that of scikit-learn's optimizer, which keeps no record."""
        raise AttributeError("This class has no report; use representer.GaussianProcessRegressor.")

    def plan(self, X: Any, y: Any = None) -> Plan:
        """The memory and time that `fit` takes for these inputs."""
        plan = self._plan(X, 1 if y is None or np.ndim(y) == 1 else np.shape(y)[1])
        return self._judged(plan, SMALLER)

    @atomic
    def fit(self, X: Any, y: Any) -> Any:
        """Fit to inputs X and targets y of shape (n,) or (n, n_targets)."""
        self._validate_params()
        self.kernel_ = asked_kernel(self.kernel, (1e-5, 1e5))
        rng = check_random_state(self.random_state)
        X, y = checked_inputs(self, self.kernel_, X, y=y, multi_output=True, y_numeric=True)
        self._keep_data(X, np.asarray(y, np.float64))
        plan = self._plan(self.X_train_, self._targets().shape[1])
        self._refuse(plan.bytes, f"A Gaussian process on {len(y)} inputs", SMALLER)
        with _parallel.blas_threads_for(len(y)):
            if self.optimizer is not None and self.kernel_.n_dims > 0:
                restarts = self.n_restarts_optimizer
                theta, value = best_theta(self._likelihood, self.kernel_, self.optimizer, restarts, rng)
                self.kernel_.theta = theta
                self.kernel_._check_bounds_params()
            else:
                value = self._likelihood(self.kernel_.theta, False)
            self.log_marginal_likelihood_value_ = value
            self._condition(self._translated().kernel, self.X_train_, self._targets(), plan)
        self.alpha_ = (self.dual_coef_.reshape(len(y), -1) / self._scale).reshape(self.y_train_.shape)
        self.noise_, self.n_iter_ = self._fitted_noise, 1
        return self

    def _keep_data(self, X: Any, y: np.ndarray) -> None:
        """Store inputs and normalised targets, checked against n_targets and alpha."""
        n_targets = y.shape[1] if y.ndim > 1 else 1
        if self.n_targets is not None and n_targets != self.n_targets:
            raise ValueError(
                "The number of targets seen in `y` is different from the parameter `n_targets`. "
                f"Got {n_targets} != {self.n_targets}."
            )
        alpha = np.asarray(self.alpha, np.float64)
        if alpha.size not in (1, len(y)):
            raise ValueError(
                f"alpha must be a scalar or an array with same number of entries as y. ({alpha.size} != {len(y)})"
            )
        self._fitted_noise: Any = alpha if alpha.size > 1 else float(alpha.ravel()[0])
        self._single_output = n_targets == 1
        Y = y.reshape(len(y), -1)
        self._mean = Y.mean(axis=0) if self.normalize_y else np.zeros(n_targets)
        self._scale = deviation(Y) if self.normalize_y else np.ones(n_targets)
        self.X_train_ = copied(X) if self.copy_X_train else X
        self.y_train_ = ((Y - self._mean) / self._scale).reshape(y.shape)

    @property
    def _y_train_mean(self) -> np.ndarray:
        return self._mean[0] if self.normalize_y and self.y_train_.ndim == 1 else self._mean

    @property
    def _y_train_std(self) -> np.ndarray:
        return self._scale[0] if self.normalize_y and self.y_train_.ndim == 1 else self._scale

    def _targets(self) -> np.ndarray:
        return self.y_train_.reshape(len(self.y_train_), -1)

    @property
    def L_(self) -> np.ndarray:
        """The lower Cholesky factor of K + alpha."""
        check_is_fitted(self, "function_")
        return np.tril(self._process.posterior.factor.L)  # type: ignore[union-attr]

    # ---- likelihood ----

    def _translated(self, theta: Any = None) -> Any:
        kernel = self.kernel_ if theta is None else self.kernel_.clone_with_theta(np.asarray(theta, np.float64))
        shape: tuple = getattr(self.X_train_, "shape", ())
        return from_sklearn(kernel, shape[1] if len(shape) == 2 else None)

    def _likelihood(self, theta: np.ndarray, eval_gradient: bool) -> Any:
        found, Y = self._translated(theta), self._targets()
        inputs, noise = found.kernel.prepare(self.X_train_), np.broadcast_to(self._fitted_noise, len(Y))
        try:
            if not eval_gradient:
                return log_evidence(Factor(found.kernel, inputs, noise, jitter=False), Y)[0]
            value = log_marginal_likelihood(found.kernel, inputs, Y, noise, jitter=False)
        except np.linalg.LinAlgError:
            return (-np.inf, np.zeros_like(theta)) if eval_gradient else -np.inf
        return value.value, found.gradient(value.gradients)

    @property
    def hyperparameters_(self) -> dict[str, float]:
        """Those of `kernel_`, by scikit-learn's names."""
        return values_of(self.kernel_)

    def log_marginal_likelihood(self, theta: Any = None, eval_gradient: bool = False, clone_kernel: bool = True) -> Any:
        """log p(y | X, theta), and its gradient on request; that of the fit if theta is None.

        With ``clone_kernel=False`` `kernel_` is set to this theta.
        """
        if theta is None and eval_gradient:
            raise ValueError("Gradient can only be evaluated for theta!=None")
        if theta is not None and not clone_kernel:
            self.kernel_.theta = theta
        return self.log_marginal_likelihood_value_ if theta is None else self._likelihood(theta, eval_gradient)

    # ---- use ----

    def predict(self, X: Any, return_std: bool = False, return_cov: bool = False) -> Any:  # type: ignore[override]
        """Posterior mean and, on request, standard deviation or covariance; those of the prior before a fit."""
        if return_std and return_cov:
            raise RuntimeError("At most one of return_std or return_cov can be requested.")
        kernel = asked_kernel(self.kernel, "fixed")
        X = checked_inputs(self, kernel, X, reset=False)
        if hasattr(self, "function_"):
            return super().predict(X, return_std, return_cov)
        shape, n_targets = np.shape(X), self.n_targets or 1
        process = GaussianProcess(from_sklearn(kernel, shape[1] if len(shape) == 2 else None).kernel)
        mean = np.zeros((len(X), n_targets)).squeeze()
        if not (return_std or return_cov):
            return mean
        spread = np.sqrt(process.variance(X)) if return_std else process.covariance(X)
        return mean, spread if n_targets == 1 else np.repeat(spread[..., None], n_targets, axis=-1)

    def _at(self, X: Any) -> Any:
        return X, self._process, self.function_(X), self._scale

    def sample_y(self, X: Any, n_samples: int = 1, random_state: Any = 0) -> np.ndarray:
        """Joint draws at all x in X: shape (n, n_samples), or (n, n_targets, n_samples)."""
        rng = check_random_state(random_state)
        mean, covariance = self.predict(X, return_cov=True)
        if mean.ndim == 1:
            return rng.multivariate_normal(mean, covariance, n_samples).T
        draws = [rng.multivariate_normal(mean[:, t], covariance[..., t], n_samples).T for t in range(mean.shape[1])]
        return np.stack(draws, axis=1)
