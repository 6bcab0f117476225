import numpy as np
from each_case import each

from representer._loops.jit import loop
from representer._loops.simd.min_max import greatest, least


@loop
def extremes(values):
    low, high = values.dtype.type(np.inf), values.dtype.type(-np.inf)
    for j in range(values.size):
        low, high = least(low, values[j]), greatest(high, values[j])
    return low, high


@each("dtype", [np.float32, np.float64])
@each("n", [1, 2, 31, 1000])
def test_extremes_of_an_array(n, dtype):
    values = np.random.default_rng(n).normal(size=n).astype(dtype)
    assert extremes(values) == (values.min(), values.max())


def test_infinite_numbers():
    assert extremes(np.array([np.inf, 1.0, -np.inf])) == (-np.inf, np.inf)


def test_plain_python():
    assert (least(2.0, 1.0), greatest(2.0, 1.0)) == (1.0, 2.0)
