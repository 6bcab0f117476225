"""A spin barrier for two threads that work on the halves of one loop and meet every few microseconds.

An operating-system lock would take longer than their work. So each thread writes its results, and then its turn, to a
cache line that only it writes, and spins on the other thread's turn until that is reached.
"""

from time import sleep
from typing import Any

import numpy as np
from numba.core import types
from numba.extending import intrinsic, overload

from representer._loops.jit import STRICT

LINE = 16
"""Numbers per line, the first of which is the turn: two cache lines, as the hardware prefetches pairs."""


def new_lines(count):
    """``count`` lines, each in its own cache lines."""
    memory = np.zeros((count + 1) * LINE, np.int64)
    start = -(memory.ctypes.data // memory.itemsize) % LINE
    return memory[start : start + count * LINE].reshape(count, LINE)


def meet(lines, mine, other, turn):
    """Write this turn to my line, and spin until the other line has it, too; returns the number of spins."""
    lines[mine, 0] = turn
    spins = 0
    while lines[other, 0] < turn:
        spins += 1
        sleep(0)  # interpreted code runs one thread at a time
    return spins


def _turn_of(context, builder, signature, arguments):
    """The address of a line's turn."""
    array = context.make_array(signature.args[0])(context, builder, arguments[0])
    return builder.gep(array.data, [builder.mul(arguments[1], arguments[1].type(LINE))])


def _stored(typing_context, lines, mine, turn):
    """lines[mine, 0] <- turn, ordered after all earlier writes."""

    def code(context, builder, signature, arguments):
        builder.store_atomic(arguments[2], _turn_of(context, builder, signature, arguments), "release", 8)
        return context.get_dummy_value()

    return types.void(lines, types.intp, types.int64), code


def _loaded(typing_context, lines, other):
    """lines[other, 0], ordered before all later reads."""

    def code(context, builder, signature, arguments):
        return builder.load_atomic(_turn_of(context, builder, signature, arguments), "acquire", 8)

    return types.int64(lines, types.intp), code


_store: Any = intrinsic(_stored)
_load: Any = intrinsic(_loaded)


@overload(meet, jit_options={"fastmath": STRICT})
def _compiled_meet(lines, mine, other, turn):
    def wait(lines, mine, other, turn):
        _store(lines, mine, turn)
        spins = 0
        while _load(lines, other) < turn:
            spins += 1
        return spins

    return wait
