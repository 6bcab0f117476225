"""Square tiles on the diagonal of a symmetric matrix."""

from representer._loops.jit import loop


@loop
def mirror(tile, diagonal):
    """Copy the lower triangle onto the upper one and set the diagonal, so that rounding cannot break symmetry."""
    for i in range(tile.shape[0]):
        tile[i, i] = diagonal[i]
        for j in range(i):
            tile[j, i] = tile[i, j]


@loop
def write_both(tile, out, row, column):
    """out[row + i, column + j] <- tile_ij and out[column + j, row + i] <- tile_ij.

    The blocks of both stay in the first-level cache.
    """
    h, w = tile.shape
    for i0 in range(0, h, 16):
        for j0 in range(0, w, 16):
            for i in range(i0, min(i0 + 16, h)):
                for j in range(j0, min(j0 + 16, w)):
                    out[row + i, column + j] = tile[i, j]
            for j in range(j0, min(j0 + 16, w)):
                for i in range(i0, min(i0 + 16, h)):
                    out[column + j, row + i] = tile[i, j]
