"""Entries of symmetric matrices: mirrored, written twice, replaced, removed."""

import numpy as np

from representer._loops.jit import loop

BLOCK = 16


@loop
def mirror(tile, diagonal):
    """Copy the lower triangle onto the upper one and set the diagonal, so that rounding cannot break symmetry."""
    n = tile.shape[0]
    for i0 in range(0, n, BLOCK):
        _write_transposed(tile[i0 : i0 + BLOCK, :i0], tile[:i0, i0 : i0 + BLOCK])
        for i in range(i0, min(i0 + BLOCK, n)):
            tile[i, i] = diagonal[i]
            for j in range(i0, i):
                tile[j, i] = tile[i, j]


@loop
def write_both(tile, out, row, column):
    """out[row + i, column + j] <- tile_ij and out[column + j, row + i] <- tile_ij."""
    h, w = tile.shape
    for i in range(h):
        source, target = tile[i], out[row + i, column : column + w]
        for j in range(w):
            target[j] = source[j]
    _write_transposed(tile, out[column : column + w, row : row + h])


@loop
def _write_transposed(tile, out):
    """out_ji <- tile_ij, by blocks that stay in the first-level cache.

    Cutting them out first spares the inner loop all index arithmetic.
    """
    h, w = tile.shape
    for j0 in range(0, w, BLOCK):
        for i0 in range(0, h, BLOCK):
            block = tile[i0 : min(i0 + BLOCK, h), j0 : min(j0 + BLOCK, w)]
            for j in range(block.shape[1]):
                target = out[j0 + j, i0 : i0 + block.shape[0]]
                for i in range(block.shape[0]):
                    target[i] = block[i, j]


@loop
def write_columns(block, slots, out):
    """out[r, slots[q]] <- block_qr: columns of a matrix from the rows of a block.

    Slots rise, so that each row of out is written from its begin to its end.
    """
    h, n = block.shape
    transposed = np.empty((32, h), block.dtype)
    for r0 in range(0, n, 32):
        width = min(32, n - r0)
        for q in range(h):
            source = block[q, r0 : r0 + width]
            for r in range(width):
                transposed[r, q] = source[r]
        for r in range(width):
            source, target = transposed[r], out[r0 + r]
            for q in range(h):
                target[slots[q]] = source[q]


@loop
def compact(values, n, kept):
    """Of an n x n matrix, row by row in values, the rows and columns that are kept (rising) move to its front."""
    m = kept.size
    for i in range(m):
        row = kept[i] * n
        for j in range(m):  # never overtakes what is still to be read, as kept[i] >= i and n >= m
            values[i * m + j] = values[row + kept[j]]
