"""Conjugate directions for SMO steps: each is conjugate to the one before it, as long as no bound is in the way.

A pair of coefficients to raise and to lower is the direction u = e_i - e_j. After a step along d the best direction in
the span of d and u is u + beta d with beta = -u'Kd / d'Kd, which needs K d at two indices only, and usually takes fewer
steps than pairs alone. d has few nonzero entries: it is restarted from the pair alone when it is full, and at a bound
or kink.

A direction is kept in five arrays: its indices, its entries, and for each index the value of the coefficient with the
next bounds or kinks below and above it. They stay in the cache, where those of all coefficients may not.
"""

import numpy as np

from representer._loops.gradient_bounds import gradient_of, gradients_of
from representer._loops.jit import inlined_loop

MAX_ENTRIES = 16
"""Most entries of a direction. It is restarted when there is no room for another pair."""
LEAST_CURVATURE = 0.05
"""Smallest curvature of u + beta d, as a fraction of u'Ku: less is rounding."""


@inlined_loop
def new_direction():
    """Buffers for a direction, followed by a pair."""
    n = MAX_ENTRIES + 2
    return np.empty(n, np.int64), np.empty(n), np.empty(n), np.empty(n), np.empty(n)


@inlined_loop
def restarts(size):
    """Whether a direction of ``size`` entries is restarted from a pair alone."""
    return size == 0 or size > MAX_ENTRIES - 2


@inlined_loop
def next_direction(pair, c, box, direction, size, curvature):
    """u + beta d, or u alone where d is restarted or a bound makes that step better.

    ``pair`` is i, j, g_down_j - g_up_i, u'Ku and u'Kd; d has ``size`` entries and curvature d'Kd. Returns the step
    length, beta, and the new number of entries and curvature.
    """
    i, j, slope, own, along = pair
    reduced = own - along * along / curvature
    if not restarts(size) and reduced >= LEAST_CURVATURE * own:
        beta, entries = -along / curvature, direction[1]
        for s in range(size):
            entries[s] *= beta
        end = _add(i, 1.0, c, box, direction, _add(j, -1.0, c, box, direction, size))
        wanted = slope / reduced
        length = _feasible(wanted, direction, 0, end)
        if length == wanted:
            return length, beta, end, reduced
        # a bound or kink cuts the step, and one along the pair alone may lower the objective more
        last = _append(i, 1.0, c, box, direction, _append(j, -1.0, c, box, direction, end))
        alone = _feasible(slope / own, direction, end, last)
        if length * (slope - 0.5 * length * reduced) >= alone * (slope - 0.5 * alone * own):
            return length, beta, end, reduced
    end = _append(i, 1.0, c, box, direction, _append(j, -1.0, c, box, direction, 0))
    return _feasible(slope / own, direction, 0, end), 0.0, end, own


@inlined_loop
def _add(i, part, c, box, direction, size):
    """d_i += part; returns the number of entries."""
    for s in range(size):
        if direction[0][s] == i:
            direction[1][s] += part
            return size
    return _append(i, part, c, box, direction, size)


@inlined_loop
def _append(i, part, c, box, direction, size):
    """d_i <- part for an index that d does not have yet; returns the number of entries."""
    (lower, upper, epsilon), (indices, entries, values, bottoms, tops) = box, direction
    indices[size], entries[size], values[size], bottoms[size], tops[size] = i, part, c[i], lower[i], upper[i]
    if epsilon > 0.0:
        if lower[i] < 0.0 and (c[i] > 0.0 or (c[i] == 0.0 and part > 0.0)):
            bottoms[size] = 0.0
        if upper[i] > 0.0 and (c[i] < 0.0 or (c[i] == 0.0 and part < 0.0)):
            tops[size] = 0.0
    return size + 1


@inlined_loop
def _feasible(length, direction, begin, end):
    """The step length along these entries, cut at the first bound or kink."""
    _, entries, values, bottoms, tops = direction
    for s in range(begin, end):
        room = (tops[s] if entries[s] > 0.0 else bottoms[s]) - values[s]
        if abs(entries[s]) * length > abs(room):
            length = room / entries[s]
    return length


@inlined_loop
def step_along(length, i, j, c, box, direction, size, g_up, g_down, first, last):
    """c += length d; bounds and kinks are reached exactly, and end the direction. Returns its number of entries.

    For coefficients first to last, g_up and g_down are updated where one has reached a bound or kink, and for the pair
    i, j, which may have left one.
    """
    (lower, upper, epsilon), (indices, entries, values, bottoms, tops) = box, direction
    ends = False
    for s in range(size):
        t, old, change = indices[s], values[s], length * entries[s]
        value, end = old + change, tops[s] if entries[s] > 0.0 else bottoms[s]
        small = 1e-14 * (abs(end) + abs(change))
        reached = (end - value if entries[s] > 0.0 else value - end) <= small
        if reached:
            value = end
        c[t] = values[s] = value
        if (reached or t in (i, j)) and first <= t < last:
            g = gradient_of(g_up[t], g_down[t], old, upper[t], epsilon)
            g_up[t], g_down[t] = gradients_of(g, value, lower[t], upper[t], epsilon)
        ends |= reached
    return 0 if ends else size
