import naive
import numpy as np
import pytest

from representer.kernels import Intersection, Jaccard, Normalized, Subset
from representer.testing import check_kernel

KERNELS = pytest.mark.parametrize("kernel", [Intersection(), Subset(), Jaccard(), 2.0 * Subset() + Jaccard()], ids=repr)
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
