"""Sums that grow by chunks are those of all rows, and solve the same problem."""

import numpy as np
import pytest

from representer.gram.design import Design
from representer.kernels import Linear
from representer.problems.finite import FiniteRidge
from representer.result import Budget
from representer.rows import ArrayRows
from representer.solvers.one_pass import Accumulated

rng = np.random.default_rng(0)
X, y, w = rng.normal(size=(60, 3)), rng.normal(size=60) + 5.0, rng.uniform(size=60)
DESIGN = Design(Linear().basis(X))


@pytest.mark.parametrize("intercept", [False, True])
def test_chunks_solve_the_weighted_ridge_problem(intercept):
    sums = Accumulated.empty(DESIGN, y[:5], w[:5], intercept)
    for part in (slice(0, 7), slice(7, 50), slice(50, 60)):
        sums = sums.plus(ArrayRows(X[part], y[part], w[part]))
    assert sums.rows == 60
    problem = FiniteRidge(DESIGN, ArrayRows(X), np.array([0.3]), intercept)
    totals = sums.totals(intercept)
    result = sums.solve(problem, Budget(memory=10**9), "", totals)
    Z, regular = np.column_stack([X, np.ones(60)])[:, : 3 + intercept], np.diag([0.3, 0.3, 0.3, 0.0])[: 3 + intercept]
    expected = np.linalg.solve(Z.T @ (w[:, None] * Z) + regular[:, : 3 + intercept], Z.T @ (w * y))
    np.testing.assert_allclose(np.append(result.coef, result.intercept[:intercept]), expected, rtol=1e-10)
    residual = y - Z @ expected
    objective = w @ residual**2 + 0.3 * np.sum(expected[:3] ** 2)
    np.testing.assert_allclose(result.certificate.primal, objective, rtol=1e-10)
    assert result.certificate.converged
    assert result.certificate.passes == 1


def test_a_bad_chunk_leaves_the_sums_as_they_are():
    sums = Accumulated.empty(DESIGN, y, None, False).plus(ArrayRows(X, y))
    before = [np.copy(each) for each in sums.sums]
    with pytest.raises(ValueError, match=r"features|columns"):
        sums.plus(ArrayRows(X[:, :2], y))
    sums.plus(ArrayRows(X, y))
    for a, b in zip(sums.sums, before, strict=True):
        np.testing.assert_array_equal(a, b)
