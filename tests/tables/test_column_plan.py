"""Columns become the same at fit and at predict; what has changed is named with the row."""

import datetime
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.special import ndtri

from representer.tables.column_plan import ColumnPlan, Treatment, logarithm, quantiles
from representer.tables.column_types import column_types
from representer.tables.reading import TableError, read_table

FRAME = pl.DataFrame(
    {
        "size": ["1,5", None, "10,0"],
        "city": ["Rome", "Oslo", None],
        "at": ["06:00", "12:00", "18:00"],
        "day": ["2020-01-01", "2020-01-02", None],
        "y": ["1", "2", "3"],
    }
)


def plan():
    types = column_types(read_table(FRAME), {"size": "number", "city": "category"})
    return ColumnPlan.of(types, "y"), types


def test_every_type_becomes_what_a_kernel_takes():
    found = plan()[0].treated(FRAME, "t.csv")
    assert found["size"].to_list() == [1.5, None, 10.0]
    assert found["city"].dtype == pl.Categorical
    assert found["day"].to_list() == [datetime.datetime(2020, 1, 1), datetime.datetime(2020, 1, 2), None]
    np.testing.assert_allclose(found["at (sine)"], [1.0, 0.0, -1.0], atol=1e-6)
    np.testing.assert_allclose(found["at (cosine)"], [0.0, -1.0, 0.0], atol=1e-6)
    assert "y" not in found.columns


def test_levels_are_the_same_from_files_and_frames():
    assert Treatment("c", "category").cells(pl.Series([" a", "a "]), "t").to_list() == ["a", "a"]
    category, numbers = Treatment("c", "category"), [["1", "2", None], [1, 2, None], [1.0, 2.0, None]]
    for values in numbers:
        assert category.cells(pl.Series("c", values), "t").to_list() == ["1", "2", None]
    for values in (["True", "FALSE", None], [True, False, None]):
        assert category.cells(pl.Series("c", values), "t").to_list() == ["true", "false", None]
    assert category.cells(pl.Series("c", [1.5, float("nan")]), "t").to_list() == ["1.5", None]


def test_thousands_are_put_together():
    column = pl.Series("x", ["1,234,567.5", " 12 ", None])
    assert Treatment("x", "number", "1,000.0").cells(column, "t").to_list() == [1234567.5, 12.0, None]
    column = pl.Series("x", ["1.234,5", "12"])
    assert Treatment("x", "number", "1.000,0").cells(column, "t").to_list() == [1234.5, 12.0]


def test_waves_have_owners():
    assert plan()[0].owners == {"at (sine)": "at", "at (cosine)": "at"}


def test_notes_say_what_is_done():
    notes = {note.name: note for note in plan()[0].notes(plan()[1])}
    assert notes["size"].treatment == "as it is; a missing value is a point of its own, with an indicator"
    assert not notes["y"].used
    assert notes["at"].treatment == "sine and cosine of the time of day"


def test_columns_that_vanish_or_change():
    with pytest.raises(TableError, match=r"new\.csv has no column 'size'.*did you mean 'Size'"):
        plan()[0].treated(FRAME.rename({"size": "Size"}), "new.csv")
    changed = FRAME.with_columns(size=pl.Series(["1,5", "many", "2"]))
    with pytest.raises(TableError, match=r"'size' holds numbers, but row 2 of new\.csv has 'many'"):
        plan()[0].treated(changed, "new.csv")
    with pytest.raises(TableError, match="'day' holds dates, but row 1"):
        plan()[0].treated(FRAME.with_columns(day=pl.lit("soon")), "new.csv")
    with pytest.raises(TableError, match="infinite"):
        plan()[0].treated(FRAME.with_columns(size=pl.lit("inf")), "new.csv")
    with pytest.raises(TableError, match="held dates"):
        plan()[0].treated(FRAME.with_columns(day=pl.lit(3)), "new.csv")


def test_a_table_without_columns():
    with pytest.raises(TableError, match="No column beside the target 'y'"):
        ColumnPlan.of(column_types(read_table(FRAME.select("y"))), "y")


