"""Problems of a table, before anything is fitted: leaks, ids, duplicates, contradictions, missing values and shifts."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.model_selection import cross_val_predict
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from representer.estimators.two_sample import MMD
from representer.kernels.stationary import RBF
from representer.tables.column_types import ColumnType
from representer.tables.numeric_design import NumericDesign
from representer.tables.outcome import Finding
from representer.tables.scores import auc
from representer.tables.splits import random_rows
from representer.tables.targets import Target

LEAK = 0.99
"""R2 or AUC of a single column from which it is likely to leak the target."""
LEAK_ROWS, SHIFT_ROWS = 2000, 400
MOSTLY = 0.5
"""Fraction of missing values from which a column is reported as mostly missing."""
UNLIKE = 0.01
"""p-value below which rows set aside differ from the training rows."""
LEAST_ROWS_OF_CLASS = 10
TIME_LIKE = 0.1
"""Largest ratio of falls to rises, or of rises to falls, in order of time, of columns that track time, as years do."""
FEWEST_COPIES = 5
DIFFERS, MOST_NAMED = 0.3, 3
"""Difference of means in standard deviations from which a shifted column is named, and the most that are named."""


def examine(
    types: dict[str, ColumnType],
    target: Target,
    frame: Any,
    y: np.ndarray,
    pair: tuple[np.ndarray, np.ndarray],
    seed: int,
    time: str = "",
    rows: int | None = None,
) -> list[Finding]:
    """All findings for a treated frame, its targets, and the training and test rows, split by a column of ``time``.

    ``rows`` are all rows of the table, also those without a target.
    """
    return [
        *_columns(types, target, rows or len(y)),
        *_classes(target, y),
        *_leaks(target, frame, y, seed),
        *_copies(target, frame, y, pair),
        *_shift(_without_time(frame, time) if time else frame, pair, seed),
    ]


def _columns(types: dict[str, ColumnType], target: Target, n: int) -> list[Finding]:
    found = []
    for each in types.values():
        if each.name == target.name:
            if each.missing:
                sentence = f"{each.missing:,} rows have no {each.name!r} and were left out."
                found.append(Finding("rows", False, (each.name,), sentence))
        elif each.type == "id":
            sentence = f"{each.name!r} is an id ({each.why}) and was left out; declare its type if it is not."
            found.append(Finding("id", False, (each.name,), sentence))
        elif each.type in ("constant", "empty"):
            sentence = f"{each.name!r} is {each.type} ({each.why}) and was left out."
            found.append(Finding("constant", False, (each.name,), sentence))
        elif each.missing > MOSTLY * n:
            share = 100.0 * each.missing / max(n, 1)
            sentence = f"{each.name!r} is missing in {share:.0f} % of the rows; find out why, or leave it out."
            found.append(Finding("missing", False, (each.name,), sentence))
    return found


def _classes(target: Target, y: np.ndarray) -> list[Finding]:
    if not target.is_classes:
        return []
    rare = [name for name in target.classes if np.sum(y == name) < LEAST_ROWS_OF_CLASS]
    words = f"Fewer than {LEAST_ROWS_OF_CLASS} rows have the class {', '.join(rare[:5])}: do not trust results for it."
    return [Finding("rows", True, (target.name,), words)] if rare else []


def _leaks(target: Target, frame: Any, y: np.ndarray, seed: int) -> list[Finding]:
    """Columns that alone predict the target, by cross-validation."""
    some = np.sort(random_rows(y, LEAK_ROWS, seed))
    part, y = frame[some.tolist()], y[some]
    if len(y) < 40:
        return []
    found = []
    for name in part.columns:
        column = part[name]
        score = _alone(target, _single(column, target, y), y)
        if score > LEAK:
            measure = "AUC" if target.is_classes else "R2"
            sentence = (
                f"{name!r} alone predicts {target.name!r} with {measure} {score:.3f}: is it a copy of it, or known "
                "only after it? If so, leave it out."
            )
            found.append(Finding("leak", True, (str(name),), sentence))
    return found


def _single(column: Any, target: Target, y: np.ndarray) -> np.ndarray:
    """A column as numbers that a tree can split: levels are ranked by the mean of their targets."""
    if column.dtype.is_numeric() or column.dtype.is_temporal():
        values = column.to_physical().cast(float).to_numpy().astype(np.float64)
        return np.nan_to_num(values, nan=np.nanmin(values) - 1.0 if np.isfinite(values).any() else 0.0)[:, None]
    words = np.array([str(word) for word in column.to_list()])
    levels, codes = np.unique(words, return_inverse=True)
    if len(levels) > 0.3 * len(words):
        return np.zeros((len(words), 1))  # nearly a different name in each row
    signs = [(y == name).astype(float) for name in target.classes] if target.is_classes else [y]
    means = [np.bincount(codes, sign) / np.bincount(codes) for sign in signs]
    return np.column_stack([np.argsort(np.argsort(mean))[codes] for mean in means])


def _alone(target: Target, X: np.ndarray, y: np.ndarray) -> float:
    if target.is_classes:
        if np.unique(y, return_counts=True)[1].min() < 5:
            return 0.0
        tree = DecisionTreeClassifier(min_samples_leaf=5, random_state=0)
        shares = cross_val_predict(tree, X, y, cv=5, method="predict_proba")
        return float(min(auc(y == name, shares[:, i]) for i, name in enumerate(np.unique(y))))
    order = np.random.default_rng(0).permutation(len(y))
    X, y = X[order], y[order]
    found = cross_val_predict(DecisionTreeRegressor(min_samples_leaf=3, random_state=0), X, y, cv=5)
    guesses = found, _interpolated(X[:, 0], y), _line(X[:, 0], y)
    return 1.0 - min(float(np.mean((y - guess) ** 2)) for guess in guesses) / max(float(np.var(y)), 1e-300)


def _line(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The least-squares line."""
    centred = x - x.mean()
    return y.mean() + centred * (centred @ y) / max(float(centred @ centred), 1e-300)


