"""Window functions of the distance on a tile of squared distances, and sums that do not underflow."""

import numpy as np

from representer._loops.fast_exp import decay
from representer._loops.jit import loop


@loop
def decaying_sums(tile, V, rates, least, sums, scratch):
    """sums_hi += sum_j exp(-rates_h (tile_ij - least_i)) V_j, after least_i is lowered to the smallest tile_ij so far.

    Earlier sums are rescaled to the new ``least``, so that the nearest point always counts as one, and nothing
    underflows. Infinite entries of the tile, and points whose V_j starts with a zero, do not count.
    """
    n, m = tile.shape
    for j in range(m):
        if V[j, 0] == 0:
            tile[:, j] = np.inf
    lowest = np.empty(n, tile.dtype)
    for i in range(n):
        lowest[i] = least[i]
        for j in range(m):
            lowest[i] = min(lowest[i], tile[i, j])
    for h in range(rates.size):
        rate = rates[h]
        for i in range(n):
            if lowest[i] < least[i]:
                factor = decay(rate * (least[i] - lowest[i])) if least[i] < np.inf else rate * 0
                for c in range(V.shape[1]):
                    sums[h, i, c] *= factor
            row, out = tile[i], scratch[i]
            if lowest[i] < np.inf:
                for j in range(m):
                    out[j] = decay(rate * (row[j] - lowest[i])) if row[j] < np.inf else rate * 0
            else:
                out[:] = 0
        product = np.dot(scratch, V)
        for i in range(n):
            for c in range(V.shape[1]):
                sums[h, i, c] += product[i, c]
    for i in range(n):
        least[i] = lowest[i]


@loop
def truncated(tile, inverse, power, exponent, out):
    """out <- (1 - r^power)^exponent where r = sqrt(s inverse) < 1, else 0; power 1, 2 or 3, exponent 0 to 3."""
    s, values = tile.reshape(tile.size), out.reshape(out.size)
    c, zero, one = tile.dtype.type(inverse), tile.dtype.type(0.0), tile.dtype.type(1.0)
    for j in range(s.size):
        t = min(c * s[j], one)
        if power == 1:
            t = np.sqrt(t)
        elif power == 3:
            t = t * np.sqrt(t)
        t = one - t
        if exponent == 0:
            t = one if t > zero else zero
        elif exponent == 2:
            t = t * t
        elif exponent == 3:
            t = t * t * t
        values[j] = t


@loop
def cosine(tile, inverse, out):
    """out <- cos(pi r / 2) where r = sqrt(s inverse) < 1, else 0."""
    s, values = tile.reshape(tile.size), out.reshape(out.size)
    c, zero, one, quarter = (
        tile.dtype.type(inverse),
        tile.dtype.type(0.0),
        tile.dtype.type(1.0),
        tile.dtype.type(np.pi / 2),
    )
    for j in range(s.size):
        t = c * s[j]
        values[j] = np.cos(quarter * np.sqrt(t)) if t < one else zero
