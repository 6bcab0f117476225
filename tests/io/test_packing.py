"""Sorts keep apart what one array cannot hold, and parts that do not fit are refused."""

import numpy as np
import pytest
from each_case import each

from representer.io.packing import bounds, merged, sort_of

ALONE = [True, 1, 1.0, "a", (), [], np.float64(1), np.float32(1), np.str_("a"), np.ones(2), np.ones((2, 3)), 2**63]


def test_values_of_other_types_are_of_other_sorts():
    assert len({sort_of(value) for value in ALONE}) == len(ALONE)
    assert sort_of(None) == sort_of("a")
    assert sort_of(np.ones((5, 3))) == sort_of(np.ones((2, 3)))


def test_parts_come_back():
    assert list(bounds(np.array([2, 2, 5]), 5)) == [(0, 2), (2, 2), (2, 5)]
    assert list(bounds(np.array([], int), 0)) == []
    assert merged([["a", "b"], [1]], np.array([0, 1, 0])) == ["a", 1, "b"]


@each("ends", [[2, 1, 5], [2, 4], [-1, 5], []])
def test_ends_that_do_not_fit(ends):
    with pytest.raises(ValueError, match="their ends"):
        bounds(np.array(ends, int), 5)


@each("order", [[0, 0], [0, 1, 1], [0, 1, 2], [0, 1, 0, 0]])
def test_orders_that_do_not_fit(order):
    with pytest.raises(ValueError, match="their order"):
        merged([["a", "b"], [1]], np.array(order))
