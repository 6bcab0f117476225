import numpy as np
import pytest

from representer import Gram
from representer.estimators import left_out
from representer.estimators.left_out import LeftOutFit
from representer.kernels import RBF
from representer.result import Budget
from representer.solvers.leave_one_out import leave_one_out


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("alpha", "rtol"), [(0.5, 0.02), (1e-3, 1e-4)])
def test_rows_left_out_of_many(monkeypatch, rng, alpha, rtol, weighted):
    """By a factor of low rank, up to what the factor leaves, and by further targets exactly."""
    monkeypatch.setattr(left_out, "LOO_ROWS", 60)
    monkeypatch.setattr(left_out, "OWN_TARGET_ROWS", 20)
    X, weights = rng.normal(size=(200, 2)), rng.uniform(0.5, 2.0, 200) if weighted else None
    y = np.column_stack([np.sin(X[:, 0]), X[:, 1]]) + 0.1 * rng.normal(size=(200, 2))
    fit = LeftOutFit(Gram(RBF(1.0), X), y, alpha, weights)
    budget = Budget(2**30, 1e-8)
    result = fit.solve(budget)
    assert result.coef.shape == (200, 2)
    assert len(fit.rows) == (200 if alpha > 0.1 else 20)
    expected = leave_one_out(fit.problem)
    found = fit.left_out(result.coef)
    np.testing.assert_allclose(found.predictions, expected.predictions[fit.rows], atol=10.0 * rtol * y.std())
    np.testing.assert_allclose(found.variances, expected.variances[fit.rows], rtol=rtol)


def test_all_of_few_rows(rng):
    X, y, weights = rng.normal(size=(50, 2)), rng.normal(size=(50, 1)), (np.arange(50) < 40).astype(float)
    fit = LeftOutFit(Gram(RBF(1.0), X), y, 0.1, weights)
    found = fit.left_out(fit.solve(Budget(2**30)).coef)
    alone = LeftOutFit(Gram(RBF(1.0), X[:40]), y[:40], 0.1, None)
    np.testing.assert_allclose(found.predictions, alone.left_out(alone.solve(Budget(2**30)).coef).predictions)
