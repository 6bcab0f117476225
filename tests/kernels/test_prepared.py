import numpy as np
import pytest
from scipy import sparse

from representer.kernels import RBF, Chi2, Cosine, Laplacian, Linear, Matern, Periodic, Polynomial, prepared
from representer.kernels import base as kernels_base
from representer.kernels.stationary import Angles

WIDTHS = pytest.mark.parametrize("width", [3, 12])
LATER = [RBF(2.0), Polynomial(degree=2), Cosine() + 0.5 * Periodic(), Matern(3.0) * Chi2() + Linear()]
KINDS = pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix, sparse.csr_array, sparse.coo_array])


def rows(n, width, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, width))
    X[np.abs(X) < 0.5] = 0.0
    return X


@KINDS
@WIDTHS
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_distances_and_moments(kind, width, dtype):
    X, Y = rows(6, width).astype(dtype), rows(5, width, seed=1).astype(dtype)
    A, B = prepared.lay_out(kind(X)), prepared.lay_out(kind(Y))
    close = {"atol": 1e-4 if dtype == np.float32 else 1e-12}
    W = np.random.default_rng(2).normal(size=(6, 5)).astype(dtype)
    tile = np.empty((6, 5), dtype)

    assert len(A) == 6
    assert A.dtype == dtype
    np.testing.assert_allclose(A.squares, (X**2).sum(axis=1), **close)
    A.products(B, tile)
    np.testing.assert_allclose(tile, X @ Y.T, **close)
    A.squared_distances(B, tile)
    np.testing.assert_allclose(tile, ((X[:, None] - Y) ** 2).sum(axis=2), **close)
    np.testing.assert_allclose(B.combine(W), W @ Y, **close)
    np.testing.assert_allclose(A.weigh(W[:, 0]), W[:, :1] * X, **close)
    np.testing.assert_allclose(A.second_moments(W[:, 0]), W[:, 0] @ X**2, **close)
    np.testing.assert_allclose(A.cross_moments(B, W), np.einsum("ij,if,jf->f", W, X, Y), **close)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("index", [slice(1, 4), np.array([4, 0, 2]), np.array([3])], ids=str)
def test_rows_are_taken_together(kind, index):
    X = rows(6, 4)
    A = prepared.directions(kind(X))
    whole = getattr(A, "columns", None)  # computed once for all rows, and anew for some of them
    part = A[index]
    assert len(part) == len(X[index])
    np.testing.assert_allclose(part.norms, np.linalg.norm(X[index], axis=1))
    assert np.array_equal(part.squares, A.squares[index])
    if whole is not None:
        assert np.array_equal(part.columns, whole[:, index])
        assert A.columns is whole


def test_directions():
    X = rows(5, 3)
    X[2] = 0.0
    for A in (prepared.directions(X), prepared.directions(sparse.csr_array(X))):
        values = A.values.toarray() if sparse.issparse(A.values) else A.values
        np.testing.assert_allclose(values * A.norms[:, None], X, atol=1e-15)
        np.testing.assert_allclose(A.squares, [1, 1, 0, 1, 1])


@pytest.mark.parametrize("scale", [2.0, np.array([1.0, 2.0, 4.0])])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scale_columns(scale, dtype):
    X = rows(5, 3).astype(dtype)
    dense, thin = (prepared.scale_columns(Z, np.asarray(scale)) for Z in (X, sparse.csr_array(X)))
    assert dense.dtype == thin.dtype == dtype
    np.testing.assert_allclose(dense, X / scale, rtol=1e-6)
    np.testing.assert_allclose(thin.toarray(), X / scale, rtol=1e-6)


def test_duplicates_and_unsorted_indices():
    X = sparse.csr_array((np.array([1.0, 2.0, 3.0, 5.0]), np.array([2, 0, 0, 1]), np.array([0, 3, 4])), shape=(2, 3))
    dense = np.array([[5.0, 0.0, 1.0], [0.0, 5.0, 0.0]])
    for kernel in (RBF(5.0), Linear(), Cosine(), Laplacian()):
        np.testing.assert_allclose(kernel(X), kernel(dense), rtol=1e-13)


@pytest.mark.parametrize("kernel", [RBF(), Linear(), Cosine(), Laplacian(), Periodic(), Matern(2.0), Chi2()], ids=repr)
@WIDTHS
def test_rows_are_contiguous_whatever_the_layout_of_the_input(kernel, width):
    """A data frame is stored by columns; compiled matrix products warn about such rows and are slow on them."""
    X = np.abs(rows(9, width))
    for layout in (np.asfortranarray(X), np.repeat(X, 2, axis=1)[:, ::2], X[::-1][::-1]):
        assert kernel.prepare(layout)[2:7].values.flags.c_contiguous
        np.testing.assert_allclose(kernel(layout), kernel(X), rtol=1e-12)


@pytest.mark.parametrize("kernel", [RBF(), Linear(), Laplacian(), Cosine()], ids=repr)
@WIDTHS
def test_read_only_input(kernel, width):
    X = rows(6, width)
    frozen = X.copy()
    frozen.flags.writeable = False
    assert np.array_equal(kernel(frozen), kernel(X))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kernel", LATER, ids=str)
