"""Frames of both libraries keep their values, types and levels."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from each_case import each

from representer.io.frames import columns_of, frame_of, library_of
from representer.io.values import SaveError, Writer

DAYS = np.array(["2020-01-01", "2021-06-30"], "datetime64[us]")
PANDAS = pd.DataFrame(
    {
        "number": [1.5, np.nan],
        "text": ["x", None],
        "level": pd.Categorical(["b", None], categories=["a", "b"]),
        "day": DAYS,
        "whole": pd.array([1, 2], "Int64"),
        "gaps": pd.array([2**53 + 1, None], "Int64"),
        "single": pd.array([None, 0.1], "Float32"),
        "flag": pd.array([True, None], "boolean"),
    }
)
POLARS = pl.DataFrame(
    {
        "number": [1.5, 2.0],
        "text": ["x", None],
        "level": pl.Series(["b", None], dtype=pl.Enum(["a", "b"])),
        "other": pl.Series(["b", "c"], dtype=pl.Categorical),
        "day": DAYS,
        "gaps": [None, 2**53 + 1],
        "small": pl.Series([None, 3], dtype=pl.UInt8),
        "single": pl.Series([None, float("nan")], dtype=pl.Float32),
        "flag": [None, True],
    }
)


@pytest.mark.parametrize("frame", [PANDAS, POLARS], ids=["pandas", "polars"])
def test_frames_come_back(frame):
    library = library_of(frame)
    found = frame_of(columns_of(frame, library), library)
    assert found.equals(frame)
    assert list(found.dtypes) == list(frame.dtypes)


def test_times_with_a_zone_stay_the_same_times():
    frame = pd.DataFrame({"time": pd.to_datetime(["2020-01-01", None, "2020-07-01"]).tz_localize("Europe/Berlin")})
    found = frame_of(columns_of(frame, "pandas"), "pandas")
    pd.testing.assert_series_equal(found["time"].dt.tz_convert("Europe/Berlin"), frame["time"])
    there = pl.DataFrame({"time": pl.Series(DAYS).dt.replace_time_zone("Europe/Berlin")})
    back = frame_of(columns_of(there, "polars"), "polars")["time"]
    assert back.dt.convert_time_zone("Europe/Berlin").equals(there["time"])


@each("value", [pd.Timestamp("2020-01-01"), (1, 2), b"a", np.array([1])])
def test_objects_are_not_taken_for_missing_values(value):
    column = pd.Series([None, value, float("nan"), pd.NA, pd.NaT, "a"], dtype=object)
    values = columns_of(pd.DataFrame({"x": column}), "pandas")["x"][1]
    assert values.tolist()[2:] == [None, None, None, "a"]
    assert values[1] is value
    with pytest.raises(SaveError, match=r"value\['x'\] is a column of objects, and one of them is"):
        Writer().slot(pd.DataFrame({"x": column}), "value")


def test_columns_with_one_name_are_refused():
    with pytest.raises(SaveError, match="value has two columns named 'b'; rename one"):
        Writer().slot(pd.DataFrame([[1, 2, 3]], columns=["a", "b", "b"]), "value")


def test_other_things_are_no_frames():
    assert library_of(np.zeros((2, 2))) is None
    assert library_of(PANDAS["number"]) is None
