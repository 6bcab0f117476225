"""Columns that decide come first, and sections follow the function that made the data."""

import numpy as np
import polars as pl
import pytest

from representer.tables.column_plan import Treatment
from representer.tables.effects import _points, column_effects


def test_effects(houses, houses_fit):
    effects = column_effects(houses_fit, houses)
    assert [each.name for each in effects] == ["size", "city", "rooms"]
    assert effects[2].importance < 0.03 < effects[1].importance < effects[0].importance
    size = effects[0]
    assert np.corrcoef(size.mean, np.sin(np.array(size.points) / 20.0))[0, 1] > 0.98
    assert all(low <= high for low, high in zip(size.lower, size.upper, strict=True))
    by_city = dict(zip(effects[1].points, effects[1].mean, strict=True))
    assert by_city["Oslo"] - by_city["Rome"] == pytest.approx(30.0, abs=7.0)


def test_levels_of_a_column_named_count():
    assert _points(pl.Series("count", ["a", "b", "b", None]), Treatment("count", "category")) == ["b", "a"]
