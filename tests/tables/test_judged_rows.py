"""Columns that do nothing have no importance, and a wrong target is found among those of the fit."""

from dataclasses import replace

import polars as pl

from representer.tables.judged_rows import suspicions


def test_importance_is_what_the_score_loses(houses_fit):
    importance = dict(houses_fit.outcome.importance)
    assert importance.keys() == {"size", "city", "rooms"}
    assert importance["size"] > 1.0  # a model with a shuffled size is worse than the mean
    assert 0.02 < importance["city"] < 0.5
    assert abs(importance["rooms"]) < 0.03


def test_a_wrong_target_is_suspicious(houses, houses_fit):
    wrong = houses.with_columns(price=pl.when(pl.col("nr") == 50).then(900.0).otherwise(pl.col("price")))
    planted = replace(houses_fit.model.fitted_rows, targets=wrong["price"].to_numpy())
    (first, *_) = suspicions(replace(houses_fit.model, fitted_rows=planted), houses_fit.outcome)
    assert (first.row, first.given) == (50, 900.0)
    assert abs(first.others_predict - houses["price"][50]) < 60.0
    unknown = replace(houses_fit.model, fitted_rows=None)
    assert all(abs(each.strength) > 4.0 for each in suspicions(unknown, houses_fit.outcome))
