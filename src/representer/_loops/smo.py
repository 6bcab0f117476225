"""SMO steps for  minimise 1/2 c'Kc - t'c + epsilon |c|_1,  lower <= c <= upper, sum of c over each group fixed.

With g = K c - t, a step raises the c_i with the smallest g_up_i and lowers a c_j of the same group by the same amount;
see `gradient_bounds` for g_up and g_down. Steps update these and never g itself: an infinite g_up or g_down at a bound
stays infinite, so that bounds and kinks cost nothing, and searches vectorise.

Coefficients are cut into spans, rows (begin, end, group, shift): those from begin to end belong to one group, and
coefficient i to row and column i + shift of K.
"""

import numpy as np

from representer._loops.gradient_bounds import (
    gradient_of,
    gradients_of,
    one_sided_gradients,
    slope_above,
    slope_below,
)
from representer._loops.jit import inlined_loop, loop, summing_loop
from representer._loops.simd.min_max import greatest, least
from representer._loops.simd.ratio_search import CHUNK, any_equal, greatest_ratio

SPAN = 1024
"""Coefficients per span: only the span of the smallest g_up is searched for its index."""
MIN_CURVATURE = 1e-12
"""Lower bound on the curvature of a step, for points that coincide."""


@loop
def smo_steps(K, g, c, diagonal, lower, upper, epsilon, spans, tol, max_steps):
    """SMO steps until the KKT violation of each group is at most tol; returns (steps, largest violation).

    g and c are overwritten. K and the diagonal of the coefficients' points are float32, with a g of float32 or float64,
    or all are float64.
    """
    before, g_up, g_down = c.copy(), np.empty_like(g), np.empty_like(g)
    one_sided_gradients(g, c, lower, upper, epsilon, g_up, g_down)
    number, steps = g_up.dtype.type, 0
    lows, highs = np.empty(len(spans), g_up.dtype), np.empty(len(spans), g_up.dtype)
    row_i = row_j = spans[0, 0] + spans[0, 3]
    step = number(0.0)
    while True:
        _update(K[row_i], K[row_j], step, g_up, g_down, spans, lows, highs)
        group, low, high = _worst_group(spans, lows, highs)
        if not high - low > tol or steps == max_steps:
            break
        i, row_i = index_of_least(g_up, low, group, spans, lows)
        j, row_j, g_down_j, _, _ = best_partner(K[row_i], diagonal, diagonal[i], g_down, low, group, spans)
        if j < 0:  # no pair makes progress beyond rounding
            break
        g_i, g_j = low - slope_above(c[i], epsilon), g_down_j - slope_below(c[j], epsilon)
        length = (g_down_j - low) / curvature_of(K[row_i, row_j], diagonal, i, j)
        step = number(_take(length, i, j, c, lower, upper, epsilon))
        g_up[i], g_down[i] = gradients_of(g_i, c[i], lower[i], upper[i], epsilon)
        g_up[j], g_down[j] = gradients_of(g_j, c[j], lower[j], upper[j], epsilon)
        steps += 1
    restore_gradient(K, g, c, before, lower, upper, epsilon, g_up, g_down, spans)
    return steps, high - low


@inlined_loop
def _update(a, b, step, g_up, g_down, spans, lows, highs):
    """Add step (a - b) to g_up and g_down, and find the smallest g_up and the largest g_down of each span."""
    for s in range(len(spans)):
        begin, end, shift = spans[s, 0], spans[s, 1], spans[s, 3]
        own, others = slice(begin, end), slice(begin + shift, end + shift)
        lows[s], highs[s] = _update_span(a[others], b[others], step, g_up[own], g_down[own])


@inlined_loop
def _update_span(a, b, step, g_up, g_down):
    low, high = g_up.dtype.type(np.inf), g_up.dtype.type(-np.inf)
    for j in range(g_up.size):
        change = step * (a[j] - b[j])
        up, down = g_up[j] + change, g_down[j] + change
        g_up[j], g_down[j] = up, down
        low, high = least(low, up), greatest(high, down)
    return low, high


