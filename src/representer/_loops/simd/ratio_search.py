"""The index of the largest ratio, or of an entry equal to a number, by vectors that carry their indices along.

Compilers vectorise the search for a maximum, but not for its index; a second search would take as long as the first. On
8,000 float32 entries the plain loop takes five times as long, on 8,000 float64 entries three times.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic, overload

from representer._loops.jit import STRICT, inlined_loop
from representer._loops.simd import registers

CHAINS = 2
"""Independent chains of vector comparisons."""
CHUNK = 32
"""Entries that are compared before each branch."""
FLAGS = ("nnan", "nsz", "contract")


def greatest_ratio(row, diagonal, own, g_down, low, small):
    """(j, a, b) of the greatest a / b, a = max(g_down_j - low, 0)^2, b = max(own + diagonal_j - 2 row_j, small).

    j is -1 if all of them are zero. Ratios are compared as products, which are faster than quotients.
    """
    return _one_by_one(row, diagonal, own, g_down, low, small)


@inlined_loop
def _one_by_one(row, diagonal, own, g_down, low, small):
    number = row.dtype.type
    zero, best, top, bottom = number(0.0), -1, number(0.0), number(1.0)
    for j in range(row.size):
        gain, length = max(number(g_down[j] - low), zero), max(own + diagonal[j] - row[j] - row[j], small)
        if gain * gain * bottom > top * length:
            best, top, bottom = j, gain * gain, length
    return best, top, bottom


def _by_vectors(typing_context, row, diagonal, own, g_down, low, small):
    """The same for contiguous arrays that are at least CHAINS vectors long."""

    def code(context, builder, signature, arguments):
        arrays = [context.make_array(signature.args[a])(context, builder, arguments[a]) for a in (0, 1, 3)]
        number = arrays[0].data.type.pointee
        vector = registers.vector_of(number)
        n, count, lane = cgutils.unpack_tuple(builder, arrays[0].shape)[0], vector.count, ir.IntType(32)
        own, low, small = (registers.spread(builder, arguments[a], count) for a in (2, 4, 5))
        lanes = ir.VectorType(lane, count)(list(range(count)))
        none = ir.VectorType(lane, count)([-1] * count), vector(None), vector([1.0] * count)
        chains = [[cgutils.alloca_once_value(builder, start) for start in none] for _ in range(CHAINS)]
        last = builder.sub(n, n.type(CHAINS * count))

        def at(array, j):
            """A vector of entries from j on."""
            kind = ir.VectorType(array.data.type.pointee, count)
            return builder.load(builder.bitcast(builder.gep(array.data, [j]), kind.as_pointer()), align=4)

        def candidate(j):
            gain = builder.fsub(at(arrays[2], j), low, flags=FLAGS)
            gain = gain if gain.type == vector else builder.fptrunc(gain, vector)
            gain = registers.greatest(builder, gain, vector(None))
            length = builder.fadd(own, at(arrays[1], j), flags=FLAGS)
            k = at(arrays[0], j)
            length = builder.fsub(builder.fsub(length, k, flags=FLAGS), k, flags=FLAGS)
            places = builder.add(registers.spread(builder, builder.trunc(j, lane), count), lanes)
            return places, builder.fmul(gain, gain, flags=FLAGS), registers.greatest(builder, length, small)

        def better(known, new):
            """The larger ratio of each lane, with its index."""
            left, right = (builder.fmul(x, y, flags=FLAGS) for x, y in ((new[1], known[2]), (known[1], new[2])))
            wins = builder.fcmp_ordered(">", left, right, flags=FLAGS)
            return [builder.select(wins, x, y) for x, y in zip(new, known, strict=True)]

        with cgutils.for_range_slice(builder, n.type(0), n, n.type(CHAINS * count), n.type) as (j, _):
            j = builder.select(builder.icmp_signed("<", j, last), j, last)  # the last vectors overlap those before
            for c, chain in enumerate(chains):
                known = [builder.load(place) for place in chain]
                found = better(known, candidate(builder.add(j, n.type(c * count))))
                for value, place in zip(found, chain, strict=True):
                    builder.store(value, place)
        best = [builder.load(place) for place in chains[0]]
        for chain in chains[1:]:
            best = better(best, [builder.load(place) for place in chain])
        size = count // 2
        while size:
            other = ir.VectorType(lane, count)([(q + size) % count for q in range(count)])
            best = better(best, [builder.shuffle_vector(x, x, other) for x in best])
            size //= 2
        place, top, bottom = (builder.extract_element(x, lane(0)) for x in best)
        return context.make_tuple(builder, signature.return_type, [builder.sext(place, n.type), top, bottom])

    result = types.Tuple((types.intp, row.dtype, row.dtype))
    return result(row, diagonal, own, g_down, low, small), code


_vectors: Any = intrinsic(_by_vectors)


@overload(greatest_ratio, jit_options={"fastmath": STRICT})
def _compiled_ratio(row, diagonal, own, g_down, low, small):
    shortest = CHAINS * registers.BYTES * 8 // row.dtype.bitwidth

    def search(row, diagonal, own, g_down, low, small):
        if row.size >= shortest:
            return _vectors(row, diagonal, own, g_down, low, small)
        return _one_by_one(row, diagonal, own, g_down, low, small)

    def search_apart(row, diagonal, own, g_down, low, small):
        return _one_by_one(row, diagonal, own, g_down, low, small)

    return search if all(array.layout == "C" for array in (row, diagonal, g_down)) else search_apart


def any_equal(values, i, number):
    """Whether one of the CHUNK entries from i on is equal to the number."""
    return bool(np.any(values[i : i + CHUNK] == number))


def _compared(typing_context, values, i, number):
    """The same for contiguous values."""

    def code(context, builder, signature, arguments):
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        vector = registers.vector_of(array.data.type.pointee)
        number, found = registers.spread(builder, arguments[2], vector.count), None
        first = builder.bitcast(builder.gep(array.data, [arguments[1]]), vector.as_pointer())
        for v in range(CHUNK // vector.count):
            entries = builder.load(builder.gep(first, [ir.IntType(32)(v)]), align=4)
            equal = builder.fcmp_ordered("==", entries, number)
            found = equal if found is None else builder.or_(found, equal)
        bits = builder.bitcast(found, ir.IntType(vector.count))
        return builder.icmp_unsigned("!=", bits, bits.type(0))

    return types.boolean(values, i, number), code


_equal: Any = intrinsic(_compared)


@overload(any_equal, jit_options={"fastmath": STRICT})
def _compiled_equal(values, i, number):
    if values.layout == "C":
        return lambda values, i, number: _equal(values, i, number)
    return lambda values, i, number: np.any(values[i : i + CHUNK] == number)
