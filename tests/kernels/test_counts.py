import pickle
from collections import Counter

import numpy as np
import pytest
from each_case import each

from representer import Gram
from representer.kernels import (
    RBF,
    Cosine,
    HistogramIntersection,
    Jaccard,
    Laplacian,
    Linear,
    MinMax,
    Normalized,
    On,
    Polynomial,
    Spectrum,
    Tanimoto,
)
from representer.kernels.counts import Counted, Counts
from representer.testing import check_gram, check_kernel

STRINGS = ["abab", "abc", "", "bcbca", "aaaa", "abba", "cab"]


class Tags(Counts):
    """Tags of a post with how often they were given; those in capitals are of level one."""

    def __init__(self, weights=None, compare=None):
        self.weights, self.compare = weights, compare

    @property
    def n_levels(self):
        return 2

    def count(self, X):
        tags = [(i, tag, times) for i, x in enumerate(X) for tag, times in x.items()]
        keys = [int.from_bytes(tag.encode(), "little") for _, tag, _ in tags]
        owner, amount = (np.array([tag[part] for tag in tags]) for part in (0, 2))
        return Counted(owner, np.array(keys, np.uint64), amount, np.array([tag.isupper() for _, tag, _ in tags], int))


POSTS = [{"a": 2.0, "B": 1.0}, {"a": 1.0, "c": 3.0}, {"B": 4.0, "D": 0.5}, {"c": 1.0}]


def table(posts):
    tags = sorted({tag for post in posts for tag in post})
    return np.array([[post.get(tag, 0.0) for tag in tags] for post in posts]), np.array([t.isupper() for t in tags])


@each("compare", [None, Linear(2.0), HistogramIntersection(), RBF(1.5), Polynomial(2), Cosine()])
@each("weights", [None, [0.25, 2.0], [1.0, 0.0]])
def test_equal_to_a_table_of_counts(compare, weights):
    """Of which each column is multiplied by the weight of its level, or by the root of it."""
    rows, level = table(POSTS)
    factors = np.ones(2) if weights is None else np.array(weights)
    root = 1.0 if isinstance(compare, HistogramIntersection) else 0.5
    rows = rows * factors[level.astype(int)] ** root
    kernel = Tags(weights, compare)
    np.testing.assert_allclose(kernel(POSTS), (compare or Linear())(rows), rtol=1e-14, atol=1e-15)
    np.testing.assert_allclose(kernel(POSTS[:2], POSTS[1:]), (compare or Linear())(rows[:2], rows[1:]), atol=1e-14)


@pytest.mark.parametrize(
    "kernel",
    [
        Tags([0.5, 2.0]),
        Tags([0.5, 2.0], RBF(2.0)),
        Tags([1.0, 0.3], HistogramIntersection()),
        Tags([1.0, 2.0], Polynomial(2)),
        Tags([0.7, 2.0], Tanimoto()),
        Tags([0.7, 2.0], MinMax()),
        Tags([0.7, 2.0], Cosine()),
    ],
    ids=repr,
)
def test_laws_and_gradients_of_weights(kernel):
    check_kernel(kernel, POSTS)
    assert kernel.contract(POSTS, np.ones((4, 4)))["weights"].shape == (2,)


def test_gradient_at_weight_zero():
    """A level that does not count yet may be worth counting."""
    gradient = Tags([1.0, 0.0]).contract(POSTS, np.ones((4, 4)))["weights"]
    rows, level = table(POSTS)
    assert gradient.tolist() == [(rows[:, level == part].sum(axis=0) ** 2).sum() for part in (False, True)]


def test_inputs_are_prepared_one_by_one():
    """Keys do not depend on other inputs, so slices of a whole are what their inputs alone are."""
    kernel, many = Spectrum(2), STRINGS * 30
    whole = kernel.prepare(many)
    parts = [kernel.prepare(many[i : i + 50]) for i in range(0, len(many), 50)]
    tiles = [[Gram.of(kernel, a, b).dense() for b in parts] for a in parts]
    assert np.array_equal(np.block(tiles), kernel(many))
    mixed = Gram.of(kernel, parts[0], whole).dense()
    assert np.array_equal(mixed, kernel(many)[:50])
    assert kernel.rowwise


