"""Leave-one-out takes logarithms where they help, and nothing where they do not."""

import numpy as np
import polars as pl
import pytest

from representer.tables import scales as chosen
from representer.tables.column_plan import ColumnPlan, Treatment
from representer.tables.scales import chosen_scales
from representer.tables.targets import Target

RNG = np.random.default_rng(0)
LONG = np.exp(2.0 * RNG.normal(size=150))
PLAN = ColumnPlan((Treatment("x", "number"),))
FRAME = pl.DataFrame({"x": LONG})


def scales(y, x=LONG, **options):
    target = Target("y", options.pop("task", "regression"), "squared", **options)
    plan, target = chosen_scales(PLAN, target, pl.DataFrame({"x": x}), y, "t", 0)
    return plan.treatments[0].transform, target


def test_a_function_of_the_logarithm():
    transform, target = scales(np.sin(np.log(LONG)) + 0.1 * RNG.normal(size=150))
    assert transform in ("logarithm", "quantiles")
    assert not target.logarithm


def test_columns_without_a_tail_stay():
    x = RNG.normal(size=150)
    assert scales(np.sin(x), x)[0] == ""


def test_products_are_fitted_by_their_logarithm():
    x = RNG.normal(size=150)
    noise = np.exp(0.3 * RNG.normal(size=150))
    assert scales(np.exp(2.0 * x) * noise, x)[1].logarithm
    assert "logarithm" in scales(np.exp(2.0 * x) * noise, x)[1].why
    assert not scales(np.maximum(x, 0.0) ** 2 + 0.01, x)[1].logarithm


def test_classes_and_counts_choose_scales_of_columns():
    labels = np.where(np.sin(np.log(LONG)) > 0.0, "a", "b")
    assert scales(labels, task="classification", classes=("a", "b"))[0] in ("logarithm", "quantiles")
    counts = RNG.poisson(np.exp(1.0 + np.sin(np.log(LONG)))).astype(float)
    assert scales(counts, task="counts")[0] in ("logarithm", "quantiles")


def test_quantiles_are_those_of_all_rows(monkeypatch):
    monkeypatch.setattr(chosen, "ROWS_FOR_SCALES", 60)
    monkeypatch.setattr(chosen, "logarithm", lambda *args: None)
    plan, _ = chosen_scales(PLAN, Target("y", "regression", "squared"), FRAME, np.sin(np.log(LONG)), "t", 0)
    assert plan.treatments[0].transform == "quantiles"
    assert plan.treatments[0].knots[[0, -1]].tolist() == [LONG.min(), LONG.max()]


def test_zeros_outside_the_sample_rule_out_a_logarithm(monkeypatch):
    monkeypatch.setattr(chosen, "ROWS_FOR_SCALES", 60)
    x = RNG.normal(size=150)
    y = np.exp(2.0 * x) * np.exp(0.3 * RNG.normal(size=150))
    sample = np.random.default_rng(0).permutation(150)[:60]
    y[np.setdiff1d(np.arange(150), sample)[0]] = 0.0
    assert not scales(y, x)[1].logarithm


@pytest.mark.parametrize("least", [0.0, -1.0])
def test_the_least_value_of_other_rows_counts(least):
    y = np.sin(np.log(LONG))
    target = Target("y", "regression", "squared")
    plan, _ = chosen_scales(PLAN, target, FRAME, y, "t", 0, {"x": least, "y": y.min()})
    found = plan.treatments[0]
    assert found.transform == "" if least < 0.0 else found.transform != "logarithm" or found.unit > 0.0


def test_classes_that_a_random_sample_misses(monkeypatch):
    monkeypatch.setattr(chosen, "ROWS_FOR_SCALES", 30)
    labels = np.array(["no"] * 148 + ["yes"] * 2)
    assert scales(labels, task="classification", classes=("no", "yes"))[0] in ("", "logarithm", "quantiles")
