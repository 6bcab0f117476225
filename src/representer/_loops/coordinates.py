"""Sums over coordinates of a function of two numbers, into a tile: sum_f h(A_if, columns_fj).

``columns`` is the second block transposed and C-contiguous, so that the inner loops run along it and are vectorised.
"""

from representer._loops.jit import loop


@loop
def absolute_differences(A, columns, weights, tile):
    """tile_ij <- sum_f weights_f |A_if - columns_fj|."""
    tile[:] = tile.dtype.type(0.0)
    for i in range(A.shape[0]):
        row = tile[i]
        for f in range(A.shape[1]):
            a, b, w = A[i, f], columns[f], weights[f]
            for j in range(row.size):
                row[j] += w * abs(a - b[j])


@loop
def minima(A, columns, tile):
    """tile_ij <- sum_f min(A_if, columns_fj)."""
    tile[:] = tile.dtype.type(0.0)
    for i in range(A.shape[0]):
        row = tile[i]
        for f in range(A.shape[1]):
            a, b = A[i, f], columns[f]
            for j in range(row.size):
                row[j] += a if a < b[j] else b[j]


@loop
def chi_squares(A, columns, tile):
    """tile_ij <- sum_f (A_if - columns_fj)^2 / (A_if + columns_fj), 0 / 0 = 0, for entries >= 0."""
    tiny = tile.dtype.type(1e-30)
    tile[:] = tile.dtype.type(0.0)
    for i in range(A.shape[0]):
        row = tile[i]
        for f in range(A.shape[1]):
            a, b = A[i, f], columns[f]
            for j in range(row.size):
                t = a - b[j]
                row[j] += t * t / (a + b[j] + tiny)
