"""Recurrences along sixteen interleaved strings at a time, with the decaying sums in registers.

Compilers keep these in memory, and convert the comparison of letters to numbers, which takes longer than all else.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic, overload

from representer._loops.alignment import LANES
from representer._loops.jit import STRICT
from representer._loops.simd import registers


def advance(x, i, y, before, row, decay):
    """r <- [x_i = y_t] before_t + decay r and row_(t+1) <- r + decay row_(t+1) for t = 0, 1, ..., for each lane."""
    r = np.zeros(LANES)
    for t in range(len(y) // LANES):
        here, there = slice(t * LANES, (t + 1) * LANES), slice((t + 1) * LANES, (t + 2) * LANES)
        r = np.where(x[i * LANES : (i + 1) * LANES] == y[here], before[here], 0.0) + decay * r
        row[there] = r + decay * row[there]


def add_matches(x, i, y, before, out):
    """out += sum_t [x_i = y_t] before_t, for each lane."""
    for t in range(len(y) // LANES):
        here = slice(t * LANES, (t + 1) * LANES)
        out += np.where(x[i * LANES : (i + 1) * LANES] == y[here], before[here], 0.0)


def _vectors(builder, array, first):
    """Addresses and values of the vectors of sixteen lanes from an index on."""
    place = builder.gep(array.data, [first])
    count = registers.BYTES // 8
    place = builder.bitcast(place, ir.VectorType(place.type.pointee, count).as_pointer())
    places = [builder.gep(place, [first.type(v)]) for v in range(LANES // count)]
    return places, registers.load(builder, places)


def _walk(context, builder, arrays, i, start, visit):
    """Fold r <- visit(index of the first lane, r, [x_i = y_t] before_t) over t, from ``start``; returns the last r."""
    x, y, before = arrays
    zeros, lanes = start[0].type(None), i.type(LANES)
    letters = _vectors(builder, x, builder.mul(i, lanes))[1]
    held = [cgutils.alloca_once_value(builder, vector) for vector in start]
    steps = builder.sdiv(cgutils.unpack_tuple(builder, y.shape)[0], lanes)
    with cgutils.for_range(builder, steps) as each:
        first = builder.mul(each.index, lanes)
        same = [builder.icmp_signed("==", a, b) for a, b in zip(letters, _vectors(builder, y, first)[1], strict=True)]
        values = _vectors(builder, before, first)[1]
        matched = [builder.select(s, b, zeros) for s, b in zip(same, values, strict=True)]
        registers.store(builder, visit(first, registers.load(builder, held), matched), held)
    return registers.load(builder, held)


def _arrays(context, builder, signature, arguments, which):
    return [context.make_array(signature.args[a])(context, builder, arguments[a]) for a in which]


def _advance(typing_context, x, i, y, before, row, decay):
    def code(context, builder, signature, arguments):
        *inputs, row = _arrays(context, builder, signature, arguments, (0, 2, 3, 4))
        number = registers.vector_of(ir.DoubleType())
        factors = [registers.spread(builder, arguments[5])] * (LANES // number.count)

        def visit(first, r, matched):
            places, old = _vectors(builder, row, builder.add(first, first.type(LANES)))
            r = registers.add_product(builder, builder.fadd, matched, factors, r)
            registers.store(builder, registers.add_product(builder, builder.fadd, r, factors, old), places)
            return r

        _walk(context, builder, inputs, arguments[1], [number(None)] * len(factors), visit)
        return context.get_dummy_value()

    return types.void(x, i, y, before, row, decay), code


def _add_matches(typing_context, x, i, y, before, out):
    def code(context, builder, signature, arguments):
        *inputs, out = _arrays(context, builder, signature, arguments, (0, 2, 3, 4))
        places, sums = _vectors(builder, out, arguments[1].type(0))

        def visit(first, r, matched):
            return [builder.fadd(a, b) for a, b in zip(r, matched, strict=True)]

        registers.store(builder, _walk(context, builder, inputs, arguments[1], sums, visit), places)
        return context.get_dummy_value()

    return types.void(x, i, y, before, out), code


_advance_compiled: Any = intrinsic(_advance)
_add_matches_compiled: Any = intrinsic(_add_matches)


@overload(advance, jit_options={"fastmath": STRICT})
def _compiled_advance(x, i, y, before, row, decay):
    return lambda x, i, y, before, row, decay: _advance_compiled(x, i, y, before, row, decay)


@overload(add_matches, jit_options={"fastmath": STRICT})
def _compiled_matches(x, i, y, before, out):
    return lambda x, i, y, before, out: _add_matches_compiled(x, i, y, before, out)
