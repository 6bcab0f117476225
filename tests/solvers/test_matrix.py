import numpy as np
import pytest
from machine_cases import problem

from representer.losses import Squared
from representer.solvers.matrix import Matrix


@pytest.mark.parametrize(("form", "digits"), [("float64", 1e-13), ("float32", 1e-5), ("operator", 1e-5)])
def test_every_form_is_the_matrix(form, digits, rng):
    p = problem(Squared(), n=300)
    K, matrix = p.kernel(p.X), Matrix(p, form)
    V = rng.normal(size=(300, 2))
    np.testing.assert_allclose(matrix @ V, K @ V, atol=digits * 100)
    assert (matrix @ V).dtype == np.float64
    rows = np.array([3, 7, 200])
    np.testing.assert_allclose(matrix.block(rows), K[np.ix_(rows, rows)], atol=1e-12)
    np.testing.assert_allclose(matrix.block(np.arange(300)), K, atol=digits)
    np.testing.assert_allclose(matrix.diagonal, 1.0, rtol=1e-6)
    assert matrix.bytes == {"float64": 8, "float32": 4, "operator": 0}[form] * 300**2
    assert matrix.evaluations == 300 * 301 // 2 * (2 if form == "operator" else 1)


def test_both_halves_computed(monkeypatch):
    p = problem(Squared(), n=300)
    expected = Matrix(p, "float64")
    monkeypatch.setattr("representer.solvers.matrix.TWICE_FROM", 100)
    twice = Matrix(p, "float64")
    np.testing.assert_allclose(twice.K, expected.K, atol=1e-14)
    assert twice.evaluations == 300**2


def test_block_is_a_copy():
    p = problem(Squared(), n=20)
    matrix = Matrix(p, "float64")
    matrix.block(np.arange(20))[:] = 0.0
    np.testing.assert_array_equal(matrix.K, p.kernel(p.X))


def test_factors():
    p = problem(Squared(), n=200)
    matrix, K = Matrix(p, "float64"), p.kernel(p.X)
    F = matrix.factor().factor
    np.testing.assert_allclose(F.T @ F, K, atol=1e-7)
    rough = matrix.low_rank(1.0)
    assert rough is matrix.low_rank(1.0)
    assert len(rough.factor) < len(F)
    assert np.linalg.eigvalsh(K - rough.factor.T @ rough.factor).max() <= 1.0
