import numpy as np
import pytest
from each_case import each

from representer._loops import symmetric


@each("n", [1, 2, 5, 16, 17, 50])
@each("dtype", [np.float32, np.float64])
def test_mirror(dtype, n, rng):
    tile, diagonal = rng.normal(size=(n, n)).astype(dtype), rng.normal(size=n).astype(dtype)
    expected = np.tril(tile, -1) + np.tril(tile, -1).T + np.diag(diagonal)
    symmetric.mirror(tile, diagonal)
    assert np.array_equal(tile, expected)


@each("n", [1, 2, 3, 16, 50])
@each("dtype", [np.float32, np.float64])
def test_unpack(dtype, n, rng):
    K, diagonal = rng.normal(size=(n, n)).astype(dtype), rng.normal(size=n).astype(dtype)
    expected = np.tril(K, -1) + np.tril(K, -1).T + np.diag(diagonal)
    tile, below = np.full((n, n), np.nan, dtype), K[np.tril_indices(n, -1)]
    tile.ravel()[: len(below)] = below
    symmetric.unpack(tile.ravel()[: len(below)], diagonal, tile)  # within the same memory
    assert np.array_equal(tile, expected)


@pytest.mark.parametrize("n", [1, 2, 17])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_half(dtype, n, rng):
    K, index = rng.normal(size=(20, 20)).astype(dtype), rng.permutation(20)[:n]
    values = symmetric.half(K, index)
    assert values.dtype == dtype
    assert np.array_equal(values, K[np.ix_(index, index)][np.tril_indices(n, -1)])


@pytest.mark.parametrize("n", [1, 2, 30])
def test_multiply(n, rng):
    K, x, out = rng.normal(size=(n, n)), rng.normal(size=n), np.full(n, np.nan)
    K += K.T
    symmetric.multiply(K[np.tril_indices(n, -1)], K.diagonal().copy(), x, out)
    np.testing.assert_allclose(out, K @ x, atol=1e-13)


@pytest.mark.parametrize("shape", [(1, 1), (9, 20)])
def test_write_both(shape, rng):
    h, w = shape
    tile = rng.normal(size=shape).astype(np.float32)
    out = np.zeros((h + w + 3, h + w + 3), np.float32)
    expected = out.copy()
    expected[w + 2 : w + 2 + h, 1 : w + 1] = tile
    expected[1 : w + 1, w + 2 : w + 2 + h] = tile.T
    symmetric.write_both(tile, out, w + 2, 1)
    assert np.array_equal(out, expected)


@pytest.mark.parametrize("kept", [[0], [3, 4, 6], [0, 1, 2, 3, 4, 5, 6], []])
def test_compact(kept, rng):
    K = rng.normal(size=(7, 9)).astype(np.float32)
    expected = K[np.ix_(kept, kept)]
    symmetric.compact(K, np.array(kept, int))
    assert np.array_equal(K[: len(kept), : len(kept)], expected)
