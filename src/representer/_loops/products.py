"""Matrix products of tiles. They call BLAS from compiled code.

Each return to Python would wait for the interpreter's lock.
"""

import numpy as np

from representer._loops.jit import loop


@loop
def inner_products(A, columns, tile):
    """tile <- A columns."""
    np.dot(A, columns, tile)


@loop
def apply(tile, V, out):
    """out += tile V, for a vector or several columns; ``out`` is float64."""
    out += np.dot(tile, V)


@loop
def apply_transposed(tile, V, out):
    """out += tile' V."""
    out += np.dot(tile.T, V)


@loop
def apply_both(tile, V, out, V_transposed, out_transposed):
    """out += tile V and out_transposed += tile' V_transposed, for a tile that stands for two of a symmetric matrix."""
    out += np.dot(tile, V)
    out_transposed += np.dot(tile.T, V_transposed)
