from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numba import njit

from representer._loops import pair


def exchange(lines, me, turns):
    """Each one tells a number in each turn, and sums up what the other one told."""
    total = 0
    for turn in range(1, turns + 1):
        phase = 2 * (turn % 2)  # a line is not written again before the other one has read it
        lines[phase + me, 1] = 10 * turn + me
        pair.meet(lines, phase + me, phase + 1 - me, turn)
        total += lines[phase + 1 - me, 1]
    return total


@pytest.mark.parametrize("work", [exchange, njit(nogil=True)(exchange)], ids=["python", "compiled"])
def test_two_threads_read_what_the_other_one_wrote_before_its_turn(work):
    turns = 50 if work is exchange else 2000
    lines = pair.new_lines(4)
    work(np.full_like(lines, 10**9), 0, 0)  # compiled before both begin
    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(work, lines, 1, turns)
        mine = work(lines, 0, turns)
    expected = 5 * turns * (turns + 1)
    assert (mine, other.result()) == (expected + turns, expected)


def test_nobody_waits_for_one_who_is_ahead():
    lines = pair.new_lines(2)
    lines[1, 0] = 7
    assert pair.meet(lines, 0, 1, 7) == 0
    assert lines[0, 0] == 7


@pytest.mark.parametrize("count", [1, 2, 4])
def test_lines_are_empty_and_begin_where_those_of_the_cache_do(count):
    lines = pair.new_lines(count)
    assert lines.shape == (count, pair.LINE)
    assert not lines.any()
    assert lines.ctypes.data % (8 * pair.LINE) == 0
    assert lines.flags.c_contiguous
