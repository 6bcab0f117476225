"""How columns are transformed for the kernel: the same at fit and at predict, and saved with the model."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import ndtri

from representer.tables.column_types import (
    GROUPED,
    NO_NUMBERS,
    NUMERIC,
    TIMES_OF_DAY,
    ColumnType,
    format_of_cells,
    is_duration,
    is_time,
    parsed_dates,
    plain_numbers,
)
from representer.tables.outcome import TableColumn
from representer.tables.reading import TableError, nearest, polars_library

DAY = 86_400_000_000
"""Microseconds of a day."""
KNOTS = 200
"""Number of quantiles of a quantile transform."""
LOWEST, BELOW_LEAST = 1e-12, 0.1
"""Where logarithms end: 1 + x / u at the first number, x at this fraction of the least value of the fit."""
WORDS = {
    "category": "a categorical kernel; a level that was not in the table is unlike all others",
    "text": "a kernel on words, or on letters where cells are short",
    "sequence": "a kernel on words of letters (k-mers)",
    "id": "left out: it identifies rows, and says nothing about new ones",
    "constant": "left out",
    "empty": "left out",
    "skipped": "left out",
}


@dataclass(frozen=True)
class Treatment:
    """How one column is read and transformed."""

    name: str
    type: str
    format: str = ""
    transform: str = ""
    """For numbers: "", "logarithm" or "quantiles"."""
    unit: float = 0.0
    """The logarithm is log x, or with a unit u log(1 + x / u), for columns with zeros."""
    knots: np.ndarray | None = None
    """Quantiles at evenly spaced probabilities; for the logarithm log x, the value to which smaller ones are raised."""

    @property
    def words(self) -> str:
        """What the kernel sees, in words."""
        if self.type == "number":
            log = "its logarithm" if self.unit == 0.0 else f"log(1 + x / {self.unit:.3g})"
            return {"": "as it is", "logarithm": log, "quantiles": "its normal quantiles"}[self.transform]
        if self.type == "date":
            times = self.format in TIMES_OF_DAY
            return "sine and cosine of the time of day" if times else "days, and yearly, weekly and daily waves"
        return WORDS[self.type]

    @property
    def wave_names(self) -> tuple[str, ...]:
        """Names of the columns that a time of day becomes."""
        is_time = self.type == "date" and self.format in TIMES_OF_DAY
        return (f"{self.name} (sine)", f"{self.name} (cosine)") if is_time else ()

    def cells(self, column: Any, source: str) -> Any:
        """The column with the type it had in the fit; an error names a cell of another type."""
        polars = polars_library()
        words = str(column.dtype) == "String"
        if self.type == "number":
            if is_duration(column):
                return column.dt.total_microseconds() / DAY
            read = self._numbers(column, polars) if words else column.cast(polars.Float64, strict=False)
            like = f"numbers such as {self.format}" if self.format in GROUPED else "numbers"
            return self._checked(column, read.fill_nan(None), source, like)
        if self.type == "date":
            return self._dates(column, source, polars)
        if self.format == NO_NUMBERS and _is_numbers(column):
            raise TableError(
                f"Column {self.name!r} held words only, and in {source} it holds numbers only, which the model cannot "
                "know; give the column of the fit, or fit again."
            )
        if self.type == "category":
            return levels_of(column, polars)
        return column if words else column.cast(polars.String)

    def _dates(self, column: Any, source: str, polars: Any) -> Any:
        """Datetimes, or times of day as datetimes of one day."""
        is_time_of_day, held = self.format in TIMES_OF_DAY, "times of day" if self.format in TIMES_OF_DAY else "dates"
        if str(column.dtype) == "String":
            words = column.str.strip_chars()
            return self._checked(
                column, parsed_dates(words, format_of_cells(words.drop_nulls(), self.format)), source, held
            )
        if is_time_of_day and is_time(column):
            return (column.cast(polars.Int64) // 1000).cast(polars.Datetime("us"))
        if not column.dtype.is_temporal() or is_duration(column) or is_time(column):
            raise TableError(
                f"Column {self.name!r} held {held}, and in {source} it is {column.dtype}; give {held} there."
            )
        return column

    def _numbers(self, column: Any, polars: Any) -> Any:
        return plain_numbers(column.str.strip_chars(), self.format).cast(polars.Float64, strict=False)

    def _checked(self, column: Any, read: Any, source: str, what: str) -> Any:
        wrong = np.flatnonzero((read.is_null() & column.is_not_null()).to_numpy())
        if str(column.dtype).startswith("Float"):
            wrong = wrong[~np.isnan(column.to_numpy()[wrong])]
        if len(wrong):
            raise TableError(
                f"Column {self.name!r} holds {what}, but row {wrong[0] + 1} of {source} has {column[int(wrong[0])]!r}; "
                f"correct it or leave the cell empty, or fit with --type {self.name}=category."
            )
        if self.type == "number" and bool(read.is_infinite().any()):
            raise TableError(f"Column {self.name!r} of {source} has infinite values; leave those cells empty.")
        return read

    def treated(self, column: Any, source: str) -> list[Any]:
        """The columns that a kernel sees."""
        polars = polars_library()
        cells = self.cells(column, source)
        if self.type == "number":
            return [polars.Series(self.name, self.transformed(cells.to_numpy().astype(np.float64)), nan_to_null=True)]
        if self.type == "date" and self.format in TIMES_OF_DAY:
            turn = 2.0 * np.pi * (cells.dt.epoch("us") % DAY).cast(polars.Float64).to_numpy() / DAY
            waves = zip(self.wave_names, (np.sin(turn), np.cos(turn)), strict=True)
            return [polars.Series(name, wave, nan_to_null=True) for name, wave in waves]
        if self.type == "category":
            return [cells.cast(polars.Categorical)]
        return [cells]

    def transformed(self, values: np.ndarray) -> np.ndarray:
        """Numbers on the scale that the kernel sees; values below the domain of a logarithm are clipped."""
        if self.transform == "logarithm":
            lowest = LOWEST if self.knots is None else self.knots[0]
            with np.errstate(invalid="ignore"):
                inner = values if self.unit == 0.0 else 1.0 + values / self.unit
                return np.log(np.maximum(inner, lowest))
        if self.transform == "quantiles":
            assert self.knots is not None
            return ndtri(np.interp(values, self.knots, np.linspace(0.01, 0.99, len(self.knots))))
        return values


def _is_numbers(column: Any) -> bool:
    """Whether all cells are numbers."""
    there = column.drop_nulls()
    if str(column.dtype) == "String":
        return len(there) > 0 and bool(there.str.strip_chars().str.contains(NUMERIC).all())
    return len(there) > 0 and bool(column.dtype.is_numeric())


def levels_of(column: Any, polars: Any) -> Any:
    """Levels as strings, the same from all sources: integers without .0, booleans in lower case, no outer spaces."""
    if column.dtype.is_float():
        column = column.fill_nan(None)
        whole = (column == column.round()) & (column.abs() < 1e15)
        integers = column.cast(polars.Int64, strict=False).cast(polars.String)
        column = integers.zip_with(whole, column.cast(polars.String))
    words = column.cast(polars.String).str.strip_chars()
    return words.str.replace("(?i)^true$", "true").str.replace("(?i)^false$", "false")


def logarithm(treatment: Treatment, values: np.ndarray, least: float) -> Treatment | None:
    """The treatment by a logarithm, for columns whose ``least`` value is not negative; None for others."""
    if least < 0.0 or not np.any(values > 0.0):
        return None
    if least > 0.0:
        return replace(treatment, transform="logarithm", knots=np.array([BELOW_LEAST * least]))
    return replace(treatment, transform="logarithm", unit=float(np.quantile(values[values > 0.0], 0.1)))


def quantiles(treatment: Treatment, values: np.ndarray) -> Treatment:
    """The treatment by quantiles."""
    knots = np.unique(np.quantile(values[np.isfinite(values)], np.linspace(0.0, 1.0, KNOTS)))
    return replace(treatment, transform="quantiles", knots=knots)


@dataclass(frozen=True)
class ColumnPlan:
    """The treatments of all columns that a kernel sees, in the order of the table."""

    treatments: tuple[Treatment, ...]

    @classmethod
    def of(cls, types: dict[str, ColumnType], target: str, without: tuple[str, ...] = ()) -> ColumnPlan:
        """The plan with every used column as it is."""
        used = [each for each in types.values() if each.used and each.name not in (target, *without)]
        if not used:
            facts = "; ".join(f"{each.name}: {each.why}" for each in types.values() if each.name != target)
            raise TableError(f"No column beside the target {target!r} can be used ({facts or 'there is none'}).")
        return cls(tuple(Treatment(each.name, each.type, each.format) for each in used))

    def treated(self, frame: Any, source: str) -> Any:
        """The frame that a kernel sees."""
        columns = []
        for treatment in self.treatments:
            if treatment.name not in frame.columns:
                raise TableError(
                    f"{source} has no column {treatment.name!r}, which the model was fitted to: add it, or rename one; "
                    + nearest(treatment.name, frame.columns)
                )
            columns += treatment.treated(frame[treatment.name], source)
        return polars_library().DataFrame(columns)

    @property
    def strings(self) -> dict[str, str]:
        """Columns of texts and of sequences."""
        return {each.name: each.type for each in self.treatments if each.type in ("text", "sequence")}

    @property
    def owners(self) -> dict[str, str]:
        """The table columns behind those that a kernel sees under other names."""
        return {name: each.name for each in self.treatments for name in each.wave_names}

    def with_treatment(self, treatment: Treatment) -> ColumnPlan:
        """The same plan with another treatment of one column."""
        return ColumnPlan(tuple(treatment if each.name == treatment.name else each for each in self.treatments))

    def notes(self, types: dict[str, ColumnType]) -> tuple[TableColumn, ...]:
        """One note per column of the table, used or not."""
        known = {each.name: each for each in self.treatments}
        return tuple(_note(each, known.get(each.name)) for each in types.values())


def _note(seen: ColumnType, treatment: Treatment | None) -> TableColumn:
    words = treatment.words if treatment else WORDS.get(seen.type, "left out")
    if treatment and seen.missing:
        words += "; a missing value is a point of its own, with an indicator"
    return TableColumn(seen.name, seen.type, seen.why, words, seen.missing, seen.distinct, treatment is not None)
