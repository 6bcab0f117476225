"""One-sided gradients of box-constrained coefficients, whose objective may have a kink at zero: epsilon |c|.

With g the gradient of the smooth part, the derivative of the sum is g_up = g + epsilon or g - epsilon, by the sign of
c, when c is raised, and g_down when it is lowered. At the upper bound g_up is infinite, at the lower one g_down is
minus infinite. At zero g_up exceeds g_down by twice epsilon; elsewhere between the bounds they are equal. The KKT
conditions with a fixed sum of coefficients are: no g_down is greater than any g_up.
"""

import numpy as np

from representer._loops.jit import inlined_loop, loop


@loop
def one_sided_gradients(g, c, lower, upper, epsilon, g_up, g_down):
    """g_up and g_down of each coefficient."""
    for i in range(c.size):
        g_up[i], g_down[i] = gradients_of(g[i], c[i], lower[i], upper[i], epsilon)


@inlined_loop
def gradients_of(g, c, lower, upper, epsilon):
    """g_up and g_down of one coefficient."""
    return (
        np.inf if c >= upper else g + slope_above(c, epsilon),
        -np.inf if c <= lower else g + slope_below(c, epsilon),
    )


@inlined_loop
def slope_above(c, epsilon):
    """The slope of epsilon |c| to the right of c."""
    return epsilon if c >= 0.0 else -epsilon


@inlined_loop
def slope_below(c, epsilon):
    """The slope of epsilon |c| to the left of c."""
    return epsilon if c > 0.0 else -epsilon


@inlined_loop
def gradient_of(g_up, g_down, c, upper, epsilon):
    """g from both one-sided gradients, of which one is finite unless the box is a point."""
    return g_up - slope_above(c, epsilon) if c < upper else g_down - slope_below(c, epsilon)
