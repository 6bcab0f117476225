"""Gaussian process classification."""

from __future__ import annotations

from functools import cached_property
from time import perf_counter
from typing import Any

import numpy as np
from scipy.special import expit, ndtr, roots_hermite
from sklearn.base import ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from representer import _parallel
from representer.estimators import hyperparameter_search
from representer.estimators.base import KernelEstimator, atomic
from representer.estimators.hyperparameter_search import Guide
from representer.estimators.hyperparameters import LogParameters
from representer.estimators.inputs import check_labels, to_kernel
from representer.estimators.marginal_likelihood import ClassificationLikelihood
from representer.estimators.progress import Progress
from representer.estimators.spectrum import Periods
from representer.functions import Function
from representer.kernels import checks
from representer.kernels.algebra import Scaled
from representer.kernels.base import Kernel, require_definite
from representer.kernels.stationary import RBF
from representer.processes.gaussian import copied, doubled
from representer.processes.laplace import Laplace
from representer.result import Certificate, Plan, Work, certificate_of
from representer.rows.validation import check_inputs

MODE_SECONDS = 4e-11
"""Seconds / n^3 to find a posterior mode and the likelihood's gradient: some factorisations and an inverse."""
SEARCHED = "search for hyper-parameters of a class"
CLASSIFIER_WAY_OUT = "fewer inputs, KernelLogisticRegression, or a larger memory="


