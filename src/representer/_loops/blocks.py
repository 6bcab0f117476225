"""Tiles of a kernel matrix, one after the other: threads that fill them do not wait for the interpreter in between."""

import numpy as np

from representer._loops import distances, radial, symmetric
from representer._loops.jit import loop


@loop
def fill_stationary(A, B, a, b, raw_a, raw_b, weights, name, rate, tiles, same, memory, out):
    """out_ij <- phi(|A_i - B_j|^2) for tiles, rows (begin, end, begin, end) of A and B; phi(0) = 1.

    phi is a function of `radial`, and a, b, raw_a, raw_b and weights are those of `distances.from_products`. If both
    inputs are the same, entries are written on both sides of the diagonal. The memory has room for each tile.
    """
    for t in range(len(tiles)):
        begin, end, first, last = tiles[t]
        rows, columns = slice(begin, end), slice(first, last)
        tile = memory[: (end - begin) * (last - first)].reshape((end - begin, last - first))
        distances.from_products(A[rows], B[columns], a[rows], b[columns], raw_a[rows], raw_b[columns], weights, tile)
        radial.fill(tile, name, rate)
        if same and begin == first:
            symmetric.mirror(tile, np.ones(end - begin, tile.dtype))
        if same and begin != first:
            symmetric.write_both(tile, out, begin, first)
        else:
            out[rows, columns] = tile
