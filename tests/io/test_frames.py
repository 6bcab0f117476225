"""Frames of both libraries keep their values, types and levels."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from representer.io.frames import columns_of, frame_of, library_of

DAYS = np.array(["2020-01-01", "2021-06-30"], "datetime64[us]")
PANDAS = pd.DataFrame(
    {
        "number": [1.5, np.nan],
        "text": ["x", None],
        "level": pd.Categorical(["b", None], categories=["a", "b"]),
        "day": DAYS,
        "whole": pd.array([1, 2], "Int64"),
    }
)
POLARS = pl.DataFrame(
    {
        "number": [1.5, 2.0],
        "text": ["x", None],
        "level": pl.Series(["b", None], dtype=pl.Enum(["a", "b"])),
        "other": pl.Series(["b", "c"], dtype=pl.Categorical),
        "day": DAYS,
    }
)


@pytest.mark.parametrize("frame", [PANDAS, POLARS], ids=["pandas", "polars"])
def test_frames_come_back(frame):
    library = library_of(frame)
    found = frame_of(columns_of(frame, library), library)
    assert found.equals(frame)
    assert list(found.dtypes) == list(frame.dtypes)


def test_other_things_are_no_frames():
    assert library_of(np.zeros((2, 2))) is None
    assert library_of(PANDAS["number"]) is None
