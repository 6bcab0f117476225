"""Quadratic forms of a tile with many columns of signs."""

import numpy as np

from representer._loops.jit import loop, summing_loop


@summing_loop
def centre(tile, a, b, s, t, scale, rounded, sums, column_sums, own, column_own, diagonal):
    """h_ij = tile_ij - a_i - b_j, scale h_ij rounded to float32, and sums of h over rows and columns, plain and signed.

    sums_i += sum_j h_ij and own_i += s_i sum_j h_ij t_j; the same over i into ``column_sums`` and ``column_own``. On
    the diagonal of a matrix, where both sides are the same, h_ii is 0 and only rows are summed. Sums are float64.
    """
    width = tile.shape[1]
    plain, signed = np.zeros(width), np.zeros(width)
    for i in range(tile.shape[0]):
        row, out = tile[i], rounded[i]
        if diagonal:
            row[i] = a[i] + b[i]
        a_i, s_i = a[i], s[i]
        total, weighted = 0.0, 0.0
        for j in range(width):
            h = row[j] - a_i - b[j]
            out[j] = h * scale
            total += h
            weighted += h * t[j]
            plain[j] += h
            signed[j] += h * s_i
        if diagonal:
            h = row[i] - a_i - b[i]  # only rounding
            total -= h
            weighted -= h * t[i]
            out[i] = 0.0
        sums[i] += total
        own[i] += s_i * weighted
    if not diagonal:
        for j in range(width):
            column_sums[j] += plain[j]
            column_own[j] += t[j] * signed[j]


@loop
def add_forms(tile, rows, columns, work, factor, out):
    """out_b += factor sum_ij rows_ib tile_ij columns_jb: one product, and one pass over its result."""
    np.dot(tile, columns, work)
    for i in range(work.shape[0]):
        r, w = rows[i], work[i]
        for b in range(out.size):
            out[b] += factor * (np.float64(r[b]) * np.float64(w[b]))
