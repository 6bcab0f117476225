"""Sums over all alignments of two series, for sixteen pairs at a time.

Each pair has a lane: entry t of sixteen interleaved series is at 16 t ... 16 t + 15, so that the recurrence along a
series has stride sixteen, and compilers turn sixteen steps into a few vector instructions.

    M_ij = (M_(i-1)j + M_i(j-1) + M_(i-1)(j-1)) kappa_ij,   kappa = g / (2 - g),   g = exp(-|x_i - y_j|^2)

M grows as 5.8^T, so rows are rescaled by powers of two every few rows, and logarithms are returned.
"""

import numpy as np

from representer._loops.fast_exp import decay
from representer._loops.jit import dividing_loop, inlined_loop

LANES = 16
RESCALED_ROWS = 8
"""Rows between rescalings. A row is at most 2 T + 1 times as large as the one before: nothing overflows for T below
2^80."""


@inlined_loop
def _squares(x, i, Tx, y, Ty, d, s):
    """s <- |x_i - y_t|^2 for all t and lanes. Layout of x and y: column, time, lane."""
    s[: Ty * LANES] = 0.0
    for f in range(d):
        row = x[(f * Tx + i) * LANES : (f * Tx + i + 1) * LANES]
        column = y[f * Ty * LANES : (f + 1) * Ty * LANES]
        for t in range(Ty):
            for k in range(LANES):
                z = row[k] - column[t * LANES + k]
                s[t * LANES + k] += z * z


@inlined_loop
def _rescale(M, slopes, lengths, logs):
    """Divide each lane by a power of two where its numbers are very large or small, and add its log to ``logs``.

    Entries behind the end of a series are left alone: next to a much longer one they exceed the others by more than the
    range of floating point, and no entry depends on them.
    """
    for k in range(LANES):
        largest, size = 0.0, (lengths[k] + 1) * LANES
        for e in range(k, size, LANES):
            largest = max(largest, M[e])
        if largest > 1e30 or 0.0 < largest < 1e-30:
            power = np.floor(np.log2(largest))
            factor = 2.0**-power
            for e in range(k, size, LANES):
                M[e] *= factor
            for e in range(k, min(size, len(slopes)), LANES):
                slopes[e] *= factor
            logs[k] += power * np.log(2.0)


@dividing_loop
def lanes(x, x_lengths, Tx, y, y_lengths, Ty, d, out):
    """out_k <- log of the sum over alignments of the k-th pair of series, -inf where it is zero."""
    size = (Ty + 1) * LANES
    old, new, kappa = np.zeros(size), np.zeros(size), np.empty(Ty * LANES)
    logs, none = np.zeros(LANES), np.empty(0)
    old[:LANES] = 1.0  # before the first pair of samples
    for i in range(Tx):
        _squares(x, i, Tx, y, Ty, d, kappa)
        for e in range(Ty * LANES):
            g = decay(kappa[e])
            kappa[e] = g / (2.0 - g)
        for e in range(Ty * LANES):
            new[e + LANES] = (old[e + LANES] + old[e] + new[e]) * kappa[e]
        old[:LANES] = 0.0
        for k in range(LANES):
            if x_lengths[k] == i + 1:
                out[k] = np.log(new[y_lengths[k] * LANES + k]) + logs[k]
        if i % RESCALED_ROWS == RESCALED_ROWS - 1:
            _rescale(new, none, y_lengths, logs)
        old, new = new, old
        new[:LANES] = 0.0


@dividing_loop
def lanes_with_slopes(x, x_lengths, Tx, y, y_lengths, Ty, d, out, slopes):
    """The same, and slopes_k <- its derivative with respect to the logarithm of the length scale."""
    size = (Ty + 1) * LANES
    old, new, kappa, rate = np.zeros(size), np.zeros(size), np.empty(Ty * LANES), np.empty(Ty * LANES)
    d_old, d_new, logs = np.zeros(size), np.zeros(size), np.zeros(LANES)
    old[:LANES] = 1.0
    for i in range(Tx):
        _squares(x, i, Tx, y, Ty, d, rate)
        for e in range(Ty * LANES):
            g = decay(rate[e])
            kappa[e] = g / (2.0 - g)
            rate[e] = 2.0 * rate[e] * (1.0 + kappa[e])  # d log(kappa) / d log(length scale)
        for e in range(Ty * LANES):
            total = old[e + LANES] + old[e] + new[e]
            change = d_old[e + LANES] + d_old[e] + d_new[e]
            new[e + LANES] = total * kappa[e]
            d_new[e + LANES] = (change + total * rate[e]) * kappa[e]
        old[:LANES] = 0.0
        for k in range(LANES):
            if x_lengths[k] == i + 1:
                end = y_lengths[k] * LANES + k
                out[k] = np.log(new[end]) + logs[k]
                slopes[k] = d_new[end] / new[end] if new[end] > 0.0 else 0.0
        if i % RESCALED_ROWS == RESCALED_ROWS - 1:
            _rescale(new, d_new, y_lengths, logs)
        old, new, d_old, d_new = new, old, d_new, d_old
        new[:LANES] = 0.0
        d_new[:LANES] = 0.0
