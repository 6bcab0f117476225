import numpy as np
from each_case import each

from representer._loops import radial

FORMULAS = {
    radial.matern12: lambda s: np.exp(-np.sqrt(s)),
    radial.matern32: lambda s: (1 + np.sqrt(3 * s)) * np.exp(-np.sqrt(3 * s)),
    radial.matern52: lambda s: (1 + np.sqrt(5 * s) + 5 * s / 3) * np.exp(-np.sqrt(5 * s)),
}
SHAPES = [(1, 1), (1, 7), (9, 1), (4, 4), (5, 15), (3, 17)]


@each("shape", SHAPES)
@each("dtype", [np.float32, np.float64])
@each("rate", [0.5, 1.0, 2.75])
def test_exponential(rate, dtype, shape, rng):
    tile = rng.exponential(3.0, shape).astype(dtype)
    expected = np.exp(-rate * tile.astype(np.float64))
    radial.exponential(tile, rate)
    assert tile.dtype == dtype
    np.testing.assert_allclose(tile, expected, rtol=60 * np.finfo(dtype).eps)


@each("shape", SHAPES)
@each("dtype", [np.float32, np.float64])
@each("loop", FORMULAS)
def test_matern(loop, dtype, shape, rng):
    tile = rng.exponential(3.0, shape).astype(dtype)
    expected = FORMULAS[loop](tile.astype(np.float64))
    loop(tile)
    assert tile.dtype == dtype
    np.testing.assert_allclose(tile, expected, rtol=30 * np.finfo(dtype).eps)


@each("dtype", [np.float32, np.float64])
@each("loop", [lambda tile: radial.exponential(tile, 0.5), *FORMULAS])
def test_one_at_zero_and_finite_far_away(loop, dtype):
    tile = np.array([[0.0, 1e12]], dtype)
    loop(tile)
    assert tile[0, 0] == 1.0
    assert 0 < tile[0, 1] < 1e-17
