"""Faults that were planted are found, and a sound table has none."""

import numpy as np
import polars as pl

from representer.tables.column_types import column_types
from representer.tables.doctor import examine
from representer.tables.reading import read_table
from representer.tables.targets import Target

RNG = np.random.default_rng(0)
N = 200
TRAIN, TEST = np.arange(160), np.arange(160, 200)
X = RNG.normal(size=N)
Y = X + RNG.normal(size=N)
NUMBERS, CLASSES = Target("y", "regression", "squared"), Target("y", "classification", "logistic", classes=("a", "b"))


def kinds(columns, y=Y, target=NUMBERS, raw=None, time=""):
    frame = pl.DataFrame(columns)
    types = column_types(read_table(pl.DataFrame(raw if raw is not None else {**columns, "y": y})))
    return {finding.kind: finding for finding in examine(types, target, frame, y, (TRAIN, TEST), 0, time)}


def test_a_sound_table():
    assert kinds({"x": X}) == {}


def test_leaks_of_numbers_and_classes():
    found = kinds({"x": X, "twice": 2.0 * Y})
    assert found["leak"].columns == ("twice",)
    assert found["leak"].serious
    labels = np.where(Y > 0.0, "a", "b")
    code = pl.Series(np.where(Y > 0.0, "one", "two")).cast(pl.Categorical)
    assert kinds({"x": X, "code": code}, labels, CLASSES)["leak"].columns == ("code",)


def test_copies_and_contradictions():
    x = X.copy()
    x[TEST] = x[TRAIN[:40]]
    found = kinds({"x": x})
    assert "40 of 40 rows" in found["duplicates"].sentence
    assert "contradictions" in found


def test_rows_set_aside_that_differ():
    x = X.copy()
    x[TEST] += 3.0
    found = kinds({"x": x, "z": X[::-1]})["shift"]
    assert found.serious
    assert found.columns == ("x",)


def test_later_rows_have_later_dates():
    day = pl.datetime_range(pl.datetime(2020, 1, 1), pl.datetime(2020, 7, 18), "1d", eager=True)
    columns = {"x": X, "day": day, "year": np.arange(N) // 50 + 2000.0}
    assert "shift" in kinds(columns)
    assert "shift" not in kinds(columns, time="day")
    moved = {**columns, "x": np.where(np.arange(N) >= 160, X + 3.0, X)}
    assert kinds(moved, time="day")["shift"].columns == ("x",)


def test_columns_that_say_nothing():
    raw = {
        "id": np.arange(N),
        "one": ["k"] * N,
        "gone": pl.Series([1.5, *[None] * (N - 2), 2.5]),
        "x": X,
        "y": pl.Series([*Y[:-1], None]),
    }
    found = kinds({"x": X}, raw=raw)
    assert {"id", "constant", "missing", "rows"} <= {*found}
    assert "99 %" in found["missing"].sentence


def test_rare_classes():
    labels = np.array(["a"] * (N - 3) + ["b"] * 3)
    assert "the class b" in kinds({"x": X}, labels, CLASSES)["rows"].sentence


def test_missing_cells_are_a_share_of_all_rows():
    half = pl.DataFrame({"x": X, "gaps": pl.Series([None, None, None, 1.0, 1.0] * 40)})
    rest = half.with_columns(y=pl.lit(None, pl.Float64), gaps=pl.lit(1.0))
    raw = pl.concat([half.with_columns(y=pl.Series(Y)), rest])
    found = examine(column_types(read_table(raw)), NUMBERS, half, Y, (TRAIN, TEST), 0, rows=400)
    assert [each.kind for each in found] == ["rows"]  # 120 of 400 are missing, though 120 of 200 with a target
