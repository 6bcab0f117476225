"""Directions for steps on many coefficients: each is conjugate to the one before it, as long as no bound is in the way.

A pair of coefficients to raise and to lower is the direction u = e_i - e_j. After a step along d the best one in the
span of d and u is along u + keep d with keep = -u'Kd / d'Kd, which needs K d at two places only, and mostly takes fewer
steps than pairs alone. d has few places: it begins anew where there is no room for more, and at a bound or kink.

A direction is kept in five arrays, ``way``: its places, their parts of d, and the value of each one's coefficient with
the next bounds or kinks below and above it. They stay in the cache, as those of all coefficients do not.
"""

import numpy as np

from representer._loops.jit import inlined_loop
from representer._loops.rates import gradient_of, rates_of

PLACES = 16
"""Of a direction. Where it has no room for a further pair, it begins anew."""
LEAST = 0.05
"""The part of u'Ku that has to be left for a direction that keeps d: less is rounding."""


@inlined_loop
def no_way():
    """Memory for a direction, and for a pair beside it."""
    n = PLACES + 2
    return np.empty(n, np.int64), np.empty(n), np.empty(n), np.empty(n), np.empty(n)


@inlined_loop
def is_over(size):
    """Whether a direction with so many places begins anew."""
    return size == 0 or size > PLACES - 2


@inlined_loop
def turn(pair, c, box, way, size, curvature):
    """The next direction: that of the pair and so much of the last one that both are conjugate, or the pair alone.

    The pair is i and j, by how much their rates differ, u'Ku and u'Kd; the last direction has some places and the
    curvature d'Kd. Returns the length of the step, how much of d is kept, and number of places and curvature anew.
    """
    i, j, gap, own, along = pair
    bent = own - along * along / curvature
    if not is_over(size) and bent >= LEAST * own:
        keep, parts = -along / curvature, way[1]
        for s in range(size):
            parts[s] *= keep
        end = _put(i, 1.0, c, box, way, _put(j, -1.0, c, box, way, size))
        wanted = gap / bent
        length = _reach(wanted, way, 0, end)
        if length == wanted:
            return length, keep, end, bent
        # a bound or kink is in the way, and the pair alone may get further
        last = _append(i, 1.0, c, box, way, _append(j, -1.0, c, box, way, end))
        alone = _reach(gap / own, way, end, last)
        if length * (gap - 0.5 * length * bent) >= alone * (gap - 0.5 * alone * own):
            return length, keep, end, bent
    end = _append(i, 1.0, c, box, way, _append(j, -1.0, c, box, way, 0))
    return _reach(gap / own, way, 0, end), 0.0, end, own


@inlined_loop
def _put(i, part, c, box, way, size):
    """Add a part of c_i to the direction; its number of places."""
    for s in range(size):
        if way[0][s] == i:
            way[1][s] += part
            return size
    return _append(i, part, c, box, way, size)


@inlined_loop
def _append(i, part, c, box, way, size):
    """Add a part of a c_i that it does not have; its number of places."""
    (lower, upper, epsilon), (places, parts, values, bottoms, tops) = box, way
    places[size], parts[size], values[size], bottoms[size], tops[size] = i, part, c[i], lower[i], upper[i]
    if epsilon > 0.0:
        if lower[i] < 0.0 and (c[i] > 0.0 or (c[i] == 0.0 and part > 0.0)):
            bottoms[size] = 0.0
        if upper[i] > 0.0 and (c[i] < 0.0 or (c[i] == 0.0 and part < 0.0)):
            tops[size] = 0.0
    return size + 1


@inlined_loop
def _reach(length, way, begin, end):
    """The length of a step, or that to the first bound or kink on its way."""
    _, parts, values, bottoms, tops = way
    for s in range(begin, end):
        room = (tops[s] if parts[s] > 0.0 else bottoms[s]) - values[s]
        if abs(parts[s]) * length > abs(room):
            length = room / parts[s]
    return length


@inlined_loop
def take(length, i, j, c, box, way, size, rise, fall, first, last):
    """Step along the direction of the pair i, j. Bounds and kinks are reached exactly, and end it.

    Returns its number of places. Rates from first to last follow where a coefficient comes to a bound or kink, and for
    the pair, which may have left one.
    """
    (lower, upper, epsilon), (places, parts, values, bottoms, tops) = box, way
    ends = False
    for s in range(size):
        t, old, change = places[s], values[s], length * parts[s]
        value, small = old + change, 1e-14 * (abs(tops[s]) + abs(bottoms[s]) + abs(change))
        end = tops[s] if parts[s] > 0.0 else bottoms[s]
        rests = (end - value if parts[s] > 0.0 else value - end) <= small
        if rests:
            value = end
        c[t] = values[s] = value
        if (rests or t in (i, j)) and first <= t < last:
            g = gradient_of(rise[t], fall[t], old, upper[t], epsilon)
            rise[t], fall[t] = rates_of(g, value, lower[t], upper[t], epsilon)
        ends |= rests
    return 0 if ends else size
