import numpy as np
import pytest
from each_case import each
from scipy import sparse

from representer.kernels import column_lists
from representer.kernels.prepared import A_FEW_ROWS, SparseVectors


def random_rows(n, d, rng, dtype=np.float64):
    """Counts with columns that nearly all rows have, some, and hardly any."""
    often = rng.random(d) ** 3
    return np.where(rng.random((n, d)) < often, rng.integers(1, 6, (n, d)), 0).astype(dtype)


@each("dtype", [np.float32, np.float64])
@each("shape", [(20, 30), (A_FEW_ROWS, 40), (40, 1), (1, 1)])
def test_products_and_minima_equal_those_of_arrays(shape, dtype, rng):
    A, B = random_rows(shape[0], 50, rng, dtype), random_rows(shape[1], 50, rng, dtype)
    thin, other = SparseVectors.of(sparse.csr_array(A)), SparseVectors.of(sparse.csr_array(B))
    tile = np.full(shape, np.nan, dtype)
    thin.products(other, tile)
    assert np.array_equal(tile, A @ B.T)  # whole numbers
    thin.minima(other, tile)
    assert np.array_equal(tile, np.minimum(A[:, None], B).sum(axis=2))


@pytest.mark.parametrize("shape", [(20, 30), (3, 30), (30, 3)])
def test_columns_known_by_keys(shape, rng):
    """Each side has its own columns, of which some are the same."""
    keys = rng.choice(2**62, 60, replace=False).astype(np.uint64)
    mine, theirs = np.sort(keys[:40]), np.sort(keys[20:])
    A, B = random_rows(shape[0], 40, rng), random_rows(shape[1], 40, rng)
    thin, other = SparseVectors.of(sparse.csr_array(A), keys=mine), SparseVectors.of(sparse.csr_array(B), keys=theirs)
    assert len(other.frequent)
    common = np.intersect1d(mine, theirs)
    left, right = A[:, np.isin(mine, common)], B[:, np.isin(theirs, common)]
    tile = np.empty(shape)
    thin.products(other, tile)
    assert np.array_equal(tile, left @ right.T)
    thin.minima(other, tile)
    assert np.array_equal(tile, np.minimum(left[:, None], right).sum(axis=2))
    thin.squared_distances(other, tile)
    assert np.array_equal(tile, (A * A).sum(axis=1)[:, None] + (B * B).sum(axis=1) - 2.0 * left @ right.T)


def test_close_rows_with_keys_of_their_own():
    """Distances of close rows come from differences, entry by entry, by keys and not by column numbers."""
    A = SparseVectors.of(sparse.csr_array([[100.0, 1e-4, 5.0]]), keys=np.array([1, 5, 9], np.uint64))
    B = SparseVectors.of(sparse.csr_array([[2e-4, 100.0, 5.0]]), keys=np.array([0, 1, 9], np.uint64))
    tile = np.empty((1, 1))
    A.squared_distances(B, tile)
    assert tile[0, 0] == pytest.approx(5e-8, rel=1e-12)


def test_frequent_keys_fit_the_memory(rng, monkeypatch):
    A = sparse.csr_array(random_rows(100, 20, rng) + np.eye(100, 20))
    some = column_lists.frequent_keys(A, None)
    rows = np.bincount(A.indices, minlength=20)
    assert np.array_equal(some, np.flatnonzero(rows > column_lists.FREQUENT * 100))
    monkeypatch.setattr(column_lists, "ARRAY_BYTES", 3 * 800)
    monkeypatch.setattr(column_lists, "ARRAY_SHARE", 0)
    assert np.array_equal(column_lists.frequent_keys(A, None), np.sort(np.argsort(-rows, kind="stable")[:3]))


def test_other_columns():
    A, B = (SparseVectors.of(sparse.csr_array(np.ones((20, d)))) for d in (3, 4))
    with pytest.raises(ValueError, match="have different columns"):
        A.products(B, np.empty((20, 20)))
