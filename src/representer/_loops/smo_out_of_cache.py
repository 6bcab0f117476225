"""SMO steps where the rows of K do not fit the cache: along conjugate directions, by one thread or by two.

A step is then memory-bound, so fewer steps pay, and so do two threads that each read half of each row. Both threads
take the same steps: each updates and searches one half of the spans and publishes its result, and both combine the two
halves. On 8,192 float32 rows a step of two threads takes 3.4 microseconds where that of one takes 6.3, if each has its
own core; otherwise they time out, and one of them continues alone.

The result of a half is one line of shared float64 memory (see `spin_barrier`): lines 0 and 1 hold the smallest g_up of
each half and its index, lines 2 and 3 the best partner in each half.
"""

import numpy as np

from representer._loops.conjugate_directions import new_direction, next_direction, restarts, step_along
from representer._loops.jit import inlined_loop, loop
from representer._loops.simd.min_max import greatest, least
from representer._loops.simd.spin_barrier import meet
from representer._loops.smo import best_partner, better_partner, curvature_of, index_of_least

BOTH = -1
"""The half of a thread that works alone."""
STOP = 5
"""Index in lines 0 and 1 of the flag that asks both threads to stop."""


@loop
def smo_steps_out_of_cache(
    K, g_up, g_down, Kd, c, diagonal, lower, upper, epsilon, spans, tol, max_steps, patience, lines, half
):
    """Steps on one group until its KKT violation is at most tol; returns (steps, violation).

    A thread has ``half`` 0, 1 or BOTH. All arguments are shared except c, of which each thread has its own copy. Kd is
    a buffer for K d. Threads stop at the next restart of a direction after one of them has spun more than patience[0] +
    patience[1] steps times, and leave lines[:2, STOP] set.
    """
    found, box = lines.view(np.float64), (lower, upper, epsilon)
    gradients, number, middle = (g_up, g_down, Kd), g_up.dtype.type, (len(spans) + 1) // 2
    halves = spans[:middle], spans[middle:]
    mine = range(2) if half == BOTH else range(half, half + 1)
    first, last = (0, c.size) if half == BOTH else (halves[half][0, 0], halves[half][-1, 1])
    lows, direction, size, curvature = np.empty(middle, g_up.dtype), new_direction(), 0, 1.0
    row_i = row_j = spans[0, 0] + spans[0, 3]
    steps, step, beta, spins = 0, number(0.0), number(0.0), 0
    while True:
        late = half != BOTH and spins > patience[0] + patience[1] * steps and restarts(size)
        for h in mine:
            _update_half(K[row_i], K[row_j], step, beta, gradients, halves[h], lows, late, found[h])
        if half != BOTH:
            spins += meet(lines, half, 1 - half, steps + 1)
        i, row_i, low, high, Kd_i, stop = _extremes_of_both(found[0], found[1], number)
        if not high - low > tol or steps == max_steps or stop:
            break
        for h in mine:
            _search_half(K[row_i], diagonal, diagonal[i], gradients, low, halves[h], found[2 + h])
        if half != BOTH:
            spins += meet(lines, 2 + half, 3 - half, steps + 1)
        j, row_j, g_down_j, Kd_j = _partner_of_both(found[2], found[3], number, K.dtype.type)
        if j < 0:  # no pair makes progress beyond rounding
            break
        pair = i, j, g_down_j - low, curvature_of(K[row_i, row_j], diagonal, i, j), Kd_i - Kd_j
        length, kept, size, curvature = next_direction(pair, c, box, direction, size, curvature)
        size = step_along(length, i, j, c, box, direction, size, g_up, g_down, first, last)
        step, beta = number(length), number(kept)
        steps += 1
    return steps, high - low


@inlined_loop
def _update_half(a, b, step, beta, gradients, spans, lows, late, line):
    """Kd <- a - b + beta Kd, add step Kd to g_up and g_down, and publish their extremes."""
    g_up, g_down, Kd = gradients
    high = g_up.dtype.type(-np.inf)
    for s in range(len(spans)):
        begin, end, shift = spans[s, 0], spans[s, 1], spans[s, 3]
        own, others = slice(begin, end), slice(begin + shift, end + shift)
        lows[s], top = _update_span(a[others], b[others], step, beta, Kd[own], g_up[own], g_down[own])
        high = max(high, top)
    low = lows[: len(spans)].min()
    i, row = index_of_least(g_up, low, spans[0, 2], spans, lows)
    line[1], line[2], line[3], line[4], line[STOP], line[6] = low, high, i, row, late, Kd[i]


@inlined_loop
def _update_span(a, b, step, beta, Kd, g_up, g_down):
    low, high = g_up.dtype.type(np.inf), g_up.dtype.type(-np.inf)
    for j in range(g_up.size):
        slope = a[j] - b[j] + beta * Kd[j]
        Kd[j] = slope
        up, down = g_up[j] + step * slope, g_down[j] + step * slope
        g_up[j], g_down[j] = up, down
        low, high = least(low, up), greatest(high, down)
    return low, high


@inlined_loop
def _extremes_of_both(one, other, number):
    """i of the smallest g_up, its row of K, g_up_i, the largest g_down, (K d)_i, and whether to stop."""
    first = one if one[1] <= other[1] else other
    high, stop = number(max(one[2], other[2])), one[STOP] + other[STOP] > 0.0
    return int(first[3]), int(first[4]), number(first[1]), high, number(first[6]), stop


@inlined_loop
def _search_half(row, diagonal, own, gradients, low, spans, line):
    """Publish the best partner in this half."""
    _, g_down, Kd = gradients
    best = best_partner(row, diagonal, own, g_down, low, spans[0, 2], spans)
    line[1], line[2], line[3], line[4], line[5] = best
    line[6] = Kd[max(best[0], 0)]


@inlined_loop
def _partner_of_both(one, other, number, value):
    """j of the best partner, its row of K, g_down_j and (K d)_j, in the types of gradients and of kernel values."""
    first = int(one[1]), int(one[2]), number(one[3]), value(one[4]), value(one[5])
    second = int(other[1]), int(other[2]), number(other[3]), value(other[4]), value(other[5])
    j, row, g_down_j, _, _ = better_partner(first, second)
    return j, row, g_down_j, number(one[6] if one[1] == j else other[6])
