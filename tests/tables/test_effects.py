"""Columns that decide come first, and sections follow the function that made the data."""

import numpy as np
import polars as pl
import pytest

from representer import fit_table
from representer.tables import splits
from representer.tables.effects import column_effects


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    size, noise, city = rng.uniform(0, 4, 100), rng.normal(size=100), rng.choice(["Oslo", "Rome"], 100)
    return pl.DataFrame({"noise": noise, "size": size, "city": city, "y": size**2 + 3.0 * (city == "Oslo")})


def test_effects(table, monkeypatch):
    monkeypatch.setattr(splits, "FOLDS", 2)
    monkeypatch.setattr(splits, "REPETITIONS", 1)
    model = fit_table(table, "y", time_limit=60).model
    effects = column_effects(model, table)
    assert [each.name for each in effects[:2]] == ["size", "city"]
    assert effects[2].importance < 0.03 < effects[1].importance < effects[0].importance
    size = effects[0]
    assert np.corrcoef(size.mean, np.square(size.points))[0, 1] > 0.98
    assert all(low <= high for low, high in zip(size.lower, size.upper, strict=True))
    by_city = dict(zip(effects[1].points, effects[1].mean, strict=True))
    assert by_city["Oslo"] - by_city["Rome"] == pytest.approx(3.0, abs=0.7)
