"""scikit-learn's Gaussian process classification, with the approximation of this library."""

from __future__ import annotations

from itertools import combinations
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.gaussian_process import GaussianProcessClassifier as Theirs
from sklearn.gaussian_process.kernels import CompoundKernel
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from representer import _parallel
from representer.drop_in.process_kernels import from_sklearn
from representer.drop_in.theta_search import asked_kernel, best_theta, checked_inputs, values_of
from representer.estimators import gaussian_process_classifier
from representer.estimators.base import atomic
from representer.estimators.inputs import check_labels
from representer.functions import Function
from representer.kernels import checks
from representer.kernels.base import Kernel
from representer.processes.gaussian import copied, doubled
from representer.processes.laplace import Laplace


class GaussianProcessClassifier(gaussian_process_classifier.GaussianProcessClassifier):
    r"""P(y = second class | x) = E[1 / (1 + exp(-f(x)))], f ~ GP(0, k) given the labels, by Laplace's approximation.

    Parameters, attributes and defaults are those of ``sklearn.gaussian_process.GaussianProcessClassifier``: the kernel
    is an object of scikit-learn (or of this library), its bounds are those of the search, and None is a fixed
    ``1.0 * RBF(1.0)``. The mean of the sigmoid is exact to rounding. `warm_start` and `n_jobs` have no effect.
    `function_` and `certificate_` are also available.
    """

    _parameter_constraints = Theirs._parameter_constraints | {
        "kernel": [*Theirs._parameter_constraints["kernel"], Kernel]
    }
    tol = 1e-10
    verbose = 0
    bounds = memory = threads = None

    def __init__(
        self,
        kernel: Any = None,
        *,
        optimizer: Any = "fmin_l_bfgs_b",
        n_restarts_optimizer: int = 0,
        max_iter_predict: int = 100,
        warm_start: bool = False,
        copy_X_train: bool = True,
        random_state: Any = None,
        multi_class: str = "one_vs_rest",
        n_jobs: int | None = None,
    ):
        self.kernel = kernel
        self.optimizer = optimizer
        self.n_restarts_optimizer = n_restarts_optimizer
        self.max_iter_predict = max_iter_predict
        self.warm_start = warm_start
        self.copy_X_train = copy_X_train
        self.random_state = random_state
        self.multi_class = multi_class
        self.n_jobs = n_jobs

    @property
    def n_restarts(self) -> int:  # type: ignore[override]
        """Random starts of the search."""
        return self.n_restarts_optimizer

    @property
    def max_iter(self) -> int:  # type: ignore[override]
        """Largest number of Newton steps to the mode."""
        return self.max_iter_predict

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags

    def _check_options(self) -> None:
        self._validate_params()

    @atomic
    def fit(self, X: Any, y: Any) -> Any:
        """Fit to inputs X and labels y."""
        self._validate_params()
        if isinstance(self.kernel, CompoundKernel):
            raise ValueError("kernel cannot be a CompoundKernel")
        kernel, rng = asked_kernel(self.kernel, "fixed"), check_random_state(self.random_state)
        X, y = checked_inputs(self, kernel, X, y=y, multi_output=False)
        self._check_classes(y)
        self.classes_, self._label = check_labels(self, X, y)
        self.n_classes_ = len(self.classes_)
        self.X_fit_, begin = copied(X) if self.copy_X_train else X, perf_counter()
        plan = self._plan(len(y), self.n_classes_, X)
        self._refuse(plan.bytes, f"A Gaussian process classifier on {len(y)} inputs", "fewer inputs, or more memory")
        with _parallel.blas_threads_for(len(y)):
            found = [self._best(kernel, rows, signs, rng) for rows, signs in self._tasks()]
            self._kernels, self._parts = [each for each, _ in found], [part for _, part in found]
            self.certificate_ = self._certificate(plan, perf_counter() - begin, 0)
        functions = [Function(p.problem.gram.kernel, self._rows(i), p.coef) for i, p in enumerate(self._parts)]
        self.function_ = functions[0] if len(functions) == 1 else functions
        self.log_marginal_likelihood_value_ = float(np.mean([part.log_likelihood for part in self._parts]))
        self.n_iter_ = max(max(part.found.steps for part in self._parts), 1)
        return self

    def _check_classes(self, y: np.ndarray) -> None:
        if len(np.unique(y)) == 1:
            raise ValueError(
                "GaussianProcessClassifier requires 2 or more distinct classes; got 1 class (only class "
                f"{np.unique(y)[0]} is present)"
            )

    def _tasks(self) -> list[tuple[Any, np.ndarray]]:
        """Rows and signs: the second of two classes against the first, each class against the rest, or each pair."""
        every = slice(None)
        if self.n_classes_ == 2 or self.multi_class == "one_vs_rest":
            return [(every, signs) for signs in self._signs()]
        pairs = [np.flatnonzero(np.isin(self._label, pair)) for pair in combinations(range(self.n_classes_), 2)]
        second = [b for _, b in combinations(range(self.n_classes_), 2)]
        return [(rows, np.where(self._label[rows] == b, 1.0, -1.0)) for rows, b in zip(pairs, second, strict=True)]

    def _rows(self, task: int) -> Any:
        rows = self._tasks()[task][0]
        return self.X_fit_ if isinstance(rows, slice) else checks.take(self.X_fit_, rows)

    def _best(self, kernel: Any, rows: Any, signs: np.ndarray, rng: np.random.RandomState) -> tuple[Any, Laplace]:
        """scikit-learn's kernel with the best theta, and the approximation."""
        X = self.X_fit_ if isinstance(rows, slice) else checks.take(self.X_fit_, rows)

        def value(theta: np.ndarray, eval_gradient: bool) -> Any:
            return self._likelihood(kernel.clone_with_theta(theta), X, signs, eval_gradient)

        if self.optimizer is not None and kernel.n_dims > 0:
            theta = best_theta(value, kernel, self.optimizer, self.n_restarts_optimizer, rng)[0]
            kernel = kernel.clone_with_theta(theta)
            kernel._check_bounds_params()
        return kernel, self._laplace(self._ours(kernel, X).kernel, X, signs)

    def _ours(self, kernel: Any, X: Any) -> Any:
        shape: tuple = getattr(X, "shape", ())
        return from_sklearn(kernel, shape[1] if len(shape) == 2 else None)

    def _likelihood(self, kernel: Any, X: Any, signs: np.ndarray, eval_gradient: bool) -> Any:
        ours = self._ours(kernel, X)
        found = self._laplace(ours.kernel, X, signs)
        return (found.log_likelihood, ours.gradient(found.gradients())) if eval_gradient else found.log_likelihood

    @property
    def kernel_(self) -> Any:
        """scikit-learn's kernel with the hyper-parameters found; one per class, or pair, where there are several."""
        check_is_fitted(self, "function_")
        return self._kernels[0] if self.n_classes_ == 2 else CompoundKernel(self._kernels)

    @property
    def hyperparameters_(self) -> dict[str, float]:
        """Those of `kernel_`, by scikit-learn's names."""
        return values_of(self.kernel_)

    def log_marginal_likelihood(self, theta: Any = None, eval_gradient: bool = False, clone_kernel: bool = True) -> Any:
        """The likelihood of the approximation at theta, averaged over several classes; of the fit if theta is None.

        With ``clone_kernel=False`` `kernel_` is set to this theta.
        """
        check_is_fitted(self)
        if theta is None and eval_gradient:
            raise ValueError("Gradient can only be evaluated for theta!=None")
        if theta is None:
            return self.log_marginal_likelihood_value_
        theta, parts, size = np.asarray(theta, np.float64), len(self._kernels), self._kernels[0].n_dims
        if parts > 1 and eval_gradient:
            raise NotImplementedError("Gradient of log-marginal-likelihood not implemented for multi-class GPC.")
        if theta.shape[0] not in (size, size * self.n_classes_):
            raise ValueError(
                f"Shape of theta must be either {size} or {size * self.n_classes_}. "
                f"Obtained theta with shape {theta.shape[0]}."
            )
        each = np.tile(theta, parts) if theta.shape[0] == size else theta
        if not clone_kernel:
            for kernel, one in zip(self._kernels, np.split(each, parts), strict=True):
                kernel.theta = one
        found = [
            self._likelihood(kernel.clone_with_theta(one), self._rows(i), signs, eval_gradient)
            for i, (kernel, one, (_, signs)) in enumerate(
                zip(self._kernels, np.split(each, parts), self._tasks(), strict=True)
            )
        ]
        return found[0] if parts == 1 else float(np.mean(found))

    # ---- use ----

    def _new(self, X: Any) -> Any:
        check_is_fitted(self)
        return doubled(checked_inputs(self, self._kernels[0], X, reset=False))

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class; for pairs of classes, the one with the most votes."""
        check_is_fitted(self)
        if self.n_classes_ == 2 or self.multi_class == "one_vs_rest":
            return super().predict(X)
        X = self._new(X)
        votes = np.zeros((len(X), self.n_classes_))
        for part, (a, b) in zip(self._parts, combinations(range(self.n_classes_), 2), strict=True):
            mean = part.moments(X)[0]
            votes[:, b] += mean > 0
            votes[:, a] += mean <= 0
        return self.classes_[votes.argmax(axis=1)]

    def predict_proba(self, X: Any) -> np.ndarray:
        """The probability of each class; not for pairs of classes."""
        check_is_fitted(self)
        if self.n_classes_ > 2 and self.multi_class == "one_vs_one":
            raise ValueError(
                "one_vs_one multi-class mode does not support predicting probability estimates. Use one_vs_rest mode "
                "instead."
            )
        return super().predict_proba(X)

    def latent_mean_and_variance(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance of f at each x in X, for two classes."""
        check_is_fitted(self)
        if self.n_classes_ > 2:
            raise ValueError(
                "Returning the mean and variance of the latent function f is only supported for binary classification, "
                f"received {self.n_classes_} classes."
            )
        return super().latent_mean_and_variance(X)
