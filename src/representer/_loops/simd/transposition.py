"""Transposed copies of tiles, by squares that fit the registers.

Compilers copy one number at a time, which on a tile of 256 x 512 float32 numbers takes three times as long.
"""

from typing import Any

from numba.core import cgutils, types
from numba.extending import intrinsic, overload

from representer._loops.jit import STRICT, loop
from representer._loops.simd import registers


@loop
def write_transposed(tile, out):
    """out_ji <- tile_ij, by squares that fit the registers, or entry by entry where rows are not contiguous.

    Four squares together are as wide as a cache line, which is then read and written once.
    """
    (h, w), size = tile.shape, registers.BYTES // tile.itemsize
    rows, columns = h - h % size, w - w % size
    if tile.strides[1] != tile.itemsize or out.strides[1] != out.itemsize:
        rows = columns = 0
    for j0 in range(0, columns, 2 * size):
        for i0 in range(0, rows, 2 * size):
            for j in range(j0, min(j0 + 2 * size, columns), size):
                for i in range(i0, min(i0 + 2 * size, rows), size):
                    write_square(tile, i, j, out)
        for j in range(j0, min(j0 + 2 * size, columns)):
            for i in range(rows, h):
                out[j, i] = tile[i, j]
    for j in range(columns, w):
        for i in range(h):
            out[j, i] = tile[i, j]


def write_square(tile, i, j, out):
    """out_ji <- tile_ij for a square of vectors that starts at (i, j)."""
    rows, columns = (slice(first, first + registers.BYTES // tile.itemsize) for first in (i, j))
    out[columns, rows] = tile[rows, columns].T


def _in_registers(typing_context, tile, i, j, out):
    """The same in code that transposes within registers, which compilers do not."""

    def code(context, builder, signature, arguments):
        tile, i, j, out = arguments
        arrays = [context.make_array(signature.args[a])(context, builder, value) for a, value in ((0, tile), (3, out))]
        vector, unit = registers.vector_of(arrays[0].data.type.pointee), i.type(signature.args[0].dtype.bitwidth // 8)

        def places(array, row, column):
            across, _ = cgutils.unpack_tuple(builder, array.strides)
            column = builder.mul(column, unit)
            starts = [builder.mul(builder.add(row, i.type(r)), across) for r in range(vector.count)]
            starts = [builder.add(start, column) for start in starts]
            return [cgutils.pointer_add(builder, array.data, start, vector.as_pointer()) for start in starts]

        rows = registers.load(builder, places(arrays[0], i, j))
        registers.store(builder, registers.transposed(builder, rows), places(arrays[1], j, i))
        return context.get_dummy_value()

    return types.void(tile, i, j, out), code


_compiled: Any = intrinsic(_in_registers)


@overload(write_square, jit_options={"fastmath": STRICT})
def _compiled_square(tile, i, j, out):
    def convert(tile, i, j, out):
        for q in range(j, j + registers.BYTES // tile.itemsize):
            for r in range(i, i + registers.BYTES // tile.itemsize):
                out[q, r] = tile[r, q]

    return (lambda tile, i, j, out: _compiled(tile, i, j, out)) if tile.dtype == out.dtype else convert
