"""Rates of raising and of lowering coefficients within boxes, whose costs may have a kink at zero: epsilon |c|.

With g the slope of all other costs, raising c changes the sum at the rate rise = g + epsilon or g - epsilon, by the
sign of c, and lowering it at the rate -fall, with such a fall. At its upper bound rise is infinite, at the lower one
fall is minus infinite. At zero rise exceeds fall by twice epsilon; elsewhere between the bounds they are equal.
"""

import numpy as np

from representer._loops.jit import inlined_loop, loop


@loop
def rates(g, c, lower, upper, epsilon, rise, fall):
    """The rates of raising and of lowering each coefficient."""
    for i in range(c.size):
        rise[i], fall[i] = rates_of(g[i], c[i], lower[i], upper[i], epsilon)


@inlined_loop
def rates_of(g, c, lower, upper, epsilon):
    """Those of one coefficient."""
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
def gradient_of(rise, fall, c, upper, epsilon):
    """g from both rates of a coefficient, of which one is finite unless its box is a point."""
    return rise - slope_above(c, epsilon) if c < upper else fall - slope_below(c, epsilon)
