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
from representer._loops.pair import meet
from representer._loops.search import CHUNK, any_equal, fetch, greatest_ratio

SPAN = 1024  # coefficients whose extreme is found together: only the winning span is searched for the index
SMALL = 1e-12  # least curvature of a step, for points that coincide
BYTES = 64  # of a line of the cache
PART = 256  # entries that are loaded together
STOP = 5  # the place in its line where one of two threads tells that both shall stop


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
def pair_steps(K, g, c, diagonal, lower, upper, epsilon, spans, tol, max_steps, ahead=None):
    """Steps until rates differ by at most tol within each group; returns (steps, greatest difference).

    g and c are overwritten. K and the diagonal of the coefficients' points are float32, as steps on many coefficients
    wait for the memory, with a g of float32 or float64; or all are float64. Rows of a K that no cache holds are loaded
    so many entries ahead.
    """
    before, rise, fall = c.copy(), np.empty_like(g), np.empty_like(g)
    rates(g, c, lower, upper, epsilon, rise, fall)
    found = all_steps(K, rise, fall, c, diagonal, lower, upper, epsilon, spans, tol, max_steps, ahead)
    restore(K, g, c, before, lower, upper, epsilon, rise, fall, spans)
    return found


@loop
def all_steps(K, rise, fall, c, diagonal, lower, upper, epsilon, spans, tol, max_steps, ahead):
    """The steps of `pair_steps`, which change the rates of raising and lowering instead of g."""
    number, half = rise.dtype.type, (len(spans) + 1) // 2
    lows, highs = np.empty(len(spans), rise.dtype), np.empty(len(spans), rise.dtype)
    row_i = row_j = spans[0, 0] + spans[0, 3]
    steps, step = 0, number(0.0)
    while True:
        _move(K[row_i], K[row_j], step, rise, fall, spans, lows, highs, ahead)
        group, rate, peak = _worst(spans, lows, highs)
        if not peak - rate > tol or steps == max_steps:
            break
        i, row_i = _first(rise, rate, group, spans, lows)
        best = _partner(K[row_i], diagonal, diagonal[i], fall, rate, group, spans[:half], ahead)
        if len(spans) > 1:
            best = _better(best, _partner(K[row_i], diagonal, diagonal[i], fall, rate, group, spans[half:], ahead))
        j, row_j, fall_j, _, _ = best
        if j < 0:  # no pair makes progress that rounding leaves visible
            break
        g_i, g_j = rate - _slope_above(c[i], epsilon), fall_j - _slope_below(c[j], epsilon)
        step = number(_step(K[row_i, row_j], diagonal, i, j, rate, fall_j, c, lower, upper, epsilon))
        rise[i], fall[i] = _rates(g_i, c[i], lower[i], upper[i], epsilon)
        rise[j], fall[j] = _rates(g_j, c[j], lower[j], upper[j], epsilon)
        steps += 1
    return steps, peak - rate


@loop
def half_steps(K, rise, fall, c, diagonal, lower, upper, epsilon, spans, tol, max_steps, ahead, patience, lines, me):
    """The steps of `pair_steps` on one group by two threads, each of which finds and moves the rates of half the spans.

    Both have the same arguments but for ``me``, 0 or 1, and a c of their own, which both change to the same numbers.
    What they find is told in four lines, as float64: each one's least rate and its place, and each one's partner for
    the least of all. They stop early, and say so in lines[:2, STOP], if one of them has looked for the other more than
    patience[0] + patience[1] steps times: each needs a processor of its own.
    """
    found = lines.view(np.float64)
    number, half, group = rise.dtype.type, (len(spans) + 1) // 2, spans[0, 2]
    mine = spans[:half] if me == 0 else spans[half:]
    first, last = mine[0, 0], mine[-1, 1]
    lows, highs = np.empty(len(mine), rise.dtype), np.empty(len(mine), rise.dtype)
    row_i = row_j = spans[0, 0] + spans[0, 3]
    steps, step, looks = 0, number(0.0), 0
    while True:
        _move(K[row_i], K[row_j], step, rise, fall, mine, lows, highs, ahead)
        _, rate, peak = _worst(mine, lows, highs)
        i, row_i = _first(rise, rate, group, mine, lows)
        line = found[me]
        line[1], line[2], line[3], line[4], line[STOP] = rate, peak, i, row_i, looks > patience[0] + patience[1] * steps
        looks += meet(lines, me, 1 - me, steps + 1)
        winner = found[0] if found[0, 1] <= found[1, 1] else found[1]
        rate, peak = number(winner[1]), number(max(found[0, 2], found[1, 2]))
        if not peak - rate > tol or steps == max_steps or found[0, STOP] + found[1, STOP] > 0.0:
            break
        i, row_i = int(winner[3]), int(winner[4])
        line = found[2 + me]
        line[1], line[2], line[3], line[4], line[5] = _partner(
            K[row_i], diagonal, diagonal[i], fall, rate, group, mine, ahead
        )
        looks += meet(lines, 2 + me, 3 - me, steps + 1)
        j, row_j, fall_j, _, _ = _better(_told(found[2], rate, K[0, 0]), _told(found[3], rate, K[0, 0]))
        if j < 0:
            break
        g_i, g_j = rate - _slope_above(c[i], epsilon), fall_j - _slope_below(c[j], epsilon)
        step = number(_step(K[row_i, row_j], diagonal, i, j, rate, fall_j, c, lower, upper, epsilon))
        if first <= i < last:
            rise[i], fall[i] = _rates(g_i, c[i], lower[i], upper[i], epsilon)
        if first <= j < last:
            rise[j], fall[j] = _rates(g_j, c[j], lower[j], upper[j], epsilon)
        steps += 1
    return steps, peak - rate


