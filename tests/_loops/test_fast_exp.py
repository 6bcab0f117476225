import numba
import numpy as np
import pytest

from representer._loops import fast_exp, radial


def decay(x):
    """exp(-x) of each number, by the loop that is made of it."""
    out = x.copy()
    radial.exponential(out, 1.0)
    return out


@pytest.mark.parametrize(("dtype", "worst"), [(np.float32, 1.2e-7), (np.float64, 2.3e-16)])
def test_relative_error_of_small_arguments(dtype, worst):
    x = np.linspace(0.0, np.log(2.0) / 2, 501).astype(dtype)  # one polynomial, no power of two
    exact = np.exp(-x.astype(np.longdouble))
    assert np.abs(decay(x) / exact - 1).max() < worst


@pytest.mark.parametrize(("dtype", "largest", "worst"), [(np.float32, 50.0, 2e-7), (np.float64, 500.0, 4e-16)])
def test_relative_error(dtype, largest, worst):
    x = np.concatenate([np.linspace(0.0, largest, 1001), np.geomspace(1e-8, largest, 200)]).astype(dtype)
    exact = np.exp(-x.astype(np.longdouble))
    rounding = (
        np.finfo(dtype).eps * x
    )  # of x log2(e), before the power is taken; the values are small where it is large
    assert np.all(np.abs(decay(x) / exact - 1) < worst + rounding)
    assert np.abs(decay(x) - exact).max() < worst


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_exp_of_zero_is_one(dtype):
    assert np.array_equal(decay(np.array([0.0, -0.0], dtype)), [1.0, 1.0])


@pytest.mark.parametrize(("dtype", "power"), [(np.float32, -100), (np.float64, -900)])
def test_large_arguments_stop_at_a_tiny_power_of_two(dtype, power):
    values = decay(np.array([1e3, 1e6, 1e30, np.inf], dtype))
    assert np.array_equal(values, np.full(4, 2.0**power))
    assert 0 < values[0] < 1e-29


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_decreasing(dtype):
    values = decay(np.linspace(0.0, 60.0, 2000).astype(dtype))
    assert np.all(np.diff(values) <= 0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_plain_function_keeps_the_type(dtype):
    value = fast_exp.decay(dtype(1.5))
    assert value.dtype == dtype
    assert np.isclose(value, np.exp(-1.5), rtol=2 * np.finfo(dtype).eps)


def test_compiler_takes_the_function_of_the_width():
    assert fast_exp._compiled_decay(numba.float32) is fast_exp._decay32
    assert fast_exp._compiled_decay(numba.float64) is fast_exp._decay64
