"""A weight is what a change of a row's target changes in the prediction; all that rows add is the prediction."""

import numpy as np
import pytest

from representer import (
    SVC,
    Function,
    GaussianProcessRegressor,
    KernelLogisticRegression,
    KernelRegressor,
    KernelRidge,
    explain,
)
from representer.estimators import in_span
from representer.features.nystroem import Nystroem
from representer.kernels import RBF, Linear
from representer.tables.row_shares import BY_DIFFERENCES, BY_LANDMARKS, BY_REPRESENTERS, BY_TARGETS, row_shares

RNG = np.random.default_rng(0)
X = RNG.normal(size=(50, 2))
Y = 1000.0 + np.sin(2.0 * X[:, 0]) + 0.1 * RNG.normal(size=50)
NEW = np.array([[0.3, -0.2]])
REPEATED = RNG.integers(0, 3, 50).astype(float)


@pytest.mark.parametrize(
    ("model", "weight"),
    [
        (KernelRidge(0.1), None),
        (KernelRidge(0.1, fit_intercept=True), REPEATED),
        (KernelRidge(0.1, kernel=Linear(), fit_intercept=True), None),
        (GaussianProcessRegressor(RBF(1.0), noise=0.2, optimizer=None), None),
        (GaussianProcessRegressor(RBF(1.0), noise=np.linspace(0.1, 1.0, 50), optimizer=None), None),
    ],
    ids=["plain", "intercept and weights", "linear", "process", "noise of each row"],
)
def test_a_weight_is_the_slope_of_the_prediction(model, weight):
    options = {} if weight is None else {"sample_weight": weight}
    model.fit(X, Y, **options)
    found = row_shares(model, model.function_, NEW, 0)
    value = model.predict(NEW)[0]
    assert found.start + found.added.sum() == pytest.approx(value, rel=1e-9)
    has_weight = np.ones(50, bool) if weight is None else weight > 0.0
    np.testing.assert_allclose(found.targets[has_weight], Y[has_weight], rtol=1e-6)
    for i in (0, 7, 30):
        changed = Y.copy()
        changed[i] += 10.0
        slope = (model.fit(X, changed, **options).predict(NEW)[0] - value) / 10.0
        assert found.weights[i] == pytest.approx(slope, abs=1e-5)
    if getattr(model, "fit_intercept", False):
        assert found.weights.sum() == pytest.approx(1.0)
    assert found.formula == BY_TARGETS


@pytest.mark.filterwarnings("ignore:The search stopped")
@pytest.mark.parametrize("weight", [None, 1.0 + np.arange(50) % 3], ids=["copies", "weights"])
def test_rows_of_a_searched_model(weight):
    inputs, targets = X.copy(), Y.copy()
    if weight is None:
        inputs[3], targets[3] = X[9], Y[9]
    model = KernelRegressor(time_limit=1e-9).fit(inputs, targets, weight)
    centred = Function(model.kernel_, inputs - model._centre, model.function_.coef)
    constant = model.predict(NEW)[0] - centred(NEW - model._centre)[0]
    found = row_shares(model, centred.with_coef(centred.coef, constant), NEW - model._centre, 0)
    assert found.start + found.added.sum() == pytest.approx(model.predict(NEW)[0], rel=1e-9)
    np.testing.assert_allclose(found.targets, targets, atol=1e-3)
    assert found.weights.sum() == pytest.approx(1.0)


def test_landmarks_have_the_weights_of_interpolation():
    model = KernelRidge(0.1, kernel=Nystroem(RBF(1.0), 12), fit_intercept=True).fit(X, Y)
    f = model.function_
    found = row_shares(model, f, NEW, 0)
    assert found.start + found.added.sum() == pytest.approx(f(NEW)[0], rel=1e-9)
    np.testing.assert_allclose(found.targets, f(f.X), rtol=1e-6)
    assert found.formula == BY_LANDMARKS
    at_landmark = row_shares(model, f, f.X[3:4], 0).weights
    np.testing.assert_allclose(at_landmark, np.eye(12)[3], atol=1e-5)


def test_other_losses_have_representers():
    model = SVC().fit(X, Y > 1000.0)
    found = row_shares(model, model.function_, NEW, 0)
    assert (found.formula, found.weights) == (BY_DIFFERENCES, None)
    assert found.start + found.added.sum() == pytest.approx(model.decision_function(NEW)[0])
    assert found.start == pytest.approx(model.function_.constant)
    assert "weight" not in str(explain(model, NEW))
    linear = SVC(kernel="linear").fit(X, Y > 1000.0)
    found = row_shares(linear, linear.function_, NEW, 0)
    assert found.formula == BY_REPRESENTERS  # products of rows have both signs
    assert found.start + found.added.sum() == pytest.approx(linear.decision_function(NEW)[0])


@pytest.mark.parametrize("classes", [2, 3])
def test_functions_that_columns_span_have_shares_of_rows_too(classes, monkeypatch):
    monkeypatch.setattr(in_span, "MANY_ROWS_FROM", 40)
    labels = np.digitize(Y, [1000.0] if classes == 2 else [999.5, 1000.5])
    model = KernelLogisticRegression(kernel=Linear()).fit(X, labels)
    f = model.function_ if classes == 2 else model.function_[1]
    found = row_shares(model, f, NEW, int(classes == 3))
    assert len(f.X) < len(found.added) == 50
    assert found.start + found.added.sum() == pytest.approx(f(NEW)[0], abs=1e-4)


def test_a_kernel_that_is_nearly_constant_adds_little():
    model = SVC(kernel=100.0 + RBF(1.0)).fit(X, Y > 1000.0)
    found = row_shares(model, model.function_, NEW, 0)
    assert found.start + found.added.sum() == pytest.approx(model.decision_function(NEW)[0])
    assert np.abs(found.added).max() < 2.0  # and not 100


def test_lines_for_people():
    model = KernelRidge(0.1, fit_intercept=True).fit(X, Y)
    share = explain(model, NEW, n=1).up[0]
    assert (
        share.words("row") == f"{share.added:+.4g} by row {share.row} ({Y[share.row]:,.6g}), weight {share.weight:.3f}"
    )
