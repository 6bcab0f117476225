import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from representer._loops.k_smallest import keep_smallest


@given(st.integers(0, 1000), st.integers(1, 9), st.integers(1, 5), st.integers(1, 40))
def test_tile_by_tile_is_a_stable_sort(seed, k, rows, columns):
    """Few distinct values, so that many are equal."""
    M = np.random.default_rng(seed).integers(0, 6, (rows, columns)).astype(float)
    values, indices = np.full((rows, k), np.inf), np.full((rows, k), -1)
    for start in range(0, columns, 7):
        keep_smallest(np.ascontiguousarray(M[:, start : start + 7]), start, values, indices)
    order = np.argsort(M, axis=1, kind="stable")[:, :k]
    found = min(k, columns)
    np.testing.assert_array_equal(indices[:, :found], order)
    np.testing.assert_array_equal(values[:, :found], np.take_along_axis(M, order, axis=1))
    assert np.all(indices[:, found:] == -1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dtypes(dtype):
    values, indices = np.full((1, 2), np.inf, dtype), np.full((1, 2), -1)
    keep_smallest(np.array([[3.0, 1.0, 2.0]], dtype), 10, values, indices)
    assert values.tolist() == [[1.0, 2.0]]
    assert indices.tolist() == [[11, 12]]
