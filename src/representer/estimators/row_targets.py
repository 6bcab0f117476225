"""Targets of rows that are read in blocks: numbers, counts and classes, checked in at most one pass."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets

from representer.rows.base import Rows
from representer.rows.recoded import Indicators, Pair, Places, RecodedRows, Signs, Zeros, classes_of
from representer.rows.validation import reset_fitted


def check_rows(model: Any, rows: Rows, y: Any, sample_weight: Any, targets: bool = True) -> int:
    """The number of targets that the rows contain; sets n_features_in_ and feature_names_in_."""
    if (y is not None and targets) or sample_weight is not None:
        raise ValueError("Rows contain their own targets and weights; give them as rows(..., target=, weight=).")
    _, one, _ = rows.beginning()
    if one is None and targets:
        raise ValueError("The rows have no targets; use rows(..., target='name of a column').")
    reset_fitted(model, "feature_names_in_")
    model.n_features_in_ = rows.n_columns
    if rows.names is not None and all(isinstance(name, str) for name in rows.names):
        model.feature_names_in_ = np.asarray(rows.names, object)
    return 1 if np.ndim(one) <= 1 else np.shape(one)[1]


def numbers(model: Any, rows: Rows, y: Any, sample_weight: Any, several: bool = False) -> Rows:
    """Rows with numeric targets, in one column unless several are allowed."""
    n_targets = check_rows(model, rows, y, sample_weight)
    if np.asarray(rows.beginning()[1]).dtype.kind not in "biuf":
        raise ValueError(f"The targets of the rows are text, but {type(model).__name__} needs numbers.")
    if n_targets > 1 and not several:
        raise ValueError(f"{type(model).__name__} has one target, but the rows have {n_targets}; choose one of them.")
    return rows


def counts(model: Any, rows: Rows, y: Any, sample_weight: Any) -> Rows:
    """Rows with nonnegative targets, not all zero where there is an intercept."""
    rows = numbers(model, rows, y, sample_weight)
    (total,) = rows.total(CountsOf())
    if model.fit_intercept and total == 0.0:
        raise ValueError("All counts are zero, so the best intercept is minus infinity; use fit_intercept=False.")
    return rows


def untargeted(model: Any, rows: Rows, y: Any, sample_weight: Any) -> Rows:
    """Rows with zeros as targets, for estimators without targets."""
    check_rows(model, rows, y, sample_weight, targets=False)
    return RecodedRows(rows, Zeros())


def labels(model: Any, rows: Rows, y: Any, sample_weight: Any, class_weight: Any = None) -> Labelled:
    """Rows with class labels; one pass finds the classes. Sets classes_."""
    if check_rows(model, rows, y, sample_weight) > 1:
        raise ValueError("The rows have several targets, but a classifier has one column of labels; choose one.")
    classes, weights, sizes = classes_of(rows)
    check_classification_targets(classes)
    if len(classes) < 2:
        raise ValueError(f"The target has only one class, {classes.tolist()[0]!r}; a classifier needs at least 2.")
    factors = None
    if class_weight is not None:
        factors = compute_class_weight(class_weight, classes=classes, y=classes, sample_weight=weights)
    if not (weights * (1.0 if factors is None else factors)).min() > 0:
        missing = classes.tolist()[int(np.argmin(weights))]
        raise ValueError(f"All rows of class {missing!r} have weight zero; give some a positive weight.")
    model.classes_ = classes
    return Labelled(rows, classes, sizes, weights, factors)


def coded(model: Any, rows: Rows, y: Any, sample_weight: Any, kind: str) -> Rows:
    """Rows with numeric targets, for a loss whose targets are "real", "counts", "signs" or "classes"."""
    if kind in ("real", "counts"):
        return (numbers if kind == "real" else counts)(model, rows, y, sample_weight)
    labelled = labels(model, rows, y, sample_weight)
    if kind == "classes":
        return labelled.places()
    if len(labelled.classes) > 2:
        raise ValueError(
            f"Only binary classification is supported, and the rows have {len(labelled.classes)} classes. Use "
            "KernelLogisticRegression, or the loss Multinomial()."
        )
    return labelled.signs()


@dataclass(frozen=True)
class Labelled:
    """Rows with class labels, with the size and the total weight of each class."""

    rows: Rows
    classes: np.ndarray
    sizes: np.ndarray
    masses: np.ndarray
    """Total weight of the rows of each class."""
    factors: np.ndarray | None

    def places(self) -> Rows:
        """0, 1, ... for the classes in order."""
        return RecodedRows(self.rows, Places(self.classes, self.factors))

    def signs(self) -> Rows:
        """+1 for the second of two classes, -1 for the first; one column per class where there are more."""
        return RecodedRows(self.rows, Signs(self.classes, self.factors))

    def indicators(self) -> Rows:
        """One column per class: 1 for its rows and 0 elsewhere."""
        return RecodedRows(self.rows, Indicators(self.classes, self.factors))

    def pairs(self) -> list[Rows]:
        """The rows of each pair of classes: +1 for the second of only two classes, and for the first of each pair."""
        if len(self.classes) == 2:
            return [self.signs()]
        pairs = combinations(range(len(self.classes)), 2)
        codes = [Pair(self.classes, self.factors, a, b) for a, b in pairs]
        return [RecodedRows(self.rows, code, int(self.sizes[[code.first, code.second]].sum())) for code in codes]


@dataclass(frozen=True)
class WeightOf:
    """sum_i w_i."""

    def __call__(self, X: Any, y: Any, w: Any) -> tuple:
        return (float(len(y)) if w is None else np.sum(w, dtype=np.float64),)


@dataclass(frozen=True)
class CountsOf:
    """sum_i w_i y_i of nonnegative targets."""

    def __call__(self, X: Any, y: Any, w: Any) -> tuple:
        y = np.asarray(y, np.float64)
        if y.min() < 0:
            raise ValueError(f"the target has the value {y.min():g}; counts are zero or positive.")
        return (y.sum() if w is None else np.asarray(w, np.float64) @ y,)
