import numpy as np

from representer._loops import gradient_bounds
from representer._loops.jit import loop


def test_one_sided_gradients_at_bounds_and_kinks():
    c, lower, upper = np.array([-1.0, -0.5, 0.0, 0.5, 1.0]), -np.ones(5), np.ones(5)
    g_up, g_down = np.empty(5), np.empty(5)
    gradient_bounds.one_sided_gradients(np.arange(5.0), c, lower, upper, 0.25, g_up, g_down)
    assert np.array_equal(g_up, [-0.25, 0.75, 2.25, 3.25, np.inf])
    assert np.array_equal(g_down, [-np.inf, 0.75, 1.75, 3.25, 4.25])


@loop
def gradient_again(g, c, lower, upper, epsilon):
    g_up, g_down = gradient_bounds.gradients_of(g, c, lower, upper, epsilon)
    return gradient_bounds.gradient_of(g_up, g_down, c, upper, epsilon)


def test_gradient_from_one_sided_ones():
    for epsilon in (0.0, 0.25):
        for c in (-1.0, -0.5, 0.0, 0.5, 1.0):
            assert gradient_again(3.0, c, -1.0, 1.0, epsilon) == 3.0
