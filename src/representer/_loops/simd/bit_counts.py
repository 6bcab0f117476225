"""The number of ones among the bits of a word, in a form that compilers turn into vector instructions.

Numba has no population count; counting in parallel by shifts and masks takes several times as many instructions.
"""

from typing import Any

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic, overload


def _intrinsic_count(typing_context, word):
    def code(context, builder, signature, arguments):
        number = arguments[0].type
        count = builder.module.declare_intrinsic("llvm.ctpop", [number], ir.FunctionType(number, [number]))
        return builder.call(count, arguments)

    return word(word), code


_population_count: Any = intrinsic(_intrinsic_count)


def ones(word):
    """The number of ones among the bits of an unsigned integer, of the same type, for use inside loops."""
    return type(word)(int(word).bit_count())


@overload(ones)
def _compiled_ones(word):
    if isinstance(word, types.Integer):
        return lambda word: _population_count(word)
