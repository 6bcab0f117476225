import numpy as np

from representer.preimage.edits import edits_for, set_edits, string_edits, swaps


def test_strings():
    found = string_edits(["a", "b"])("ab")
    assert sorted(found) == sorted({"bb", "aa", "aab", "bab", "abb", "aba", "a", "b", "ba"})
    assert len(found) == len(set(found))
    assert sorted(string_edits(["x"])("")) == ["x"]


def test_sets():
    found = set_edits([1, 2, 3])({1, 2})
    assert sorted(map(sorted, found)) == [[1], [1, 2, 3], [1, 3], [2], [2, 3]]
    assert all(isinstance(x, frozenset) for x in set_edits([1])(frozenset()))


def test_swaps_keep_the_type():
    assert swaps((1, 2, 3)) == [(2, 1, 3), (3, 2, 1), (1, 3, 2)]
    assert swaps(["b", "a"]) == [["a", "b"]]
    (found,) = swaps(np.array([1, 2]))
    np.testing.assert_array_equal(found, [2, 1])
    assert found.dtype == int


def test_which_edits_suit():
    assert edits_for([(1, 2), (2, 1)]) is swaps
    assert edits_for([["b", "a"], ["a", "b"]]) is swaps
    assert edits_for(np.array([[1, 0], [0, 1]])) is swaps
    assert edits_for([(1, 2), (2, 3)]) is None
    assert edits_for(["a", {1}]) is None
    assert edits_for([object()]) is None
    assert set(edits_for(["ab", "c"])("")) == {"a", "b", "c"}
    assert edits_for([{1}, frozenset({2})])(set()) == [{1}, {2}]
