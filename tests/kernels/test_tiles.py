"""Dense blocks, tile by tile, against the formula and against themselves."""

import numpy as np
import pytest
from each_case import each
from scipy import sparse
from scipy.spatial.distance import cdist

from representer import _parallel
from representer.kernels import (
    RBF,
    Callable,
    Chi2,
    Laplacian,
    Linear,
    Matern,
    Periodic,
    Polynomial,
    Scaled,
    Spectrum,
    tiles,
)
from representer.kernels.column_lists import ColumnLists
from representer.kernels.periodic import Angles


def rows(n, width=3, seed=0, dtype=np.float64):
    return np.random.default_rng(seed).normal(size=(n, width)).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_many_tiles(dtype):
    X, Y = rows(530, dtype=dtype), rows(300, seed=1, dtype=dtype)
    kernel, tolerance = RBF(1.3) * Polynomial(2) + 0.5, 300 * np.finfo(dtype).eps
    A, B = X.astype(float), Y.astype(float)
    expected = np.exp(-0.5 * cdist(A, B, "sqeuclidean") / 1.69) * (1 + A @ B.T) ** 2 + 0.5
    for threads in (1, 2):
        np.testing.assert_allclose(kernel(X, Y, threads=threads), expected, rtol=tolerance, atol=tolerance)
        K = kernel(X, threads=threads)
        assert np.array_equal(K, K.T)
        np.testing.assert_allclose(K[:, :300], kernel(X, X[:300]), rtol=tolerance, atol=tolerance)
        assert np.array_equal(K.diagonal(), kernel.diag(X))


@pytest.mark.parametrize("width", [5, 20, 40])  # differences; products, each pair once; products of all pairs
@pytest.mark.parametrize("n", [tiles.ONE_TILE_PAIRS + 1, 1100])
def test_blocks_are_the_same_for_any_number_of_threads(n, width):
    X = rows(n, width, dtype=np.float32)
    K = RBF(1.3)(X, threads=1)
    for threads in (2, 3):
        assert np.array_equal(RBF(1.3)(X, threads=threads), K)
    tolerance = 500 * np.finfo(np.float32).eps
    np.testing.assert_allclose(K, RBF(1.3)(X, X), rtol=tolerance, atol=tolerance)


def test_new_tile():
    kernel = RBF(1.5)
    A = kernel.prepare(rows(5))
    np.testing.assert_array_equal(tiles.new_tile(kernel, A[:2], A), kernel(rows(5))[:2])
    assert tiles.new_tile(kernel, A, A, np.float32).dtype == np.float32


@each("n", [1, 40, 600])
@each("kernel", [RBF(1.5), Matern(1.5, nu=0.7), RBF(1.5) * Linear()])
def test_the_lower_triangle_is_that_of_the_dense_block(kernel, n):
    A = kernel.prepare(rows(n, 12))
    below, diagonal = tiles.lower_triangle(kernel, A)
    K = tiles.block(kernel, A)
    np.testing.assert_array_equal(below, K[np.tril_indices(n, -1)])
    np.testing.assert_array_equal(diagonal, K.diagonal())


@each("n", [1, 40, 384, 385])
@each("kernel", [RBF(1.5), RBF(1.5) * Linear()])
def test_symmetric_tiles_are_exactly_symmetric_with_exact_diagonals(kernel, n):
    A = kernel.prepare(rows(n, 12))
    for out in (np.full((n, n), np.nan), np.full((n, 2 * n), np.nan)[:, ::2]):  # in place, or by a buffer
        assert tiles.block(kernel, A, out=out) is out
        assert np.array_equal(out, out.T)
        assert np.array_equal(out.diagonal(), kernel.diagonal(A))
    tile = np.full((n, n), np.nan)
    tiles.fill_symmetric(kernel, A, tile)
    assert np.array_equal(tile, tile.T)
    np.testing.assert_allclose(tile, out, rtol=1e-13, atol=1e-13)


@each("dtype", [np.float32, np.float64])
@each(("known", "n"), [(0, 5), (0, 600), (3, 5), (300, 301), (300, 600), (600, 600)])
def test_block_grows(known, n, dtype):
    """Values between the first inputs stay, and so does what is behind the last column."""
    kernel = 2.0 * RBF(1.5) + Linear()
    A = kernel.prepare(rows(n, dtype=dtype))
    out = np.full((n, n + 4), np.nan, np.float32)
    out[:known, :known] = 7.0
    assert tiles.block(kernel, A, out=out, known=known) is out
    expected = tiles.block(kernel, A)
    expected[:known, :known] = 7.0
    np.testing.assert_allclose(out[:, :n], expected, rtol=1e-5, atol=1e-5)
    assert np.isnan(out[:, n:]).all()


def test_rectangle_is_written_where_it_is_wanted():
    kernel = RBF(1.5)
    A, out = kernel.prepare(rows(600)), np.full((6, 600), np.nan, np.float32)
    tiles.block(kernel, A[:5], A, out=out[:5])
    np.testing.assert_array_equal(out[:5], tiles.block(kernel, A[:5], A).astype(np.float32))
    assert np.isnan(out[5]).all()