@inlined_loop
def _worst_group(spans, lows, highs):
    """The group with the largest KKT violation, its smallest g_up and its largest g_down."""
    top, bottom = lows.dtype.type(np.inf), lows.dtype.type(-np.inf)
    group, low, high, violation = 0, top, bottom, bottom
    current, lowest, highest = -1, top, bottom
    for s in range(len(spans)):
        if spans[s, 2] != current:
            current, lowest, highest = spans[s, 2], top, bottom
        lowest, highest = min(lowest, lows[s]), max(highest, highs[s])
        if highest - lowest > violation:
            group, violation = current, highest - lowest
        if group == current:
            low, high = lowest, highest
    return group, low, high


@inlined_loop
def index_of_least(g_up, low, group, spans, lows):
    """The coefficient of the group whose g_up is ``low``, the smallest one, and its row of K."""
    s = 0
    while s + 1 < len(spans) and (spans[s, 2] != group or lows[s] != low):
        s += 1
    i, end = spans[s, 0], spans[s, 1]
    while i + CHUNK < end and not any_equal(g_up, i, low):
        i += CHUNK
    while i + 1 < end and g_up[i] != low:
        i += 1
    return i, i + spans[s, 3]


@inlined_loop
def best_partner(row, diagonal, own, g_down, low, group, spans):
    """Second-order selection: the j of the group with the largest (g_down_j - low)^2 / |k(x_i, .) - k(x_j, .)|^2.

    Returns j, its row of K, g_down_j, and both parts of the ratio. j is -1 if all ratios are zero.
    """
    number = row.dtype.type
    best = -1, -1, low, number(0.0), number(1.0)
    for s in range(len(spans)):
        if spans[s, 2] == group:
            begin, end, shift = spans[s, 0], spans[s, 1], spans[s, 3]
            values = row[begin + shift : end + shift]
            j, a, b = greatest_ratio(values, diagonal[begin:end], own, g_down[begin:end], low, number(MIN_CURVATURE))
            if j >= 0:
                best = better_partner(best, (begin + j, begin + j + shift, g_down[begin + j], a, b))
    return best


@inlined_loop
def better_partner(one, other):
    """The partner with the larger ratio, or the first one if they are equal."""
    return other if other[3] * one[4] > one[3] * other[4] else one


@inlined_loop
def curvature_of(k, diagonal, i, j):
    """|k(x_i, .) - k(x_j, .)|^2."""
    return max(diagonal[i] + diagonal[j] - 2.0 * k, MIN_CURVATURE)


@inlined_loop
def _take(step, i, j, c, lower, upper, epsilon):
    """Raise c_i and lower c_j, at most to the next bound or kink, which is then reached exactly; returns the step."""
    top = 0.0 if epsilon > 0.0 and c[i] < 0.0 < upper[i] else upper[i]
    bottom = 0.0 if epsilon > 0.0 and c[j] > 0.0 > lower[j] else lower[j]
    step = min(step, top - c[i], c[j] - bottom)
    raised, lowered = c[i] + step, c[j] - step
    # a bound is reached if only rounding is left, relative to its own size, as others may be much larger
    c[i] = top if top - raised <= 1e-14 * (abs(top) + step) else raised
    c[j] = bottom if lowered - bottom <= 1e-14 * (abs(bottom) + step) else lowered
    return step


@summing_loop
def restore_gradient(K, g, c, before, lower, upper, epsilon, g_up, g_down, spans):
    """g from g_up or g_down, of which one is finite; where the box is a point neither is, and g is recomputed."""
    change = c - before
    for s in range(len(spans)):
        for i in range(spans[s, 0], spans[s, 1]):
            if c[i] < upper[i] or c[i] > lower[i]:
                g[i] = gradient_of(g_up[i], g_down[i], c[i], upper[i], epsilon)
            else:
                row, total = K[i + spans[s, 3]], 0.0
                for r in range(len(spans)):
                    own = change[spans[r, 0] : spans[r, 1]]
                    values = row[spans[r, 0] + spans[r, 3] : spans[r, 1] + spans[r, 3]]
                    for j in range(own.size):
                        total += values[j] * own[j]
                g[i] += total
