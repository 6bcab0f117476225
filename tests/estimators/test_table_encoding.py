import numpy as np
import pandas as pd
import polars as pl
import pytest

from representer.estimators.table_encoding import WEEK, YEAR, ColumnCode, TableEncoding, needs_encoding
from representer.kernels import Categorical, Missing, On
from representer.kernels.frame_kernels import look_at

DAYS = np.datetime64("2020-01-01", "ns") + np.arange(6) * np.timedelta64(200, "D")
COLUMNS = {
    "age": [1.0, 2.0, 3.0, 4.0, 5.0, 9.0],
    "income": [1.0, None, 3.0, 5.0, None, 7.0],
    "city": ["Rome", "Oslo", "Rome", None, "Oslo", "Rome"],
    "flag": [True, False, True, True, False, True],
    "day": DAYS,
    "one": [1] * 6,
}


@pytest.mark.parametrize("library", [pd, pl])
def test_columns_become_numbers(library):
    frame = library.DataFrame(COLUMNS)
    encoding = TableEncoding.of(frame)
    rows = dict(zip(encoding.names, encoding.rows(frame).T, strict=True))
    np.testing.assert_array_equal(rows["age"], np.array(COLUMNS["age"]) - 3.5)
    np.testing.assert_array_equal(rows["income"], [-3.0, 0.0, -1.0, 1.0, 0.0, 3.0])
    np.testing.assert_array_equal(rows["income is missing"], [0, 1, 0, 0, 1, 0])
    np.testing.assert_array_equal(rows["city = Oslo"], [0, 1, 0, 0, 1, 0])
    np.testing.assert_array_equal(rows["city is missing"], [0, 0, 0, 1, 0, 0])
    np.testing.assert_array_equal(rows["flag = True"], COLUMNS["flag"])
    np.testing.assert_allclose(np.diff(rows["day"]), 200.0)
    waves = rows["sine of day by 365.25 days"] ** 2 + rows["cosine of day by 365.25 days"] ** 2
    np.testing.assert_allclose(waves, 1.0)
    assert not any(name.startswith("one") for name in rows)
    groups = dict(zip(encoding.names, encoding.groups, strict=True))
    assert groups["city = Oslo"] == groups["city = Rome"] == groups["city is missing"] != groups["flag = True"]
    assert groups["income"] != groups["income is missing"]
    assert [name for name, is_level in zip(encoding.names, encoding.indicators, strict=True) if is_level] == [
        *("income is missing", "city = Oslo", "city = Rome", "city is missing", "flag = False", "flag = True")
    ]
    assert "one     the same number in all rows; left out" in str(encoding)


def test_levels_and_gaps_that_were_not_there():
    frame = pd.DataFrame({"age": [1.0, 2.0, 3.0], "city": ["Rome", "Oslo", "Rome"]})
    encoding = TableEncoding.of(frame)
    new = encoding.rows(pd.DataFrame({"city": ["Bonn", None, "Oslo"], "age": [None, 2.0, 3.0]}))
    np.testing.assert_array_equal(new, [[0, 0, 0], [0, 0, 0], [1, 1, 0]])


def test_many_levels_and_texts_keep_kernels_of_their_own():
    frame = pd.DataFrame(
        {"shop": pd.Categorical([f"s{i % 40}" for i in range(80)]), "text": [f"a b c {i}" for i in range(80)]}
    )
    encoding = TableEncoding.of(frame)
    assert encoding.names == []
    assert repr(encoding.own["shop"]) == repr(On(Missing(Categorical(1.0)), "shop"))
    assert list(encoding.rows(frame).columns) == ["shop", "text"]


def test_which_inputs_need_it():
    assert needs_encoding(pd.DataFrame(COLUMNS))
    assert needs_encoding(pd.DataFrame({"a": [1.0, np.nan]}))
    assert needs_encoding(pl.DataFrame({"a": [1, None]}))
    assert not needs_encoding(pd.DataFrame({"a": [1.0, 2.0], "b": [True, False]}))
    assert not needs_encoding(np.eye(2))


def test_messages():
    frame = pd.DataFrame({"age": [1.0, 2.0, 3.0], "city": ["Rome", "Oslo", "Rome"]})
    encoding = TableEncoding.of(frame)
    with pytest.raises(TypeError, match="fitted to a data frame, and X is a ndarray"):
        encoding.rows(np.eye(2))
    with pytest.raises(ValueError, match="X has no column 'city'"):
        encoding.rows(frame[["age"]])
    with pytest.raises(ValueError, match="'age' had numbers in the fit, and has other values now"):
        encoding.rows(pd.DataFrame({"age": ["a"], "city": ["Rome"]}))
    with pytest.raises(ValueError, match="'age' has infinite values"):
        encoding.rows(pd.DataFrame({"age": [np.inf], "city": ["Rome"]}))
    with pytest.raises(ValueError, match="No column of the data frame says anything"):
        TableEncoding.of(pd.DataFrame({"a": [None, None], "b": ["x", "x"]}))


@pytest.mark.parametrize(
    ("step", "expected"), [(7.0, (YEAR,)), (1.0, (YEAR, WEEK)), (0.3, (YEAR, WEEK, 1.0)), (YEAR, (WEEK, 1.0))]
)
def test_periods_in_which_dates_do_not_differ_have_no_waves(step, expected):
    hours = np.round(24.0 * (step * np.arange(2600.0 / min(step, 10.0)) + 0.3))
    column = pd.Series(np.datetime64("2000-01-03") + hours.astype("m8[h]").astype("m8[s]"))
    assert ColumnCode.of(column, look_at(column, "when")).periods == expected
