"""Symmetric matrices: mirroring, packing, products, writing both triangles, removing rows and columns."""

import numpy as np

from representer._loops.jit import loop, summing_loop
from representer._loops.simd.transposition import write_transposed

BLOCK = 16


@loop
def mirror(tile, diagonal):
    """Copy the lower triangle onto the upper one and set the diagonal, so that rounding cannot break symmetry."""
    n = tile.shape[0]
    for i0 in range(0, n, BLOCK):
        write_transposed(tile[i0 : i0 + BLOCK, :i0], tile[:i0, i0 : i0 + BLOCK])
        for i in range(i0, min(i0 + BLOCK, n)):
            tile[i, i] = diagonal[i]
            for j in range(i0, i):
                tile[j, i] = tile[i, j]


@loop
def unpack(values, diagonal, tile):
    """Unpack a symmetric tile from its packed lower triangle, which may be at the front of its own memory."""
    for i in range(tile.shape[0] - 1, 0, -1):  # from the last row, so that none is overwritten before it moves
        source, target = values[i * (i - 1) // 2 : i * (i + 1) // 2], tile[i]
        for j in range(i):
            target[j] = source[j]
    mirror(tile, diagonal)


@loop
def half(matrix, index):
    """The packed values below the diagonal of the rows and columns at these indices."""
    n = index.size
    values = np.empty(n * (n - 1) // 2, matrix.dtype)
    for i in range(1, n):
        source, target = matrix[index[i]], values[i * (i - 1) // 2 : i * (i + 1) // 2]
        for j in range(i):
            target[j] = source[index[j]]
    return values


@summing_loop
def multiply(values, diagonal, x, out):
    """out <- K x from the packed values of K below its diagonal, and the diagonal."""
    for i in range(x.size):
        row, own, total = values[i * (i - 1) // 2 : i * (i + 1) // 2], x[i], 0.0
        for j in range(i):
            total += row[j] * x[j]
            out[j] += row[j] * own
        out[i] = total + diagonal[i] * own


@loop
def write_both(tile, out, row, column):
    """out[row + i, column + j] <- tile_ij and out[column + j, row + i] <- tile_ij."""
    h, w = tile.shape
    for i in range(h):
        source, target = tile[i], out[row + i, column : column + w]
        for j in range(w):
            target[j] = source[j]
    write_transposed(tile, out[column : column + w, row : row + h])


@loop
def compact(matrix, kept):
    """Move the kept rows and columns (ascending) to the front of a matrix; the rest is left over."""
    for i in range(kept.size):
        source, target = matrix[kept[i]], matrix[i]
        for j in range(kept.size):  # never overwrites unread entries, as kept[j] >= j
            target[j] = source[kept[j]]
