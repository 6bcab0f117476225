"""Gaussian process classification."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy.special import expit, ndtr, roots_hermite
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from representer import _tiles
from representer.estimators import search
from representer.estimators.hyperparameters import LogParameters
from representer.estimators.inputs import check_inputs, check_labels, is_precomputed, to_kernel
from representer.functions import Function
from representer.gram import machine_memory
from representer.kernels import checks
from representer.kernels.base import Kernel, Scaled, require_definite
from representer.kernels.stationary import RBF
from representer.solvers.laplace import Laplace


class GaussianProcessClassifier(ClassifierMixin, BaseEstimator):
    r"""P(y = second class | x) = E[1 / (1 + exp(-f(x)))] with f ~ GP(0, k), given the labels.

    The posterior of f is approximated by a Gaussian around its mode (Laplace), and hyper-parameters of the kernel
    maximise the marginal likelihood of that approximation, by L-BFGS with exact gradients. Of several classes each one
    is told from the rest, with a kernel of its own, and probabilities are scaled to sum to one. All as in scikit-learn,
    with kernels on inputs of any type.

    Parameters
    ----------
    kernel : Kernel, str or None
        None is ``1.0 * RBF()``. A length scale that is not given starts at the typical distance of an input from the
        mean.
    optimizer : {"lbfgs", None}
        None keeps the hyper-parameters as they are.
    n_restarts : int
        Further starts, drawn log-uniformly between the bounds.
    bounds : dict
        From names of hyper-parameters (as in ``kernel.get_params()``) to (low, high). Others may move by a factor of
        1,000 to both sides.
    tol : float
        Relative duality gap at which the mode counts as found.
    max_iter : int
        Of Newton steps to the mode.
    memory : int, optional
        Bytes that a fit may use; more is refused before work starts. The machine's memory when not given.
    threads : int, optional
    random_state : int, RandomState or None
        Seed of restarts.

    Attributes
    ----------
    classes_ : array
    kernel_ : Kernel or list of Kernel
        With the hyper-parameters found, one for each class of several.
    function_ : Function or list of Function
        The mean of f.
    log_marginal_likelihood_value_ : float
        Of the approximation, the mean over the classes of several.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from representer import GaussianProcessClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = GaussianProcessClassifier(optimizer=None).fit(X, y)
    >>> bool(model.score(X, y) > 0.9), model.predict_proba(X[:2]).shape
    (True, (2, 3))
    """

    def __init__(
        self,
        kernel: Any = None,
        *,
        optimizer: str | None = "lbfgs",
        n_restarts: int = 0,
        bounds: dict | None = None,
        tol: float = 1e-10,
        max_iter: int = 100,
        memory: int | None = None,
        threads: int | None = None,
        random_state: Any = None,
    ):
        self.kernel = kernel
        self.optimizer = optimizer
        self.n_restarts = n_restarts
        self.bounds = bounds
        self.tol = tol
        self.max_iter = max_iter
        self.memory = memory
        self.threads = threads
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = is_precomputed(self.kernel)
        return tags

    def fit(self, X: Any, y: Any) -> GaussianProcessClassifier:
        """Fit to inputs X and labels y."""
        kernel = Scaled(RBF(), 1.0) if self.kernel is None else to_kernel(self.kernel)
        require_definite(kernel, "a Gaussian process")
        X = check_inputs(self, X, kernel, reset=True)
        self.classes_, label = check_labels(self, X, y)
        self._check_options(len(label))
        self.X_fit_ = X
        chosen = [1] if len(self.classes_) == 2 else range(len(self.classes_))
        rng = check_random_state(self.random_state)
        started = kernel.fitted_to(X)
        with _tiles.blas_threads_for(len(label)):
            self._parts = [self._one(started, _double(X), np.where(label == c, 1.0, -1.0), rng) for c in chosen]
        kernels = [part.problem.kernel for part in self._parts]
        functions = [Function(part.problem.kernel, _double(X), part.coef) for part in self._parts]
        single = len(self._parts) == 1
        self.kernel_: Any = kernels[0] if single else kernels
        self.function_: Any = functions[0] if single else functions
        self.log_marginal_likelihood_value_ = float(np.mean([part.log_likelihood for part in self._parts]))
        self.n_iter_ = max(max(part.found.steps for part in self._parts), 1)
        return self

    def _check_options(self, n: int) -> None:
        if self.optimizer not in ("lbfgs", None):
            raise ValueError(f"optimizer is {self.optimizer!r}; use 'lbfgs' or None.")
        checks.positive(self.tol, "tol")
        checks.whole(self.max_iter, "max_iter")
        checks.whole(self.n_restarts, "n_restarts", least=0)
        for name in ("memory", "threads"):
            if getattr(self, name) is not None:
                checks.whole(getattr(self, name), name)
        needed, memory = 8 * 6 * n * n, machine_memory() if self.memory is None else self.memory
        if needed > memory:
            raise MemoryError(
                f"A Gaussian process classifier on {n} inputs needs {needed / 1e9:.3g} GB, above the budget of "
                f"{memory / 1e9:.3g} GB; use fewer inputs, KernelLogisticRegression, or a larger memory=."
            )

    def _one(self, kernel: Kernel, X: Any, y: np.ndarray, rng: np.random.RandomState) -> Laplace:
        """One class against the rest, with the best hyper-parameters."""
        parameters = LogParameters(kernel, kernel.prepare(X))
        if self.optimizer is not None and len(parameters.start):
            bounds = search.log_bounds(parameters.names, parameters.start, 1.0, self.bounds)
            start = search.inside(parameters.start, bounds)
            starts = [start] + [rng.uniform(*bounds.T) for _ in range(self.n_restarts)]
            found = search.minimum(self._objective(parameters, X, y), parameters.names, starts, bounds)
            if not found.success:
                warnings.warn(
                    f"The search for hyper-parameters stopped early ({found.message}); scale the inputs to variance "
                    "one, give bounds=, or more n_restarts.",
                    ConvergenceWarning,
                    stacklevel=3,
                )
            kernel = parameters.kernel_at(found.theta)
        fitted = self._laplace(kernel, X, y)
        gap = (fitted.found.primal - fitted.found.dual.value) / max(fitted.found.primal, 1e-300)
        if gap > self.tol:
            warnings.warn(
                f"The mode was found to a relative gap of {gap:.2g}, not the tolerance {self.tol:.2g}; use a larger "
                "max_iter or tol.",
                ConvergenceWarning,
                stacklevel=3,
            )
        return fitted

    def _laplace(self, kernel: Kernel, X: Any, y: np.ndarray) -> Laplace:
        return Laplace(kernel, X, y, tol=self.tol, max_iter=self.max_iter, threads=self.threads)

    def _objective(self, parameters: LogParameters, X: Any, y: np.ndarray) -> search.Objective:
        """Minus the marginal likelihood and its gradient, as a function of the logarithms of the hyper-parameters."""

        def negative(theta: np.ndarray) -> tuple[float, np.ndarray]:
            try:
                fitted = self._laplace(parameters.kernel_at(theta), X, y)
            except np.linalg.LinAlgError:
                return search.IMPOSSIBLE, np.zeros_like(theta)
            gradient = parameters.gradient(theta, fitted.gradients())
            good = np.isfinite(fitted.log_likelihood) and np.all(np.isfinite(gradient))
            return (-fitted.log_likelihood, -gradient) if good else (search.IMPOSSIBLE, np.zeros_like(theta))

        return negative

    def predict_proba(self, X: Any) -> np.ndarray:
        """The probability of each class, in the order of ``classes_``."""
        check_is_fitted(self)
        X = _double(check_inputs(self, X, self._parts[0].problem.kernel, reset=False))
        columns = np.stack([_probability(*part.moments(X)) for part in self._parts], axis=1)
        if columns.shape[1] == 1:
            return np.concatenate([1.0 - columns, columns], axis=1)
        return columns / columns.sum(axis=1, keepdims=True)

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class: for two classes the sign of the mean of f."""
        check_is_fitted(self)
        X = _double(check_inputs(self, X, self._parts[0].problem.kernel, reset=False))
        if len(self._parts) == 1:
            return self.classes_[(self._parts[0].moments(X)[0] > 0).astype(int)]
        return self.classes_[np.stack([_probability(*part.moments(X)) for part in self._parts], axis=1).argmax(axis=1)]

    def latent_mean_and_variance(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance of f at each x in X: shape (n,), or (n, n_classes) for several classes."""
        check_is_fitted(self)
        X = _double(check_inputs(self, X, self._parts[0].problem.kernel, reset=False))
        mean, variance = (
            np.stack(columns, axis=1) for columns in zip(*(p.moments(X) for p in self._parts), strict=True)
        )
        return (mean[:, 0], variance[:, 0]) if len(self._parts) == 1 else (mean, variance)


def _probability(mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """E[1 / (1 + exp(-f))] for f ~ N(mean, variance), to rounding.

    The rule of Gauss and Hermite for narrow distributions; for wide ones the same integral by parts, of the logistic
    density times the normal distribution function, by the trapezoidal rule, which is that precise for such functions.
    """
    deviation = np.sqrt(variance)
    nodes, weights = roots_hermite(64)
    narrow = (
        expit(mean[:, None] + np.sqrt(2.0) * np.minimum(deviation, 0.5)[:, None] * nodes) @ weights / np.sqrt(np.pi)
    )
    t = np.arange(-40.0, 40.01, 0.25)
    density = 0.25 * expit(t) * expit(-t)
    wide = ndtr((mean[:, None] - t) / np.maximum(deviation, 0.5)[:, None]) @ density
    return np.where(deviation < 0.5, narrow, wide)


def _double(X: Any) -> Any:
    """float32 numbers as float64, anything else as it is."""
    return X.astype(np.float64) if getattr(X, "dtype", None) == np.float32 else X
