"""Substitution with a banded triangular factor, four rows and twelve columns at a time, as the registers hold them."""

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic, overload

from representer._loops.jit import STRICT, loop

ROWS, VECTORS, LANES = 4, 3, 4
"""Sums of a step: rows, vectors in a row and numbers in a vector. Twelve vectors keep two units of additions busy."""
STEP = VECTORS * LANES


def _step(L, Q, X, out, b, c):
    """X_b <- L_b^(-1) (Q - L X) for four rows and the columns from c on; out += the squares of the new rows.

    L_b is the last square of L with its diagonal inverted, X the b rows before.
    """
    columns = slice(c, c + STEP)
    for i in range(ROWS):
        X[b + i, columns] = (Q[i, columns] - L[i, : b + i] @ X[: b + i, columns]) * L[i, b + i]
        out[columns] += X[b + i, columns] ** 2


def _elimination():
    """The same as code that keeps its sums in registers, as compilers do not."""
    vector, lane, fused = ir.VectorType(ir.DoubleType(), LANES), ir.IntType(32), ("contract",)

    @intrinsic
    def step(typing_context, L, Q, X, out, b, c):
        def code(context, builder, signature, arguments):
            *arrays, b, c = arguments
            arrays = [context.make_array(t)(context, builder, a) for t, a in zip(signature.args, arrays, strict=False)]
            L, Q, X, out = (array.data for array in arrays)
            width, columns = (cgutils.unpack_tuple(builder, array.shape)[1] for array in arrays[:2])

            def vectors(array, row):
                """Addresses of the vectors from column c on."""
                first = builder.gep(array, [builder.add(builder.mul(row, columns), c)])
                first = builder.bitcast(first, vector.as_pointer())
                return [builder.gep(first, [c.type(v)]) for v in range(VECTORS)]

            def load(addresses):
                return [builder.load(address, align=8) for address in addresses]

            def store(values, addresses):
                for value, address in zip(values, addresses, strict=True):
                    builder.store(value, address, align=8)

            def entry(i, s):
                """L_is as a vector."""
                number = builder.load(builder.gep(L, [builder.add(builder.mul(c.type(i), width), s)]))
                first = builder.insert_element(vector(ir.Undefined), number, lane(0))
                return builder.shuffle_vector(first, first, ir.VectorType(lane, LANES)(None))

            def add_product(add, sums, factors, others):
                products = [builder.fmul(f, x, flags=fused) for f, x in zip(factors, others, strict=True)]
                return [add(a, p, flags=fused) for a, p in zip(sums, products, strict=True)]

            rest = [[cgutils.alloca_once_value(builder, x) for x in load(vectors(Q, c.type(i)))] for i in range(ROWS)]
            with cgutils.for_range(builder, b) as each:
                known = load(vectors(X, each.index))
                for i, sums in enumerate(rest):
                    factors = [entry(i, each.index)] * VECTORS
                    store(add_product(builder.fsub, load(sums), factors, known), sums)
            places = [builder.add(b, c.type(i)) for i in range(ROWS)]
            found: list[list[ir.Value]] = []
            total = load(vectors(out, c.type(0)))
            for i, sums in enumerate(rest):
                x = load(sums)
                for place, known in zip(places, found, strict=False):
                    x = add_product(builder.fsub, x, [entry(i, place)] * VECTORS, known)
                found.append([builder.fmul(entry(i, places[i]), v) for v in x])
                total = add_product(builder.fadd, total, found[i], found[i])
                store(found[i], vectors(X, places[i]))
            store(total, vectors(out, c.type(0)))
            return context.get_dummy_value()

        return types.void(L, Q, X, out, b, c), code

    return step


_compiled = _elimination()


@overload(_step, jit_options={"fastmath": STRICT})
def _compiled_step(L, Q, X, out, b, c):
    if all(array.layout == "C" for array in (L, Q, X, out)):
        return lambda L, Q, X, out, b, c: _compiled(L, Q, X, out, b, c)


@loop
def column_norms(L, Q, out):
    """out_c <- |(L^(-1) Q)_c|^2 for a banded lower triangular L of b + 1 diagonals; L^(-1) Q is not stored.

    Rows of L come in groups of four that share their columns: L[i, s] is the entry of row i in column
    4 (i // 4) - b + s, zero where that is left of the band; the diagonal is inverted. The number of rows and b are
    multiples of four, the number of columns is one of twelve, and all arrays are contiguous.
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
            X[:b] = X[at:]
            at = 0
