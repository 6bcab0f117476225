"""Rows set aside: the last by time, whole groups, else the same shares; folds of few rows."""

import numpy as np

from representer.tables.splits import FOLDED_ROWS, random_rows, split_rows, strata_of

RNG = np.random.default_rng(0)


def test_every_row_is_judged_in_folds_and_never_seen():
    y = RNG.normal(size=103)
    split = split_rows(y, 0, order=None, groups=None)
    assert split.is_folds
    assert len(split.pairs) == 10
    assert all(len(np.intersect1d(*pair)) == 0 and len(np.union1d(*pair)) == 103 for pair in split.pairs)
    assert np.sort(np.concatenate([test for _, test in split.pairs[:5]])).tolist() == list(range(103))


def test_classes_have_their_shares():
    y = np.array(["a"] * 2000 + ["b"] * 500)
    [(train, test)] = split_rows(y, 0, order=None, groups=None).pairs
    assert (len(train), len(test)) == (2000, 500)
    assert np.sum(y[test] == "b") == 100


def test_rare_classes_are_split_at_random():
    y = np.array(["a"] * (FOLDED_ROWS + 1) + ["b"])
    assert strata_of(y) is None
    assert len(split_rows(y, 0, order=None, groups=None).pairs) == 1
    few = split_rows(y[-30:], 0, order=None, groups=None)
    assert len(few.pairs) == 10
    assert few.words.endswith("5 folds at random")


def test_the_last_rows_by_time():
    when = RNG.permutation(50)
    split = split_rows(RNG.normal(size=50), 0, order=("day", when), groups=None)
    [(train, test)] = split.pairs
    assert when[test].min() > when[train].max()
    assert len(test) == 10
    assert "'day'" in split.words


def test_groups_stay_together():
    groups = RNG.integers(0, 12, 200)
    for pair in split_rows(RNG.normal(size=200), 0, order=("day", np.arange(200)), groups=groups).pairs:
        assert not set(groups[pair[0]]) & set(groups[pair[1]])
    [(train, test)] = split_rows(RNG.normal(size=40), 0, order=None, groups=np.arange(40) % 2).pairs
    assert len(train) == len(test) == 20


def test_numbers_with_few_values():
    assert len(np.unique(strata_of(np.array([0.0] * 90 + [1.0] * 10)))) == 2
    assert np.bincount(strata_of(RNG.normal(size=100))).min() == 10


def test_random_rows_hold_each_class():
    y = np.array(["no"] * 9990 + ["yes"] * 10)
    some = random_rows(y, 300, 0)
    assert len(np.unique(some)) == 300
    assert np.sum(y[some] == "yes") == 10
    assert len(random_rows(y, 20_000, 0)) == 10_000
    many = np.repeat(np.arange(100), 100).astype(str)
    assert len(np.unique(many[random_rows(many, 250, 0)])) == 100
    numbers = random_rows(np.arange(100.0), 30, 0)
    assert numbers.tolist() == np.random.default_rng(0).permutation(100)[:30].tolist()
