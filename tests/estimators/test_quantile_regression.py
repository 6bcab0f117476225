import warnings

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, minimize
from sklearn.exceptions import ConvergenceWarning
from sklearn_contract import faults

from representer import KernelQuantileRegression
from representer.kernels import RBF


def test_estimator_checks():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        assert faults(KernelQuantileRegression(tol=1e-10)) == []


def data(n=60):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2))
    return X, np.sin(2 * X[:, 0]) + rng.normal(size=n)


@pytest.mark.parametrize("quantile", [0.2, 0.5, 0.9])
def test_dual_by_a_quadratic_program(quantile):
    """The coefficients solve: minimise alpha c'Kc / 2 - y'c, quantile - 1 <= alpha c <= quantile, sum c = 0."""
    X, y = data(15)
    K, alpha = RBF(1.0)(X), 0.5
    program = minimize(
        lambda c: 0.5 * c @ K @ c - y @ c,
        np.zeros(15),
        jac=lambda c: K @ c - y,
        hess=lambda c: K,
        bounds=[((quantile - 1) / alpha, quantile / alpha)] * 15,
        constraints=LinearConstraint(np.ones((1, 15)), 0, 0),
        method="trust-constr",
        options={"gtol": 1e-10, "xtol": 1e-12, "barrier_tol": 1e-10, "maxiter": 2000},
    )
    own = KernelQuantileRegression(quantile, alpha=alpha, kernel=RBF(1.0), tol=1e-11).fit(X, y)
    np.testing.assert_allclose(K @ own.dual_coef_, K @ program.x, atol=1e-4)


def test_fraction_below():
    """With a free intercept about the fraction quantile of the targets lies below, up to those on the curve."""
    X, y = data()
    levels = [0.1, 0.5, 0.9]
    below = (y[:, None] < KernelQuantileRegression(levels, alpha=5.0).fit(X, y).predict(X) - 1e-6).mean(axis=0)
    np.testing.assert_allclose(below, levels, atol=0.1)


def test_curves_do_not_cross():
    X, y = data()
    levels = [0.6, 0.4, 0.5]
    model = KernelQuantileRegression(levels, alpha=1e-3).fit(X, y)
    Z = np.random.default_rng(1).normal(size=(200, 2))
    fitted = model.predict(Z)
    assert np.any(fitted[:, 0] < fitted[:, 1])
    sorted_ = model.set_params(non_crossing=True).predict(Z)
    assert np.all(sorted_[:, 0] >= sorted_[:, 2])
    assert np.all(sorted_[:, 2] >= sorted_[:, 1])
    np.testing.assert_array_equal(np.sort(sorted_, axis=1), np.sort(fitted, axis=1))


def test_score_and_shapes():
    X, y = data()
    assert KernelQuantileRegression([0.5]).fit(X, y).predict(X).shape == (60, 1)
    assert 0 < KernelQuantileRegression([0.2, 0.8]).fit(X, y).score(X, y) < 1
    with pytest.raises(ValueError, match="quantile is 2"):
        KernelQuantileRegression(2).fit(X, y)
    assert (
        KernelQuantileRegression().plan(X).solver == KernelQuantileRegression().fit(X, y).certificate_.solver == "SMO"
    )
