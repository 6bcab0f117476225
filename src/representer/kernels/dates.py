"""Dates and times in days."""

from __future__ import annotations

from typing import Any

import numpy as np


def is_date(column: Any) -> bool:
    """Whether a column of a data frame, or an array, holds dates, times or time differences."""
    dtype: Any = getattr(column, "dtype", None)
    if hasattr(dtype, "is_temporal"):
        return dtype.is_temporal() and not str(dtype).startswith("Time")  # polars; a time of day has no date
    return getattr(dtype, "kind", "") in ("m", "M")


def as_days(column: Any) -> np.ndarray:
    """Days since 1970 (in UTC), or durations in days; NaN where there is none."""
    dtype = column.dtype
    if hasattr(column, "dt") and getattr(dtype, "kind", "") == "M":
        column = column.to_numpy(dtype=f"datetime64[{column.dt.unit}]")  # also with a time zone
    values = np.asarray(column)
    # whole days and the remainder separately, so that nanoseconds keep their digits and years beyond their range are
    # correct
    whole = values.astype(f"{values.dtype.kind}8[D]")
    days = whole.astype(np.int64) + (values - whole) / np.timedelta64(1, "D")
    return np.where(np.isnat(values), np.nan, days)


def dates_as_days(frame: Any, names: list) -> Any:
    """A data frame in which columns of dates are converted to days."""
    dates = [name for name in names if is_date(frame[name])]
    if not dates:
        return frame
    if hasattr(frame, "with_columns"):  # polars
        return frame.with_columns([type(frame[name])(name, as_days(frame[name])) for name in dates])
    frame = frame.copy()
    for name in dates:
        frame[name] = as_days(frame[name])
    return frame
