"""Steps of two coefficients at a time for  minimise 1/2 c'Kc - t'c + epsilon |c|_1,  lower <= c <= upper, sum c fixed.

With g = K c - t, raising c_i changes the objective at the rate rise_i and lowering it at the rate -fall_i; see `rates`.
Steps change these rates and never g itself: what is infinite at a bound stays so, so bounds and kinks cost nothing, and
the searches vectorise. A step raises the c_i of least rise_i and lowers a c_j of the same group by the same amount; the
sum over each group stays.

Coefficients are cut into spans, rows (begin, end, group, shift): those from begin to end belong to one group, and
coefficient i to row and column i + shift of K.
"""

import numpy as np

from representer._loops.conjugate import is_over, no_way, take, turn
from representer._loops.extremes import greatest, least
from representer._loops.jit import inlined_loop, loop, summing_loop
from representer._loops.pair import meet
from representer._loops.rates import gradient_of, rates, rates_of, slope_above, slope_below
from representer._loops.search import CHUNK, any_equal, fetch, greatest_ratio

SPAN = 1024  # coefficients whose extreme is found together: only the winning span is searched for the index
SMALL = 1e-12  # least curvature of a step, for points that coincide
BYTES = 64  # of a line of the cache
PART = 256  # entries that are loaded together
BOTH = -1  # of two halves of the work, for one thread
STOP = 5  # the place in its line where one of two threads tells that both shall stop


@loop
def pair_steps(K, g, c, diagonal, lower, upper, epsilon, spans, tol, max_steps, ahead=None):
    """Steps until rates differ by at most tol within each group; returns (steps, greatest difference).

    g and c are overwritten. K and the diagonal of the coefficients' points are float32, as steps on many coefficients
    wait for the memory, with a g of float32 or float64; or all are float64. Rows of a K that no cache holds are loaded
    so many entries ahead.
    """
    before, rise, fall = c.copy(), np.empty_like(g), np.empty_like(g)
    rates(g, c, lower, upper, epsilon, rise, fall)
    number, half = rise.dtype.type, (len(spans) + 1) // 2
    lows, highs = np.empty(len(spans), rise.dtype), np.empty(len(spans), rise.dtype)
    row_i = row_j = spans[0, 0] + spans[0, 3]
    steps, step, along = 0, number(0.0), np.zeros(0 if ahead is None else rise.size, rise.dtype)
    while True:
        if ahead is None:
            _move(K[row_i], K[row_j], step, rise, fall, spans, lows, highs)
        else:
            _move_on(K[row_i], K[row_j], step, number(0.0), along, rise, fall, spans, lows, highs, ahead)
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
        g_i, g_j = rate - slope_above(c[i], epsilon), fall_j - slope_below(c[j], epsilon)
        step = number(_step(K[row_i, row_j], diagonal, i, j, rate, fall_j, c, lower, upper, epsilon))
        rise[i], fall[i] = rates_of(g_i, c[i], lower[i], upper[i], epsilon)
        rise[j], fall[j] = rates_of(g_j, c[j], lower[j], upper[j], epsilon)
        steps += 1
    restore(K, g, c, before, lower, upper, epsilon, rise, fall, spans)
    return steps, peak - rate


