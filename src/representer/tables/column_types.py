"""What the columns of a table are, by stated rules.

In this order, for cells that are there: none (empty), one value (constant), numbers without leading zeros, dates and
times, sequences, all different words (id), few levels (category), and texts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from representer.kernels.frame_kernels import DNA_LENGTH, DNA_LETTERS, FEW_LEVELS, LEVEL_SHARE
from representer.tables.reading import Table, TableError, nearest, polars_library

TYPES = ("number", "category", "date", "text", "sequence", "skipped")
"""What a user may declare a column to be."""
DATE_FORMATS = ("%Y-%m-%d", "%Y/%m/%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%Y%m%d")
TIME_ENDINGS = ("", " %H:%M:%S", " %H:%M", "T%H:%M:%S", "T%H:%M", "T%H:%M:%S%.f", " %H:%M:%S%.f", "T%H:%M:%SZ")
TIMES_OF_DAY = ("%H:%M", "%H:%M:%S")
ID_NAME = re.compile(r"(^|[^a-z])(id|key|uuid|guid|index|idx|rownames?|unnamed.*)$")
"""Names of integers that only tell rows apart."""
PROTEIN_LETTERS = set("ACDEFGHIKLMNPQRSTVWYXacdefghiklmnpqrstvwyx-")
PROTEIN_LENGTH = 12
TEXT_WORDS = 3.0
"""Words of a cell on average from which a column is text."""
NUMERIC, COMMA = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$", r"^[+-]?\d+,\d+$"
LEADING_ZERO = r"^[+-]?0\d"


@dataclass(frozen=True)
class ColumnType:
    """What a column is, why, and how its cells are read."""

    name: str
    type: str
    why: str
    format: str = ""
    """Of dates and times of day; "," for decimal commas of numbers."""
    missing: int = 0
    distinct: int = 0

    @property
    def used(self) -> bool:
        """Whether a kernel sees it."""
        return self.type in ("number", "category", "date", "text", "sequence")


def column_types(table: Table, declared: dict[str, str] | None = None) -> dict[str, ColumnType]:
    """The type of each column; ``declared`` has those that the user knows better."""
    declared = declared or {}
    for name, kind in declared.items():
        if name not in table.frame.columns:
            raise TableError(
                f"There is no column {name!r} whose type could be {kind}; " + nearest(name, table.frame.columns)
            )
        if kind not in TYPES:
            raise TableError(f"The type of {name!r} is given as {kind!r}; it may be one of {', '.join(TYPES)}.")
    return {name: type_of(table.frame[name], declared.get(name)) for name in table.frame.columns}


def type_of(column: Any, declared: str | None = None) -> ColumnType:
    """The type of one column."""
    there = column.drop_nulls()
    missing, distinct = len(column) - len(there), there.n_unique() if len(there) else 0
    kind, why, how = _declared(there, declared) if declared else _found(there, column.name, missing, distinct)
    return ColumnType(column.name, kind, why, how, missing, distinct)


def _declared(there: Any, kind: str) -> tuple[str, str, str]:
    how = ""
    if kind == "number" and _is_words(there):
        how = "," if bool(there.str.contains(COMMA).any()) else ""
    if kind == "date" and _is_words(there):
        how = date_format(there) or ""
        if not how:
            raise TableError(
                f"Column {there.name!r} is declared a date, but {there[0]!r} has none of the known forms, such as "
                "2020-12-31, 31.12.2020, 12/31/2020 or 2020-12-31 23:59; rewrite it, or leave out the declaration."
            )
    return kind, "declared by you", how


def _found(there: Any, name: str, missing: int, distinct: int) -> tuple[str, str, str]:
    """Type, reason and format, by the rules above."""
    if not len(there):
        return "empty", "no cell has a value", ""
    if distinct == 1 and not missing:
        return "constant", f"{there[0]!s} in all rows", ""
    dtype = there.dtype
    if dtype.is_numeric():
        return _numbers(there.to_numpy().astype(np.float64), name, distinct, "")
    if dtype.is_temporal():
        kind = "times" if str(dtype).startswith(("Time", "Duration")) else "dates"
        return "date", f"{kind} from {there.min()} to {there.max()}", ""
    if not _is_words(there):
        if str(dtype).startswith(("Categorical", "Enum", "Boolean")):
            return "category", f"{distinct} levels by its type", ""
        return "skipped", f"values of type {dtype}, for which no kernel is known", ""
    return _words(there, name, distinct)


def _words(there: Any, name: str, distinct: int) -> tuple[str, str, str]:
    stripped = there.str.strip_chars()
    if not stripped.str.contains(LEADING_ZERO).any() or stripped.str.contains(r"^[+-]?0\.").all():
        how = "," if stripped.str.contains(COMMA).any() else ""
        plain = stripped.str.replace(",", ".", literal=True) if how else stripped
        if plain.str.contains(NUMERIC).all():
            return _numbers(plain.cast(polars_library().Float64).to_numpy(), name, distinct, how)
    if day := date_format(stripped):
        return "date", f"dates such as {there[0]}", day
    if time := _first_format(stripped, TIMES_OF_DAY):
        return "date", f"times of day such as {there[0]}", time
    count = len(there)
    letters, length = set("".join(there.head(1000).to_list())), float(there.str.len_chars().mean())
    if distinct > FEW_LEVELS and (
        (letters <= DNA_LETTERS and length >= DNA_LENGTH) or (letters <= PROTEIN_LETTERS and length >= PROTEIN_LENGTH)
    ):
        return "sequence", f"{len(letters)} different letters, {length:.0f} in a cell on average", ""
    words = float(there.str.split(" ").list.len().mean())
    if distinct <= FEW_LEVELS or distinct <= LEVEL_SHARE * count:
        return "category", f"{distinct} different words", ""
    if words >= TEXT_WORDS:
        return "text", f"texts of {words:.0f} words on average", ""
    if distinct == count:
        return "id", "a different word in each row", ""
    return "text", f"{distinct} different words, too many for levels", ""


def _numbers(values: np.ndarray, name: str, distinct: int, how: str) -> tuple[str, str, str]:
    finite = values[np.isfinite(values)]
    if distinct == len(values) and len(values) > FEW_LEVELS and np.all(finite == np.round(finite)):
        if np.ptp(finite) == len(finite) - 1 and np.all(np.abs(np.diff(finite)) == 1.0):
            return "id", "counts the rows", how
        if ID_NAME.search(name.strip().lower()):
            return "id", "a different whole number in each row, and its name", how
    return "number", f"numbers from {finite.min():.6g} to {finite.max():.6g}" if len(finite) else "infinite", how


def date_format(words: Any) -> str | None:
    """The format by which all of these words are dates, or none; of dd/mm and mm/dd that which fits all."""
    return _first_format(words, [date + time for date in DATE_FORMATS for time in TIME_ENDINGS])


def _first_format(words: Any, formats: Any) -> str | None:
    first = words.head(50)
    if not first.str.contains(r"^\d{1,4}[-/.:]?\d{1,2}").all():
        return None
    for how in formats:
        if "%Y%m%d" in how and not first.str.contains(r"^(19|20)\d{6}").all():
            continue
        if parsed_dates(first, how).null_count() == 0 and parsed_dates(words, how).null_count() == 0:
            return str(how)
    return None


def parsed_dates(words: Any, how: str) -> Any:
    """Moments, or times of day as moments of one day; null for what has another form."""
    padded = "2000-01-01 " + words if how in TIMES_OF_DAY else words
    form = f"%Y-%m-%d {how}" if how in TIMES_OF_DAY else how
    if "%H" not in form:
        return padded.str.to_date(form, strict=False).cast(polars_library().Datetime("us"))
    return padded.str.to_datetime(form, strict=False, time_unit="us")


def _is_words(column: Any) -> bool:
    return str(column.dtype) == "String"
