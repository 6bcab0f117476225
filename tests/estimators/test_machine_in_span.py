"""Machines with approximations: exact at full rank, weights as repetition, plans and refusals."""

import numpy as np
import pytest
from sklearn.base import clone

from representer import (
    KernelLogisticRegression,
    KernelMachine,
    KernelPoissonRegression,
    KernelQuantileRegression,
    Nystroem,
    RandomFeatures,
)
from representer.estimators import in_span
from representer.estimators.machine_in_span import has_slopes
from representer.kernels import RBF, Linear, Polynomial
from representer.losses import Hinge, Huber, Pinball
from representer.regularizers import Norm, SquaredNorm

rng = np.random.default_rng(0)
X = rng.normal(size=(120, 2))
f = np.sin(2.0 * X[:, 0])
y = f + 0.2 * rng.normal(size=120)
CASES = [
    (KernelMachine(loss=Huber(0.1), tol=1e-8), y, 1e-5),
    (KernelLogisticRegression(tol=1e-8), y > 0, 1e-4),
    (KernelLogisticRegression(tol=1e-7), np.digitize(y, [-0.5, 0.5]), 1e-3),
    (KernelPoissonRegression(tol=1e-8), rng.poisson(np.exp(f)), 1e-4),
    (KernelQuantileRegression([0.2, 0.8], tol=1e-4), y, 0.05),
]


@pytest.mark.parametrize(("model", "target", "atol"), CASES, ids=lambda case: getattr(type(case), "__name__", ""))
def test_full_rank_is_exact(model, target, atol):
    values = [
        model.set_params(kernel=kernel).fit(X, target).function_(X)
        for kernel in (Nystroem(RBF(1.0), landmarks=X), RBF(1.0))
    ]
    if isinstance(model, KernelLogisticRegression) and values[0].ndim == 2:  # a constant for all classes is free
        values = [part - part.mean() for part in values]
    np.testing.assert_allclose(*values, atol=atol)


def test_functions_are_on_landmarks_and_certificates_tell_both_errors():
    model = KernelLogisticRegression(kernel=Nystroem(RBF(1.0), 12)).fit(X, y > 0)
    assert model.function_.coef.shape == (12,)
    assert model.function_.kernel == RBF(1.0)
    certificate = model.certificate_
    assert certificate.converged
    assert certificate.passes < 12
    assert certificate.approximation.mean > 0.0
    assert certificate.approximation.full_gap > certificate.gap
    assert model.predict_proba(X).shape == (120, 2)


@pytest.mark.parametrize(
    ("model", "targets", "atol"),
    [
        (KernelLogisticRegression(C=0.1, tol=1e-9), "two", 1e-4),
        (KernelLogisticRegression(C=0.1, tol=1e-7), "three", 1e-3),
        (KernelMachine(loss=Huber(0.5), regularizer=SquaredNorm(3.0), tol=1e-10), "numbers", 1e-4),
        (KernelPoissonRegression(tol=1e-10, fit_intercept=False), "counts", 1e-4),
    ],
    ids=lambda case: getattr(type(case), "__name__", ""),
)
def test_linear_kernels_of_many_rows_are_solved_in_their_columns(model, targets, atol, monkeypatch):
    monkeypatch.setattr(in_span, "MANY_ROWS_FROM", 300)
    Z, w = rng.normal(size=(300, 2)), rng.random(300) + 0.5
    values = Z[:, 0] + rng.normal(size=300)
    t = {
        "two": values > 0.0,
        "three": np.digitize(values, [-0.5, 0.5]),
        "numbers": values,
        "counts": rng.poisson(np.exp(0.3 * Z[:, 0])),
    }[targets]
    same = Polynomial(1, offset=0.0, length_scale=2.0)  # k(x, y) = <x, y> / 4, without a basis
    expected = clone(model).set_params(kernel=same).fit(Z, t, w)
    found = clone(model).set_params(kernel=Linear(2.0)).fit(Z, t, w)
    assert found.certificate_.passes > 0
    assert found.certificate_.converged
    assert found.certificate_.approximation is None
    assert found.plan(Z, t).passes > 0
    assert found.X_fit_.shape == Z.shape
    fits = [each.function_(Z) for each in (found, expected)]
    if targets == "three":  # a constant for all classes is free
        fits = [fit - fit.mean(axis=1, keepdims=True) for fit in fits]
    np.testing.assert_allclose(*fits, atol=atol)
    np.testing.assert_allclose(found.dual_coef_, expected.dual_coef_, atol=atol)
    np.testing.assert_allclose(Z.T @ found.dual_coef_ / 4.0, found.coef_.T, atol=atol)


@pytest.mark.parametrize(
    "model", [KernelMachine("linear", Hinge()), KernelMachine("linear", Huber(), Norm(1.0)), KernelQuantileRegression()]
)
def test_linear_kernels_with_other_losses_and_regularisers_are_solved_as_before(model):
    few = X[:40]
    loss, regularizer = getattr(model, "loss", None) or Pinball(0.5), getattr(model, "regularizer", None)
    assert not has_slopes(loss, regularizer or SquaredNorm(1.0))
    assert model.fit(few, np.sign(y[:40])).dual_coef_.shape == (40,)


def test_weights_are_repetition():
    times, kernel = rng.integers(3, size=120), Nystroem(RBF(1.0), landmarks=X[:15])
    model = KernelMachine(kernel, Huber(0.1), tol=1e-10).fit(X, y, times)
    again = KernelMachine(kernel, Huber(0.1), tol=1e-10).fit(X.repeat(times, 0), y.repeat(times))
    np.testing.assert_allclose(model.predict(X), again.predict(X), atol=1e-6)


def test_plans_and_refusals():
    model = KernelMachine(RandomFeatures(RBF(), 16), Huber(0.1))
    plan = model.plan(X, y)
    assert plan.solver == "newton"
    assert plan.passes > 2
    with pytest.raises(ValueError, match="not the squared norm"):
        KernelMachine(RandomFeatures(RBF(), 16), Huber(0.1), Norm(0.1)).fit(X, y)
    with pytest.raises(ValueError, match="tune the exact kernel"):
        KernelLogisticRegression(kernel=RandomFeatures(RBF(), 16), tune="loo").fit(X, y > 0)
