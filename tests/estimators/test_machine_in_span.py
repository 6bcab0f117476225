"""Machines with approximations: exact at full rank, weights as repetition, plans and refusals."""

import numpy as np
import pytest

from representer import (
    KernelLogisticRegression,
    KernelMachine,
    KernelPoissonRegression,
    KernelQuantileRegression,
    Nystroem,
    RandomFeatures,
)
from representer.kernels import RBF
from representer.losses import Huber
from representer.regularizers import Norm

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
