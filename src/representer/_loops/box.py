"""What is known of coefficients within boxes: rates of changing them, intercepts, spans, and how far from the best.

The problem is that of `smo`.
"""

import numpy as np

from representer._loops import rates as of
from representer._loops.jit import loop, summing_loop


@summing_loop
def gradient(below, diagonal, c, targets, g):
    """g <- K c - t from the values of K below its diagonal, row after row, and those on it."""
    for i in range(c.size):
        row, own, total = below[i * (i - 1) // 2 : i * (i + 1) // 2], c[i], 0.0
        for j in range(i):
            total += row[j] * c[j]
            g[j] += row[j] * own
        g[i] = total + diagonal[i] * own - targets[i]


@loop
def rates(g, c, lower, upper, epsilon, group, rise, fall, free, low, high):
    """The rates of each coefficient, whether it is free (between bounds, at no kink), and the extremes of each group.

    Returns the violation: by how much the greatest rate of lowering exceeds the least one of raising in any group.
    """
    of.rates(g, c, lower, upper, epsilon, rise, fall)
    low[:], high[:] = np.inf, -np.inf
    for i in range(c.size):
        s = group[i]
        free[i] = rise[i] == fall[i]
        low[s], high[s] = min(low[s], rise[i]), max(high[s], fall[i])
    violation = 0.0
    for s in range(low.size):
        violation = max(violation, high[s] - low[s])
    return violation


@loop
def intercepts(rise, fall, group, low, high, b):
    """b of each group: minus the mean rate of the free coefficients, or minus the middle of the extremes.

    Those between bounds and at no kink have one and the same rate, and no others have. The extremes are infinite where
    all of a group are at one bound.
    """
    count = np.zeros(b.size)
    b[:] = 0.0
    for i in range(rise.size):
        if rise[i] == fall[i]:
            b[group[i]] -= rise[i]
            count[group[i]] += 1.0
    for s in range(b.size):
        if count[s] > 0.0:
            b[s] /= count[s]
        elif low[s] < np.inf or high[s] > -np.inf:
            least = low[s] if low[s] < np.inf else high[s]
            greatest = high[s] if high[s] > -np.inf else low[s]
            b[s] = -0.5 * (least + greatest)


@summing_loop
def values(c, g, targets, lower, upper, epsilon, group, b):
    """(primal, dual) value of coefficients c with g = K c - t; see `BoxProblem.values`."""
    dual = gap = 0.0
    for i in range(c.size):
        r, kink = -g[i] - b[group[i]], epsilon * abs(c[i])
        dual += c[i] * (0.5 * (targets[i] - g[i])) - kink
        gap += max(upper[i] * (r - epsilon), lower[i] * (r + epsilon), 0.0) + kink - c[i] * r
    return dual + gap, dual


@loop
def spans(group, columns, size):
    """Rows (begin, end, group, shift) as `smo` needs them: runs of one group and of consecutive columns, cut short."""
    rows, n, count = np.empty((group.size, 4), np.int64), group.size, 0
    begin = 0
    for end in range(1, n + 1):
        same = end < n and group[end] == group[begin] and columns[end] == columns[end - 1] + 1
        if not same or end - begin == size:
            rows[count, 0], rows[count, 1] = begin, end
            rows[count, 2], rows[count, 3] = group[begin], columns[begin] - begin
            begin, count = end, count + 1
    return rows[:count].copy()
