import numpy as np
import pytest

from representer._loops import blocks, radial

SHAPES = {
    radial.EXPONENTIAL: lambda s: np.exp(-0.3 * s),
    radial.MATERN12: lambda s: np.exp(-np.sqrt(s)),
    radial.MATERN32: lambda s: (1.0 + np.sqrt(3.0 * s)) * np.exp(-np.sqrt(3.0 * s)),
    radial.MATERN52: lambda s: (1.0 + np.sqrt(5.0 * s) + 5.0 * s / 3.0) * np.exp(-np.sqrt(5.0 * s)),
}


@pytest.mark.parametrize("same", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", SHAPES)
def test_equal_to_naive(name, dtype, same, rng):
    A = rng.normal(size=(23, 9)).astype(dtype)
    B = A if same else rng.normal(size=(17, 9)).astype(dtype)
    tiles = [(0, 10, 0, 10), (10, 23, 0, 10), (10, 23, 10, 23)] if same else [(0, 23, 0, 9), (0, 11, 9, 17)]
    out = np.full((len(A), len(B)), np.nan, dtype)
    a, b = (A * A).sum(axis=1), (B * B).sum(axis=1)
    memory, weights = np.empty(23 * 13, dtype), np.ones(9, dtype)
    blocks.fill_stationary(A, B, a, b, A, B, weights, name, 0.3, np.array(tiles), same, memory, out)
    expected = SHAPES[name](((A[:, None].astype(float) - B.astype(float)) ** 2).sum(axis=2))
    if not same:
        expected[11:, 9:] = np.nan  # not asked for
    else:
        assert np.array_equal(out, out.T)
        assert np.all(out.diagonal() == 1.0)
    np.testing.assert_allclose(out, expected, rtol=1e-5 if dtype == np.float32 else 1e-12)
