"""What a fit found is plain JSON, and keeps its names."""

import dataclasses
import json

import numpy as np
import pytest

from representer.tables.outcome import (
    Comparison,
    Coverage,
    Finding,
    HeldOut,
    Outcome,
    Score,
    Suspicion,
    TableColumn,
)


def outcome(**changes):
    held_out = HeldOut(
        rows=np.array([1, 3]),
        truth=np.array([1.0, 2.0]),
        prediction=np.array([1.5, np.nan]),
        std=np.array([0.5, 0.5]),
        lower=None,
        upper=None,
        probabilities=None,
        unfamiliar=np.array([False, True]),
    )
    made = Outcome(
        task="regression",
        target="price",
        classes=(),
        verdict=("Good.", "Better than a line.", "Use it."),
        use_linear=False,
        rows=10,
        fitted_rows=8,
        judged_rows=2,
        protocol="20 % of the rows were set aside.",
        columns=(TableColumn("size", "number", "10 numbers", "as it is", 0, 10, True),),
        target_treatment="as it is",
        scores=(Score("R2", 0.8, 0.7, 0.9, True),),
        comparisons=(Comparison("a linear model", "R2", 0.7, 0.1, -0.05, 0.2),),
        coverage=(Coverage(0.95, np.float64(0.9)),),
        findings=(Finding("id", False, ("id",), "id names rows."),),
        model="KernelRegressor",
        kernel_words=("RBF of size",),
        kernel_formula="RBF(1.0)",
        plan="cholesky",
        certificate="converged",
        converged=True,
        held_out=held_out,
        unfamiliar_share=0.5,
        seconds=1.0,
        reproduce={"seed": 0, "versions": {"numpy": "2"}},
    )
    return dataclasses.replace(made, **changes)


def test_json_has_every_field_and_no_nan():
    found = json.loads(outcome().to_json())
    assert found["schema"] == 2
    assert {*found} == {"schema", *(field.name for field in dataclasses.fields(Outcome))}
    assert found["held_out"]["rows"] == [2, 4]  # from 1
    assert found["held_out"]["prediction"] == [1.5, None]
    assert found["held_out"]["unfamiliar"] == [False, True]
    assert found["scores"][0] == {"metric": "R2", "value": 0.8, "lower": 0.7, "upper": 0.9, "higher_is_better": True}
    assert found["coverage"][0]["covered"] == 0.9
    assert found["columns"][0]["name"] == "size"


def test_suspicious_rows_are_counted_from_1():
    found = outcome(suspicious=(Suspicion(6, 1.0, 2.0, 5.0),)).as_dict()
    assert found["suspicious"][0]["row"] == 7


def test_rows_can_be_left_out():
    assert "held_out" not in json.loads(outcome().to_json(rows=False))


def test_a_gain_counts_if_its_interval_is_above_zero():
    assert not outcome().comparisons[0].is_better
    assert Comparison("the mean", "R2", 0.0, 0.3, 0.1, 0.4).is_better


def test_it_is_frozen_and_prints_its_verdict():
    assert str(outcome()) == "Good.\nBetter than a line.\nUse it."
    with pytest.raises(dataclasses.FrozenInstanceError):
        outcome().task = "counts"