@inlined_loop
def _move(a, b, step, rise, fall, spans, lows, highs, ahead):
    """Add step (a - b) to the rates, and find the least and the greatest ones of each span."""
    for s in range(len(spans)):
        begin, end, shift = spans[s, 0], spans[s, 1], spans[s, 3]
        own, others = slice(begin, end), slice(begin + shift, end + shift)
        if ahead is None:
            lows[s], highs[s] = _move_span(a[others], b[others], step, rise[own], fall[own])
        else:
            lows[s], highs[s] = _move_far(a[others], b[others], step, rise[own], fall[own], ahead)


@inlined_loop
def _move_far(a, b, step, rise, fall, ahead):
    """`_move_span` for rows that are not in the cache; a has been read by the search."""
    lowest, highest = rise.dtype.type(np.inf), rise.dtype.type(-np.inf)
    for begin in range(0, rise.size, PART):
        for j in range(begin + ahead, begin + ahead + PART, BYTES // b.itemsize):
            fetch(b, j)
        part = slice(begin, min(begin + PART, rise.size))
        low, high = _move_span(a[part], b[part], step, rise[part], fall[part])
        lowest, highest = min(lowest, low), max(highest, high)
    return lowest, highest


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
def _worst(spans, lows, highs):
    """The group with the greatest difference of rates, its least rate of raising and its greatest one of lowering."""
    top, bottom = lows.dtype.type(np.inf), lows.dtype.type(-np.inf)
    group, rate, peak, violation = 0, top, bottom, bottom
    current, lowest, highest = -1, top, bottom
    for s in range(len(spans)):
        if spans[s, 2] != current:
            current, lowest, highest = spans[s, 2], top, bottom
        lowest, highest = min(lowest, lows[s]), max(highest, highs[s])
        if highest - lowest > violation:
            group, violation = current, highest - lowest
        if group == current:
            rate, peak = lowest, highest
    return group, rate, peak


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
def _partner(row, diagonal, own, fall, rate, group, spans, ahead):
    """The j of the group with the greatest ratio (fall_j - rate)^2 / |k(x_i, .) - k(x_j, .)|^2.

    Returns j, its row of K, fall_j, and both parts of the ratio. j is -1 if all ratios are zero.
    """
    number = row.dtype.type
    best = -1, -1, rate, number(0.0), number(1.0)
    for s in range(len(spans)):
        if spans[s, 2] == group:
            begin, end, shift = spans[s, 0], spans[s, 1], spans[s, 3]
            values = row[begin + shift : end + shift]
            j, a, b = greatest_ratio(values, diagonal[begin:end], own, fall[begin:end], rate, number(SMALL), ahead)
            if j >= 0:
                best = _better(best, (begin + j, begin + j + shift, fall[begin + j], a, b))
    return best


@inlined_loop
def _better(one, other):
    """The one with the greater ratio, or the first one if they are equal."""
    return other if other[3] * one[4] > one[3] * other[4] else one


@inlined_loop
def _told(line, rate, k):
    """What `_partner` found, from the line of one of two threads; as exact as rates and kernel values are."""
    value, number = type(rate), type(k)
    return int(line[1]), int(line[2]), value(line[3]), number(line[4]), number(line[5])


@inlined_loop
def _step(k, diagonal, i, j, rate, fall_j, c, lower, upper, epsilon):
    """Raise c_i and lower c_j to where their rates are equal, or to a bound or kink before it; returns the step."""
    wanted = (fall_j - rate) / max(diagonal[i] + diagonal[j] - 2.0 * k, SMALL)
    return _take(wanted, i, j, c, lower, upper, epsilon)


@summing_loop
def restore(K, g, c, before, lower, upper, epsilon, rise, fall, spans):
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
