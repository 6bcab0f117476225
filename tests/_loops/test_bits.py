import numpy as np
import pytest
from each_case import each

from representer._loops import bits


@each("dtype", [np.float32, np.float64])
@each("columns", [1, 3, 4, 9])
def test_bits_in_common(columns, dtype, rng):
    A, B = (rng.integers(0, 2**64 - 1, (n, 6), np.uint64, endpoint=True) for n in (3, columns))
    tile = np.full((3, columns), np.nan, dtype)
    bits.common(A, np.ascontiguousarray(B.T), tile)
    assert np.array_equal(tile, np.bitwise_count(A[:, None] & B).sum(axis=2))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_ratios(dtype):
    s, a, b = np.array([[2, 0, 0], [1, 1, 0]], dtype), np.array([3, 0], dtype), np.array([2, 2, 0], dtype)
    bits.ratios(a, b, s)
    assert np.array_equal(s, np.array([[2 / 3, 0, 0], [1, 1, 1]], dtype))
