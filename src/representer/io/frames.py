"""Data frames as named arrays, and back, without importing libraries that a model does not use."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

WITH_GAPS = {f"{sign}Int{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64)} | {"Float32", "Float64"}
WITH_GAPS |= {"boolean", "Boolean"}
"""Names of types of numbers whose missing values are marked apart, in pandas and polars."""
PANDAS_TYPES = {"str", "string"}
"""Names of other types that pandas has in addition to those of numpy."""
ZONED = "UTC"
"""Type of times with a zone."""
MISSING = {"NoneType", "NAType", "NaTType"}
"""Types of markers of missing values, beside NaN."""
Column = tuple[str, Any, Any]
"""Original type, values as an array, and the levels of a category or which values are missing."""


def library_of(value: Any) -> str | None:
    """The library of a data frame, "pandas" or "polars"; None for anything else."""
    room = type(value).__module__.partition(".")[0]
    return room if type(value).__name__ == "DataFrame" and room in ("pandas", "polars") else None


def columns_of(frame: Any, library: str) -> dict[str, Column]:
    """The columns of a frame by name."""
    names = list(frame.columns)
    return {name: (_from_pandas if library == "pandas" else _from_polars)(frame[name]) for name in names}


def _from_pandas(column: Any) -> Column:
    name = column.dtype.name
    if name == "category":
        return name, column.cat.codes.to_numpy(), column.cat.categories.to_numpy()
    if getattr(column.dtype, "tz", None) is not None:  # the same times, in another zone
        return ZONED, column.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy(), None
    if name in WITH_GAPS:
        values = column.to_numpy(dtype=column.dtype.numpy_dtype, na_value=0)
        return name, values, column.isna().to_numpy() if column.hasnans else None
    return (name if name in PANDAS_TYPES else ""), _without_gaps(column.to_numpy()), None


def _from_polars(column: Any) -> Column:
    name = type(column.dtype).__name__
    if name in WITH_GAPS and column.null_count():  # without: floats, which have fewer digits than integers
        return name, column.fill_null(False if name == "Boolean" else 0).to_numpy(), column.is_null().to_numpy()
    if getattr(column.dtype, "time_zone", None) is not None:
        return ZONED, column.dt.convert_time_zone("UTC").dt.replace_time_zone(None).to_numpy(), None
    if name in ("String", "Categorical", "Enum"):
        levels = np.array(column.dtype.categories.to_list(), object) if name == "Enum" else None
        return name, _without_gaps(np.array([*column, None], object)[:-1]), levels
    return "", _without_gaps(column.to_numpy()), None


def _without_gaps(values: np.ndarray) -> np.ndarray:
    """An array of objects with None for every marker of a missing value; what no file can hold is refused later."""
    if values.dtype.kind != "O":
        return values
    found = np.empty(len(values), object)
    for i, value in enumerate(values):
        is_missing = type(value).__name__ in MISSING or (isinstance(value, float) and value != value)
        found[i] = None if is_missing else value
    return found


def frame_of(columns: dict[str, Column], library: str) -> Any:
    """The frame of such columns; ValueError if they do not make one."""
    made = import_module(library)
    foreign = NotImplementedError if library == "pandas" else made.exceptions.PolarsError
    build = _to_pandas if library == "pandas" else _to_polars
    try:
        return made.DataFrame({name: build(made, *column) for name, column in columns.items()})
    except (foreign, ValueError, TypeError, LookupError, ArithmeticError) as fault:
        raise ValueError(f"its columns do not make a data frame: {fault}") from None


def _to_pandas(pandas: Any, kind: str, values: np.ndarray, marks: Any) -> Any:
    if kind == "category":
        return pandas.Categorical.from_codes(values, marks)
    if kind == ZONED:
        return pandas.Series(values).dt.tz_localize("UTC")
    if kind not in WITH_GAPS | PANDAS_TYPES:
        return values
    column = pandas.array(values, dtype=kind)
    if marks is not None:
        column[marks] = pandas.NA
    return column


def _to_polars(polars: Any, kind: str, values: np.ndarray, marks: Any) -> Any:
    if kind == ZONED:
        return polars.Series(values).dt.replace_time_zone("UTC")
    if kind in WITH_GAPS:
        return polars.Series(values) if marks is None else polars.Series(values).set(polars.Series(marks), None)
    if kind not in ("String", "Categorical", "Enum"):
        return polars.Series(values)
    dtype = polars.Enum(list(marks)) if kind == "Enum" else getattr(polars, kind)
    return polars.Series(list(values), dtype=dtype)
