import numpy as np
import pytest

from representer import Gram, KernelRidge
from representer.estimators import left_out
from representer.estimators.left_out import LeftOutFit
from representer.kernels import RBF
from representer.processes import local
from representer.result import Budget
from representer.solvers import choose
from representer.solvers.leave_one_out import leave_one_out


def many(monkeypatch, rng, alpha, weighted):
    """A fit of 300 rows that leaves out 50 of them by landmarks, and leave-one-out by the inverse of the whole matrix.

    That matrix is without its part along constants, u u' / sum u with u = (K + alpha W^(-1))^(-1) 1: landmarks leave
    the intercept as it is.
    """
    monkeypatch.setattr(left_out, "LOO_ROWS", 60)
    monkeypatch.setattr(left_out, "SOME_ROWS", 50)
    X, weights = rng.normal(size=(300, 2)), rng.uniform(0.5, 2.0, 300) if weighted else None
    y = np.column_stack([np.sin(X[:, 0]), X[:, 1]]) + 0.1 * rng.normal(size=(300, 2))
    fit = LeftOutFit(Gram(RBF(1.0), X), y, alpha, weights)
    result = fit.solve(Budget(2**30, 1e-8))
    assert len(fit.rows) == 50
    u = np.linalg.solve(RBF(1.0)(X) + np.diag(fit.noise), np.ones(300))
    exact = leave_one_out(fit.problem)
    variances = 1.0 / (1.0 / exact.variances + u**2 / u.sum())
    predictions = y - result.coef * variances[:, None]
    return fit.left_out(result.coef), predictions[fit.rows], variances[fit.rows], exact.predictions[fit.rows]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("alpha", [0.5, 1e-3])
def test_rows_left_out_of_many(monkeypatch, rng, alpha, weighted):
    """As by the inverse of the whole matrix where landmarks leave nothing; the intercept changes little."""
    monkeypatch.setattr(local, "SMALL_REMAINDER", 1e-8)
    monkeypatch.setattr(local, "NEAR_PART", 0.0)
    found, predictions, variances, exact = many(monkeypatch, rng, alpha, weighted)
    np.testing.assert_allclose(found.variances, variances, rtol=1e-6)
    np.testing.assert_allclose(found.predictions, predictions, atol=1e-5)
    np.testing.assert_allclose(found.predictions, exact, atol=0.02)


def test_what_landmarks_leave_is_a_hundredth_of_the_noise(monkeypatch, rng):
    """Where no nearest rows are looked for, as R(x, x) is below that."""
    found, predictions, variances, _ = many(monkeypatch, rng, 0.05, True)
    np.testing.assert_allclose(found.variances, variances, rtol=local.NEAR_PART)
    errors = np.abs(predictions - found.predictions).max()
    assert 0.0 < errors < 0.02


def test_all_of_few_rows(rng):
    """By as many fits."""
    X, y, weights = rng.normal(size=(30, 2)), rng.normal(size=(30, 1)), rng.uniform(0.5, 2.0, 30)
    fit = LeftOutFit(Gram(RBF(1.0), X), y, 0.1, weights)
    found = fit.left_out(fit.solve(Budget(2**30)).coef)
    np.testing.assert_array_equal(fit.rows, np.arange(30))
    for i, rest in ((i, np.delete(np.arange(30), i)) for i in range(30)):
        model = KernelRidge(0.1, kernel=RBF(1.0), fit_intercept=True).fit(X[rest], y[rest], weights[rest])
        np.testing.assert_allclose(found.predictions[i], model.predict(X[[i]])[0], atol=1e-8)


@pytest.mark.parametrize("weighted", [False, True])
def test_landmarks_of_the_variances_precondition_the_fit(monkeypatch, rng, weighted):
    """One factor serves both; a kernel that it does not hold is left to the cheapest solver."""
    monkeypatch.setattr(left_out, "LOO_ROWS", 60)
    X, weights = rng.normal(size=(300, 2)), rng.uniform(0.5, 2.0, 300) if weighted else None
    y = np.sin(X[:, :1]) + 0.1 * rng.normal(size=(300, 1))
    fit = LeftOutFit(Gram(RBF(1.0), X), y, 0.1, weights)
    found, exact = fit.solve(Budget(2**30, 1e-6)), choose.solve(fit.problem, Budget(2**30, 1e-10))
    assert "landmarks hold nearly all" in str(found.certificate)
    assert found.certificate.converged
    assert found.certificate.iterations <= 3
    np.testing.assert_allclose(found.coef, exact.coef, atol=1e-4 * np.abs(exact.coef).max())
    rough = LeftOutFit(Gram(RBF(0.01), X), y, 0.1, weights)
    monkeypatch.setattr(local, "LOCAL_RANK", 20)
    assert "Cholesky" in str(rough.solve(Budget(2**30)).certificate)
