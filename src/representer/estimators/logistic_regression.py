"""Kernel logistic regression."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit, log_softmax, softmax
from sklearn.base import ClassifierMixin
from sklearn.utils.class_weight import compute_class_weight

from representer.estimators.base import atomic
from representer.estimators.inputs import check_weights
from representer.estimators.loss_machine import Machine
from representer.estimators.row_targets import labels
from representer.kernels import checks
from representer.losses.logistic import Logistic
from representer.losses.multinomial import Multinomial
from representer.regularizers import SquaredNorm
from representer.result import Plan
from representer.rows.base import Rows


class KernelLogisticRegression(ClassifierMixin, Machine):
    r"""minimise over f in H and b:  sum_i w_i log(1 + exp(-y_i (f(x_i) + b))) + ||f||^2 / (2 C).

    The probability of the second class is 1 / (1 + exp(-f(x) - b)). For several classes there is one function f_c per
    class, probabilities are proportional to exp(f_c(x) + b_c), and the loss is minus the log probability of the class.
    With a linear kernel this is scikit-learn's LogisticRegression with the same C.

    Parameters
    ----------
    kernel : Kernel or str
        A kernel object on inputs of any type, or a name such as "rbf", "linear" or "precomputed". A length scale that
        is not given is the typical distance of an input from the mean.
    C : float
        Inverse of the strength of the regulariser.
    class_weight : dict, "balanced" or None
        Factors on the sample weights by class; "balanced" makes them inversely proportional to class frequencies.
    fit_intercept : bool
        Whether there is a free constant b.
    tune : {None, "loo"}
        "loo" tunes C and all positive hyper-parameters of the kernel to minimise the leave-one-out loss, by gradients.
        For several classes that loss is one-against-rest.
    bounds : dict, optional
        Pairs (low, high) for hyper-parameters by name, such as ``{"length_scale": (0.1, 10.0), "C": (0.1, 10.0)}``.
    fixed : list of names
        Hyper-parameters that are not tuned.
    priors : dict, optional
        Distributions with a ``logpdf``, as in scipy.stats, by name.
    tol : float
        Duality gap, relative to the objective, at which the solver has converged.
    max_iter : int
        Largest number of Newton steps. With ``tune`` it bounds the search, and these only where above the default.
    memory : int, optional
        Bytes that a fit may use; more is refused before work starts. The machine's memory when not given.
    threads : int, optional
    verbose : int
        1 shows each step, -1 nothing; 0 shows fits that take more than three seconds, on a terminal.

    Attributes
    ----------
    classes_ : array
    function_ : Function
        The fitted f + b: one output for two classes, otherwise one for each class.
    dual_coef_ : array of shape (n,) or (n, n_classes)
    intercept_ : float or array of shape (n_classes,)
    kernel_ : Kernel
    C_ : float
        The C used.
    loo_error_ : float
        With ``tune``: the mean leave-one-out loss.
    certificate_ : Certificate

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from representer import KernelLogisticRegression
    >>> X, y = load_iris(return_X_y=True)
    >>> model = KernelLogisticRegression().fit(X, y)
    >>> model.predict_proba(X[:1]).round(2)
    array([[0.95, 0.04, 0.02]])
    """

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        C: float = 1.0,
        class_weight: Any = None,
        fit_intercept: bool = True,
        tune: str | None = None,
        bounds: dict | None = None,
        fixed: Any = (),
        priors: dict | None = None,
        tol: float = 1e-6,
        max_iter: int = 100,
        memory: int | None = None,
        threads: int | None = None,
        verbose: int = 0,
    ):
        self.kernel = kernel
        self.C = C
        self.class_weight = class_weight
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

    _strength_name = "C"

    @atomic
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> KernelLogisticRegression:
        """Fit to inputs X and labels y, or to rows that contain their labels."""
        checks.positive(self.C, "C")
        if isinstance(X, Rows):
            labelled = labels(self, X, y, sample_weight, self.class_weight)
            binary = len(labelled.classes) == 2
            return self._fit_labels(labelled.signs() if binary else labelled.places(), None, binary, None)
        X, weights = self._inputs(X, y, sample_weight)
        label = self._labels(X, y, weights)
        if self.class_weight is not None:
            factors = compute_class_weight(
                self.class_weight, classes=self.classes_, y=np.asarray(y).ravel(), sample_weight=weights
            )
            weights = check_weights(factors[label] * (1.0 if weights is None else weights), X)
            label = self._labels(X, y, weights)
        binary = len(self.classes_) == 2
        return self._fit_labels(X, 2.0 * label - 1.0 if binary else label, binary, weights)

    def _fit_labels(self, X: Any, targets: Any, binary: bool, weights: np.ndarray | None) -> KernelLogisticRegression:
        self._fit(X, targets, Logistic() if binary else Multinomial(), SquaredNorm(1.0 / self.C), weights)
        self.C_ = 1.0 / self.strength_
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """f(x) + b for each x in X: the log odds of the second class, or one column per class."""
        return self._values(X)

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class."""
        values = self._values(X)
        return self.classes_[values.argmax(axis=1) if values.ndim == 2 else (values > 0).astype(int)]

    def predict_proba(self, X: Any) -> np.ndarray:
        """The probability of each class, in the order of ``classes_``."""
        values = self._values(X)
        return softmax(values, axis=1) if values.ndim == 2 else np.stack([expit(-values), expit(values)], axis=1)

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """The logarithm of the probability of each class."""
        values = self._values(X)
        return log_softmax(values if values.ndim == 2 else np.stack([0.0 * values, values], axis=1), axis=1)

    def plan(self, X: Any, y: Any = None) -> Plan:
        """The solver that `fit` would use for these inputs, why, and the memory and kernel values that it takes."""
        checks.positive(self.C, "C")
        classes = 2 if y is None else len(np.unique(y))
        targets = np.arange(checks.number_of(X), dtype=float) % classes
        loss = Logistic() if classes == 2 else Multinomial()
        return self._plan_for(X, targets, loss, SquaredNorm(1.0 / self.C))
