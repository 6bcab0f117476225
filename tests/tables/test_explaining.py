"""Explanations add up to the prediction by rows and by columns, name what they mean, and know what is unfamiliar."""

from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pytest

from representer import (
    SVC,
    GaussianProcessRegressor,
    KernelClassifier,
    KernelPCA,
    KernelRegressor,
    KernelRidge,
    explain,
)
from representer.tables import machines
from representer.tables.column_plan import ColumnPlan, Treatment
from representer.tables.table_model import FittedRows, TableModel
from representer.tables.targets import Target

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 3)) + np.array([0.0, 2000.0, -5.0])
Y = np.sin(2.0 * X[:, 0]) + 0.05 * (X[:, 1] - 2000.0) + 0.05 * RNG.normal(size=80)


@cache
def fitted(kind):
    """One model of each kind, fitted when a test needs it: collecting tests compiles nothing."""
    return kind(**({"alpha": 0.1, "fit_intercept": True} if kind is KernelRidge else {})).fit(X, Y)


@pytest.mark.parametrize("kind", [KernelRidge, KernelRegressor, GaussianProcessRegressor])
def test_both_sums_are_the_prediction(kind):
    model = fitted(kind)
    found = explain(model, X, row=17, n=3)
    assert found.value == pytest.approx(float(model.predict(X[17:18])[0]), abs=1e-8)
    by_rows = found.start + sum(share.added for share in (*found.up, *found.down)) + found.other_rows
    by_columns = found.base + sum(share for _, _, share in found.columns)
    assert by_rows == pytest.approx(found.value, abs=1e-8)
    assert by_columns == pytest.approx(found.value, abs=1e-8)
    assert {name for name, _, _ in found.columns} == {"x0", "x1", "x2"}
    assert [share.added for share in found.up] == sorted((share.added for share in found.up), reverse=True)
    for share in (*found.up, *found.down):
        assert share.added == pytest.approx(share.weight * (Y[share.row] - found.start), abs=3e-3)
    assert "on average" in str(found)
    assert found.as_dict()["removed"].startswith("A removed column")


def test_the_column_that_matters_comes_first():
    found = explain(fitted(KernelRegressor), X, row=int(np.argmax(np.abs(X[:, 0]))))
    assert found.columns[0][0] == "x0"
    assert abs(found.columns[-1][2]) < 0.3 * abs(found.columns[0][2])


@pytest.mark.filterwarnings("ignore:The search stopped")
def test_classes():
    labels = np.array(["a", "b", "c"])[np.digitize(X[:, 0], [-0.5, 0.5])]
    model = KernelClassifier(time_limit=1e-9).fit(X, labels)
    found = explain(model, X, row=3)
    assert found.what == f"score of {model.predict(X[3:4])[0]}"
    assert explain(model, X, row=3, output="b").what == "score of b"
    with pytest.raises(ValueError, match="one of a, b, c"):
        explain(model, X, output="d")
    svm = SVC().fit(X, labels == "a")
    seen = explain(svm, X, row=5)
    assert seen.value == pytest.approx(float(svm.decision_function(X[5:6])[0]), abs=1e-9)
    assert {share.row for share in (*seen.up, *seen.down)} <= set(svm.support_)


@pytest.mark.filterwarnings("ignore:The search stopped")
def test_frames_have_names_and_levels_go_together():
    frame = pd.DataFrame({"size": X[:, 0], "city": RNG.choice(["Oslo", "Rome", "Bern"], 80), "age": X[:, 2]})
    frame.loc[4, "age"] = np.nan
    target = Y + (frame["city"] == "Oslo")
    model = KernelRegressor(time_limit=1e-9).fit(frame, target)
    found = explain(model, frame, row=2)
    assert {name for name, _, _ in found.columns} == {"size", "city", "age"}
    assert found.base + sum(share for *_, share in found.columns) == pytest.approx(found.value, abs=1e-8)
    assert {name: cell for name, cell, _ in found.columns}["city"] == frame["city"][2]


def test_strange_rows_are_said_to_be_so():
    found = explain(fitted(KernelRidge), np.array([[40.0, 2000.0, -5.0]]))
    assert found.unfamiliar
    assert found.extrapolated == ("x0",)
    assert "do not trust" in str(found)
    assert not explain(fitted(KernelRidge), X, row=1).unfamiliar


def test_errors_say_what_to_do():
    with pytest.raises(ValueError, match="from 0 to 79"):
        explain(fitted(KernelRidge), X, row=80)
    with pytest.raises(TypeError, match="no single fitted function"):
        explain(KernelPCA(2).fit(X), X)
    with pytest.raises(ValueError, match="choose one by output="):
        explain(KernelRidge().fit(X, X), X)


@pytest.mark.filterwarnings("ignore:The search stopped")
def test_landmarks_have_the_numbers_of_their_rows(monkeypatch):
    monkeypatch.setattr(machines, "EXACT_ROWS", 30)
    monkeypatch.setattr(machines, "FEWEST_LANDMARKS", 10)
    x = np.linspace(-2.0, 2.0, 60)
    frame, target, numbers = pl.DataFrame({"x": x}), Target("y", "regression", "squared"), np.arange(100, 160)
    estimator, route = machines.fit_machine(target, frame, np.sin(x), machines.Effort(0.5))
    plan = ColumnPlan((Treatment("x", "number"),))
    model = TableModel(plan, target, estimator, route, None, FittedRows(numbers, np.sin(x)))
    found = explain(model, frame, 7)
    assert found.rows_are == "landmark row"
    for share in (*found.up, *found.down):
        np.testing.assert_allclose(share.target, model.predict(frame[[share.row - 100]])["prediction"][0], atol=1e-6)
    bare = explain(replace(model, fitted_rows=None), frame, 7)
    assert bare.rows_are == "landmark"
