"""Rows of bits, packed 64 to a word: how many two rows have in common."""

import numpy as np

from representer._loops.jit import dividing_loop, loop
from representer._loops.simd.bit_counts import ones

NUMBER = np.uint64(0x4330000000000000)
"""The bits of 2.0^52, to which a count is added: 2.0^52 + n has n more. Integer vectors cannot be converted to
floats."""


@loop
def common(A, columns, tile):
    """tile_ij <- the number of bits set in both A_i and the j-th row of a matrix of words, which is given transposed.

    The number of words is even. Two words are compared with those of all rows, which compilers vectorise.
    """
    sums = np.empty(columns.shape[1], np.uint64)
    numbers = sums.view(np.float64)
    for i in range(A.shape[0]):
        sums[:] = NUMBER
        for w in range(0, A.shape[1], 2):
            one, other, ones_of, others_of = A[i, w], A[i, w + 1], columns[w], columns[w + 1]
            for j in range(sums.size):
                sums[j] += ones(one & ones_of[j]) + ones(other & others_of[j])
        for j in range(sums.size):
            tile[i, j] = numbers[j] - 2.0**52


@dividing_loop
def ratios(a, b, tile):
    """tile_ij <- s / (a_i + b_j - s), where s is the old entry: intersection over union; 1 for 0 / 0."""
    one = tile.dtype.type(1.0)
    for i in range(tile.shape[0]):
        for j in range(tile.shape[1]):
            whole = a[i] + b[j] - tile[i, j]
            tile[i, j] = tile[i, j] / whole if whole > 0.0 else one
