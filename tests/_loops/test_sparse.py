import numpy as np
import pytest
from each_case import each
from scipy import sparse as csr

from representer._loops import sparse

SHAPES = [(1, 1, 1), (1, 5, 3), (6, 1, 8), (5, 7, 16), (4, 4, 33)]  # rows, rows, columns


def arrays(A):
    rows = csr.csr_array(A)
    return rows.data, rows.indices, rows.indptr


def thin(rng, n, d, dtype):
    """Random rows with every second entry or so zero, and the first row empty."""
    A = np.where(rng.random((n, d)) < 0.5, rng.normal(size=(n, d)), 0.0)
    A[0] = 0.0 if n > 1 else A[0]
    return A.astype(dtype)


def squared_distances(A, B):
    tile = A @ B.T
    sparse.squared_distances(*arrays(A), *arrays(B), (A * A).sum(axis=1), (B * B).sum(axis=1), tile)
    return tile


def exact(A, B):
    differences = A.astype(np.longdouble)[:, None] - B.astype(np.longdouble)[None]
    return (differences * differences).sum(axis=2)


@each("shape", SHAPES)
@each("dtype", [np.float32, np.float64])
def test_products(dtype, shape, rng):
    n, m, d = shape
    A, B = thin(rng, n, d, dtype), thin(rng, m, d, dtype)
    tile, scratch = np.full((n, m), np.nan, dtype), np.zeros(d, dtype)
    sparse.products(*arrays(A), *arrays(B), scratch, tile)
    np.testing.assert_allclose(tile, A.astype(float) @ B.T.astype(float), atol=20 * np.finfo(dtype).eps)
    assert not scratch.any()


@each("shape", SHAPES)
@each("dtype", [np.float32, np.float64])
def test_squared_distances(dtype, shape, rng):
    n, m, d = shape
    A, B = thin(rng, n, d, dtype), thin(rng, m, d, dtype)
    np.testing.assert_allclose(squared_distances(A, B), exact(A, B), rtol=500 * np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_close_rows_keep_their_digits(dtype):
    """Close rows whose patterns differ at the start, in the middle and at the end, on either side."""
    A = np.array([[0, 100, 100, 0, 100, 1e-3], [1e-3, 100, 100, 0, 100, 0], [0, 100, 100, 1e-3, 100, 0]], dtype)
    tile = squared_distances(A, A)
    assert not tile.diagonal().any()
    np.testing.assert_allclose(tile, exact(A, A), rtol=10 * np.finfo(dtype).eps)


SUMS = {
    sparse.absolute_differences: lambda a, b: np.abs(a - b).sum(),
    sparse.minima: lambda a, b: np.minimum(a, b).sum(),
    sparse.chi_squares: lambda a, b: sum((s - t) ** 2 / (s + t) for s, t in zip(a, b, strict=True) if s + t > 0),
}


@each("shape", SHAPES)
@each("dtype", [np.float32, np.float64])
@each("loop", SUMS)
def test_sums_over_columns(loop, dtype, shape, rng):
    n, m, d = shape
    A, B = np.abs(thin(rng, n, d, dtype)), np.abs(thin(rng, m, d, dtype))
    B[0] = A[0]
    tile, scratch = np.full((n, m), np.nan, dtype), np.zeros(d, dtype)
    loop(*arrays(A), *arrays(B), scratch, tile)
    expected = np.array([[SUMS[loop](a, b) for b in B.astype(float)] for a in A.astype(float)])
    np.testing.assert_allclose(tile, expected, atol=5 * d * np.finfo(dtype).eps)
    assert not scratch.any()


def test_absolute_differences_of_both_signs():
    tile, scratch = np.empty((1, 1)), np.zeros(3)
    A, B = np.array([[-1.0, 2.0, 0.0]]), np.array([[3.0, 0.0, -5.0]])
    sparse.absolute_differences(*arrays(A), *arrays(B), scratch, tile)
    assert tile[0, 0] == 11.0
