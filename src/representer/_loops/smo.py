"""Steps of two coefficients at a time for  minimise 1/2 c'Kc - t'c + epsilon |c|_1,  lower <= c <= upper, sum c fixed.

With g = K c - t, raising c_i changes the objective at the rate rise_i and lowering it at the rate -fall_i: rise_i is
infinite at the upper bound, fall_i minus infinite at the lower one, and elsewhere both are g_i plus or minus epsilon by
the sign of c_i. Steps change these rates and never g itself: what is infinite stays so, so bounds and kinks cost
nothing, and the searches vectorise. A step raises the c_i of least rise_i and lowers a c_j of the same group by the
same amount; the sum over each group stays.

Coefficients are cut into spans, rows (begin, end, group, shift): those from begin to end belong to one group, and
coefficient i to row and column i + shift of K.
"""

import numpy as np

from representer._loops.extremes import greatest, least
from representer._loops.jit import inlined_loop, loop, summing_loop
from representer._loops.search import CHUNK, any_equal, greatest_ratio

SPAN = 1024  # coefficients whose extreme is found together: only the winning span is searched for the index
SMALL = 1e-12  # least curvature of a step, for points that coincide


@loop
def rates(g, c, lower, upper, epsilon, rise, fall):
    """The rates of raising and of lowering each coefficient; see the head of this file."""
    for i in range(c.size):
        rise[i], fall[i] = _rates(g[i], c[i], lower[i], upper[i], epsilon)


@inlined_loop
def _rates(g, c, lower, upper, epsilon):
    return (
        np.inf if c >= upper else g + _slope_above(c, epsilon),
        -np.inf if c <= lower else g + _slope_below(c, epsilon),
    )


@inlined_loop
def _slope_above(c, epsilon):
    """The slope of epsilon |c| to the right of c."""
    return epsilon if c >= 0.0 else -epsilon


@inlined_loop
def _slope_below(c, epsilon):
    """The slope of epsilon |c| to the left of c."""
    return epsilon if c > 0.0 else -epsilon


@loop
def pair_steps(K, g, c, diagonal, lower, upper, epsilon, spans, tol, max_steps):
    """Steps until rates differ by at most tol within each group; returns (steps, greatest difference).

    g and c are overwritten. K and the diagonal of the coefficients' points are float32, as steps on many coefficients
    wait for the memory, with a g of float32 or float64; or all are float64.
    """
    number = g.dtype.type
    before, rise, fall = c.copy(), np.empty_like(g), np.empty_like(g)
    rates(g, c, lower, upper, epsilon, rise, fall)
    lows = np.empty(len(spans), g.dtype)
    row_i = row_j = spans[0, 0] + spans[0, 3]
    steps, step = 0, number(0.0)
    while True:
        group, rate, violation = _move(K[row_i], K[row_j], step, rise, fall, spans, lows)
        if not violation > tol or steps == max_steps:
            break
        i, row_i = _first(rise, rate, group, spans, lows)
        j, row_j = _partner(K[row_i], diagonal, diagonal[i], fall, rate, group, spans)
        if j < 0:  # no pair makes progress that rounding leaves visible
            break
        wanted = (fall[j] - rate) / max(diagonal[i] + diagonal[j] - 2.0 * K[row_i, row_j], SMALL)
        g_i, g_j = rate - _slope_above(c[i], epsilon), fall[j] - _slope_below(c[j], epsilon)
        step = number(_take(wanted, i, j, c, lower, upper, epsilon))
        rise[i], fall[i] = _rates(g_i, c[i], lower[i], upper[i], epsilon)
        rise[j], fall[j] = _rates(g_j, c[j], lower[j], upper[j], epsilon)
        steps += 1
    _restore(K, g, c, before, lower, upper, epsilon, rise, fall, spans)
    return steps, violation


