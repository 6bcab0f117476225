from datetime import date

import naive
import numpy as np
import pandas as pd
import polars as pl
import pytest
from each_case import each
from scipy import sparse

from representer.kernels import Intersection, Jaccard, Normalized, Subset
from representer.kernels.sets import item_key
from representer.testing import check_kernel

KERNELS = each("kernel", [Intersection(), Subset(), Jaccard(), 2.0 * Subset() + Jaccard()])
ALL = naive.subsets("abcd")


@KERNELS
def test_all_subsets_of_a_set_of_four(kernel):
    assert len(ALL) == 16
    np.testing.assert_allclose(kernel(ALL), naive.matrix(kernel, ALL), rtol=1e-15)


@KERNELS
def test_laws(kernel):
    check_kernel(kernel, ALL)
    check_kernel(kernel, [{1, "a"}, {(1, 2)}, set(), {None, 1}, {2.5}])


@KERNELS
def test_items_that_one_side_has_not_seen(kernel):
    train, new = [{1, 2}, {2, 3}, set()], [{1, 9, 10}, {8}, set(), {1, 2, 3}]
    np.testing.assert_allclose(kernel(new, train), naive.matrix(kernel, new, train))
    np.testing.assert_allclose(kernel(train, new), naive.matrix(kernel, train, new))
    prepared = kernel.prepare(new, like=kernel.prepare(train))
    np.testing.assert_allclose(kernel.diagonal(prepared), naive.matrix(kernel, new).diagonal())


@pytest.mark.parametrize("kernel", [Intersection(), Subset(), Jaccard()], ids=repr)
def test_empty_sets_only(kernel):
    expected = 0.0 if isinstance(kernel, Intersection) else 1.0
    assert np.array_equal(kernel([set(), set()]), np.full((2, 2), expected))


def test_other_collections():
    expected = Jaccard()([{1, 2}, {2, 3}])
    for X in (
        [[1, 2, 2], [3, 2]],
        [(1, 2), (2, 3)],
        [np.array([1, 2]), np.array([3, 2])],
        [frozenset([1, 2]), {2, 3}],
        np.array([{1, 2}, {2, 3}], object),
    ):
        assert np.array_equal(Jaccard()(X), expected)


def test_too_many_common_subsets():
    assert Subset()([set(range(1000))])[0, 0] == 2.0**1000
    with pytest.raises(ValueError, match=r"Values of Subset\(\) overflow.*use another kernel"):
        Subset()([{1}, set(range(1100))])


def test_normalized_subsets_in_any_number():
    X = [set(range(1100)), set(range(1, 1101)), {1}, set()]
    K = Normalized(Subset())(X)
    assert K.diagonal().tolist() == [1.0] * 4
    assert K[0, 1:].tolist() == [0.5, 2.0 ** (1 - 1101 / 2), 2.0**-550]
    few = [{1, 2}, {2, 3}, {2}, {4}]
    np.testing.assert_allclose(Normalized(Subset())(few), naive.matrix(Normalized(Subset()), few))
    check_kernel(Normalized(Subset()), few)


BITS = [[0, 1, 1], [1, 0, 0]]


@pytest.mark.parametrize(
    "table",
    [
        np.eye(3),
        np.eye(3, dtype=int),
        sparse.csr_array(np.eye(3)),
        BITS,
        list(np.array(BITS)),
        list(np.array(BITS, bool)),
        list(np.array(BITS, object)),
        [list(row) for row in np.array(BITS)],
        np.array([*map(np.array, BITS), None], object)[:2],
        pd.Series(BITS),
        pl.Series(BITS),
    ],
)
def test_tables_are_no_sets(table):
    with pytest.raises(TypeError, match=r"Jaccard takes sets; X is a table of numbers: use Tanimoto\(\)"):
        Jaccard()(table)


def test_equal_items_are_one_item():
    items = [1, 2.5, "a", (1, "b"), frozenset([1, 2]), None, date(2020, 1, 1), -1, -2, 2**70, True, "1", b"1", (1,), ()]
    same = [1.0, np.float32(2.5), "a", (1.0, "b"), frozenset([2, 1]), None, date(2020, 1, 1), -1.0]
    assert Intersection()([set(items)], [{x} for x in same]).tolist() == [[1.0] * len(same)]
    assert Intersection()([set(items)])[0, 0] == len(set(items)) == 14
    assert item_key("carbon") == 3015260766126572957  # the same in every process
    assert Intersection().features([{"b", 3}])[1] in (["b", "3"], ["3", "b"])


def test_normalized_intersection():
    assert Normalized(Intersection())([{1, 2}, {2, 3}, set()])[0].tolist() == pytest.approx([1.0, 0.5, 0.0])


def test_no_gradients():
    assert Subset().contract([{1}, {2}], np.ones((2, 2))) == {}
    with pytest.raises(TypeError, match="Subset has no gradient with respect to its inputs"):
        Subset().input_gradient([{1}], [{2}], np.ones((1, 1)))


@pytest.mark.parametrize("kernel", [Intersection(), Subset(), Jaccard()], ids=repr)
def test_bad_inputs(kernel):
    name = type(kernel).__name__
    with pytest.raises(TypeError, match=f"{name} needs a list of sets, but one input is 'ab'; wrap it as a set"):
        kernel(["ab", "cd"])
    with pytest.raises(TypeError, match=f"{name} needs a list of sets, but one input is 1"):
        kernel({1, 2})
    with pytest.raises(ValueError, match="X is empty"):
        kernel([])