def _interpolated(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Linear interpolation of the other folds' points, which follows a smooth copy better than a tree's steps do."""
    found, fold = np.empty(len(y)), np.arange(len(y)) % 5
    for i in range(5):
        known, places = np.unique(x[fold != i], return_inverse=True)
        found[fold == i] = np.interp(x[fold == i], known, np.bincount(places, y[fold != i]) / np.bincount(places))
    return found


def _copies(target: Target, frame: Any, y: np.ndarray, pair: tuple[np.ndarray, np.ndarray]) -> list[Finding]:
    """Rows set aside whose inputs are also training rows, and equal inputs with different targets."""
    keys = frame.hash_rows(seed=1).to_numpy()
    train, test = pair
    inside = np.isin(keys[test], keys[train])
    found = []
    if inside.mean() > 0.01 and inside.sum() >= FEWEST_COPIES:
        sentence = (
            f"{inside.sum():,} of {len(test):,} rows set aside have the same inputs as a training row: if they are "
            "copies, the scores are too good; remove copies, or name the column they share by --group."
        )
        found.append(Finding("duplicates", True, (), sentence))
    order = np.argsort(keys, kind="stable")
    same = keys[order][1:] == keys[order][:-1]
    differ = same & (y[order][1:] != y[order][:-1])
    if differ.mean() > 0.01:
        sentence = (
            f"{differ.sum():,} rows have the inputs of another row but a different {target.name!r}: no model of these "
            "columns can predict both."
        )
        found.append(Finding("contradictions", False, (target.name,), sentence))
    return found


def _without_time(frame: Any, time: str) -> Any:
    """The columns without those that differ between earlier and later rows by nature, as dates and years do."""
    order = np.argsort(frame[time].to_physical().to_numpy(), kind="stable")

    def tells_time(column: Any) -> bool:
        if not column.dtype.is_numeric():
            return bool(column.dtype.is_temporal())
        steps = np.diff(column.to_numpy()[order])
        rises, falls = np.count_nonzero(steps > 0.0), np.count_nonzero(steps < 0.0)
        return bool(min(rises, falls) <= TIME_LIKE * max(rises, falls))

    return frame.select([name for name in frame.columns if not tells_time(frame[name])])


def _shift(frame: Any, pair: tuple[np.ndarray, np.ndarray], seed: int) -> list[Finding]:
    """A two-sample test of training rows against rows set aside."""
    rng = np.random.default_rng(seed)
    parts = [np.sort(rng.permutation(rows)[:SHIFT_ROWS]) for rows in pair]
    if min(map(len, parts)) < 20 or not frame.columns:
        return []
    before, after = (frame[part.tolist()] for part in parts)
    design = NumericDesign.of(before)
    X, Y = design.rows(before), design.rows(after)
    outcome = MMD(kernel=RBF().with_default_scales(X), n_permutations=499, random_state=seed).test(X, Y)
    if outcome.pvalue >= UNLIKE:
        return []
    names = _differing(before, after)
    most = f", most of all in {', '.join(map(repr, names))}" if names else ""
    sentence = (
        f"The rows set aside are unlike the training rows{most} (p = {outcome.pvalue:.3g}, a two-sample test by "
        "maximum mean discrepancy): expect new rows to differ, too."
    )
    return [Finding("shift", True, names, sentence)]


def _differing(before: Any, after: Any) -> tuple[str, ...]:
    """The columns whose means differ most, in standard deviations."""
    found = []
    for name in before.columns:
        design = NumericDesign.of(before.select(name))
        X, Y = design.rows(before), design.rows(after)
        gap = np.abs(X.mean(axis=0) - Y.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-3)
        found.append((float(gap.max(initial=0.0)), str(name)))
    return tuple(name for gap, name in sorted(found, reverse=True)[:MOST_NAMED] if gap > DIFFERS)
