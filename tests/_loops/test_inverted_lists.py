import numpy as np
import pytest
from scipy import sparse

from representer._loops import inverted_lists

NONE = np.empty(0, np.uint64)


def thin(rng, n, d, dtype=np.float64):
    return (np.where(rng.random((n, d)) < 0.4, rng.integers(1, 9, (n, d)), 0)).astype(dtype)


def lists(A, keys=NONE, frequent=NONE):
    rows = sparse.csr_array(A)
    return inverted_lists.invert(rows.data, rows.indices, rows.indptr, keys, frequent)


@pytest.mark.parametrize("loop", [inverted_lists.add_products, inverted_lists.add_minima])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sums_over_common_columns(loop, dtype, rng):
    """Columns 2, 4, ..., 12 of one side are columns 1, 3, ... of the other, known by their keys."""
    A, B = thin(rng, 17, 12, dtype), thin(rng, 5, 9, dtype)
    mine, theirs = np.arange(12, dtype=np.uint64) * np.uint64(3), np.arange(9, dtype=np.uint64) * np.uint64(2**60)
    theirs[1], theirs[2:] = 6, np.uint64(33) + theirs[2:] - theirs[2]
    tile = np.ones((17, 5), dtype)
    loop(*lists(A, mine)[:4], *lists(B, theirs)[:4], tile)
    pairs = [(f, g) for f in range(12) for g in range(9) if mine[f] == theirs[g]]
    assert len(pairs) == 3
    term = np.multiply if loop is inverted_lists.add_products else np.minimum
    assert np.array_equal(tile, 1 + sum(term.outer(A[:, f], B[:, g]) for f, g in pairs))


def test_frequent_columns_are_an_array(rng):
    A = thin(rng, 6, 8)
    A[0], A[:, 5] = 0.0, 0.0  # a row and a column without entries
    frequent = np.array([0, 3, 5, 7, 99], np.uint64)
    keys, starts, rows, values, array = lists(A, frequent=frequent)
    assert np.array_equal(array[:, :4], A[:, [0, 3, 5, 7]])
    assert not array[:, 4].any()
    assert set(keys.tolist()) <= {1, 2, 4, 6}
    rest = np.zeros_like(A)
    for key, begin, end in zip(keys, starts[:-1], starts[1:], strict=True):
        rest[rows[begin:end], int(key)] = values[begin:end]
    assert np.array_equal(rest[:, [1, 2, 4, 6]], A[:, [1, 2, 4, 6]])


def test_slices_that_share_arrays(rng):
    """Starts of a slice need not begin at zero."""
    whole = sparse.csr_array(thin(rng, 6, 4))
    part = inverted_lists.invert(whole.data, whole.indices, whole.indptr[2:5], NONE, np.arange(4, dtype=np.uint64))
    assert np.array_equal(part[4], whole.toarray()[2:4])
