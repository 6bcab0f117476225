import numpy as np
import pytest
from each_case import each

from representer._loops import products

SHAPES = [(1, 1, 1), (1, 5, 2), (7, 1, 3), (8, 17, 12)]
DTYPES = each("dtype", [np.float32, np.float64])


def close(actual, expected, dtype):
    np.testing.assert_allclose(actual, expected, atol=60 * np.finfo(dtype).eps)


@DTYPES
@each("shape", SHAPES)
def test_inner_products(dtype, shape, rng):
    n, m, d = shape
    A, B = rng.normal(size=(n, d)).astype(dtype), rng.normal(size=(m, d)).astype(dtype)
    tile = np.full((n, m), np.nan, dtype)
    products.inner_products(A, B, tile)
    close(tile, A.astype(float) @ B.astype(float).T, dtype)


@DTYPES
@each("shape", SHAPES)
@each("n_outputs", [(), (1,), (3,), (7,), (48,), (49,)])
def test_products_are_added(dtype, shape, n_outputs, rng):
    n, m, _ = shape
    tile = rng.normal(size=(n, m)).astype(dtype)
    V, U = rng.normal(size=(m, *n_outputs)).astype(dtype), rng.normal(size=(n, *n_outputs)).astype(dtype)
    below, beside = tile.astype(float) @ V.astype(float), tile.T.astype(float) @ U.astype(float)

    out = np.full((n, *n_outputs), 0.25)
    products.apply(tile, V, out)
    close(out, below + 0.25, dtype)

    transposed = np.full((m, *n_outputs), -0.5)
    products.apply_transposed(tile, U, transposed)
    close(transposed, beside - 0.5, dtype)

    products.apply_both(tile, V, out, U, transposed)
    close(out, 2 * below + 0.25, dtype)
    close(transposed, 2 * beside - 0.5, dtype)
    assert out.dtype == transposed.dtype == np.float64


@pytest.mark.parametrize("shape", [(1, 1, 1), (3, 7, 2), (0, 4, 3), (4, 0, 3), (5, 6, 0), (33, 40, 17)])
def test_subtract_product(shape, rng):
    """Also into a part of a larger array; what is around stays as it is."""
    m, n, k = shape
    for dtype, tol in ((np.float64, 1e-13), (np.float32, 1e-5)):
        A, B = rng.normal(size=(m + 2, k))[1:-1].astype(dtype), rng.normal(size=(n, k)).astype(dtype)
        around = rng.normal(size=(m + 2, n + 2)).astype(dtype)
        expected = around.astype(np.float64)
        expected[1:-1, 1:-1] -= A.astype(np.float64) @ B.T
        products.subtract_product(A, B, around[1:-1, 1:-1])
        np.testing.assert_allclose(around, expected, rtol=tol, atol=tol)


def test_subtract_product_refuses_what_blas_would_misread(rng):
    A, B = rng.normal(size=(3, 4)), rng.normal(size=(5, 4))
    with pytest.raises(ValueError, match="shapes"):
        products.subtract_product(A, B, np.zeros((3, 4)))
    with pytest.raises(ValueError, match="shapes"):
        products.subtract_product(A[:, ::2], B, np.zeros((3, 5)))
    with pytest.raises(ValueError, match="contiguous"):
        products.subtract_product(A, B, np.zeros((3, 10))[:, ::2])
    with pytest.raises(ValueError, match="contiguous"):
        products.subtract_product(rng.normal(size=(3, 8))[:, ::2], B, np.zeros((3, 5)))
    with pytest.raises(ValueError, match="must have contiguous rows"):  # rows of the same numbers
        products.subtract_product(np.lib.stride_tricks.as_strided(A, (3, 4), (0, 8)), B, np.zeros((3, 5)))


def test_subtracting_a_product_over_nothing_changes_nothing():
    out = np.ones((3, 5))
    products.subtract_product(np.empty((3, 0)), np.empty((5, 0)), out)
    np.testing.assert_array_equal(out, 1.0)