@loop
def far_steps(
    K, rise, fall, along, c, diagonal, lower, upper, epsilon, spans, tol, max_steps, ahead, patience, lines, me
):
    """Steps on one group of many coefficients, along conjugate directions, by two threads or by one; see `pair_steps`.

    Each thread finds and moves the rates of one half of the spans, ``me`` = 0 or 1, or one thread those of both, me =
    BOTH; all take the same steps. They have the same arguments otherwise, but for a c of their own, which both change
    to the same numbers; ``along``, which keeps K d, is theirs to write. What they find is told in four lines, as
    float64: each half's least rate and its place, and each half's partner for the least of all. They stop early, and
    say so in lines[:2, STOP], where a direction begins anew after one of them has looked for the other more than
    patience[0] + patience[1] steps times: each needs a processor of its own.
    """
    found, box = lines.view(np.float64), (lower, upper, epsilon)
    number, half, group = rise.dtype.type, (len(spans) + 1) // 2, spans[0, 2]
    halves = spans[:half], spans[half:]
    mine = range(2) if me == BOTH else range(me, me + 1)
    first, last = (0, c.size) if me == BOTH else (halves[me][0, 0], halves[me][-1, 1])
    lows, highs = np.empty(half, rise.dtype), np.empty(half, rise.dtype)
    way, size, curvature = no_way(), 0, 1.0
    row_i = row_j = spans[0, 0] + spans[0, 3]
    steps, step, keep, looks = 0, number(0.0), number(0.0), 0
    while True:
        late = me != BOTH and looks > patience[0] + patience[1] * steps and is_over(size)
        for h in mine:
            _move_on(K[row_i], K[row_j], step, keep, along, rise, fall, halves[h], lows, highs, ahead)
            rate, peak = lows[: len(halves[h])].min(), highs[: len(halves[h])].max()
            i, row = _first(rise, rate, group, halves[h], lows)
            line = found[h]
            line[1], line[2], line[3], line[4], line[STOP], line[6] = rate, peak, i, row, late, along[i]
        if me != BOTH:
            looks += meet(lines, me, 1 - me, steps + 1)
        winner = found[0] if found[0, 1] <= found[1, 1] else found[1]
        rate, peak = number(winner[1]), number(max(found[0, 2], found[1, 2]))
        if not peak - rate > tol or steps == max_steps or found[0, STOP] + found[1, STOP] > 0.0:
            break
        i, row_i, along_i = int(winner[3]), int(winner[4]), number(winner[6])
        _fetch_box(i, c, box)
        for h in mine:
            best = _partner(K[row_i], diagonal, diagonal[i], fall, rate, group, halves[h], ahead)
            j, line = max(best[0], 0), found[2 + h]
            _fetch_box(j, c, box)
            line[1], line[2], line[3], line[4], line[5] = best
            line[6] = along[j]
        if me != BOTH:
            looks += meet(lines, 2 + me, 3 - me, steps + 1)
        j, row_j, fall_j, _, _ = _better(_told(found[2], rate, K[0, 0]), _told(found[3], rate, K[0, 0]))
        if j < 0:
            break
        for h in mine:  # while the step is being found
            _fetch_part(K[row_j], halves[h][0, 0] + halves[h][0, 3], ahead)
        along_j = number(found[2, 6] if found[2, 1] == j else found[3, 6])
        pair = i, j, fall_j - rate, _curvature(K[row_i, row_j], diagonal, i, j), along_i - along_j
        length, kept, size, curvature = turn(pair, c, box, way, size, curvature)
        size = take(length, i, j, c, box, way, size, rise, fall, first, last)
        step, keep = number(length), number(kept)
        steps += 1
    return steps, peak - rate


@inlined_loop
def _move(a, b, step, rise, fall, spans, lows, highs):
    """Add step (a - b) to the rates, and find the least and the greatest ones of each span."""
    for s in range(len(spans)):
        begin, end, shift = spans[s, 0], spans[s, 1], spans[s, 3]
        own, others = slice(begin, end), slice(begin + shift, end + shift)
        lows[s], highs[s] = _move_span(a[others], b[others], step, rise[own], fall[own])


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
def _move_on(a, b, step, keep, along, rise, fall, spans, lows, highs, ahead):
    """along <- a - b + keep along, step along added to the rates, and the least and the greatest ones of each span.

    Entries of b come from far, while a has been read by the search.
    """
    for s in range(len(spans)):
        begin, end, shift = spans[s, 0], spans[s, 1], spans[s, 3]
        lows[s], highs[s] = np.inf, -np.inf
        for start in range(begin, end, PART):
            own = slice(start, min(start + PART, end))
            others = slice(own.start + shift, own.stop + shift)
            _fetch_part(b, start + shift + ahead, PART)
            low, high = _move_part(a[others], b[others], step, keep, along[own], rise[own], fall[own])
            lows[s], highs[s] = min(lows[s], low), max(highs[s], high)


@inlined_loop
def _move_part(a, b, step, keep, along, rise, fall):
    lowest, highest = rise.dtype.type(np.inf), rise.dtype.type(-np.inf)
    for j in range(rise.size):
        slope = a[j] - b[j] + keep * along[j]
        along[j] = slope
        up, down = rise[j] + step * slope, fall[j] + step * slope
        rise[j], fall[j] = up, down
        lowest, highest = least(lowest, up), greatest(highest, down)
    return lowest, highest


@inlined_loop
def _fetch_part(row, begin, count):
    """Begin to load so many entries of a row."""
    for j in range(begin, begin + count, BYTES // row.itemsize):
        fetch(row, j)


@inlined_loop
def _fetch_box(i, c, box):
    """Begin to load a coefficient and its bounds."""
    fetch(c, i)
    fetch(box[0], i)
    fetch(box[1], i)


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
    return _take((fall_j - rate) / _curvature(k, diagonal, i, j), i, j, c, lower, upper, epsilon)


@inlined_loop
def _curvature(k, diagonal, i, j):
    """|k(x_i, .) - k(x_j, .)|^2."""
    return max(diagonal[i] + diagonal[j] - 2.0 * k, SMALL)


@summing_loop
def restore(K, g, c, before, lower, upper, epsilon, rise, fall, spans):
    """g from the rates, of which one is finite; both are not where the box is a point, and g is summed up anew."""
    change = c - before
    for s in range(len(spans)):
        for i in range(spans[s, 0], spans[s, 1]):
            if c[i] < upper[i] or c[i] > lower[i]:
                g[i] = gradient_of(rise[i], fall[i], c[i], upper[i], epsilon)
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
