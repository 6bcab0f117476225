from dataclasses import replace

import numpy as np
import pytest
from eigen_cases import CENTERED, budget, check_pairs, data, of, textbook

from representer.kernels import RBF, Linear, Precomputed
from representer.solvers import dense_eigen


def solve(problem, wanted, tol=1e-12):
    return dense_eigen.solve(replace(problem, n_components=wanted), budget(tol), "it was asked for")


@CENTERED
@pytest.mark.parametrize("wanted", [5, None])
def test_is_the_textbook(wanted, weighted, center, monkeypatch):
    monkeypatch.setattr(dense_eigen, "COLUMNS_AT_A_TIME", 7)
    problem = of(RBF(1.0), data(60), weighted, center)
    result = solve(problem, wanted)
    assert len(result.eigenvalues) == (wanted or (48 if weighted else 60) - center)
    check_pairs(problem, result, 1e-12)
    certificate, plan = result.certificate, dense_eigen.cost(replace(problem, n_components=wanted), budget())
    assert certificate.bytes == plan.bytes
    assert certificate.reason == "it was asked for"


def test_components_are_those_above_rounding():
    result = solve(of(Linear(), data(300, 3)), None)
    assert len(result.eigenvalues) == 3
    assert result.coef.base.size == 3 * 300  # three columns do not hold all of them in memory


def test_largest_score_is_positive():
    problem = of(RBF(1.0), data(60), weighted=True)
    result = solve(problem, 20)
    scores = problem.apply(result.applied)[problem.weights > 0] / np.sqrt(problem.weights[problem.weights > 0])[:, None]
    assert np.all(scores.max(axis=0) > -scores.min(axis=0))


def test_nothing_varies():
    problem = of(RBF(1.0), np.ones((50, 2)))
    result = solve(problem, 5)
    assert result.eigenvalues.shape == (0,)
    assert result.coef.shape == (50, 0)
    assert abs(result.trace) < 1e-10


def test_indefinite_matrices_keep_what_is_positive():
    problem = of(Precomputed(), np.diag([3.0, 2.0, -1.0]), center=False)
    result = solve(problem, None)
    np.testing.assert_allclose(result.eigenvalues, textbook(problem)[1][:2])
