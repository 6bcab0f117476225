import numpy as np
import pytest

from representer._loops import jit


def total(values):
    s = values.dtype.type(0.0)
    for i in range(values.size):
        s += values[i]
    return s


@pytest.mark.parametrize("decorator", [jit.loop, jit.summing_loop])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_compiled_is_the_same_as_plain_python(decorator, dtype):
    values = np.arange(37, dtype=dtype)  # whole numbers, whose sum has no rounding in any order
    result = decorator(total)(values)
    assert result == 666.0
    assert np.isinf(decorator(total)(np.array([1.0, np.inf], dtype)))


def test_only_summing_loops_may_change_the_order_of_additions():
    values = np.array([1.0, 1e100, 1.0, -1e100] * 25)  # in this order the ones are lost
    assert jit.loop(total)(values) == 0.0
    assert not jit.STRICT & {"reassoc", "ninf", "fast"}  # infinities occur, too
