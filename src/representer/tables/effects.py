"""Effects of columns: by how much the score falls without each, and how predictions change with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

SECTION_ROWS, SECTION_POINTS = 60, 25
"""Rows that are moved along a column, and the grid points along it."""
MOST_LEVELS_SHOWN = 12
MOST_SECTIONS = 8


@dataclass(frozen=True)
class ColumnEffect:
    """A column, its importance, and predictions along it."""

    name: str
    importance: float
    """Permutation importance: by how much the first score falls when the column is shuffled among unseen rows."""
    points: tuple[Any, ...] = ()
    """Values of the column, evenly spaced numbers or the most frequent words; empty where there is no section."""
    mean: tuple[float, ...] = ()
    """The mean prediction for some rows with this value in the column; for classes, the mean probability."""
    lower: tuple[float, ...] = ()
    """Lower quartile over the rows: where the band is wide, the column acts differently for different rows."""
    upper: tuple[float, ...] = ()


def column_effects(fit: Any, frame: Any, seed: int = 0) -> tuple[ColumnEffect, ...]:
    """Effects of all columns that a `TableFit` uses, on rows of a polars frame, the most important first."""
    model, importance = fit.model, dict(fit.outcome.importance)
    types = {treatment.name: treatment.type for treatment in model.columns.treatments}
    ordered = sorted(types, key=lambda name: -importance.get(name, 0.0))
    drawn = [name for name in ordered if types[name] in ("number", "category")][:MOST_SECTIONS]
    some = np.random.default_rng(seed).permutation(frame.height)[:SECTION_ROWS]
    rows = frame[np.sort(some).tolist()]
    return tuple(
        _section(model, rows, frame[name], types[name], importance.get(name, 0.0))
        if name in drawn
        else ColumnEffect(name, importance.get(name, 0.0))
        for name in ordered
    )


def _values(model: Any, frame: Any) -> np.ndarray:
    """Predictions of shape (rows, outputs): numbers, or the probability of each class."""
    found = model.predicted(model.treated(frame), bands=False)
    values = found.prediction if found.probabilities is None else found.probabilities
    return np.asarray(values, np.float64).reshape(frame.height, -1)


def _section(model: Any, rows: Any, column: Any, kind: str, importance: float) -> ColumnEffect:
    """Predictions for the rows with each of some values in the column; for classes, the probability of the last."""
    treatment = next(each for each in model.columns.treatments if each.name == column.name)
    points = _points(column, treatment)
    moved = [rows.with_columns(column.head(1).clear().extend_constant(point, rows.height)) for point in points]
    values = np.stack([_values(model, each)[:, -1] for each in moved])
    low, high = np.quantile(values, [0.25, 0.75], axis=1)
    names = tuple(_numbers(points, column, treatment)) if kind == "number" else tuple(map(str, points))
    return ColumnEffect(
        column.name, importance, names, tuple(values.mean(axis=1).tolist()), tuple(low.tolist()), tuple(high.tolist())
    )


def _numbers(cells: list[Any], column: Any, treatment: Any) -> list[float]:
    """Cells of a column as numbers."""
    return treatment.cells(type(column)(column.name, cells, column.dtype), "the table").to_list()


def _points(column: Any, treatment: Any) -> list[Any]:
    """Values of a column as they are in the table."""
    there = column.drop_nulls()
    if treatment.type == "category":
        return there.alias("level").value_counts(sort=True)["level"].head(MOST_LEVELS_SHOWN).to_list()
    keys = treatment.cells(there, "the table").to_numpy().astype(np.float64)
    low, high = np.quantile(keys, [0.01, 0.99])
    wanted = np.linspace(low, high, SECTION_POINTS)
    order = np.argsort(keys)
    places = np.minimum(np.searchsorted(keys[order], wanted), len(keys) - 1)
    return [there[int(i)] for i in dict.fromkeys(order[places].tolist())]
