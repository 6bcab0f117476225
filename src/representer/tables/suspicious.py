"""Suspicious labels: training rows whose targets are far from what the other rows predict for them."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from representer.estimators.inputs import evenly_spaced
from representer.gram.tiled import Gram
from representer.kernels import checks
from representer.problems.ridge import RidgeProblem
from representer.solvers.leave_one_out import leave_one_out
from representer.tables.outcome import HeldOut, Suspicion

MOST_LEFT_OUT = 3000
"""Largest number of rows, evenly spaced, among which suspicious ones are sought."""
FAR = 4.0
"""Robust standard deviations above which a number is suspicious."""
SURE = 0.8
"""Excess probability of another class above which a label of a row set aside is suspicious."""


def suspicious_labels(model: Any, y: Any, n: int = 10) -> tuple[Suspicion, ...]:
    """The n most suspicious training rows by exact leave-one-out: y_i - a_i / M_ii is what the others predict.

    Parameters
    ----------
    model : fitted KernelRegressor, KernelClassifier, KernelRidge or KernelRidgeClassifier
    y : array
        The targets of the fit.
    n : int

    Examples
    --------
    >>> import numpy as np
    >>> from representer import KernelRidge, suspicious_labels
    >>> X = np.linspace(0, 6, 40)[:, None]
    >>> y = np.sin(X[:, 0])
    >>> y[7] += 1.0
    >>> [found.row for found in suspicious_labels(KernelRidge(alpha=0.1).fit(X, y), y)]
    [7]
    """
    check_is_fitted(model)
    alpha, f = getattr(model, "alpha_", None), model.function_
    if alpha is None or np.ndim(alpha):
        raise TypeError(
            f"{type(model).__name__} has no leave-one-out predictions of rows; use KernelRegressor, KernelClassifier "
            "or KernelRidge with one alpha."
        )
    y, rows = np.asarray(y), evenly_spaced(checks.number_of(f.X), MOST_LEFT_OUT)
    if len(y) != checks.number_of(f.X):
        raise ValueError(
            f"y has {len(y)} targets, but the model was fitted to {checks.number_of(f.X)} rows; give those."
        )
    classes = getattr(model, "classes_", None)
    targets = y.astype(np.float64) if classes is None else np.where(y[:, None] == classes, 1.0, -1.0)
    gram = Gram(f.kernel, checks.take(f.X, rows))
    intercept = getattr(model, "fit_intercept", True)
    problem = RidgeProblem(gram, targets.reshape(len(y), -1)[rows], np.array([float(alpha)]), None, intercept)
    found = leave_one_out(problem)
    if classes is not None:
        return _classes(rows, y, classes, found.predictions, n)
    errors = (y[rows] - found.predictions[:, 0]) / np.sqrt(found.variances)
    strength = np.abs(errors) / max(1.4826 * float(np.median(np.abs(errors))), 1e-300)
    order = [i for i in np.argsort(-strength, kind="stable")[:n] if strength[i] > FAR]
    return tuple(
        Suspicion(int(rows[i]), float(y[rows[i]]), float(found.predictions[i, 0]), float(strength[i])) for i in order
    )


def _classes(rows: np.ndarray, y: np.ndarray, classes: np.ndarray, values: np.ndarray, n: int) -> tuple:
    """Rows for which the others prefer another class, the strongest preference first."""
    own = np.argmax(y[rows][:, None] == classes, axis=1)
    excess = values.max(axis=1) - values[np.arange(len(rows)), own]
    order = [i for i in np.argsort(-excess, kind="stable")[:n] if excess[i] > 0.0]
    return tuple(
        Suspicion(int(rows[i]), y[rows[i]].item(), classes[values[i].argmax()].item(), float(excess[i])) for i in order
    )


def far_off(held: HeldOut, classes: tuple[str, ...], n: int = 10) -> tuple[Suspicion, ...]:
    """The n most suspicious held-out rows, by the model's predictions for them."""
    if not len(held.rows):
        return ()
    if held.probabilities is not None:
        own = np.searchsorted(np.array(classes), held.truth)
        strength = held.probabilities.max(axis=1) - held.probabilities[np.arange(len(own)), own]
        least = SURE
    else:
        errors = np.asarray(held.truth, np.float64) - held.prediction
        errors = errors if held.std is None else errors / np.maximum(held.std, 1e-300)
        strength, least = np.abs(errors) / max(1.4826 * float(np.median(np.abs(errors))), 1e-300), FAR
    order = [i for i in np.argsort(-strength, kind="stable")[:n] if strength[i] > least]
    return tuple(
        Suspicion(int(held.rows[i]), held.truth[i].item(), held.prediction[i].item(), float(strength[i])) for i in order
    )