def test_block_of_nothing_asks_no_kernel():
    def refuses(X, Y):
        assert len(X) > 0
        assert len(Y) > 0
        return X @ Y.T

    for kernel in (Callable(refuses), RBF()):
        A = kernel.prepare(rows(5, 2))
        assert tiles.block(kernel, A[:0], A).shape == (0, 5)
        assert tiles.block(kernel, A, A[:0]).shape == (5, 0)
        assert tiles.block(kernel, A[:0]).shape == (0, 0)


# ---- columns of zeros ----

WIDE = 100  # columns, of which each side uses some


def sides(used, others, dtype=np.float64):
    """Rows that are zero in all columns but these, and far from zero in some of them."""
    rng = np.random.default_rng(0)
    X, Y = np.zeros((300, WIDE)), np.zeros((150, WIDE))
    X[:, used], Y[:, others] = rng.normal(1.0, 2.0, (300, len(used))), rng.normal(-1.0, 2.0, (150, len(others)))
    return X.astype(dtype), Y.astype(dtype)


@each(
    ("used", "others", "left"),
    [
        (np.arange(60), np.arange(30, 90), 30),
        (np.arange(0, WIDE, 2), np.arange(1, WIDE, 2), 1),  # none in common
        (np.arange(5), np.arange(WIDE), 5),
        (np.arange(95), np.arange(5, WIDE), WIDE),  # too few to leave out
    ],
)
@each("dtype", [np.float32, np.float64])
@each("kernel", [2.0 * RBF(9.0), Linear() ** 2])
def test_products_do_not_need_columns_that_are_zero_on_one_side(used, others, left, kernel, dtype):
    X, Y = sides(used, others, dtype)
    B = kernel.prepare(Y, like=kernel.prepare(X * 0.0))
    A = kernel.prepare(X, like=B)
    a, b = tiles.trimmed(A, B)
    assert a.values.shape[1] == b.values.shape[1] == left
    S = cdist(X.astype(float), Y.astype(float), "sqeuclidean") / 81.0
    exact = 2.0 * np.exp(-0.5 * S) if isinstance(kernel, Scaled) else (X.astype(float) @ Y.T.astype(float)) ** 2
    found = np.empty((300, 150), dtype)
    kernel.fill(a, b, found)
    for values in (found, tiles.block(kernel, A, B)):  # products of either sign cancel, and sums of 200 terms round
        np.testing.assert_allclose(values, exact, rtol=0.0, atol=200 * np.finfo(dtype).eps * np.abs(exact).max())


def test_close_points_keep_their_digits_without_unused_columns():
    """Their distances are computed anew from all columns, also from those that only one side uses."""
    X, Y = sides(np.arange(20), np.arange(20), np.float32)
    Y[:5] = X[:5]
    Y[:5, 99] = 1e-3
    A = RBF().prepare(X)
    A, B = tiles.trimmed(A, RBF().prepare(Y, like=A))
    assert A.values.shape[1] == 20
    tile = np.empty((300, 150), np.float32)
    A.squared_distances(B, tile)
    np.testing.assert_allclose(tile.diagonal()[:5], 1e-6, rtol=1e-5)


def test_both_sides_of_a_symmetric_matrix_share_one_copy():
    X, Y = sides(np.arange(20), np.arange(20))
    A = RBF().prepare(X)
    a, b = tiles.trimmed(A, A)
    assert a is b
    assert a.values.shape == (300, 20)
    few = RBF().prepare(Y[:5], like=A)
    assert tiles.trimmed(few, A) == (few, A)  # a copy of all others would take longer than their products


class FillsInItsOwnWay(RBF):
    def fill(self, A, B, tile):
        tile[...] = A.values[:, -1:] == B.values[:, -1]


class HasItsOwnDiagonal(Linear):
    def diagonal(self, A):
        return (A.values @ np.ones(WIDE)) ** 2


class LaysOutItsOwnInputs(RBF):
    def prepare(self, X, like=None):
        return Angles.of(np.asarray(X))


@pytest.mark.parametrize(
    "kernel",
    [Laplacian(), Chi2(), Periodic(), FillsInItsOwnWay(), HasItsOwnDiagonal(), LaysOutItsOwnInputs()],
    ids=lambda kernel: type(kernel).__name__,
)
def test_kernels_that_need_more_than_products_see_all_columns(kernel):
    A = kernel.prepare(np.abs(sides(np.arange(20), np.arange(20))[0]))
    assert tiles.trimmed(A, A) == (A, A)


def test_rows_of_sparse_matrices_and_strings_are_left_alone():
    for kernel, X in ((RBF(), sparse.csr_array(sides(np.arange(20), np.arange(20))[0])), (Spectrum(2), ["ab"] * 200)):
        A = kernel.prepare(X)
        assert tiles.trimmed(A, A) == (A, A)


def test_slices_of_a_symmetric_matrix_are_cut_once(monkeypatch):
    """A slice of counted features is turned into inverted lists, for all tiles of its rows and of its columns."""
    cut, of = [], ColumnLists.of
    monkeypatch.setattr(ColumnLists, "of", lambda *given: cut.append(1) or of(*given))
    kernel, words = Spectrum(2), ["ACGT"[i % 4] * (2 + i % 3) + "ACGT"[i % 3] for i in range(1100)]
    A = kernel.prepare(words)
    K = tiles.block(kernel, A, threads=1)
    n_slices = -(-1100 // _parallel.tile_shape(K.dtype)[0])
    assert len(cut) == n_slices > 4
    assert np.array_equal(K, tiles.block(kernel, A, A))