def test_scales_of_numbers():
    values = np.array([0.0, 1.0, 10.0, 100.0, np.nan])
    log = logarithm(Treatment("x", "number"), values, 0.0)
    np.testing.assert_allclose(log.transformed(values)[:2], [0.0, np.log(1.0 + 1.0 / log.unit)])
    assert "log(1 + x" in log.words
    assert np.isnan(log.transformed(values)[-1])
    positive = logarithm(Treatment("x", "number"), values[1:], 1.0)
    np.testing.assert_allclose(positive.transformed(np.array([np.e, -1.0])), [1.0, np.log(0.1)])
    tiny = logarithm(Treatment("x", "number"), 1e-20 * values[1:], 1e-20)
    np.testing.assert_allclose(tiny.transformed(np.array([1e-20, 0.0])), np.log([1e-20, 1e-21]))
    assert logarithm(Treatment("x", "number"), np.array([-1.0, 2.0]), -1.0) is None
    assert logarithm(Treatment("x", "number"), values[1:], 0.0).unit > 0.0  # zeros are in other rows
    spread = quantiles(Treatment("x", "number"), np.arange(101.0))
    np.testing.assert_allclose(spread.transformed(np.array([50.0, -5.0])), [0.0, ndtri(0.01)], atol=1e-12)


def test_levels_do_not_depend_on_other_rows():
    treatment = Treatment("x", "category")
    both, one = (treatment.cells(pl.Series("x", values), "t").to_list() for values in ([1.0, 2.5, None], [1.0, None]))
    assert both == ["1", "2.5", None]
    assert one == ["1", None]


def test_durations_and_times_of_frames():
    clock = [datetime.time(6), datetime.time(12, 30), None]
    frame = pl.DataFrame(
        {"for": [datetime.timedelta(hours=6), datetime.timedelta(1), None], "at": clock, "y": [1, 2, 3]}
    )
    types = column_types(read_table(frame))
    assert (types["for"].type, types["at"].type) == ("number", "date")
    plan = ColumnPlan.of(types, "y")
    treated = plan.treated(frame, "t")
    assert treated["for"].to_list() == [0.25, 1.0, None]
    np.testing.assert_allclose(treated["at (sine)"].to_list()[:2], [1.0, np.sin(25 / 24 * np.pi)], atol=1e-12)
    words = frame.with_columns(at=pl.Series(["06:00", "12:30", None]))
    assert plan.treated(words, "t").equals(treated)
    pandas = pd.DataFrame({"for": pd.to_timedelta([6, 24], unit="h"), "at": clock[:2], "y": [1, 2]})
    assert plan.treated(read_table(pandas).frame, "t")["for"].to_list() == [0.25, 1.0]
    assert column_types(read_table(frame), {"at": "date"})["at"] == replace(types["at"], why="declared by you")
    with pytest.raises(TableError, match="held times of day, and in t it is Int"):
        plan.treated(frame.with_columns(at=pl.lit(6)), "t")


def test_dates_of_frames_are_found_in_files():
    days = [datetime.date(2020, 5, 1), datetime.date(2020, 5, 31)]
    treatment = Treatment("d", "date")
    for words in (["01.05.2020", "31.05.2020"], ["2020-05-01", "2020-05-31"]):
        assert treatment.cells(pl.Series("d", words), "t").dt.date().to_list() == days
    with pytest.raises(TableError, match="row 2 of t has 'soon'"):
        treatment.cells(pl.Series("d", ["2020-05-01", "soon"]), "t")
    assert treatment.cells(pl.Series("d", [None], pl.String), "t").to_list() == [None]


@pytest.mark.parametrize(("form", "good", "bad"), [("1.000,0", "1.234,5", "1.5"), ("1,000.0", "1,234.5", "1,5")])
def test_numbers_with_thousands_are_not_read_in_another_format(form, good, bad):
    treatment = Treatment("x", "number", form)
    assert treatment.cells(pl.Series("x", [good, "7", None]), "t").to_list() == [1234.5, 7.0, None]
    with pytest.raises(TableError, match=f"holds numbers such as {form}, but row 2 of t has '{bad}'"):
        treatment.cells(pl.Series("x", [good, bad]), "t")


def test_words_that_become_numbers_are_told():
    frame = pl.DataFrame({"city": ["Oslo", "Rome", None], "zip": ["0123", "12a", "77"], "y": [1, 2, 3]})
    plan = ColumnPlan.of(column_types(read_table(frame), {"city": "category", "zip": "category"}), "y")
    for cells in ([1, 2, None], ["1", " 2.5", None]):
        with pytest.raises(TableError, match=r"'city' held words only, and in new\.csv it holds numbers only"):
            plan.treated(frame.with_columns(city=pl.Series(cells)), "new.csv")
    assert plan.treated(frame.with_columns(city=pl.lit(None)), "t")["city"].null_count() == 3
    mixed = frame.with_columns(city=pl.Series(["1", "Oslo", None]))
    assert plan.treated(mixed, "t")["city"].to_list() == ["1", "Oslo", None]
    assert plan.treated(frame.with_columns(zip=pl.Series([1, 2, 77])), "t")["zip"].to_list() == ["1", "2", "77"]
