import numpy as np
import pytest

from representer import Gram
from representer.estimators import left_out
from representer.estimators.left_out import LeftOutFit
from representer.kernels import RBF
from representer.result import Budget
from representer.solvers.leave_one_out import leave_one_out


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("alpha", [0.5, 1e-3])
def test_rows_left_out_of_many(monkeypatch, rng, alpha, weighted):
    """As by the inverse of the whole matrix, up to what leaving out a row does to the intercept."""
    monkeypatch.setattr(left_out, "LOO_ROWS", 60)
    monkeypatch.setattr(left_out, "SOME_ROWS", 50)
    X, weights = rng.normal(size=(300, 2)), rng.uniform(0.5, 2.0, 300) if weighted else None
    y = np.column_stack([np.sin(X[:, 0]), X[:, 1]]) + 0.1 * rng.normal(size=(300, 2))
    fit = LeftOutFit(Gram(RBF(1.0), X), y, alpha, weights)
    result = fit.solve(Budget(2**30, 1e-8))
    assert len(fit.rows) == 50
    expected = leave_one_out(fit.problem)
    found = fit.left_out(result.coef)
    np.testing.assert_allclose(found.predictions, expected.predictions[fit.rows], atol=0.02 * y.std())
    np.testing.assert_allclose(found.variances, expected.variances[fit.rows], rtol=0.02)


def test_all_of_few_rows(rng):
    X, y, weights = rng.normal(size=(50, 2)), rng.normal(size=(50, 1)), rng.uniform(0.5, 2.0, 50)
    fit = LeftOutFit(Gram(RBF(1.0), X), y, 0.1, weights)
    found, expected = fit.left_out(fit.solve(Budget(2**30)).coef), leave_one_out(fit.problem)
    np.testing.assert_array_equal(fit.rows, np.arange(50))
    np.testing.assert_array_equal(found.predictions, expected.predictions)
