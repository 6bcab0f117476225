import numpy as np
import pytest
from each_case import each

from representer._loops import powers


@each("dtype", [np.float32, np.float64])
@each("exponent", [1, 2, 3, 5, 12, 31])
def test_powers_by_squaring(rng, dtype, exponent):
    values = rng.uniform(-1.5, 1.5, size=(7, 33)).astype(dtype)
    expected = (values.astype(np.float64) + 0.25) ** exponent
    powers.raise_rows(values, dtype(0.25), exponent)
    np.testing.assert_allclose(
        values, expected, rtol=4 * exponent * np.finfo(dtype).eps, atol=exponent * np.finfo(dtype).eps
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_and_columns_are_scaled_in_this_order(rng, dtype):
    tile, left, right = (rng.normal(size=shape).astype(dtype) for shape in ((5, 9), 5, 9))
    expected = tile * left[:, None] * right
    powers.scale_both(tile, left, right)
    np.testing.assert_array_equal(tile, expected)
