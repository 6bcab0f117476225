"""Classification by kernel ridge regression."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin

from representer.estimators.base import observed, own
from representer.estimators.inputs import check_labels
from representer.estimators.kernel_ridge import Ridge
from representer.estimators.row_targets import labels
from representer.problems.ridge import RidgeProblem
from representer.rows.base import Rows
from representer.rows.validation import check_inputs


class KernelRidgeClassifier(ClassifierMixin, Ridge):
    r"""Classification by kernel ridge regression on +1 and -1, one function per class (a single one for two classes).

    Parameters and attributes are those of `KernelRidge`; ``loo_scores_`` is the leave-one-out accuracy for each alpha,
    and ``classes_`` the classes.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from representer import KernelRidgeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> bool(KernelRidgeClassifier(alpha=[0.01, 0.1, 1.0]).fit(X, y).score(X, y) > 0.95)
    True
    """

    _given_targets = False
    takes_rows = True

    @observed
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> KernelRidgeClassifier:
        """Fit to inputs X and labels y, or to rows that contain their labels."""
        if isinstance(X, Rows):
            labelled = labels(self, X, y, sample_weight)
            self._single_output = len(labelled.classes) == 2
            return self._fit(labelled.signs(), None, None)
        X = own(check_inputs(self, X, self._given_kernel(), reset=True))
        self.classes_, label = check_labels(self, X, y)
        # two classes are one target, which is positive for the second class
        columns = np.arange(len(self.classes_)) if len(self.classes_) > 2 else np.ones(1, int)
        targets = np.where(label[:, None] == columns, 1.0, -1.0)
        self._single_output = targets.shape[1] == 1
        return self._fit(X, targets, sample_weight)

    def _targets_of(self, rows: Rows) -> int:
        y = rows.sample(min(len(rows), 1024), 0)[1]  # labels, unless a fit has already turned them into columns
        return self._count_targets(y) if np.ndim(y) == 1 else y.shape[1]

    def _count_targets(self, y: Any) -> int:
        classes = 2 if y is None else len(np.unique(y))
        return 1 if classes <= 2 else classes

    def _scores(self, predictions: np.ndarray, problem: RidgeProblem) -> np.ndarray:
        """Leave-one-out accuracy, the same for all targets."""
        truth = _label(problem.targets)
        accuracy = [np.average(_label(p) == truth, weights=problem.weights) for p in predictions]
        return np.repeat(np.array(accuracy)[:, None], problem.targets.shape[1], axis=1)

    def decision_function(self, X: Any) -> np.ndarray:
        """f(x) for each x in X; one column per class where there are several."""
        return self._values(X)

    def predict(self, X: Any) -> np.ndarray:
        """The class with the largest value."""
        values = self._values(X)
        return self.classes_[_label(values if values.ndim == 2 else values[:, None])]


def _label(values: np.ndarray) -> np.ndarray:
    """Index of the class: the sign for two classes, else the column with the largest value."""
    return (values[:, 0] > 0).astype(int) if values.shape[1] == 1 else values.argmax(axis=1)
