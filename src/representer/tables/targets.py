"""The target: numbers, counts, quantiles or classes, and the scale on which it is fitted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from representer.tables.column_plan import Treatment, levels_of
from representer.tables.column_types import DECLARED, ColumnType
from representer.tables.reading import Table, TableError, nearest, polars_library

MOST_CLASSES = 100
MEDIAN = 0.5
QUANTILES = 0.025, MEDIAN, 0.975
"""Quantiles that ``loss="quantiles"`` fits."""
LOSSES = ("squared", "huber", "poisson", "quantiles")


@dataclass(frozen=True)
class Target:
    """The target of a table, and how predictions are transformed back to its units."""

    name: str
    task: str
    loss: str
    quantiles: tuple[float, ...] = ()
    classes: tuple[str, ...] = ()
    logarithm: bool = False
    smear: float = 1.0
    """Smearing factor: the mean of exp(residual) of a fit to logarithms, which turns exp of a mean into a mean."""
    why: str = "as it is"

    @property
    def is_classes(self) -> bool:
        """Whether classes are predicted."""
        return self.task == "classification"

    def fitted_scale(self, y: np.ndarray) -> np.ndarray:
        """The targets on the scale on which they are fitted."""
        return np.log(y) if self.logarithm else y

    def mean_of(self, f: np.ndarray) -> np.ndarray:
        """Predictions in the units of the target."""
        return self.smear * np.exp(f) if self.logarithm else f

    def end_of(self, f: np.ndarray) -> np.ndarray:
        """Ends of bands and quantiles in the units of the target."""
        return np.exp(f) if self.logarithm else f


def target_of(table: Table, name: str, kind: ColumnType, loss: str | None) -> tuple[Target, np.ndarray, np.ndarray]:
    """The target, its values (numbers, or strings for classes), and the rows that have one."""
    column = table.frame[name]
    rows = np.flatnonzero(column.is_not_null().to_numpy())
    if kind.type == "empty" or not len(rows):
        raise TableError(f"The target {name!r} is missing in all rows; fill it in, or choose another column.")
    if kind.type == "id":
        raise TableError(f"The target {name!r} is an id ({kind.why}), which no column can predict; choose another one.")
    if kind.type == "constant" or kind.distinct == 1:
        raise TableError(
            f"The target {name!r} has one value only, {column[int(rows[0])]!r}: there is nothing to learn; choose "
            "another column."
        )
    if kind.type in ("date", "text", "sequence", "skipped"):
        raise TableError(
            f"The target {name!r} looks like a {kind.type} ({kind.why}), but only numbers or classes can be predicted; "
            f"declare it by --type {name}=category or --type {name}=number if it is one."
        )
    loss, levels = _loss(loss)
    if kind.type == "category" or (kind.distinct == 2 and loss == "auto" and kind.why != DECLARED):
        if loss != "auto":
            raise TableError(f"The target {name!r} has classes, and loss={loss!r} is for numbers; leave it out.")
        return _classes(column, name, kind, rows)
    cells = Treatment(name, "number", kind.format).cells(column, table.source)
    y = cells.to_numpy().astype(np.float64)[rows]
    if loss == "poisson" and (y.min() < 0.0 or np.any(y != np.round(y))):
        raise TableError(f"loss='poisson' is for counts, and the target {name!r} has negative or fractional numbers.")
    task = {"poisson": "counts", "quantiles": "quantiles"}.get(loss, "regression")
    return Target(name, task, "squared" if loss == "auto" else loss, levels), y, rows


def _loss(loss: str | None) -> tuple[str, tuple[float, ...]]:
    """The name of a loss, and the quantiles of "quantiles:0.1,0.5,0.9"."""
    if loss is None:
        return "auto", ()
    name, _, rest = loss.partition(":")
    if name not in LOSSES:
        raise TableError(f"There is no loss {name!r}; " + nearest(name, LOSSES, "losses"))
    if rest and name != "quantiles":
        raise TableError(f"loss={loss!r} has levels, as only quantiles:0.1,0.5,0.9 may; leave them out.")
    try:
        levels = tuple(sorted({float(word) for word in rest.split(",")})) if rest else QUANTILES
    except ValueError:
        levels = (-1.0,)
    if not all(0.0 < level < 1.0 for level in levels):
        raise TableError(
            f"The quantiles of loss={loss!r} are not numbers between 0 and 1, such as quantiles:0.1,0.5,0.9."
        )
    if len(levels) > 1 and MEDIAN not in levels:
        raise TableError(
            f"The quantiles of loss={loss!r} lack the median, which is the prediction; write "
            f"quantiles:{','.join(f'{level:g}' for level in sorted((*levels, MEDIAN)))}, or a single one."
        )
    return name, levels if name == "quantiles" else ()


def _classes(column: Any, name: str, kind: ColumnType, rows: np.ndarray) -> tuple[Target, np.ndarray, np.ndarray]:
    polars = polars_library()
    words = levels_of(column, polars) if column.dtype.is_float() else column.cast(polars.String)
    y = np.array(words.str.strip_chars().to_list(), object)[rows].astype(str)
    classes = tuple(sorted(set(y.tolist())))
    if len(classes) > MOST_CLASSES:
        raise TableError(
            f"The target {name!r} has {len(classes)} classes, more than {MOST_CLASSES}; if they are numbers declare "
            f"--type {name}=number, otherwise merge rare ones."
        )
    return Target(name, "classification", "logistic", (), classes), y, rows
