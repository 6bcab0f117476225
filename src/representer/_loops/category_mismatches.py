"""Weighted mismatches of categories, into a tile, and sums of weights over mismatches for gradients.

``columns`` is the second block transposed and C-contiguous, so that the inner loops run along it and are vectorised.
"""

from representer._loops.jit import loop, summing_loop


@loop
def mismatches(codes, columns, weights, tile):
    """tile_ij <- sum_f weights_f [codes_if != columns_fj]."""
    tile[:] = 0.0
    for i in range(codes.shape[0]):
        row = tile[i]
        for f in range(codes.shape[1]):
            a, b, w = codes[i, f], columns[f], weights[f]
            for j in range(row.size):
                row[j] += w if a != b[j] else 0.0


@summing_loop
def sums_of_mismatches(codes, columns, W, sums):
    """sums_f <- sums_f + sum_ij W_ij [codes_if != columns_fj]."""
    for i in range(codes.shape[0]):
        row = W[i]
        for f in range(codes.shape[1]):
            a, b, total = codes[i, f], columns[f], 0.0
            for j in range(row.size):
                total += row[j] if a != b[j] else 0.0
            sums[f] += total
