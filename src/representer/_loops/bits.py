"""Rows of bits, 64 in a number: how many two rows have in common."""

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core.typing.templates import signature
from numba.extending import intrinsic

from representer._loops.jit import dividing_loop, loop


def _ones(typing, word):
    """The number of ones among the bits of a word."""

    def code(context, builder, types, arguments):
        number = arguments[0].type
        count = builder.module.declare_intrinsic("llvm.ctpop", [number], ir.FunctionType(number, [number]))
        return builder.call(count, arguments)

    return signature(word, word), code


ones: Any = intrinsic(_ones)


@loop
def common(A, B, tile):
    """tile_ij <- the number of bits that are one in both A_i and B_j; four rows of B at a time share a word of A."""
    words, last = A.shape[1], B.shape[0] - B.shape[0] % 4
    for i in range(A.shape[0]):
        for j in range(0, last, 4):
            first, second, third, fourth = np.uint64(0), np.uint64(0), np.uint64(0), np.uint64(0)
            for w in range(words):
                word = A[i, w]
                first += ones(word & B[j, w])
                second += ones(word & B[j + 1, w])
                third += ones(word & B[j + 2, w])
                fourth += ones(word & B[j + 3, w])
            tile[i, j], tile[i, j + 1] = np.int64(first), np.int64(second)
            tile[i, j + 2], tile[i, j + 3] = np.int64(third), np.int64(fourth)
        for j in range(last, B.shape[0]):
            count = np.uint64(0)
            for w in range(words):
                count += ones(A[i, w] & B[j, w])
            tile[i, j] = np.int64(count)


@dividing_loop
def ratios(a, b, tile):
    """tile_ij <- s / (a_i + b_j - s), s the entry so far: what two rows share of what they have in all; 1 for 0 / 0."""
    one = tile.dtype.type(1.0)
    for i in range(tile.shape[0]):
        for j in range(tile.shape[1]):
            whole = a[i] + b[j] - tile[i, j]
            tile[i, j] = tile[i, j] / whole if whole > 0.0 else one
