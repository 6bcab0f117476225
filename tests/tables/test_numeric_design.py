"""Frames as columns of numbers."""

import datetime

import numpy as np
import polars as pl

from representer.tables.numeric_design import NumericDesign


def test_columns():
    days = [datetime.datetime(2020, 1, 1) + datetime.timedelta(hours=6 * i) for i in range(4)]
    frame = pl.DataFrame(
        {
            "n": [1.0, None, 3.0, 2.0],
            "c": pl.Series(["a", "b", None, "a"]).cast(pl.Categorical),
            "d": days,
            "t": ["good wine", "bad wine", "good", None],
            "s": ["ACGT", "CGTA", "", "ACG"],
        }
    )
    design = NumericDesign.of(frame)
    X = design.rows(frame)
    assert len(X) == 4
    assert np.isfinite(X).all()
    np.testing.assert_allclose(X[:, 0], [-np.sqrt(1.5), 0.0, np.sqrt(1.5), 0.0])
    assert X[:, 1].tolist() == [0, 1, 0, 0]  # the indicator of the gap
    assert X[:, 2:4].tolist() == [[1, 0], [0, 1], [0, 0], [1, 0]]
    np.testing.assert_allclose(X[:, 9:11], [[0, 1], [1, 0], [0, -1], [-1, 0]], atol=1e-6)  # wave of a day
    unseen = design.rows(frame.with_columns(c=pl.Series(["z"] * 4).cast(pl.Categorical)))
    assert not unseen[:, 2:4].any()


def test_a_category_named_count():
    frame = pl.DataFrame({"count": pl.Series(["a", "b", "a"]).cast(pl.Categorical)})
    assert NumericDesign.of(frame).rows(frame).tolist() == [[1, 0], [0, 1], [1, 0]]
