import numpy as np
import pytest
from each_case import each
from scipy import sparse

from representer.kernels import RBF, Chi2, Cosine, Laplacian, Linear, Periodic, prepared


def rows(n, width, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, width))
    X[np.abs(X) < 0.5] = 0.0
    return X


@each("kind", [np.asarray, sparse.csr_matrix, sparse.coo_array])
@each("width", [3, 12])
@each("dtype", [np.float32, np.float64])
def test_products_distances_and_moments(kind, width, dtype):
    X, Y = rows(6, width).astype(dtype), rows(5, width, seed=1).astype(dtype)
    A, B = prepared.lay_out(kind(X)), prepared.lay_out(kind(Y))
    close = {"atol": 1e-4 if dtype == np.float32 else 1e-12}
    W = np.random.default_rng(2).normal(size=(6, 5)).astype(dtype)
    tile = np.empty((6, 5), dtype)

    assert len(A) == 6
    assert A.dtype == dtype
    np.testing.assert_allclose(A.squared_norms, (X**2).sum(axis=1), **close)
    A.products(B, tile)
    np.testing.assert_allclose(tile, X @ Y.T, **close)
    A.squared_distances(B, tile)
    np.testing.assert_allclose(tile, ((X[:, None] - Y) ** 2).sum(axis=2), **close)
    A.absolute_differences(B, tile)
    np.testing.assert_allclose(tile, np.abs(X[:, None] - Y).sum(axis=2), **close)
    np.testing.assert_allclose(B.combine(W), W @ Y, **close)
    np.testing.assert_allclose(A.weigh(W[:, 0]), W[:, :1] * X, **close)
    np.testing.assert_allclose(A.second_moments(W[:, 0]), W[:, 0] @ X**2, **close)
    np.testing.assert_allclose(A.cross_moments(B, W), np.einsum("ij,if,jf->f", W, X, Y), **close)
    np.testing.assert_allclose(A.variances(None), X.var(axis=0), **close)
    np.testing.assert_array_equal(A.dense().values, X)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("index", [slice(1, 4), np.array([4, 0, 2]), np.array([3])], ids=str)
def test_rows_are_taken_together(kind, index):
    X = rows(6, 4)
    A = prepared.directions(kind(X))
    whole = getattr(A, "columns", None)  # computed once for all rows, and anew for some of them
    part = A[index]
    assert len(part) == len(X[index])
    np.testing.assert_allclose(part.norms, np.linalg.norm(X[index], axis=1))
    assert np.array_equal(part.squared_norms, A.squared_norms[index])
    if whole is not None:
        assert np.array_equal(part.columns, whole[:, index])
        assert A.columns is whole


def test_directions():
    X = rows(5, 3)
    X[2] = 0.0
    for A in (prepared.directions(X), prepared.directions(sparse.csr_array(X))):
        values = A.values.toarray() if sparse.issparse(A.values) else A.values
        np.testing.assert_allclose(values * A.norms[:, None], X, atol=1e-15)
        np.testing.assert_allclose(A.squared_norms, [1, 1, 0, 1, 1])


@pytest.mark.parametrize("scale", [2.0, np.array([1.0, 2.0, 4.0])])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scale_columns(scale, dtype):
    X = rows(5, 3).astype(dtype)
    dense, thin = (prepared.scale_columns(Z, np.asarray(scale)) for Z in (X, sparse.csr_array(X)))
    assert dense.dtype == thin.dtype == dtype
    np.testing.assert_allclose(dense, X / scale, rtol=1e-6)
    np.testing.assert_allclose(thin.toarray(), X / scale, rtol=1e-6)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("factor", [1e-300, 1.0, 1e300])
def test_standard_deviations(kind, factor):
    X, w = rows(5000, 3), np.random.default_rng(3).integers(0, 3, 5000)  # several parts
    np.testing.assert_allclose(prepared.standard_deviations(kind(factor * X)), factor * X.std(axis=0), rtol=1e-12)
    repeated = np.repeat(X, w, axis=0).std(axis=0)
    np.testing.assert_allclose(prepared.standard_deviations(kind(factor * X), w), factor * repeated, rtol=1e-12)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_standard_deviations_far_from_zero(kind):
    X = rows(50, 3)
    np.testing.assert_allclose(prepared.standard_deviations(kind(1e9 + X)), X.std(axis=0), rtol=1e-6)
    single = (1e3 + X).astype(np.float32)
    np.testing.assert_allclose(prepared.standard_deviations(kind(single)), single.astype(float).std(axis=0), rtol=1e-12)
    assert not prepared.standard_deviations(kind(np.full((20, 2), 0.1))).any()
    assert not prepared.standard_deviations(kind(np.zeros((4, 2)))).any()


def test_duplicates_and_unsorted_indices():
    X = sparse.csr_array((np.array([1.0, 2.0, 3.0, 5.0]), np.array([2, 0, 0, 1]), np.array([0, 3, 4])), shape=(2, 3))
    dense, before = np.array([[5.0, 0.0, 1.0], [0.0, 5.0, 0.0]]), X.copy()
    for kernel in (RBF(5.0), Linear(), Cosine(), Laplacian()):
        np.testing.assert_allclose(kernel(X), kernel(dense), rtol=1e-13)
    np.testing.assert_allclose(prepared.standard_deviations(X), dense.std(axis=0), rtol=1e-14)
    assert np.array_equal(X.indices, before.indices)


@pytest.mark.parametrize("kernel", [RBF(), Linear(), Cosine(), Laplacian(), Periodic(), Chi2()], ids=repr)
def test_rows_are_contiguous_whatever_the_layout_of_the_input(kernel):
    """A data frame is stored by columns; compiled matrix products warn about such rows and are slow on them."""
    X = np.abs(rows(9, 12))
    frozen = X.copy()
    frozen.flags.writeable = False
    for layout in (np.asfortranarray(X), np.repeat(X, 2, axis=1)[:, ::2], X[::-1][::-1], frozen):
        assert kernel.prepare(layout)[2:7].values.flags.c_contiguous
        np.testing.assert_allclose(kernel(layout), kernel(X), rtol=1e-12)


def test_slices_know_which_columns_are_used():
    X = np.zeros((60, 50))
    X[:, :20] = X[30:, 40:41] = 1.0
    A = prepared.lay_out(X)
    assert np.flatnonzero(A[:30].used).tolist() == list(range(20))
    assert np.flatnonzero(A.used).tolist() == [*range(20), 40]
    assert np.flatnonzero(A[:30].used).tolist() == list(range(20))  # of its own rows, not of all


def test_products_leave_out_columns_in_which_a_side_is_zero():
    X, Y = rows(140, 100), rows(150, 100)
    X[:, 10:60], Y[:, 40:] = 0.0, 0.0
    A, B = prepared.lay_out(X), prepared.lay_out(Y)
    assert A.meeting(B)[0].values.shape == (140, 10)
    for other, values in ((B, Y), (prepared.lay_out(np.where(X == 0.0, 1.0, 0.0)), np.where(X == 0.0, 1.0, 0.0))):
        tile = np.empty((140, len(values)))
        A.products(other, tile)
        np.testing.assert_allclose(tile, X @ values.T, rtol=1e-12, atol=1e-12)
