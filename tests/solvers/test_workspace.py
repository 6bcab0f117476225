import numpy as np
import pytest

from representer.gram.tiled import Gram
from representer.kernels import RBF
from representer.solvers.workspace import Workspace, stored_bytes

MEMORY = {"float64": 10**9, "float32": 2 * 10**6, "products": 10**5}
"""Bytes for which 300 inputs have K in this form."""


@pytest.fixture
def gram(rng):
    return Gram(RBF(1.0), rng.normal(size=(300, 2)))


@pytest.mark.parametrize(("form", "digits"), [("float64", 1e-13), ("float32", 1e-5), ("products", 1e-5)])
def test_every_form_is_the_matrix(form, digits, gram, rng):
    K, workspace, V = gram.dense(), Workspace(gram, MEMORY[form]), rng.normal(size=(300, 2))
    assert workspace.exact == (form == "float64")
    product = workspace @ V
    np.testing.assert_allclose(product, K @ V, atol=100 * digits)
    assert product.dtype == np.float64
    for rows in (np.array([3, 7, 200]), np.arange(300)):
        np.testing.assert_allclose(workspace.block(rows), K[np.ix_(rows, rows)], atol=1e-12)
    part = workspace.take(np.arange(0, 300, 3), MEMORY["float64"])
    np.testing.assert_allclose(part @ V[::3], K[::3, ::3] @ V[::3], atol=100 * digits)


@pytest.mark.parametrize("n", [300, 3000])
def test_stored_bytes(n):
    sizes = [stored_bytes(n, memory) for memory in (64 * n * n, 64 * n * n - 8, 8 * n * n, 8 * n * n - 8)]
    assert sizes == [8 * n * n, 2 * n * n, 2 * n * n, 0]


@pytest.mark.parametrize("form", ["float64", "float32"])
def test_values_are_computed_once(form, gram):
    before = gram.evaluations
    workspace = Workspace(gram, MEMORY[form])
    for _ in range(3):
        workspace @ np.ones((300, 1))
    assert gram.evaluations - before == 300 * 301 // 2


def test_block_is_a_copy(gram):
    workspace = Workspace(gram, MEMORY["float64"])
    workspace.block(np.arange(300))[:] = 0.0
    np.testing.assert_array_equal(workspace.block(np.arange(300)), gram.dense())


def test_factors(gram):
    workspace, K = Workspace(gram, MEMORY["float64"]), gram.dense()
    F = workspace.factor().factor
    np.testing.assert_allclose(F.T @ F, K, atol=1e-7)
    rough = workspace.low_rank(1.0)
    assert rough is workspace.low_rank(1.0)
    assert len(rough.factor) < len(F)
    assert np.linalg.eigvalsh(K - rough.factor.T @ rough.factor).max() <= 1.0


@pytest.mark.parametrize("form", ["float32", "products"])
def test_refined_products_are_exact(form, gram, rng):
    workspace, V = Workspace(gram, MEMORY[form]), rng.normal(size=(300, 2))
    workspace.refine()
    assert (workspace.exact, workspace.precision) == (True, "float64")
    np.testing.assert_allclose(workspace @ V, gram.dense() @ V, atol=1e-11)
