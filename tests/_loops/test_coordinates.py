import numpy as np
import pytest
from each_case import each

from representer._loops import coordinates

SHAPES = [(1, 1, 1), (1, 7, 3), (9, 1, 2), (5, 15, 4), (4, 17, 13)]  # rows, rows, columns


def chi_square(a, b):
    return np.sum([(s - t) ** 2 / (s + t) for s, t in zip(a, b, strict=True) if s + t > 0])


def absolute_differences(A, columns, tile):
    coordinates.absolute_differences(A, columns, np.ones(A.shape[1], A.dtype), tile)


FORMULAS = {
    absolute_differences: lambda a, b: np.abs(a - b).sum(),
    coordinates.minima: lambda a, b: np.minimum(a, b).sum(),
    coordinates.chi_squares: chi_square,
}


@each("shape", SHAPES)
@each("dtype", [np.float32, np.float64])
@each("loop", FORMULAS)
def test_equal_to_naive(loop, dtype, shape, rng):
    n, m, d = shape
    A, B = (rng.exponential(size=(size, d)).round(1).astype(dtype) for size in (n, m))  # with ties and zeros
    A[0, 0] = B[0, 0] = 0.0
    tile = np.full((n, m), np.nan, dtype)
    loop(A, np.ascontiguousarray(B.T), tile)
    expected = np.array([[FORMULAS[loop](a, b) for b in B.astype(float)] for a in A.astype(float)])
    np.testing.assert_allclose(tile, expected, rtol=20 * np.finfo(dtype).eps, atol=1e-30)


@pytest.mark.parametrize("loop", [absolute_differences, coordinates.minima])
def test_signs(loop):
    A, columns, tile = np.array([[-1.0, 2.0]]), np.array([[3.0], [-5.0]]), np.empty((1, 1))
    loop(A, columns, tile)
    assert tile[0, 0] == {"absolute_differences": 11.0, "minima": -6.0}[loop.__name__]


def test_weights_of_columns():
    A, columns, tile = np.array([[-1.0, 2.0]]), np.array([[3.0], [-5.0]]), np.empty((1, 1))
    coordinates.absolute_differences(A, columns, np.array([10.0, 0.5]), tile)
    assert tile[0, 0] == 43.5
