"""The types of the columns of a table, by stated rules.

In this order, for nonmissing cells: none (empty), one value (constant), numbers without leading zeros, dates and times,
sequences, few levels (category), texts of several words, all different words (id), and other texts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from representer.kernels.frame_kernels import DNA_LENGTH, DNA_LETTERS, FEW_LEVELS, LEVEL_SHARE
from representer.tables.reading import Table, TableError, nearest, polars_library

TYPES = ("number", "category", "date", "text", "sequence", "skipped")
"""Types that a user may declare."""
DATE_FORMATS = (
    *("%Y-%m-%d", "%Y/%m/%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%Y%m%d", "%d.%m.%y", "%d/%m/%y", "%m/%d/%y"),
    *("%d-%b-%Y", "%d %b %Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y"),
)
TIME_ENDINGS = (
    *("", " %H:%M:%S", " %H:%M", "T%H:%M:%S", "T%H:%M", "T%H:%M:%S%.f", " %H:%M:%S%.f", "T%H:%M:%SZ"),
    *("T%H:%M:%S%.fZ", "T%H:%M:%S%.f%z", " %H:%M:%S%.f%z", " %I:%M %p", " %I:%M:%S %p"),
)
TIME = "%H:%M:%S"
TIMES_OF_DAY = ("%H:%M", TIME)
ID_NAME = re.compile(r"(^|[^a-z])(id|key|uuid|guid|index|idx|rownames?|unnamed.*)$")
"""Names of integer columns that only identify rows."""
PROTEIN_LETTERS = set("ACDEFGHIKLMNPQRSTVWYXacdefghiklmnpqrstvwyx-")
PROTEIN_LENGTH = 12
TEXT_WORDS = 3.0
"""Mean number of words per cell from which a column is text."""
NUMERIC, COMMA = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$", r"^[+-]?\d+,\d+$"
GROUPED = {
    "1,000.0": (r"^[+-]?\d{1,3}(,\d{3})+(\.\d*)?$", r",\d{3}[,.]", NUMERIC),
    "1.000,0": (r"^[+-]?\d{1,3}(\.\d{3})+(,\d*)?$", r"\.\d{3}[.,]", r"^[+-]?\d+(,\d*)?$"),
}
"""Thousands separators, by example: grouped numbers, a part that no decimal fraction has, and numbers below 1000."""
MONTH = r"^(\d{1,2}[- ])?[A-Za-z]{3,9}[- .]"
NEARLY = 0.5
"""Fraction of numbers from which the other words of a column are reported."""
NO_NUMBERS = "words"
DAY_FIRST = ", the day first"
DECLARED = "declared by you"
LEADING_ZERO = r"^[+-]?0\d"


@dataclass(frozen=True)
class ColumnType:
    """What a column is, why, and how its cells are read."""

    name: str
    type: str
    why: str
    format: str = ""
    """Format of dates and times; for numbers, "," is a decimal comma, "1,000.0" and "1.000,0" group thousands.

    For others `NO_NUMBERS` where no cell is a number.
    """
    missing: int = 0
    distinct: int = 0

    @property
    def used(self) -> bool:
        """Whether a kernel sees it."""
        return self.type in ("number", "category", "date", "text", "sequence")


def column_types(table: Table, declared: dict[str, str] | None = None) -> dict[str, ColumnType]:
    """The type of each column; ``declared`` has those given by the user."""
    declared = declared or {}
    for name, kind in declared.items():
        if name not in table.frame.columns:
            raise TableError(
                f"There is no column {name!r} whose type could be {kind}; " + nearest(name, table.frame.columns)
            )
        if kind not in TYPES:
            raise TableError(f"The type of {name!r} is given as {kind!r}; it may be one of {', '.join(TYPES)}.")
    commas = table.separator == ","
    return {name: type_of(table.frame[name], declared.get(name), commas) for name in table.frame.columns}


def type_of(column: Any, declared: str | None = None, commas_separate: bool = False) -> ColumnType:
    """The type of one column; where commas separate cells, 1,234 in quotes is a thousand."""
    there = column.drop_nulls()
    missing, distinct = len(column) - len(there), there.n_unique() if len(there) else 0
    if declared:
        kind, why, how = _declared(there, declared, commas_separate)
    else:
        kind, why, how = _found(there, column.name, missing, distinct, commas_separate)
    if kind in ("category", "text", "sequence") and not has_numbers(there):
        how = NO_NUMBERS
    return ColumnType(column.name, kind, why, how, missing, distinct)


def _declared(there: Any, kind: str, commas_separate: bool) -> tuple[str, str, str]:
    how = ""
    if kind == "number" and _is_words(there):
        how = _number_format(there.str.strip_chars(), commas_separate)
    if kind == "date" and is_time(there):
        how = TIME
    if kind == "date" and _is_words(there):
        how = date_format(there) or ""
        if not how:
            raise TableError(
                f"Column {there.name!r} is declared a date, but {there[0]!r} has none of the known forms, such as "
                "2020-12-31, 31.12.2020, 12/31/2020 or 2020-12-31 23:59; rewrite it, or leave out the declaration."
            )
    return kind, DECLARED, how


def _found(there: Any, name: str, missing: int, distinct: int, commas_separate: bool) -> tuple[str, str, str]:
    """Type, reason and format, by the rules above."""
    if not len(there):
        return "empty", "no cell has a value", ""
    if distinct == 1 and not missing:
        return "constant", f"{there[0]!s} in all rows", ""
    dtype = there.dtype
    if dtype.is_numeric():
        return _numbers(there.to_numpy().astype(np.float64), name, distinct, "")
    if is_duration(there):
        return "number", f"durations from {there.min()} to {there.max()}, in days", ""
    if dtype.is_temporal():
        times = is_time(there)
        return "date", f"{'times' if times else 'dates'} from {there.min()} to {there.max()}", TIME * times
    if not _is_words(there):
        if str(dtype).startswith(("Categorical", "Enum", "Boolean")):
            return "category", f"{distinct} levels by its type", ""
        return "skipped", f"values of type {dtype}, for which no kernel is known", ""
    return _words(there, name, distinct, commas_separate)


def _words(there: Any, name: str, distinct: int, commas_separate: bool) -> tuple[str, str, str]:
    stripped = there.str.strip_chars()
    if not stripped.str.contains(LEADING_ZERO).any() or stripped.str.contains(r"^[+-]?0\.").all():
        how = _number_format(stripped, commas_separate)
        plain = plain_numbers(stripped, how)
        if plain.str.contains(NUMERIC).all():
            return _numbers(plain.cast(polars_library().Float64).to_numpy(), name, distinct, how)
    if day := date_format(stripped):
        return "date", f"dates such as {there[0]}{DAY_FIRST if _is_ambiguous(stripped, day) else ''}", day
    if time := _first_format(stripped, TIMES_OF_DAY):
        return "date", f"times of day such as {there[0]}", time
    count = len(there)
    letters, length = set("".join(there.head(1000).to_list())), float(there.str.len_chars().mean())
    if distinct > FEW_LEVELS and (
        (letters <= DNA_LETTERS and length >= DNA_LENGTH) or (letters <= PROTEIN_LETTERS and length >= PROTEIN_LENGTH)
    ):
        return "sequence", f"{len(letters)} different letters, {length:.0f} in a cell on average", ""
    words = float(there.str.split(" ").list.len().mean())
    nearly = _nearly_numbers(stripped)
    if distinct <= FEW_LEVELS or distinct <= LEVEL_SHARE * count:
        return "category", f"{distinct} different words{nearly}", ""
    if words >= TEXT_WORDS:
        return "text", f"texts of {words:.0f} words on average", ""
    if distinct == count:
        return "id", "a different word in each row", ""
    return "text", f"{distinct} different words, too many for levels{nearly}", ""


def _nearly_numbers(words: Any) -> str:
    """A note on a column that would be numeric but for a few words."""
    numbers = words.str.contains(NUMERIC)
    if numbers.mean() < NEARLY or words.str.contains(LEADING_ZERO).any():
        return ""
    other = words.filter(~numbers)[0]
    return f", though {numbers.sum():,} of {len(words):,} are numbers; leave cells such as {other!r} empty if all are"


def _numbers(values: np.ndarray, name: str, distinct: int, how: str) -> tuple[str, str, str]:
    finite = values[np.isfinite(values)]
    if distinct == len(values) and len(values) > FEW_LEVELS and np.all(finite == np.round(finite)):
        if np.ptp(finite) == len(finite) - 1 and np.all(np.abs(np.diff(finite)) == 1.0):
            return "id", "counts the rows", how
        if ID_NAME.search(name.strip().lower()):
            return "id", "a different integer in each row, and its name", how
    return "number", f"numbers from {finite.min():.6g} to {finite.max():.6g}" if len(finite) else "infinite", how


def _number_format(words: Any, commas_separate: bool) -> str:
    """The number format of these words, if they are numbers: decimal commas, thousands separators, or "" for plain."""
    for how, (form, sure, small) in GROUPED.items():
        apart = words.str.contains(form)
        is_sure = words.str.contains(sure).any() or (how == "1,000.0" and commas_separate)
        if is_sure and apart.any() and (apart | words.str.contains(small)).all():
            return how
    return "," if words.str.contains(COMMA).any() else ""


def plain_numbers(words: Any, how: str) -> Any:
    """Words with decimal points and without thousands separators; null where separators are in other places."""
    if how in GROUPED:
        form, _, small = GROUPED[how]
        words = words.set(~(words.str.contains(form) | words.str.contains(small)), None)
        words = words.str.replace_all(how[1], "", literal=True)
    return words.str.replace(",", ".", literal=True) if how in (",", "1.000,0") else words


def _is_ambiguous(words: Any, how: str) -> bool:
    """Whether days and months could be the other way round."""
    other = how.replace("%d/%m", "%m/%d")
    return other != how and parsed_dates(words, other).null_count() == 0


def date_format(words: Any) -> str | None:
    """The format in which all of these words are dates, or None; of dd/mm and mm/dd, the one that fits all."""
    return _first_format(words, [date + time for date in DATE_FORMATS for time in TIME_ENDINGS])


def _first_format(words: Any, formats: Any) -> str | None:
    first = words.head(50)
    digits, months = (first.str.contains(form).all() for form in (r"^\d{1,4}[-/.:]?\d{1,2}", MONTH))
    if not (digits or months):
        return None
    for how in formats:
        if "%Y%m%d" in how and not first.str.contains(r"^(19|20)\d{6}").all():
            continue
        if months is not ("%b" in how.lower()) or ("%y" in how and first.str.contains(r"\d{4}").any()):
            continue
        if "%Y" in how and not first.str.contains(r"\d{4}").all():
            continue
        if parsed_dates(first, how).null_count() == 0 and parsed_dates(words, how).null_count() == 0:
            return str(how)
    return None


def parsed_dates(words: Any, how: str) -> Any:
    """Datetimes, or times of day as datetimes of one day; null for words in another format."""
    padded = "2000-01-01 " + words if how in TIMES_OF_DAY else words
    form = f"%Y-%m-%d {how}" if how in TIMES_OF_DAY else how
    if "%H" not in form:
        return padded.str.to_date(form, strict=False).cast(polars_library().Datetime("us"))
    found = padded.str.to_datetime(form, strict=False, time_unit="us")
    return found.dt.replace_time_zone(None) if "%z" in form else found


def has_numbers(there: Any) -> bool:
    """Whether some of these cells are numbers."""
    if there.dtype.is_numeric():
        return True
    words = there.unique().cast(polars_library().String, strict=False) if not there.dtype.is_nested() else there.head(0)
    return bool(words.str.strip_chars().str.contains(NUMERIC).any())


def is_duration(column: Any) -> bool:
    """Whether a column holds differences of times, which are numbers."""
    return str(column.dtype).startswith("Duration")


def is_time(column: Any) -> bool:
    """Whether a column holds times without a date."""
    return str(column.dtype) == "Time"


def format_of_cells(words: Any, fitted: str) -> str:
    """The format of dates to predict for: that of the fit, found again where the fit had none or times of day."""
    if fitted in TIMES_OF_DAY:
        return _first_format(words, TIMES_OF_DAY) or fitted
    if fitted or not len(words):
        return fitted
    return date_format(words) or date_format(words.head(1)) or DATE_FORMATS[0]  # a wrong cell is found by the others


def _is_words(column: Any) -> bool:
    return str(column.dtype) == "String"
