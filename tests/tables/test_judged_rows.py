"""Columns that do nothing have no importance, and a wrong target is found among those of the fit."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import polars as pl

from representer.tables.judged_rows import JudgedRows, bands_of, joined, suspicions
from representer.tables.splits import Split
from representer.tables.table_model import Predictions
from representer.tables.targets import Target


def test_importance_is_what_the_score_loses(houses_fit):
    importance = dict(houses_fit.outcome.importance)
    assert importance.keys() == {"size", "city", "rooms"}
    assert importance["size"] > 1.0  # a model with a shuffled size is worse than the mean
    assert 0.02 < importance["city"] < 0.5
    assert abs(importance["rooms"]) < 0.03


def test_a_few_folds_are_one_set_of_rows():
    y = np.array(["a", "b"] * 10)
    target = Target("y", "classification", "logistic", classes=("a", "b"))
    job = SimpleNamespace(y=y, seed=0, split=Split([(np.arange(16), np.arange(16, 20))] * 10, ""))
    judged, wrong = JudgedRows(job), np.array([[0.9, 0.1]])
    for start in (0, 4, 0):
        test = np.arange(start, start + 4)
        found = Predictions(np.full(4, "a"), np.zeros(4, bool), probabilities=np.repeat(wrong, 4, axis=0))
        judged.folds.append((y[test], found, {"the most frequent class": found}))
        judged.judged.append((test, y[test], found))
    scores, comparisons = judged.scores(target)
    accuracy = scores[1]
    assert accuracy.value == 0.5
    assert accuracy.lower < 0.4 < 0.6 < accuracy.upper  # both folds have the same accuracy
    assert comparisons[0].gain == 0.0
    assert joined([found]) is found


def test_bands_between_quantiles():
    levels = Target("y", "quantiles", "quantiles", (0.05, 0.25, 0.5, 0.75, 0.95))
    np.testing.assert_allclose(bands_of(levels), [0.5, 0.9])
    assert bands_of(Target("y", "counts", "poisson")) == (0.5, 0.8, 0.95)


def test_a_wrong_target_is_suspicious(houses, houses_fit):
    wrong = houses.with_columns(price=pl.when(pl.col("nr") == 50).then(900.0).otherwise(pl.col("price")))
    planted = replace(houses_fit.model.fitted_rows, targets=wrong["price"].to_numpy())
    (first, *_), among = suspicions(replace(houses_fit.model, fitted_rows=planted), houses_fit.outcome)
    assert (first.row, first.given, among) == (50, 900.0, len(houses))
    assert abs(first.others_predict - houses["price"][50]) < 60.0
    unknown = replace(houses_fit.model, fitted_rows=None)
    assert all(abs(each.strength) > 4.0 for each in suspicions(unknown, houses_fit.outcome)[0])
