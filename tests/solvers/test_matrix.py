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
    np.testing.assert_allclose(matrix.block(np.arange(300)), K, atol=1e-12)
    np.testing.assert_allclose(matrix.diagonal, 1.0, rtol=1e-6)
    assert matrix.evaluations == 300 * 301 // 2 * (2 if form == "operator" else 1)


def test_float32_values_take_half_of_a_matrix():
    p = problem(Squared(), n=3000)
    matrix = Matrix(p, "float32")
    assert 2 * p.n**2 <= matrix.K.nbytes <= 2 * p.n**2 + 4 * 256 * p.n
    assert matrix.evaluations == p.n * (p.n + 1) // 2


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


@pytest.mark.parametrize("form", ["float32", "operator"])
def test_refined(form, rng):
    """Products in float64 from then on, and all kernel values are counted."""
    p = problem(Squared(), n=300)
    matrix, pairs, V = Matrix(p, form), 300 * 301 // 2, rng.normal(size=(300, 2))
    np.testing.assert_allclose(matrix.exactly(V), p.kernel(p.X) @ V, atol=1e-11)
    before = matrix.evaluations
    assert before == pairs * (2 if form == "float32" else 1)
    matrix.refine()
    np.testing.assert_allclose(matrix @ V, p.kernel(p.X) @ V, atol=1e-11)
    assert matrix.evaluations == before + pairs
