"""Products through features, against those with dense matrices."""

import numpy as np
from each_case import each
from scipy import sparse

from representer import Gram, Nystroem, RandomFeatures
from representer.gram import through_features
from representer.gram.stored import stored_if_small
from representer.kernels import RBF, FeatureMap, Linear, Matern, Quadratic

rng = np.random.default_rng(0)
X, Y = rng.normal(size=(70, 3)), rng.normal(size=(50, 3))
KERNELS = [
    Linear([1.0, 2.0, 3.0]),
    FeatureMap(Quadratic()),
    Nystroem(RBF(2.0), landmarks=X[:6]),
    RandomFeatures(RBF(2.0), 8),
]


@each("kernel", KERNELS)
@each("dtype", [np.float32, np.float64])
def test_products_are_those_of_the_matrix(kernel, dtype):
    A, B = X.astype(dtype), Y.astype(dtype)
    V, tol = rng.normal(size=(50, 2)).astype(dtype), 1e-4 if dtype == np.float32 else 1e-12
    K, wide = Gram(kernel, A, B), kernel(X, Y)
    assert through_features.pays(K, 2)
    np.testing.assert_allclose(K @ V, wide @ V, rtol=tol, atol=tol * np.abs(wide).max())
    np.testing.assert_allclose(K.T @ A, wide.T @ X, rtol=tol, atol=10 * tol * np.abs(wide).max())
    square = Gram(kernel, A, threads=2)
    np.testing.assert_array_equal(square @ A[:, 0], Gram(kernel, A, threads=1) @ A[:, 0])
    np.testing.assert_allclose(square @ A[:, 0], kernel(X) @ X[:, 0], rtol=tol, atol=10 * tol * np.abs(wide).max())


def test_sparse_rows_and_chunks(tmp_path, monkeypatch):
    S = sparse.random_array((200, 40), density=0.05, rng=rng, format="csr")
    np.testing.assert_allclose(Gram(Linear(), S) @ np.ones(200), (S @ S.T).sum(axis=1), atol=1e-12)
    assert 1.0 <= through_features.numbers_in_a_row(Linear(), Gram(Linear(), S).column_inputs) <= 3.0
    np.save(tmp_path / "X.npy", rng.normal(size=(1100, 3)))
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    K = Gram(Linear(), mapped, memory=1)
    assert len(K.column_inputs.chunks) > 1
    np.testing.assert_allclose(K @ np.ones(1100), mapped @ mapped.sum(axis=0), atol=1e-9)


def test_tiles_where_features_are_more():
    kernel, wide = Nystroem(RBF(2.0), landmarks=X[:60]), Gram(RBF(2.0), X)
    few, many = Gram(KERNELS[2], X), Gram(kernel, X)
    assert not through_features.pays(many, 70)
    assert [through_features.are_fewer(K) for K in (few, many, wide)] == [True, False, False]
    assert through_features.fewer_features(many) is None
    phi = through_features.fewer_features(few)
    np.testing.assert_allclose(phi @ phi.T, few.dense(), atol=1e-12)
    assert [stored_if_small(K).stored is None for K in (few, many, wide)] == [True, False, False]


@each("dtype", [np.float32, np.float64])
def test_a_linear_part_costs_no_tiles(dtype):
    """Its values are not filled in a product with a sum, nested ones included; the other terms' are."""
    A, B, V = X.astype(dtype), Y.astype(dtype), rng.normal(size=(50, 2)).astype(dtype)
    kernel = RBF(2.0) + (Matern(1.0) + 0.5 * Linear([1.0, 2.0, 3.0]))
    K, tol = Gram(kernel, A, B), 1e-4 if dtype == np.float32 else 1e-12
    assert through_features.pays_for_a_term(K, 2)
    np.testing.assert_allclose(K @ V, kernel(X, Y) @ V, rtol=tol, atol=10 * tol)
    assert K.evaluations == 2 * 70 * 50 + (70 + 50) * 3
    np.testing.assert_allclose(K.T @ A, kernel(Y, X) @ A, rtol=tol, atol=10 * tol)
    some = Gram(kernel, A).take(np.arange(5, 60))
    assert (some @ V[:1].repeat(55, axis=0)).dtype == dtype
    np.testing.assert_allclose(some @ A[5:60], kernel(X[5:60]) @ A[5:60], rtol=tol, atol=20 * tol)
    assert not through_features.pays_for_a_term(Gram(RBF(2.0) + Matern(1.0), A), 2)
