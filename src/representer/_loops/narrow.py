"""Products of a tile with a few columns, four rows and three vectors at a time, as the registers hold them.

BLAS copies a tile into an order of its own before it multiplies, which pays for many columns only.
"""

from typing import Any

import numpy as np
from numba.core import cgutils, types
from numba.extending import intrinsic, overload

from representer._loops import registers
from representer._loops.jit import STRICT, loop
from representer._loops.registers import BYTES, ROWS, VECTORS


def _rows(A, i, V, sums):
    """sums <- A[i : i + 4] V, where rows of V and sums are three vectors long and contiguous."""
    sums[:] = A[i : i + ROWS] @ V


def _in_registers(typing_context, A, i, V, sums):
    """The same as code that keeps its sums in registers, as compilers do not."""

    def code(context, builder, signature, arguments):
        A, i, V, sums = arguments
        arrays = [
            context.make_array(signature.args[a])(context, builder, value) for a, value in ((0, A), (2, V), (3, sums))
        ]
        data = [array.data for array in arrays]
        number, strides = data[0].type.pointee, [cgutils.unpack_tuple(builder, array.strides) for array in arrays]
        if (layout := signature.args[0].layout) in "CF":  # a constant makes the loop a quarter faster
            strides[0][layout == "C"] = i.type(signature.args[0].dtype.bitwidth // 8)

        def at(a, row, column=None):
            """The address of an entry."""
            step = builder.mul(row, strides[a][0])
            step = step if column is None else builder.add(step, builder.mul(column, strides[a][1]))
            return cgutils.pointer_add(builder, data[a], step, data[a].type)

        zeros = registers.vector_of(number)(None)
        total = [[cgutils.alloca_once_value(builder, zeros) for _ in range(VECTORS)] for _ in range(ROWS)]
        rows = [builder.add(i, i.type(r)) for r in range(ROWS)]
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
        return context.get_dummy_value()

    return types.void(A, i, V, sums), code


_compiled: Any = intrinsic(_in_registers)


@overload(_rows, jit_options={"fastmath": STRICT})
def _compiled_rows(A, i, V, sums):
    return lambda A, i, V, sums: _compiled(A, i, V, sums)


@loop
def add_product(A, V, out):
    """out += A V for four rows or more; the sums of a row are those of A's type, ``out`` is float64.

    Columns are taken in groups as wide as three vectors; the last group is filled up with zeros.
    """
    n, wide = A.shape[0], VECTORS * BYTES // A.itemsize
    if n < ROWS or V.shape[0] != A.shape[1] or out.shape != (n, V.shape[1]):
        raise ValueError("shapes do not match")
    group, sums = np.zeros((V.shape[0], wide), V.dtype), np.empty((ROWS, wide), A.dtype)
    for c in range(0, V.shape[1], wide):
        width = min(wide, V.shape[1] - c)
        group[:, :width] = V[:, c : c + width]
        group[:, width:] = 0
        for i in range(0, n, ROWS):
            first = min(i, n - ROWS)  # the last rows come with some of those before them
            _rows(A, first, group, sums)
            for r in range(i - first, ROWS):
                target, source = out[first + r, c : c + width], sums[r]
                for k in range(width):
                    target[k] += source[k]
