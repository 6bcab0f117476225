"""Products of a tile with a few columns, four rows and three vectors at a time, which fit the registers.

BLAS packs a tile before it multiplies, which pays only for many columns.
"""

from typing import Any

import numpy as np
from numba.core import cgutils, types
from numba.extending import intrinsic, overload

from representer._loops.jit import STRICT, loop
from representer._loops.simd import registers
from representer._loops.simd.registers import BYTES, ROWS, VECTORS

SLICE = 512
"""Columns of a matrix that are multiplied from both sides before the next ones are read."""


def multiply_rows(A, i, V, sums):
    """sums <- A[i : i + 4] V, where each row of V and of sums is contiguous and three vectors long."""
    sums[:] = A[i : i + ROWS] @ V


def _in_registers(typing_context, A, i, V, sums):
    """The same in code that keeps its sums in registers, which compilers do not."""

    def code(context, builder, signature, arguments):
        A, i, V, sums = arguments
        arrays = [
            context.make_array(signature.args[a])(context, builder, value) for a, value in ((0, A), (2, V), (3, sums))
        ]
        data = [array.data for array in arrays]
        number, strides = data[0].type.pointee, [cgutils.unpack_tuple(builder, array.strides) for array in arrays]
        rows = [builder.add(i, i.type(r)) for r in range(ROWS)]

        def at(a, row, column=None):
            """The address of an entry."""
            step = builder.mul(row, strides[a][0])
            step = step if column is None else builder.add(step, builder.mul(column, strides[a][1]))
            return cgutils.pointer_add(builder, data[a], step, data[a].type)

        def multiply():
            zeros = registers.vector_of(number)(None)
            total = [[cgutils.alloca_once_value(builder, zeros) for _ in range(VECTORS)] for _ in range(ROWS)]
            with cgutils.for_range(builder, cgutils.unpack_tuple(builder, arrays[0].shape)[1]) as each:
                others = registers.load(builder, registers.addresses(builder, at(1, each.index)))
                for row, places in zip(rows, total, strict=True):
                    factors = [registers.spread(builder, builder.load(at(0, row, each.index)))] * VECTORS
                    known = registers.load(builder, places)
                    known = registers.add_product(builder, builder.fadd, known, factors, others)
                    registers.store(builder, known, places)
            for r, places in enumerate(total):
                found = registers.load(builder, places)
                registers.store(builder, found, registers.addresses(builder, at(2, i.type(r))))

        # a stride known at compile time makes the loop a quarter faster
        (across, along), unit = strides[0], i.type(signature.args[0].dtype.bitwidth // 8)
        with builder.if_else(builder.icmp_signed("==", along, unit)) as (by_rows, by_columns):
            with by_rows:
                strides[0] = [across, unit]
                multiply()
            with by_columns:
                strides[0] = [unit, along]
                multiply()
        return context.get_dummy_value()

    return types.void(A, i, V, sums), code


_compiled: Any = intrinsic(_in_registers)


@overload(multiply_rows, jit_options={"fastmath": STRICT})
def _compiled_rows(A, i, V, sums):
    return lambda A, i, V, sums: _compiled(A, i, V, sums)


@loop
def add_product(A, V, out):
    """out += A V; rows are summed in A's precision, ``out`` is float64.

    Rows or columns of A are contiguous. Columns of V are taken in groups as wide as three vectors; the last group is
    padded with zeros.
    """
    n, wide = A.shape[0], VECTORS * BYTES // A.itemsize
    if V.shape[0] != A.shape[1] or out.shape[0] != n or out.shape[1] != V.shape[1]:
        raise ValueError("shapes do not match")
    if A.strides[0] != A.itemsize and A.strides[1] != A.itemsize:
        raise ValueError("rows or columns have to be contiguous")
    if n < ROWS:
        for i, k in np.ndindex(A.shape):
            for q in range(V.shape[1]):
                out[i, q] += A[i, k] * V[k, q]
        return
    group, sums = np.empty((V.shape[0], wide), V.dtype), np.empty((ROWS, wide), A.dtype)
    for c in range(0, V.shape[1], wide):
        width = min(wide, V.shape[1] - c)
        for k in range(V.shape[0]):
            for q in range(wide):
                group[k, q] = V[k, c + q] if q < width else 0
        for i in range(0, n, ROWS):
            first = min(i, n - ROWS)  # the last rows overlap those before them
            multiply_rows(A, first, group, sums)
            for r in range(i - first, ROWS):
                for q in range(width):
                    out[first + r, c + q] += sums[r, q]


@loop
def add_symmetric(A, V, out, head, size, first, step):
    """out += A V for some row blocks of a symmetric A, and for the mirrored column blocks.

    A is cut into row blocks 0 : head, head : head + size, ... For each block, its diagonal square and the columns right
    of it are read. Blocks first, first + step, ... are multiplied, so that the sum over first = 0, ..., step - 1 is
    A V.
    """
    n = A.shape[0]
    for stop in range(head + first * size, n + size, step * size):
        rows = slice(max(stop - size, 0), min(stop, n))
        add_product(A[rows, rows], V[rows], out[rows])
        for j in range(rows.stop, n, SLICE):
            others = slice(j, min(j + SLICE, n))
            part = A[rows, others]
            add_product(part, V[others], out[rows])
            add_product(part.T, V[rows], out[others])
