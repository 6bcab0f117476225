"""Powers of tiles, and tiles scaled by rows and columns, each row while it is in the cache."""

import numpy as np

from representer._loops.jit import loop


@loop
def raise_rows(values, offset, exponent):
    """values <- (values + offset)^exponent in place, by repeated squaring; the exponent is at least 1."""
    base, highest = np.empty(values.shape[1], values.dtype), 0
    while exponent >> (highest + 1):
        highest += 1
    for i in range(values.shape[0]):
        row = values[i]
        for j in range(row.size):
            row[j] += offset
            base[j] = row[j]
        for bit in range(highest - 1, -1, -1):
            if exponent >> bit & 1:
                for j in range(row.size):
                    row[j] = row[j] * row[j] * base[j]
            else:
                for j in range(row.size):
                    row[j] *= row[j]


@loop
def scale_both(tile, left, right):
    """tile_ij <- tile_ij left_i right_j."""
    for i in range(tile.shape[0]):
        row, factor = tile[i], left[i]
        for j in range(row.size):
            row[j] = row[j] * factor * right[j]
