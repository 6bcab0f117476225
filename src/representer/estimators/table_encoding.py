"""Data frames as numeric rows, including dates, categories and missing values; other columns keep their own kernels."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from representer.kernels.base import Kernel
from representer.kernels.categories import Categorical
from representer.kernels.columns import On
from representer.kernels.dates import as_days, is_date
from representer.kernels.frame_kernels import LONG_ENOUGH, OWN_KERNELS, YEAR, Column, look_at
from representer.kernels.missing import Missing, missing_entries

MOST_INDICATORS = 30
"""Levels up to which a category is one-hot encoded; with more it has a kernel of its own."""
WEEK = 7.0
"""Days in a week."""
SAME_PHASE = 0.02
"""Standard deviation on the unit circle up to which dates have the same phase of a period."""


def needs_encoding(X: Any) -> bool:
    """Whether X is a data frame with non-numeric columns, or with missing values."""
    if not hasattr(X, "columns") or not hasattr(X, "shape"):
        return False
    columns = [X[name] for name in X.columns]
    return any(np.asarray(column).dtype.kind not in "biuf" or missing_entries(column).any() for column in columns)


@dataclass(frozen=True)
class ColumnCode:
    """How one column becomes numbers.

    Numbers and dates are counted from their median, and missing values become the median. Dates also have a sine and a
    cosine for each period. A category has one column per level, and one for missing values if there are any; all are
    zero for a level that the fit did not see.
    """

    name: Any
    kind: str
    words: str
    gaps: bool = False
    centre: float = 0.0
    periods: tuple[float, ...] = ()
    levels: tuple[str, ...] = ()

    @classmethod
    def of(cls, column: Any, seen: Column) -> ColumnCode:
        """The code of a column, given what was seen in it."""
        if seen.kind == "category":
            levels = tuple(sorted(set(_texts(column)) - {""}))
            kind = "category" if len(levels) <= MOST_INDICATORS else "own"
            return cls(seen.name, kind, seen.words, seen.gaps, levels=levels if kind == "category" else ())
        if seen.kind in OWN_KERNELS:
            return cls(seen.name, "own", f"{seen.words}: {OWN_KERNELS[seen.kind][1]}", seen.gaps)
        if seen.kind == "none":
            return cls(seen.name, "none", seen.words)
        values = _numbers(column, seen.name)
        there = values[~np.isnan(values)]
        periods = _periods(there) if seen.kind in ("date", "season") else ()
        return cls(seen.name, "number", seen.words, seen.gaps, float(np.median(there)), periods)

    @property
    def names(self) -> list[str]:
        """Names of the numeric columns."""
        if self.kind == "category":
            return [f"{self.name} = {level}" for level in self.levels] + [f"{self.name} is missing"] * self.gaps
        if self.kind != "number":
            return []
        waves = [f"{part} of {self.name} by {period:g} days" for period in self.periods for part in ("sine", "cosine")]
        return [str(self.name), *waves, *[f"{self.name} is missing"] * self.gaps]

    @property
    def groups(self) -> list[int]:
        """Which of these columns share a length scale: the levels of a category, and the waves of a period."""
        if self.kind == "category":
            return [0] * len(self.names)
        waves = [1 + i for i in range(len(self.periods)) for _ in range(2)]
        return ([0, *waves] + [1 + len(self.periods)] * self.gaps) if self.kind == "number" else []

    def encoded(self, column: Any) -> np.ndarray:
        """The numeric columns, of shape (n, len(names))."""
        if self.kind == "category":
            texts = np.array(_texts(column), object)
            return (texts[:, None] == np.array([*self.levels, *[""] * self.gaps], object)).astype(np.float64)
        values = _numbers(column, self.name)
        gone = np.isnan(values)
        values = np.where(gone, self.centre, values)
        turns = [2.0 * np.pi / period * values for period in self.periods]
        waves = [wave(turn) for turn in turns for wave in (np.sin, np.cos)]
        return np.column_stack([values - self.centre, *waves, *[gone] * self.gaps])


@dataclass(frozen=True)
class TableEncoding:
    """A data frame as numeric rows, or as a data frame of numeric columns and columns with their own kernels."""

    codes: tuple[ColumnCode, ...]
    own: dict[Any, Kernel]
    """Kernels of columns that do not become numbers."""

    @classmethod
    def of(cls, frame: Any, declared: dict[str, str] | None = None) -> TableEncoding:
        """The encoding by the types and contents of the columns; those of strings may be declared as in `look_at`."""
        seen = [look_at(frame[name], name, (declared or {}).get(name, "")) for name in frame.columns]
        codes = tuple(ColumnCode.of(frame[column.name], column) for column in seen)
        if all(code.kind == "none" for code in codes):
            facts = "; ".join(f"{code.name} is {code.words}" for code in codes)
            raise ValueError(f"No column of the data frame says anything about its rows: {facts}.")
        own = {
            column.name: On(Missing(_own_kernel(column)), column.name)
            for column, code in zip(seen, codes, strict=True)
            if code.kind == "own"
        }
        return cls(codes, own)

    @cached_property
    def _numeric(self) -> list[ColumnCode]:
        return [code for code in self.codes if code.names]

    @property
    def names(self) -> list[str]:
        """Names of the numeric columns."""
        return [name for code in self._numeric for name in code.names]

    @property
    def groups(self) -> np.ndarray:
        """For each numeric column, the group that shares its length scale."""
        groups: list[int] = []
        for code in self._numeric:
            first = max(groups, default=-1) + 1
            groups += [first + group for group in code.groups]
        return np.array(groups, int)

    @property
    def indicators(self) -> np.ndarray:
        """Whether each numeric column indicates a level, or missing values."""
        ends = [(code, name.endswith(" is missing")) for code in self._numeric for name in code.names]
        return np.array([code.kind == "category" or gap for code, gap in ends], bool)

    def rows(self, frame: Any) -> Any:
        """Numeric rows without missing entries; a data frame where columns have kernels of their own."""
        if not hasattr(frame, "columns"):
            raise TypeError(
                f"The model was fitted to a data frame, and X is a {type(frame).__name__}; pass a data frame with the "
                "same columns."
            )
        if wrong := [str(code.name) for code in self.codes if code.name not in list(frame.columns)]:
            raise ValueError(f"X has no column {wrong[0]!r}, which the model was fitted to.")
        blocks = [code.encoded(frame[code.name]) for code in self._numeric]
        numbers = np.hstack(blocks) if blocks else np.empty((frame.shape[0], 0))
        if not self.own:
            return numbers
        named = dict(zip(self.names, numbers.T, strict=True))
        return type(frame)({**named, **{name: frame[name] for name in self.own}})

    def __str__(self) -> str:
        """One line per column."""
        width = max(len(str(code.name)) for code in self.codes)
        ends = {"number": "a number", "category": "a column for each level", "own": "a kernel of its own"}
        return "\n".join(
            f"{code.name!s:<{width}}  {code.words}{', some missing' * code.gaps}; {ends.get(code.kind, 'left out')}"
            for code in self.codes
        )


def _own_kernel(column: Column) -> Kernel:
    return OWN_KERNELS[column.kind][0](column) if column.kind in OWN_KERNELS else Categorical(1.0)


def _texts(column: Any) -> list[str]:
    """Levels as strings, empty where missing."""
    return ["" if gone else str(value) for value, gone in zip(column, missing_entries(column), strict=True)]


def _numbers(column: Any, name: Any) -> np.ndarray:
    """Numbers, or dates as days, with NaN for missing values."""
    if is_date(column):
        return as_days(column)
    gone = missing_entries(column)
    values = np.full(len(gone), np.nan)
    try:
        values[~gone] = np.asarray([value for value, out in zip(column, gone, strict=True) if not out], np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"Column {str(name)!r} had numbers in the fit, and has other values now.") from None
    if np.isinf(values).any():
        raise ValueError(f"Column {str(name)!r} has infinite values; remove them, or leave them empty.")
    return values


def _periods(days: np.ndarray) -> tuple[float, ...]:
    """The periods among year, week and day that the dates cover twice, and in whose waves they differ.

    Dates that are all of one weekday, or of one time of day, have a wave that is constant up to rounding.
    """
    span = np.ptp(days)
    return tuple(p for p in (YEAR, WEEK, 1.0) if span >= LONG_ENOUGH * p and _spread_of_phase(days, p) > SAME_PHASE)


def _spread_of_phase(days: np.ndarray, period: float) -> float:
    """The standard deviation of the dates as points on the unit circle, one turn per period."""
    return float(np.sqrt(max(0.0, 1.0 - abs(np.mean(np.exp(2j * np.pi * (days % period) / period))) ** 2)))
