import numpy as np
import pytest
from sklearn.linear_model import PoissonRegressor
from sklearn_contract import faults

from representer import KernelPoissonRegression


def test_estimator_checks():
    assert faults(KernelPoissonRegression(tol=1e-12)) == []


@pytest.mark.parametrize("intercept", [True, False])
def test_linear_kernel_is_linear_model(intercept):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y, w = rng.poisson(np.exp(X[:, 0])), rng.uniform(0.5, 2.0, 60)
    own = KernelPoissonRegression(3.0, kernel="linear", fit_intercept=intercept, tol=1e-12).fit(X, y, w)
    other = PoissonRegressor(alpha=3.0 / w.sum(), fit_intercept=intercept, tol=1e-10, max_iter=10000).fit(X, y, w)
    np.testing.assert_allclose(own.predict(X), other.predict(X), rtol=1e-5)
    assert own.score(X, y) == pytest.approx(other.score(X, y), abs=1e-5)


def test_negative_counts_are_refused():
    with pytest.raises(ValueError, match="counts are zero or positive"):
        KernelPoissonRegression().fit([[0.0], [1.0]], [1, -1])
    assert KernelPoissonRegression().plan(np.ones((5, 1))).solver == "newton"
