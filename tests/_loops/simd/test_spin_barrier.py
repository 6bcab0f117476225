from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numba import njit

from representer._loops.simd import spin_barrier


def exchange(lines, me, turns):
    """Write a number in each turn, and sum up those of the other thread."""
    total = 0
    for turn in range(1, turns + 1):
        phase = 2 * (turn % 2)  # a line is not written again before the other thread has read it
        lines[phase + me, 1] = 10 * turn + me
        spin_barrier.meet(lines, phase + me, phase + 1 - me, turn)
        total += lines[phase + 1 - me, 1]
    return total


@pytest.mark.parametrize("work", [exchange, njit(nogil=True)(exchange)], ids=["python", "compiled"])
def test_two_threads_read_what_the_other_one_wrote_before_its_turn(work):
    turns, lines = 50, spin_barrier.new_lines(4)
    work(np.full_like(lines, 10**9), 0, 0)  # compiled before both begin
    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(work, lines, 1, turns)
        mine = work(lines, 0, turns)
    expected = 5 * turns * (turns + 1)
    assert (mine, other.result()) == (expected + turns, expected)


def test_no_spin_where_the_other_thread_is_ahead():
    lines = spin_barrier.new_lines(2)
    lines[1, 0] = 7
    assert spin_barrier.meet(lines, 0, 1, 7) == 0
    assert lines[0, 0] == 7


@pytest.mark.parametrize("count", [1, 2, 4])
def test_lines_are_empty_and_begin_where_those_of_the_cache_do(count):
    lines = spin_barrier.new_lines(count)
    assert lines.shape == (count, spin_barrier.LINE)
    assert not lines.any()
    assert lines.ctypes.data % (8 * spin_barrier.LINE) == 0
    assert lines.flags.c_contiguous
