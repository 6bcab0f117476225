"""The rows that a report explains, and when it does not."""

from dataclasses import replace

import numpy as np
import pytest

from representer.tables import explained_rows as explained
from representer.tables.explained_rows import explained_rows


def test_the_worst_and_a_usual_row(houses, houses_fit, monkeypatch):
    held = houses_fit.outcome.held_out
    errors = np.abs(held.truth - held.prediction)
    known = replace(houses_fit.outcome, held_out=replace(held, unfamiliar=np.zeros(len(errors), bool)))
    worst, usual = explained_rows(replace(houses_fit, outcome=known), houses)
    assert worst.explanation.row == held.rows[errors.argmax()] + 1
    assert abs(usual.given - usual.predicted) == pytest.approx(np.median(errors), rel=0.1)
    for each in (worst, usual):
        value, row = each.explanation.value, each.explanation.row
        assert value == pytest.approx(houses_fit.predict(houses[[row - 1]])["prediction"][0])
        assert value == pytest.approx(each.explanation.base + sum(share for *_, share in each.explanation.columns))
    monkeypatch.setattr(explained, "MOST_COEFFICIENTS", 10)
    assert explained_rows(houses_fit, houses) == ()


def test_an_unfamiliar_row(houses_fit):
    held = houses_fit.outcome.held_out
    unfamiliar = np.zeros(len(held.rows), bool)
    unfamiliar[7] = True
    chosen = explained._chosen(replace(held, unfamiliar=unfamiliar), ())
    assert chosen["the largest error among other unfamiliar rows"] == 7
    likely = np.array([[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]])
    labels = replace(held, rows=np.arange(3), truth=np.array(["a"] * 3), unfamiliar=np.zeros(3, bool))
    labels = replace(labels, probabilities=likely)
    assert explained._chosen(labels, ("a", "b")) == {"the largest error": 2, "a usual error": 1}
