"""Targets of rows: the same facts as from arrays, and errors in one sentence."""

import numpy as np
import pytest
from each_case import each

from representer import KernelLogisticRegression, KernelPoissonRegression, KernelRidge, Nystroem, rows
from representer.estimators.row_targets import coded, counts, labels, numbers, untargeted
from representer.kernels import RBF

X = np.random.default_rng(0).normal(size=(90, 2))
MODEL = KernelLogisticRegression()


def targets_of(found):
    return np.concatenate([y for _, y, _ in found.blocks()])


def test_classes_and_their_weights():
    words, w = np.repeat(["b", "a", "c"], [50, 30, 10]), np.ones(90)
    found = labels(MODEL, rows(X, target=words, weight=w), None, None, "balanced")
    assert list(MODEL.classes_) == ["a", "b", "c"]
    np.testing.assert_array_equal(found.sizes, [30, 50, 10])
    np.testing.assert_allclose(found.factors, [1.0, 0.6, 3.0])  # 90 / (3 n_c)
    np.testing.assert_array_equal(targets_of(found.places()), np.searchsorted(["a", "b", "c"], words))
    assert [len(pair) for pair in found.pairs()] == [80, 40, 60]
    first = targets_of(found.pairs()[0])
    assert np.all(first == np.where(words[words != "c"] == "a", 1.0, -1.0))
    two = labels(MODEL, rows(X, target=words == "a"), None, None)
    np.testing.assert_array_equal(targets_of(two.pairs()[0]), np.where(words == "a", 1.0, -1.0))


def test_numbers_as_a_loss_needs_them():
    y = np.arange(90.0)
    np.testing.assert_array_equal(targets_of(coded(MODEL, rows(X, target=y), None, None, "real")), y)
    np.testing.assert_array_equal(targets_of(coded(MODEL, rows(X, target=y), None, None, "counts")), y)
    np.testing.assert_array_equal(targets_of(coded(MODEL, rows(X, target=y % 3), None, None, "classes")), y % 3)
    np.testing.assert_array_equal(targets_of(coded(MODEL, rows(X, target=y < 40), None, None, "signs"))[0], 1.0)
    np.testing.assert_array_equal(targets_of(untargeted(MODEL, rows(X), None, None)), np.zeros(90))


@each(
    ("check", "data", "message"),
    [
        (numbers, rows(X), "The rows have no targets; use rows"),
        (numbers, rows(X, target=np.repeat("a", 90)), "are text, but KernelLogisticRegression needs numbers"),
        (numbers, rows(X, target=np.ones((90, 2))), "has one target, but the rows have 2"),
        (counts, rows(X, target=np.arange(90.0) - 9.0), "In the rows 0 to 89 .* counts are zero or positive"),
        (counts, rows(X, target=np.zeros(90)), "All counts are zero"),
        (labels, rows(X, target=np.ones(90)), "only one class, 1.0"),
        (labels, rows(X, target=X[:, 0]), "continuous"),
        (labels, rows(X, target=np.ones((90, 2))), "several targets"),
        (labels, rows(X, target=np.arange(90) % 2, weight=np.arange(90) % 2), "class 0 have weight zero"),
    ],
)
def test_what_is_wrong_with_targets(check, data, message):
    with pytest.raises(ValueError, match=message):
        check(MODEL, data, None, None)


def test_rows_bring_their_own_targets():
    span = Nystroem(RBF(1.0), 5)
    for model in (KernelRidge(kernel=span), KernelPoissonRegression(kernel=span)):
        with pytest.raises(ValueError, match="contain their own targets"):
            model.fit(rows(X, target=np.ones(90)), np.ones(90))
    with pytest.raises(ValueError, match="Only binary classification"):
        coded(MODEL, rows(X, target=np.arange(90) % 3), None, None, "signs")
