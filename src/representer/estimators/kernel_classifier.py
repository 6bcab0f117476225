"""The classifier to start with: kernel, length scales and alpha are found by leave-one-out."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from representer.estimators.base import atomic
from representer.estimators.criteria import RidgeErrors
from representer.estimators.inputs import check_labels, check_weights
from representer.estimators.repeated_rows import DistinctRows
from representer.estimators.searched_model import SearchedModel
from representer.kernels import checks
from representer.losses.squared_hinge import SquaredHinge

STEADY = 1e-3
"""Strength of the penalty that pulls the calibration towards the identity, for classes that are separated."""


class KernelClassifier(ClassifierMixin, SearchedModel):
    r"""Kernel ridge regression on +1 and -1, one function for each class, with kernel and alpha by leave-one-out.

    Kernels are chosen and compared as in `KernelRegressor`, by the mean squared hinge loss of leave-one-out values.
    Probabilities are a softmax of scaled and shifted values, whose scale and shifts maximise the likelihood on the
    leave-one-out values.

    Parameters
    ----------
    kernel : Kernel or str, optional
        Searched instead of the kernels above, with all its hyper-parameters, on any inputs that it takes.
    time_limit : float
        Seconds after which no further step of the search begins.
    random_state : int
        Seed of the subsets.
    tol : float
        Relative residual of the fit to all rows; its default is far below the noise of tables.
    memory : int, optional
        Bytes that a fit may take.
    threads : int, optional
    verbose : int
        1 for a line of progress.

    Attributes
    ----------
    classes_ : array
    kernel_ : Kernel
        In the units of the columns.
    alpha_ : float
    function_ : Function
        The fitted functions, intercepts included; a single one for two classes.
    loo_score_ : float
        Accuracy of the leave-one-out predictions.
    trials_ : list of Trial
        What was tried.
    certificate_ : Certificate

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from representer import KernelClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = KernelClassifier().fit(X, y)
    >>> bool(model.loo_score_ > 0.9), model.predict_proba(X[:1]).shape
    (True, (1, 3))
    """

    def __init__(
        self,
        *,
        kernel: Any = None,
        time_limit: float = 300.0,
        random_state: int = 0,
        tol: float = 1e-3,
        memory: int | None = None,
        threads: int | None = None,
        verbose: int = 0,
    ):
        self.kernel = kernel
        self.time_limit = time_limit
        self.random_state = random_state
        self.tol = tol
        self.memory = memory
        self.threads = threads
        self.verbose = verbose

    @atomic
    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, declared: dict[str, str] | None = None
    ) -> KernelClassifier:
        """Fit to rows X and labels y; ``declared`` maps names of columns of strings to "text" or "sequence"."""
        X = self._rows(X, declared)
        self.classes_, codes = check_labels(self, X, y)
        weights = check_weights(sample_weight, X)
        distinct = DistinctRows.of(X, codes[:, None], weights)
        codes, weights = codes[distinct.first], distinct.weights
        columns = np.arange(len(self.classes_)) if len(self.classes_) > 2 else np.ones(1, int)
        targets = np.where(codes[:, None] == columns, 1.0, -1.0)
        rows = checks.take(X, distinct.first)
        fit, result = self._found(RidgeErrors(rows, targets, weights, True, SquaredHinge()))
        self.function_ = self._function(X, distinct.spread(result.coef), result.intercept, targets.shape[1] == 1)
        rows, left_out = fit.rows, fit.left_out(result.coef)
        weight = np.ones(len(rows)) if weights is None else weights[rows]
        self._calibration = _calibrated(_by_class(left_out.predictions), codes[rows], weight)
        logits = self._calibration[0] * _by_class(left_out.predictions) + self._calibration[1:]
        self.loo_score_ = float(np.average(logits.argmax(axis=1) == codes[rows], weights=weight))
        self._warn_unless_converged(result.certificate, "use a larger tol")
        return self

    def _count_targets(self, y: Any) -> int:
        classes = len(set(np.asarray(y).ravel().tolist()))
        return classes if classes > 2 else 1

    def decision_function(self, X: Any) -> np.ndarray:
        """Log odds of the second of two classes for each x in X, or a column for each of several, up to a constant."""
        logits = self._logits(X)
        return logits[:, 1] - logits[:, 0] if logits.shape[1] == 2 else logits

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class of each x in X."""
        logits = self._logits(X)
        return self.classes_[logits.argmax(axis=1)]

    def predict_proba(self, X: Any) -> np.ndarray:
        """The probability of each class."""
        return softmax(self._logits(X), axis=1)

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """The logarithm of the probability of each class."""
        return log_softmax(self._logits(X), axis=1)

    def _logits(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        values = self._values(X).astype(np.float64)
        return self._calibration[0] * _by_class(values.reshape(len(values), -1)) + self._calibration[1:]


def _by_class(values: np.ndarray) -> np.ndarray:
    """One column per class; two classes have a value and its negative."""
    return np.hstack([-values, values]) if values.shape[1] == 1 else values


def _calibrated(values: np.ndarray, codes: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The scale of the values, and the shift of each class, that maximise the likelihood of the softmax."""
    n_classes, share = values.shape[1], weights / weights.sum()
    truth = np.eye(n_classes)[codes]

    def objective(theta: np.ndarray) -> tuple[float, np.ndarray]:
        scale = np.exp(theta[0])
        logits = scale * values + theta[1:]
        off = share[:, None] * (softmax(logits, axis=1) - truth)
        loss = -float(share @ log_softmax(logits, axis=1)[np.arange(len(codes)), codes])
        slopes = np.append(scale * float((off * values).sum()), off.sum(axis=0))
        return loss + STEADY * float(theta @ theta), slopes + 2.0 * STEADY * theta

    theta = minimize(objective, np.zeros(1 + n_classes), jac=True, method="L-BFGS-B").x
    return np.append(np.exp(theta[0]), theta[1:])