@inlined_loop
def _move(a, b, step, rise, fall, spans, lows):
    """Add step (a - b) to the rates; returns the group of their greatest difference, its least rate, the difference.

    The least rate of each span is written to ``lows``.
    """
    top, bottom = rise.dtype.type(np.inf), rise.dtype.type(-np.inf)
    group, rate, violation = 0, top, bottom
    current, lowest, highest = -1, top, bottom
    for s in range(len(spans)):
        begin, end, shift = spans[s, 0], spans[s, 1], spans[s, 3]
        own, others = slice(begin, end), slice(begin + shift, end + shift)
        low, high = _move_span(a[others], b[others], step, rise[own], fall[own])
        lows[s] = low
        if spans[s, 2] != current:
            current, lowest, highest = spans[s, 2], top, bottom
        lowest, highest = min(lowest, low), max(highest, high)
        if highest - lowest > violation:
            group, violation = current, highest - lowest
        if group == current:
            rate = lowest
    return group, rate, violation


@inlined_loop
def _move_span(a, b, step, rise, fall):
    lowest, highest = rise.dtype.type(np.inf), rise.dtype.type(-np.inf)
    for j in range(rise.size):
        change = step * (a[j] - b[j])
        up, down = rise[j] + change, fall[j] + change
        rise[j], fall[j] = up, down
        lowest, highest = least(lowest, up), greatest(highest, down)
    return lowest, highest


@inlined_loop
def _first(rise, rate, group, spans, lows):
    """The coefficient of the group whose rate is the least one, and its row of K."""
    s = 0
    while s + 1 < len(spans) and (spans[s, 2] != group or lows[s] != rate):
        s += 1
    i, end = spans[s, 0], spans[s, 1]
    while i + CHUNK < end and not any_equal(rise, i, rate):
        i += CHUNK
    while i + 1 < end and rise[i] != rate:
        i += 1
    return i, i + spans[s, 3]


@inlined_loop
def _partner(row, diagonal, own, fall, rate, group, spans):
    """The j of the group with the greatest (fall_j - rate)^2 / |k(x_i, .) - k(x_j, .)|^2, and its row of K.

    j is -1 if all of these are zero.
    """
    number = row.dtype.type
    partner, shift, top, bottom = -1, 0, number(0.0), number(1.0)
    for s in range(len(spans)):
        if spans[s, 2] == group:
            mine = slice(spans[s, 0], spans[s, 1])
            others = slice(spans[s, 0] + spans[s, 3], spans[s, 1] + spans[s, 3])
            j, a, b = greatest_ratio(row[others], diagonal[mine], own, fall[mine], rate, number(SMALL))
            if j >= 0 and a * bottom > top * b:
                partner, shift, top, bottom = spans[s, 0] + j, spans[s, 3], a, b
    return partner, partner + shift


@summing_loop
def _restore(K, g, c, before, lower, upper, epsilon, rise, fall, spans):
    """g from the rates, of which one is finite; both are not where the box is a point, and g is summed up anew."""
    change = c - before
    for s in range(len(spans)):
        for i in range(spans[s, 0], spans[s, 1]):
            if c[i] < upper[i]:
                g[i] = rise[i] - _slope_above(c[i], epsilon)
            elif c[i] > lower[i]:
                g[i] = fall[i] - _slope_below(c[i], epsilon)
            else:
                row, total = K[i + spans[s, 3]], 0.0
                for r in range(len(spans)):
                    own = change[spans[r, 0] : spans[r, 1]]
                    values = row[spans[r, 0] + spans[r, 3] : spans[r, 1] + spans[r, 3]]
                    for j in range(own.size):
                        total += values[j] * own[j]
                g[i] += total


@inlined_loop
def _take(step, i, j, c, lower, upper, epsilon):
    """Raise c_i and lower c_j, at most to the next bound or kink, which is then reached exactly; returns the step."""
    top = 0.0 if epsilon > 0.0 and c[i] < 0.0 < upper[i] else upper[i]
    bottom = 0.0 if epsilon > 0.0 and c[j] > 0.0 > lower[j] else lower[j]
    step = min(step, top - c[i], c[j] - bottom)
    raised, lowered = c[i] + step, c[j] - step
    small = 1e-14 * (abs(top) + abs(bottom) + step)
    c[i] = top if top - raised <= small else raised
    c[j] = bottom if lowered - bottom <= small else lowered
    return step
