"""Sums over common subsequences of p letters, for sixteen pairs of strings at a time.

Each pair has a lane, as in `alignment`. Letters are integers; the padding of x differs from that of y. With m_ij = [x_i
= y_j] and one row of P_q for each q < p,

    M_1 = m,   M_q(i, j) = m_ij P_(q-1)(i - 1, j - 1),   R_q(i, j) = M_q(i, j) + decay R_q(i, j - 1),
    P_q(i, j) = R_q(i, j) + decay P_q(i - 1, j),         the kernel is decay^2p sum_ij M_p(i, j)

where q descends, so that P_(q-1) is still that of the previous row. All terms are positive: nothing cancels.
"""

import numpy as np

from representer._loops.alignment import LANES
from representer._loops.jit import inlined_loop, loop
from representer._loops.simd.decaying_rows import add_matches, advance


@inlined_loop
def _matches(x, i, y, match):
    for t in range(match.size // LANES):
        for k in range(LANES):
            match[t * LANES + k] = 1.0 if x[i * LANES + k] == y[t * LANES + k] else 0.0


@inlined_loop
def _add(match, before, sums):
    for e in range(match.size):
        sums[e] += match[e] * before[e]


@inlined_loop
def _by_lane(sums, out):
    for k in range(LANES):
        out[k] = sums[k::LANES].sum()


@loop
def lanes(x, Tx, y, Ty, p, decay, out):
    """out_k <- the sum over common subsequences of the k-th pair, without the factor decay^2p."""
    P = np.zeros((p, (Ty + 1) * LANES))
    P[0] = 1.0  # P_0, so that M_1 = m
    out[:] = 0.0
    for i in range(Tx):
        add_matches(x, i, y, P[p - 1], out)
        for q in range(p - 1, 0, -1):
            advance(x, i, y, P[q - 1], P[q], decay)


@loop
def lanes_with_slopes(x, Tx, y, Ty, p, decay, out, slopes):
    """The same, and slopes_k <- its derivative with respect to the decay."""
    size = Ty * LANES
    P, D = np.zeros((p, size + LANES)), np.zeros((p, size + LANES))
    P[0] = 1.0
    R, S, match = np.zeros(size + LANES), np.zeros(size + LANES), np.empty(size)
    sums, d_sums = np.zeros(size), np.zeros(size)
    for i in range(Tx):
        _matches(x, i, y, match)
        _add(match, P[p - 1], sums)
        _add(match, D[p - 1], d_sums)
        for q in range(p - 1, 0, -1):
            row, before, d_row, d_before = P[q], P[q - 1], D[q], D[q - 1]
            for e in range(size):
                R[e + LANES] = match[e] * before[e] + decay * R[e]
            for e in range(size):
                S[e + LANES] = match[e] * d_before[e] + R[e] + decay * S[e]
            for e in range(LANES, size + LANES):
                d_row[e] = S[e] + row[e] + decay * d_row[e]
            for e in range(LANES, size + LANES):
                row[e] = R[e] + decay * row[e]
    _by_lane(sums, out)
    _by_lane(d_sums, slopes)
