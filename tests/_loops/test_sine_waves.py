"""Waves against NumPy's cos and sin in long double: near zero, far out, and beyond what the loop itself takes."""

import numba
import numpy as np
import pytest

from representer._loops import sine_waves


def naive(angles, factor, columns):
    """factor (cos, sin) of all angles, and so many columns of it."""
    x = angles.astype(np.longdouble)
    return (factor * np.concatenate([np.cos(x), np.sin(x)], axis=1))[:, :columns]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("columns", [40, 37, 20])  # of waves and as many sines, of fewer sines, and of none
def test_errors_are_below_the_last_digit(dtype, columns):
    rng, limit = np.random.default_rng(0), sine_waves.farthest(np.empty(0, dtype))
    quarters = np.pi / 2 * np.arange(-100, 100).reshape(10, 20)
    blocks = [rng.normal(size=(30, 20)) * s for s in (1e-9, 1.0, 50.0)]
    angles = np.concatenate([*blocks, rng.uniform(-limit, limit, (30, 20)), quarters, quarters / 2]).astype(dtype)
    out = np.empty((len(angles), columns), dtype)
    sine_waves.waves(angles, 1.0, out)
    assert np.abs(out - naive(angles, 1.0, columns)).max() < np.finfo(dtype).eps
    sine_waves.waves(angles, 0.125, out)
    assert np.abs(out - naive(angles, 0.125, columns)).max() < np.finfo(dtype).eps / 8


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_with_large_angles(dtype):
    limit = sine_waves.farthest(np.empty(0, dtype))
    angles = np.array([[0.0, 1.0, 2.0], [0.5, -3.0 * limit, 1.0], [1e3 * limit, 1e20, -1e30]], dtype)
    out = np.empty((3, 6), dtype)
    sine_waves.waves(angles, 1.0, out)
    assert np.abs(out - naive(angles, 1.0, 6)).max() < np.finfo(dtype).eps


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_plain_function_keeps_the_type(dtype):
    assert [value.dtype for value in sine_waves.both(dtype(1.5))] == [dtype, dtype]


def test_compiler_takes_the_functions_of_the_width():
    for width, function, limit in (
        (numba.float32, sine_waves._both32, sine_waves.FARTHEST32),
        (numba.float64, sine_waves._both64, sine_waves.FARTHEST64),
    ):
        assert sine_waves._compiled_both(width) is function
        assert sine_waves._compiled_farthest(numba.types.Array(width, 2, "C"))(None) == limit
