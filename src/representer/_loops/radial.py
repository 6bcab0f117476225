"""Radial functions on a tile of scaled squared distances s, in place.

A tile is C-contiguous; the loops run over it as one long row, which compilers vectorise best.
"""

import numpy as np

from representer._loops.fast_exp import decay
from representer._loops.jit import loop


@loop
def exponential(tile, rate):
    """s <- exp(-rate s)."""
    values = tile.reshape(tile.size)
    c = tile.dtype.type(rate)
    for j in range(values.size):
        values[j] = decay(c * values[j])


@loop
def matern12(tile):
    """s <- exp(-r), r = sqrt(s)."""
    values = tile.reshape(tile.size)
    for j in range(values.size):
        values[j] = decay(np.sqrt(values[j]))


@loop
def matern32(tile):
    """s <- (1 + r) exp(-r), r = sqrt(3 s)."""
    values = tile.reshape(tile.size)
    one, three, far = tile.dtype.type(1.0), tile.dtype.type(3.0), tile.dtype.type(1e4)
    for j in range(values.size):
        r = min(np.sqrt(three * values[j]), far)  # an infinite r times exp(-r) would not vanish
        values[j] = (one + r) * decay(r)


@loop
def matern52(tile):
    """s <- (1 + r + r^2 / 3) exp(-r), r = sqrt(5 s)."""
    values = tile.reshape(tile.size)
    one, third, five = tile.dtype.type(1.0), tile.dtype.type(1.0 / 3.0), tile.dtype.type(5.0)
    far = tile.dtype.type(1e4)
    for j in range(values.size):
        r = min(np.sqrt(five * values[j]), far)
        values[j] = (one + r + third * r * r) * decay(r)
