"""Steps of two coefficients at a time for  minimise 1/2 c'Kc - t'c + epsilon |c|_1,  lower <= c <= upper, sum c fixed.

With g = K c - t, raising c_i changes the objective at the rate g_i + rise_i, and lowering it at the rate
-(g_i + fall_i): rise_i is infinite at the upper bound, fall_i minus infinite at the lower one, and elsewhere both are
epsilon or -epsilon by the sign of c_i. So bounds and kinks cost one addition, and the searches vectorise. A step raises
the c_i of least g_i + rise_i and lowers a c_j of the same group by the same amount; the sum over each group stays.

Coefficients are cut into spans, rows (begin, end, group, shift): those from begin to end belong to one group, and
coefficient i to row and column i + shift of K.
"""

import numpy as np

from representer._loops.extremes import greatest, least
from representer._loops.jit import loop

SPAN = 1024  # coefficients whose extreme is found together: only the winning span is searched for the index
PIECE = 64  # coefficients of that span whose extreme is found again: only the winning piece is searched one by one
SMALL = np.float32(1e-12)  # least curvature of a step, for points that coincide
ZERO = np.float32(0.0)


@loop
def rates(c, lower, upper, epsilon, rise, fall):
    """The parts of the rates that belong to bounds and kinks; see the head of this file."""
    for i in range(c.size):
        rise[i] = np.inf if c[i] >= upper[i] else (epsilon if c[i] >= 0.0 else -epsilon)
        fall[i] = -np.inf if c[i] <= lower[i] else (epsilon if c[i] > 0.0 else -epsilon)


@loop
def pair_steps(K, g, c, diagonal, lower, upper, epsilon, spans, tol, max_steps):
    """Steps until rates differ by at most tol within each group; returns (steps, greatest difference).

    g and c are overwritten; K and the diagonal of the coefficients' points are float32, and g is float32 or float64:
    steps on many coefficients wait for the memory.
    """
    number = g.dtype.type
    rise, fall = np.empty_like(g), np.empty_like(g)
    rates(c, lower, upper, epsilon, rise, fall)
    extremes = np.empty((len(spans), 2), g.dtype)
    row_i = row_j = spans[0, 0] + spans[0, 3]
    steps, step = 0, number(0.0)
    while True:
        group, rate, violation = _move(K[row_i], K[row_j], step, g, rise, fall, spans, extremes)
        if not violation > tol or steps == max_steps:
            return steps, violation
        i, row_i = _first(g, rise, rate, group, spans, extremes)
        j, row_j = _partner(K[row_i], diagonal, diagonal[i], g, fall, rate, group, spans)
        if j < 0:  # no pair makes progress that rounding leaves visible
            return steps, violation
        wanted = (g[j] + fall[j] - rate) / max(diagonal[i] + diagonal[j] - 2.0 * K[row_i, row_j], SMALL)
        step = number(_take(wanted, i, j, c, lower, upper, epsilon))
        rates(c[i : i + 1], lower[i : i + 1], upper[i : i + 1], epsilon, rise[i : i + 1], fall[i : i + 1])
        rates(c[j : j + 1], lower[j : j + 1], upper[j : j + 1], epsilon, rise[j : j + 1], fall[j : j + 1])
        steps += 1


@loop
def _move(a, b, step, g, rise, fall, spans, extremes):
    """g <- g + step (a - b); returns the group of the greatest difference of rates, its least rate, the difference."""
    top, bottom = g.dtype.type(np.inf), g.dtype.type(-np.inf)
    group, rate, violation = 0, top, bottom
    current, lowest, highest = -1, top, bottom
    for s in range(len(spans)):
        begin, end, shift = spans[s, 0], spans[s, 1], spans[s, 3]
        low, high = _move_span(
            a[begin + shift : end + shift],
            b[begin + shift : end + shift],
            step,
            g[begin:end],
            rise[begin:end],
            fall[begin:end],
        )
        extremes[s, 0], extremes[s, 1] = low, high
        if spans[s, 2] != current:
            current, lowest, highest = spans[s, 2], top, bottom
        lowest, highest = min(lowest, low), max(highest, high)
        if highest - lowest > violation:
            group, violation = current, highest - lowest
        if group == current:
            rate = lowest
    return group, rate, violation


@loop
def _move_span(a, b, step, g, rise, fall):
    lowest, highest = g.dtype.type(np.inf), g.dtype.type(-np.inf)
    for j in range(g.size):
        x = g[j] + step * (a[j] - b[j])
        g[j] = x
        lowest = least(lowest, x + rise[j])
        highest = greatest(highest, x + fall[j])
    return lowest, highest


@loop
def _first(g, rise, rate, group, spans, extremes):
    """The coefficient of the group whose rate is the least one, and its row of K."""
    s = 0
    while s + 1 < len(spans) and (spans[s, 2] != group or extremes[s, 0] != rate):
        s += 1
    i, end = spans[s, 0], spans[s, 1]
    while i + PIECE < end and _least_rate(g[i : i + PIECE], rise[i : i + PIECE]) != rate:
        i += PIECE
    while i + 1 < end and g[i] + rise[i] != rate:
        i += 1
    return i, i + spans[s, 3]


@loop
def _least_rate(g, rise):
    lowest = g.dtype.type(np.inf)
    for i in range(g.size):
        lowest = least(lowest, g[i] + rise[i])
    return lowest


@loop
def _partner(row, diagonal, own, g, fall, rate, group, spans):
    """The j of the group with the greatest (g_j + fall_j - rate)^2 / |k(x_i, .) - k(x_j, .)|^2, and its row of K.

    j is -1 if all of these are zero.
    """
    best, winner = ZERO, -1
    for s in range(len(spans)):
        if spans[s, 2] == group:
            begin, end, shift = spans[s, 0], spans[s, 1], spans[s, 3]
            score = _best_score(
                row[begin + shift : end + shift], diagonal[begin:end], own, g[begin:end], fall[begin:end], rate
            )
            if score > best:
                best, winner = score, s
    if winner < 0:
        return -1, -1
    j, end, shift = spans[winner, 0], spans[winner, 1], spans[winner, 3]
    while j + PIECE < end:
        piece = slice(j, j + PIECE)
        if _best_score(row[j + shift : j + shift + PIECE], diagonal[piece], own, g[piece], fall[piece], rate) >= best:
            break
        j += PIECE
    while j + 1 < end and _score(row[j + shift], diagonal[j], own, g[j], fall[j], rate) < best:
        j += 1
    return j, j + shift


@loop
def _score(k, other, own, g, fall, rate):
    gain = greatest(np.float32(g + fall - rate), ZERO)
    return gain * gain / greatest(own + other - k - k, SMALL)


@loop
def _best_score(row, diagonal, own, g, fall, rate):
    best = ZERO
    for j in range(g.size):
        best = greatest(best, _score(row[j], diagonal[j], own, g[j], fall[j], rate))
    return best


@loop
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