def test_rows_prepared_later_are_the_same(kernel, dtype):
    X = np.abs(rows(300, 12))
    kernel = kernel.fitted_to(X)
    later, index = prepared.Later(kernel, X, dtype), np.array([299, 0, 7, 7])
    assert (len(later), later.dtype) == (300, dtype)
    K = kernel.block(later[5:40], later[index])
    assert K.dtype == dtype
    np.testing.assert_allclose(K, kernel(X[5:40], X[index]), rtol=1e-5 if dtype == np.float32 else 1e-12)
    assert kernel.block(later[:3], later[np.empty(0, int)]).shape == (3, 0)


WIDE = 100  # columns, of which each side uses some


def sides(used, others, dtype=np.float64):
    """Rows that are zero in all columns but these, and far from zero in some of them."""
    rng = np.random.default_rng(0)
    X, Y = np.zeros((600, WIDE)), np.zeros((300, WIDE))
    X[:, used], Y[:, others] = rng.normal(1.0, 2.0, (600, len(used))), rng.normal(-1.0, 2.0, (300, len(others)))
    return X.astype(dtype), Y.astype(dtype)


MEETINGS = pytest.mark.parametrize(
    ("used", "others", "left"),
    [
        (np.arange(60), np.arange(30, 90), 30),
        (np.arange(0, WIDE, 2), np.arange(1, WIDE, 2), 1),  # none in common
        (np.arange(5), np.arange(WIDE), 5),
        (np.arange(95), np.arange(5, WIDE), WIDE),  # too few to leave out
    ],
)


@MEETINGS
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kernel", [RBF(9.0), 2.0 * Matern(5.0), Polynomial(2), Linear() ** 2, Periodic(3.0)], ids=repr)
def test_products_do_not_need_columns_that_are_zero_on_one_side(used, others, left, kernel, dtype):
    X, Y = sides(used, others, dtype)
    B = kernel.prepare(Y, like=None if isinstance(kernel, Periodic) else kernel.prepare(X * 0.0))
    A = kernel.prepare(X, like=B)
    a, b = kernel.between(A, B)
    if not isinstance(kernel, Periodic):  # whose columns are points of circles
        assert a.values.shape[1] == b.values.shape[1] == left
    expected, found = np.empty((600, 300), dtype), np.empty((600, 300), dtype)
    kernel.fill(A, B, expected)
    kernel.fill(a, b, found)
    between = kernel.block(A, B)
    X[300:350] = X[:50] * (1.0 + 1e-3)  # close, so that they are computed anew, in several tiles
    A = kernel.prepare(X, like=B)
    one_by_one = np.array([kernel(x[None], X.astype(float))[0] for x in X.astype(float)])
    for values, wanted in ((found, expected), (between, expected), (kernel.block(A), one_by_one)):
        largest = np.abs(wanted).max()  # products of either sign cancel, and sums of 200 terms round
        np.testing.assert_allclose(values, wanted, rtol=0.0, atol=200 * np.finfo(dtype).eps * largest)


def test_close_points_keep_their_digits_without_unused_columns():
    """Their distances are computed anew from all columns, also from those that only one side uses."""
    X, Y = sides(np.arange(20), np.arange(20), np.float32)
    Y[:5] = X[:5]
    Y[:5, 99] = 1e-3
    A = RBF().prepare(X)
    A, B = RBF().between(A, RBF().prepare(Y, like=A))
    assert A.values.shape[1] == 20
    tile = np.empty((600, 300), np.float32)
    A.squared_distances(B, tile)
    np.testing.assert_allclose(tile.diagonal()[:5], 1e-6, rtol=1e-5)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_columns_of_differences_and_of_sparse_rows_are_all_kept(kind):
    X, _ = sides(np.arange(20), np.arange(20))
    for kernel in (Laplacian(), Chi2()):
        A = kernel.prepare(kind(np.abs(X)))
        assert kernel.between(A, A) == (A, A)
    A = RBF().prepare(sparse.csr_array(X))
    assert RBF().between(A, A) == (A, A)


def test_a_kernel_that_fills_in_its_own_way_sees_all_columns():
    class Tile(RBF):
        def fill(self, A, B, tile):
            tile[...] = A.values[:, -1:] == B.values[:, -1]

    class Square(RBF):
        def fill_symmetric(self, A, tile):
            tile[...] = A.values.shape[1]

    class Diagonal(Linear):
        def diagonal(self, A):
            return (A.values @ np.ones(WIDE)) ** 2

    class Outer(kernels_base.Scaled):
        def fill(self, A, B, tile):
            self.kernel.fill(A, B, tile)

    class Inputs(RBF):
        def prepare(self, X, like=None):
            return Angles.of(np.asarray(X))

    for kernel in (Tile(), Square(), Diagonal(), Outer(RBF()), Inputs()):
        A = kernel.prepare(np.zeros((200, WIDE)))
        assert kernel.between(A, A) == (A, A)


def test_both_sides_of_a_symmetric_matrix_share_one_copy():
    X, Y = sides(np.arange(20), np.arange(20))
    A = RBF().prepare(X)
    a, b = RBF().between(A, A)
    assert a is b
    assert a.values.shape == (600, 20)
    few = RBF().prepare(Y[:5], like=A)
    assert RBF().between(few, A) == (few, A)  # a copy of all others would take longer than their products


def test_slices_know_which_columns_are_used():
    X, _ = sides(np.arange(20), np.arange(20))
    X[30:, 40] = 1.0
    A = prepared.lay_out(X)
    assert np.flatnonzero(A[:30].used).tolist() == list(range(20))
    assert np.flatnonzero(A.used).tolist() == [*range(20), 40]
    assert A[:30].used is A.used  # not looked for again
