"""Discriminants in a span, against those of the n x n matrix of the same kernel."""

import numpy as np
import pytest

from representer import KernelFisherDiscriminant, Nystroem, rows
from representer.kernels import RBF, Callable

rng = np.random.default_rng(0)
X = rng.normal(size=(150, 3))
y = np.array(["a", "b", "c"])[(X[:, 0] + 0.3 * rng.normal(size=150) > 0).astype(int) + (X[:, 1] > 0.5)]
w = rng.integers(1, 4, 150).astype(float)


@pytest.fixture(scope="module")
def kernel():
    return Nystroem(RBF(1.5), 20).with_default_scales(X)


@pytest.mark.parametrize("alpha", [0.1, [0.01, 1.0, 100.0]])
@pytest.mark.parametrize("weights", [None, w], ids=["", "weights"])
def test_discriminants_are_those_of_the_whole_matrix(alpha, weights, kernel):
    whole = KernelFisherDiscriminant(alpha, kernel=Callable(lambda A, B: kernel(A, B))).fit(X, y, weights)
    ours = KernelFisherDiscriminant(alpha, kernel=kernel).fit(X, y, weights)
    elsewhere = KernelFisherDiscriminant(alpha, kernel=kernel).fit(rows(X, target=y, weight=weights))
    for model in (ours, elsewhere):
        np.testing.assert_allclose(model.transform(X), whole.transform(X), atol=1e-10)
        np.testing.assert_allclose(model.eigenvalues_, whole.eigenvalues_, rtol=1e-10)
        np.testing.assert_allclose(model.means_, whole.means_, atol=1e-10)
        assert model.alpha_ == whole.alpha_
        assert list(model.predict(X[:20])) == list(whole.predict(X[:20]))
        if np.ndim(alpha):
            np.testing.assert_array_equal(model.loo_scores_, whole.loo_scores_)
    assert len(ours.function_.X) == 20
    assert ours.certificate_.approximation is not None


def test_plans_and_refusals(kernel, monkeypatch):
    model = KernelFisherDiscriminant([0.1, 1.0], kernel=kernel)
    assert model.plan(X, y).solver == "normal equations in the span"
    monkeypatch.setattr("representer.solvers.normal_equations.LEAVE_OUT_WORK", 1.0)
    with pytest.raises(ValueError, match="judged by leaving out each row, which takes too long for 150 rows and 20"):
        model.fit(X, y)
