"""The simple models that a fit is compared with: a constant, and a linear model of the same columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression, PoissonRegressor, QuantileRegressor, Ridge, RidgeCV

from representer.tables.numeric_design import NumericDesign
from representer.tables.table_model import Predictions, by_class, target_level
from representer.tables.targets import Target

CONSTANTS = {
    "regression": "the mean",
    "counts": "the mean",
    "quantiles": "the quantiles of all rows",
    "classification": "the most frequent class",
}
LINEAR_MODEL = "a linear model"
LINEAR_ROWS = {"classification": 50_000, "counts": 50_000, "quantiles": 2000}
"""Largest number of rows, evenly spaced, for linear models without a closed form."""
Baseline = Callable[[Any], Predictions]


def constant(target: Target, y: np.ndarray) -> Baseline:
    """The mean, the class frequencies or the quantiles of the training rows."""
    if target.is_classes:
        shares = np.array([np.mean(y == name) for name in target.classes])

        def classes(frame: Any) -> Predictions:
            n = frame.height
            return _of_classes(target, np.tile(np.maximum(shares, 0.5 / len(y)), (n, 1)))

        return classes
    if target.task == "quantiles":
        levels = np.quantile(y, target.quantiles)
        return lambda frame: _of_quantiles(target, np.tile(levels, (frame.height, 1)))
    mean = float(np.mean(y))
    return lambda frame: Predictions(np.full(frame.height, mean), np.zeros(frame.height, bool))


def linear(target: Target, frame: Any, y: np.ndarray) -> Baseline:
    """Ridge, logistic, Poisson or quantile regression on standardised columns and one-hot encoded levels."""
    design, n = NumericDesign.of(frame), len(y)
    some = np.unique(np.linspace(0, n - 1, min(n, LINEAR_ROWS.get(target.task, n))).astype(int))
    if target.is_classes:
        some = np.unique(np.concatenate([some, np.unique(y, return_index=True)[1]]))
    X, y = design.rows(frame[some.tolist()] if len(some) < n else frame), y[some]
    if target.is_classes:
        model = LogisticRegression(max_iter=300, tol=1e-3).fit(X, y)
        return lambda new: _of_classes(target, by_class(model.predict_proba(design.rows(new)), model.classes_, target))
    if target.task == "counts":
        rates = PoissonRegressor(alpha=1e-3, max_iter=300).fit(X, y)
        return lambda new: _with_mean(np.maximum(rates.predict(design.rows(new)), 1e-9))
    if target.task == "quantiles":
        models = [QuantileRegressor(quantile=q, alpha=1e-3).fit(X, y) for q in target.quantiles]
        return lambda new: _of_quantiles(target, np.column_stack([m.predict(design.rows(new)) for m in models]))
    fitted = target.fitted_scale(y)
    ridge = (Ridge(1.0) if len(y) > 20_000 else RidgeCV(np.logspace(-3, 4, 15))).fit(X, fitted)
    smear = float(np.mean(np.exp(fitted - ridge.predict(X)))) if target.logarithm else 1.0

    def numbers(new: Any) -> Predictions:
        found = ridge.predict(design.rows(new)).astype(np.float64)
        return _with_mean(smear * np.exp(found) if target.logarithm else found)

    return numbers


def _with_mean(values: np.ndarray) -> Predictions:
    return Predictions(values, np.zeros(len(values), bool))


def _of_classes(target: Target, shares: np.ndarray) -> Predictions:
    labels = np.array(target.classes)[shares.argmax(axis=1)]
    return Predictions(labels, np.zeros(len(shares), bool), probabilities=shares)


def _of_quantiles(target: Target, values: np.ndarray) -> Predictions:
    middle = values[:, target_level(target.quantiles)]
    return Predictions(middle, np.zeros(len(values), bool), quantiles=values)
