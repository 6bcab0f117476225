"""Substitution with a banded triangular factor, four rows and twelve columns at a time, which fit the registers."""

from typing import Any

import numpy as np
from numba.core import cgutils, types
from numba.extending import intrinsic, overload

from representer._loops.jit import STRICT, loop
from representer._loops.simd import registers
from representer._loops.simd.registers import BYTES, ROWS, VECTORS

STEP = VECTORS * BYTES // 8


def _step(L, Q, X, out, b, c):
    """X_b <- L_b^(-1) (Q - L X) for four rows and the columns from c on; out += the squares of the new rows.

    L_b is the last square block of L with its diagonal inverted, X the b rows before.
    """
    columns = slice(c, c + STEP)
    for i in range(ROWS):
        X[b + i, columns] = (Q[i, columns] - L[i, : b + i] @ X[: b + i, columns]) * L[i, b + i]
        out[columns] += X[b + i, columns] ** 2


def _in_registers(typing_context, L, Q, X, out, b, c):
    """The same in code that keeps its sums in registers, which compilers do not."""

    def code(context, builder, signature, arguments):
        *arrays, b, c = arguments
        arrays = [context.make_array(t)(context, builder, a) for t, a in zip(signature.args, arrays, strict=False)]
        L, Q, X, out = (array.data for array in arrays)
        width, columns = (cgutils.unpack_tuple(builder, array.shape)[1] for array in arrays[:2])

        def vectors(array, row):
            """Addresses of the vectors from column c on."""
            return registers.addresses(builder, builder.gep(array, [builder.add(builder.mul(row, columns), c)]))

        def entry(i, s):
            """L_is broadcast to a vector, for each vector of a row."""
            number = builder.load(builder.gep(L, [builder.add(builder.mul(c.type(i), width), s)]))
            return [registers.spread(builder, number)] * VECTORS

        def subtract(values, factors, others):
            return registers.add_product(builder, builder.fsub, values, factors, others)

        rest = [
            [cgutils.alloca_once_value(builder, x) for x in registers.load(builder, vectors(Q, c.type(i)))]
            for i in range(ROWS)
        ]
        with cgutils.for_range(builder, b) as each:
            known = registers.load(builder, vectors(X, each.index))
            for i, sums in enumerate(rest):
                left = subtract(registers.load(builder, sums), entry(i, each.index), known)
                registers.store(builder, left, sums)
        places = [builder.add(b, c.type(i)) for i in range(ROWS)]
        found: list[list] = []
        total = registers.load(builder, vectors(out, c.type(0)))
        for i, sums in enumerate(rest):
            x = registers.load(builder, sums)
            for place, known in zip(places, found, strict=False):
                x = subtract(x, entry(i, place), known)
            found.append([builder.fmul(f, v) for f, v in zip(entry(i, places[i]), x, strict=True)])
            total = registers.add_product(builder, builder.fadd, total, found[i], found[i])
            registers.store(builder, found[i], vectors(X, places[i]))
        registers.store(builder, total, vectors(out, c.type(0)))
        return context.get_dummy_value()

    return types.void(L, Q, X, out, b, c), code


_compiled: Any = intrinsic(_in_registers)


@overload(_step, jit_options={"fastmath": STRICT})
def _compiled_step(L, Q, X, out, b, c):
    if all(array.layout == "C" for array in (L, Q, X, out)):
        return lambda L, Q, X, out, b, c: _compiled(L, Q, X, out, b, c)


@loop
def column_norms(L, Q, out):
    """out_c <- |(L^(-1) Q)_c|^2 for a banded lower triangular L of b + 1 diagonals; L^(-1) Q is not stored.

    Rows of L come in groups of four that share their columns: L[i, s] is the entry of row i in column 4 (i // 4) - b +
    s, zero where that is left of the band; the diagonal is inverted. The number of rows and b are multiples of four,
    the number of columns is a multiple of twelve, and all arrays are contiguous.
    """
    n, b = L.shape[0], L.shape[1] - ROWS
    if n % ROWS or b % ROWS or Q.shape[1] % STEP or Q.shape != (n, len(out)):
        raise ValueError("the last step would not fit the arrays")
    X = np.zeros((4 * b, Q.shape[1]))
    out[:] = 0.0
    at = 0
    for i in range(0, n, ROWS):
        for c in range(0, Q.shape[1], STEP):
            _step(L[i:], Q[i:], X[at:], out, b, c)
        at += ROWS
        if at + b == len(X):
            for s in range(b):
                for c in range(Q.shape[1]):
                    X[s, c] = X[at + s, c]
            at = 0
