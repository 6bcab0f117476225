import numpy as np
import pytest

from representer._loops import rates


def test_rates_at_bounds_and_kinks():
    c, lower, upper = np.array([-1.0, -0.5, 0.0, 0.5, 1.0]), -np.ones(5), np.ones(5)
    rise, fall = np.empty(5), np.empty(5)
    rates.rates(np.arange(5.0), c, lower, upper, 0.25, rise, fall)
    assert np.array_equal(rise, [-0.25, 0.75, 2.25, 3.25, np.inf])
    assert np.array_equal(fall, [-np.inf, 0.75, 1.75, 3.25, 4.25])


@pytest.mark.parametrize("epsilon", [0.0, 0.25])
@pytest.mark.parametrize("c", [-1.0, -0.5, 0.0, 0.5, 1.0])
def test_gradient_from_rates(c, epsilon):
    rise, fall = rates.rates_of(3.0, c, -1.0, 1.0, epsilon)
    assert rates.gradient_of(rise, fall, c, 1.0, epsilon) == 3.0
