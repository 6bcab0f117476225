"""Products of a tile with a few vectors, against NumPy."""

import numpy as np
import pytest

from representer._loops import thin_products

rng = np.random.default_rng(0)


@pytest.mark.parametrize(("dtype", "rtol"), [(np.float32, 2e-5), (np.float64, 1e-12)])
def test_products(dtype, rtol):
    tile, coef = rng.normal(size=(7, 50)).astype(dtype), rng.normal(size=(2, 50)).astype(dtype)
    values, out, sums = np.empty((7, 2)), np.ones((2, 50)), np.empty(50, dtype)
    thin_products.forwards(tile, coef, values)
    np.testing.assert_allclose(values, tile @ coef.T, rtol=rtol, atol=rtol)
    thin_products.backwards(tile, values, sums, out)
    np.testing.assert_allclose(out, 1.0 + values.T @ tile, rtol=rtol, atol=10 * rtol)
    R, weights, out = rng.normal(size=(7, 2)), rng.random(7), np.zeros((2, 50))
    expected = weights[:, None] * (R - tile @ coef.T)
    thin_products.residuals(tile, coef, R, weights, sums, out)
    np.testing.assert_allclose(R, expected, rtol=rtol, atol=rtol)
    np.testing.assert_allclose(out, expected.T @ tile, rtol=rtol, atol=10 * rtol)