def test_prepared_inputs_can_be_pickled():
    kernel = Spectrum(2)
    A = pickle.loads(pickle.dumps(kernel.prepare(STRINGS)))
    assert np.array_equal(Gram.of(kernel, A, kernel.prepare(STRINGS)).dense(), kernel(STRINGS))


def test_features_and_their_names():
    kernel = Spectrum(2, weights=[4.0, 1.0])
    values, names = kernel.features(STRINGS)
    assert np.array_equal(values @ values.T.toarray(), kernel(STRINGS))
    assert set(names) == {*"abc", "ab", "ba", "bc", "cb", "ca", "aa", "bb"}
    counts = dict(zip(names, values.toarray()[0], strict=True))
    assert {name: value for name, value in counts.items() if value} == {"a": 4.0, "b": 4.0, "ab": 2.0, "ba": 1.0}
    assert Tags().features(POSTS)[1][0] == f"{ord('B'):016x}"


def test_features_that_the_other_side_has_never_seen():
    kernel = Normalized(Spectrum(1))
    assert kernel(["abcd"], ["a"])[0, 0] == 0.5


def test_scales_of_the_comparison_come_from_the_counts():
    kernel = Spectrum(1, compare=RBF()).with_default_scales(STRINGS)
    counts = np.array([[Counter(s)[letter] for letter in "abc"] for s in STRINGS], float)
    assert kernel.compare.length_scale == pytest.approx(np.sqrt(counts.var(axis=0).sum()))
    check_gram(kernel, STRINGS)


@pytest.mark.parametrize("compare", [Laplacian(), RBF([1.0, 2.0]), Spectrum()])
def test_kernels_that_do_not_compare_counts(compare):
    with pytest.raises(ValueError, match="counts are compared by Linear"):
        Spectrum(2, compare=compare)(STRINGS)
    with pytest.raises(TypeError, match="is not a kernel"):
        Spectrum(2, compare="linear")(STRINGS)


@pytest.mark.parametrize("weights", [1.0, [1.0], [1.0, -1.0], [1.0, np.nan], "ab"])
def test_bad_weights(weights):
    with pytest.raises(ValueError, match="Tags needs 2 numbers, none negative"):
        Tags(weights)(POSTS)


@pytest.mark.parametrize(
    "kernel",
    [
        Spectrum(2, weights=[0.5, 2.0]),
        Spectrum(1, compare=Linear(2.0)),
        Normalized(Spectrum(2)) + 3.0 * Spectrum(1),
        On(Spectrum(2), 0),
    ],
    ids=repr,
)
def test_values_of_functions_without_kernel_values(kernel):
    """sum_i c_i k(x_i, y) from sum_i c_i phi(x_i), also for y with features that no x_i has."""
    new, C = ["abx", "", "xyz", "cab"], np.random.default_rng(0).normal(size=(2, len(STRINGS)))
    column = (lambda X: np.array(X)[:, None]) if isinstance(kernel, On) else list
    A = kernel.prepare(column(STRINGS))
    form = kernel.features.linear_form(A, C)
    np.testing.assert_allclose(form(kernel.prepare(column(new), like=A)), C @ kernel(column(STRINGS), column(new)))


@pytest.mark.parametrize(
    ("kernel", "X"),
    [
        (Spectrum(2, compare=RBF(1.0)), STRINGS),
        (Spectrum(1) + Spectrum(1, compare=RBF(1.0)), STRINGS),
        (Jaccard(), [{1}, {2}]),
        (RBF(), np.eye(2)),
    ],
    ids=repr,
)
def test_functions_that_are_not_linear_in_counts(kernel, X):
    assert kernel.features.linear_form(kernel.prepare(X), np.ones((1, len(X)))) is None