class GaussianProcessClassifier(ClassificationLikelihood, ClassifierMixin, KernelEstimator):
    r"""P(y = second class | x) = E[1 / (1 + exp(-f(x)))] with f ~ GP(0, k), given the labels.

    The posterior of f is approximated by a Gaussian around its mode (Laplace), and hyper-parameters of the kernel
    maximise the marginal likelihood of that approximation, by L-BFGS with exact gradients. Several classes are handled
    one against the rest, each with a kernel of its own, and probabilities are scaled to sum to one. All as in
    scikit-learn, with kernels on inputs of any type.

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
        From names of hyper-parameters (as in ``kernel.get_params()``) to (low, high). Others may change by a factor of
        1,000 either way.
    tol : float
        Relative duality gap at which the search for the mode has converged.
    max_iter : int
        Largest number of Newton steps to the mode, and of iterations of each search.
    verbose : int
        1 shows each iteration of searches, -1 nothing; 0 shows fits that take more than three seconds, on a terminal.
    memory : int, optional
        Bytes that a fit may use; more is refused before work starts. The machine's memory when not given.
    threads : int, optional
    random_state : int, RandomState or None
        Seed of restarts.

    Attributes
    ----------
    classes_ : array
    kernel_ : Kernel or list of Kernel
        With the hyper-parameters found; one per class where there are several.
    function_ : Function or list of Function
        The mean of f.
    log_marginal_likelihood_value_ : float
        Of the approximation; the mean over classes where there are several.
    certificate_ : Certificate
        Of the mode: its duality gap, relative to the objective; one per class where there are several.

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
        verbose: int = 0,
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
        self.verbose = verbose
        self.memory = memory
        self.threads = threads
        self.random_state = random_state

    @atomic
    def fit(self, X: Any, y: Any) -> GaussianProcessClassifier:
        """Fit to inputs X and labels y. Keeps a copy of X."""
        self._check_options()
        kernel = Scaled(RBF(), 1.0) if self.kernel is None else to_kernel(self.kernel)
        require_definite(kernel, "a Gaussian process")
        X = copied(check_inputs(self, X, kernel, reset=True))
        self.classes_, self._label = check_labels(self, X, y)
        label = self._label
        begin, plan = perf_counter(), self._plan(len(label), len(self.classes_), X)
        self._refuse(plan.bytes, f"A Gaussian process classifier on {len(label)} inputs", CLASSIFIER_WAY_OUT)
        self.X_fit_, inputs = X, doubled(X)
        rng = check_random_state(self.random_state)
        started = kernel.with_default_scales(X)
        with _parallel.blas_threads_for(len(label)):
            found = [self._one(started, inputs, signs, rng) for signs in self._signs()]
            self._parts = [part for part, _ in found]
            self.certificate_ = self._certificate(plan, perf_counter() - begin, sum(values for _, values in found))
        self._warn_unless_converged(self.certificate_, "use a larger max_iter or tol")
        kernels = [part.problem.gram.kernel for part in self._parts]
        functions = [
            Function(part.problem.gram.kernel, inputs, part.coef, threads=self.threads) for part in self._parts
        ]
        single = len(self._parts) == 1
        self.kernel_: Any = kernels[0] if single else kernels
        self.function_: Any = functions[0] if single else functions
        self.log_marginal_likelihood_value_ = float(np.mean([part.log_likelihood for part in self._parts]))
        self.n_iter_ = max(max(part.found.steps for part in self._parts), 1)
        return self

    def _signs(self) -> list[np.ndarray]:
        """+1 for one class and -1 for the others: for the second of two classes, or for each of several."""
        chosen = [1] if len(self.classes_) == 2 else range(len(self.classes_))
        return [np.where(self._label == c, 1.0, -1.0) for c in chosen]

    @cached_property
    def _parts(self) -> list[Laplace]:
        """One approximation per sign vector; set by `fit`, and recomputed by a model loaded from a file."""
        kernels, X = self.kernel_ if isinstance(self.kernel_, list) else [self.kernel_], doubled(self.X_fit_)
        with _parallel.blas_threads_for(len(self._label)):
            return [self._laplace(kernel, X, signs) for kernel, signs in zip(kernels, self._signs(), strict=True)]

    def _check_options(self) -> None:
        if self.optimizer not in ("lbfgs", None):
            raise ValueError(f"optimizer is {self.optimizer!r}; use 'lbfgs' or None.")
        checks.integer(self.n_restarts, "n_restarts", least=0, most=10_000)
        self._budget()

    def plan(self, X: Any, y: Any = None) -> Plan:
        """What `fit` would do for these inputs, why, and the memory and kernel values that it takes.

        A fit that would be refused has a plan that says so.
        """
        self._check_options()
        n_classes = 2 if y is None else len(np.unique(y))
        return self._judged(self._plan(checks.number_of(X), n_classes, X), CLASSIFIER_WAY_OUT)

    def _plan(self, n: int, n_classes: int, X: Any = None) -> Plan:
        parts = 1 if n_classes == 2 else n_classes
        # a kernel matrix and a factor of each part are kept
        matrices = (3 if self.optimizer is None else 7) + 2 * (parts - 1)
        values = 1 if self.optimizer is None else 30 * (1 + self.n_restarts)  # of the likelihood, about
        seconds = parts * values * (MODE_SECONDS * n**3 + 1e-7 * n * n)
        why = "it finds the mode of the posterior"
        inputs = 2 * 8 * int(getattr(X, "size", 0))  # a copy, and prepared
        return Plan("newton", why, 8 * matrices * n * n + inputs, parts * values * n * n, seconds)

    def _certificate(self, plan: Plan, seconds: float, evaluations: int) -> Certificate:
        steps = sum(part.found.steps for part in self._parts)
        work = Work(plan.solver, plan.reason, steps, plan.bytes, seconds, "float64")
        return certificate_of([part.judge() for part in self._parts], work, self.tol, evaluations)

    def _one(self, kernel: Kernel, X: Any, y: np.ndarray, rng: np.random.RandomState) -> tuple[Laplace, int]:
        """One class against the rest, with the best hyper-parameters, and the number of kernel values computed."""
        parameters, values = LogParameters(kernel, kernel.prepare(X)), 0
        bounds = hyperparameter_search.log_bounds(parameters.names, parameters.start, 1.0, self.bounds)
        bounds = hyperparameter_search.accepted(bounds, parameters.start, parameters.kernel_at, X)
        if self.optimizer is not None and len(parameters.start):

            def objective(theta: np.ndarray) -> tuple[float, np.ndarray]:
                nonlocal values
                fitted = self._laplace(parameters.kernel_at(theta), X, y)
                gradient = parameters.gradient(theta, fitted.gradients())
                values += fitted.problem.gram.evaluations
                return fitted.log_likelihood, gradient

            start = hyperparameter_search.inside(parameters.start, bounds)
            periods = Periods(kernel, X, y[:, None], parameters.names)
            with Progress(self.verbose, self.tol) as progress:
                progress.expect(SEARCHED, self._plan(len(y), 2).seconds)
                guide = Guide(
                    n_restarts=self.n_restarts,
                    random_state=rng,
                    max_iter=self.max_iter,
                    step=lambda value: progress.iterate(SEARCHED, value),
                    units=periods.units(start),
                    others=periods.others(start, bounds),
                )
                search = hyperparameter_search.maximum(objective, parameters.names, start, bounds, guide)
            search.warn(self.bounds)
            kernel = parameters.kernel_at(search.theta)
        fitted = self._laplace(kernel, X, y)
        return fitted, values + fitted.problem.gram.evaluations

    def _laplace(self, kernel: Kernel, X: Any, y: np.ndarray) -> Laplace:
        return Laplace(kernel, X, y, tol=self.tol, max_iter=self.max_iter, threads=self.threads)

    def _new(self, X: Any) -> Any:
        """Checked inputs of a prediction."""
        check_is_fitted(self)
        return doubled(check_inputs(self, X, self._parts[0].problem.gram.kernel, reset=False))

    def predict_proba(self, X: Any) -> np.ndarray:
        """The probability of each class, in the order of ``classes_``."""
        X = self._new(X)
        columns = np.stack([_probability(*part.moments(X)) for part in self._parts], axis=1)
        if columns.shape[1] == 1:
            return np.concatenate([1.0 - columns, columns], axis=1)
        return columns / columns.sum(axis=1, keepdims=True)

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class: for two classes the sign of the mean of f."""
        X = self._new(X)
        if len(self._parts) == 1:
            return self.classes_[(self._parts[0].moments(X)[0] > 0).astype(int)]
        return self.classes_[np.stack([_probability(*part.moments(X)) for part in self._parts], axis=1).argmax(axis=1)]

    def latent_mean_and_variance(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance of f at each x in X: shape (n,), or (n, n_classes) for several classes."""
        X = self._new(X)
        mean, variance = (
            np.stack(columns, axis=1) for columns in zip(*(p.moments(X) for p in self._parts), strict=True)
        )
        return (mean[:, 0], variance[:, 0]) if len(self._parts) == 1 else (mean, variance)


def _probability(mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """E[1 / (1 + exp(-f))] for f ~ N(mean, variance), to rounding.

    Gauss-Hermite quadrature for narrow distributions; for wide ones the integral is taken by parts, as that of the
    logistic density times the normal distribution function, by the trapezoidal rule, which is exact to rounding for
    such functions.
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
