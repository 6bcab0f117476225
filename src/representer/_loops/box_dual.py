"""Coefficients of a box-constrained dual: KKT violation, intercepts, primal and dual values, spans.

The problem is that of `smo`.
"""

import numpy as np

from representer._loops.gradient_bounds import one_sided_gradients
from representer._loops.jit import inlined_summing_loop, loop, summing_loop


@loop
def kkt_violation(g, c, lower, upper, epsilon, group, g_up, g_down, free, low, high):
    """The KKT violation: max over groups of (largest g_down - smallest g_up), or 0.

    Writes the one-sided gradients of each coefficient, whether it is free (between bounds, not at a kink), and the
    smallest g_up and largest g_down of each group.
    """
    one_sided_gradients(g, c, lower, upper, epsilon, g_up, g_down)
    low[:], high[:] = np.inf, -np.inf
    for i in range(c.size):
        s = group[i]
        free[i] = g_up[i] == g_down[i]
        low[s], high[s] = min(low[s], g_up[i]), max(high[s], g_down[i])
    violation = 0.0
    for s in range(low.size):
        violation = max(violation, high[s] - low[s])
    return violation


@loop
def violation(g, c, lower, upper, epsilon, group, n_groups):
    """The KKT violation alone."""
    n = c.size
    ends = np.empty(n_groups), np.empty(n_groups)
    return kkt_violation(
        g, c, lower, upper, epsilon, group, np.empty(n), np.empty(n), np.empty(n, np.bool_), ends[0], ends[1]
    )


@summing_loop
def beyond(c, lower, upper, group, sums):
    """(largest distance of a coefficient from its box, sum_i |c_i|); subtracts each group's coefficients from sums."""
    outside = total = 0.0
    for i in range(c.size):
        outside = max(outside, lower[i] - c[i], c[i] - upper[i])
        total += abs(c[i])
        sums[group[i]] -= c[i]
    return outside, total


@loop
def intercepts(g_up, g_down, group, low, high, b):
    """b of each group: minus the mean gradient of its free coefficients, or minus the midpoint of low and high.

    A coefficient is free where both one-sided gradients are equal. Low or high is infinite where all coefficients of a
    group are at one bound.
    """
    count = np.zeros(b.size)
    b[:] = 0.0
    for i in range(g_up.size):
        if g_up[i] == g_down[i]:
            b[group[i]] -= g_up[i]
            count[group[i]] += 1.0
    for s in range(b.size):
        if count[s] > 0.0:
            b[s] /= count[s]
        elif low[s] < np.inf or high[s] > -np.inf:
            least = low[s] if low[s] < np.inf else high[s]
            greatest = high[s] if high[s] > -np.inf else low[s]
            b[s] = -0.5 * (least + greatest)


@inlined_summing_loop
def _slack(r, size, top, bottom, epsilon):
    """support(r) + epsilon |c| - c r of a nonnegative coefficient |c| = size in the box from -bottom to top.

    As products of nonnegative numbers, even where rounding has moved c out of its box.
    """
    if r > epsilon:
        return max(top - size, 0.0) * (r - epsilon)
    return size * (epsilon - r) + bottom * max(-r - epsilon, 0.0)


@summing_loop
def values(c, g, error, targets, lower, upper, epsilon, group, b):
    """(dual, gap, rounding) of coefficients c with g = K c - t and intercepts b, for feasible c.

    The rounding is the root sum of squares of the changes of terms by errors of g; see `BoxProblem.values`.
    """
    dual = gap = squares = 0.0
    for i in range(c.size):
        r, size, top, bottom = -g[i] - b[group[i]], abs(c[i]), upper[i], -lower[i]
        dual += c[i] * (0.5 * (targets[i] - g[i])) - epsilon * size
        if c[i] < 0.0:  # flip all signs
            r, top, bottom = -r, bottom, top
        slack = _slack(r, size, top, bottom, epsilon)
        gap += slack
        lower_slack = _slack(r - error[i], size, top, bottom, epsilon)
        upper_slack = _slack(r + error[i], size, top, bottom, epsilon)
        squares += (max(lower_slack, upper_slack) - slack + 0.5 * size * error[i]) ** 2
    return dual, gap, np.sqrt(squares)


@loop
def spans(group, columns, size):
    """Rows (begin, end, group, shift) as `smo` needs them: short runs of one group and consecutive columns."""
    rows, n, count = np.empty((group.size, 4), np.int64), group.size, 0
    begin = 0
    for end in range(1, n + 1):
        same = end < n and group[end] == group[begin] and columns[end] == columns[end - 1] + 1
        if not same or end - begin == size:
            rows[count, 0], rows[count, 1] = begin, end
            rows[count, 2], rows[count, 3] = group[begin], columns[begin] - begin
            begin, count = end, count + 1
    return rows[:count].copy()
