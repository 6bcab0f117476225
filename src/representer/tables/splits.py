"""The rows on which a model is judged, set aside before anything is looked at."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.model_selection import GroupKFold, GroupShuffleSplit, KFold, StratifiedKFold, StratifiedShuffleSplit

ASIDE = 0.2
"""Fraction of the rows that are set aside."""
FOLDS, REPETITIONS = 5, 2
FOLDED_ROWS = 2000
"""Rows below which repeated folds are used, as a single set of rows set aside would be too small."""
OF_EACH_CLASS = 10
"""Rows of each class in a random sample, if there are as many."""
BINS = 10
"""Number of bins of numeric targets for a stratified split."""


@dataclass(frozen=True)
class Split:
    """Pairs of training and test rows, and a description of the split."""

    pairs: list[tuple[np.ndarray, np.ndarray]]
    words: str
    time: str = ""
    """The column of dates by which the last rows were set aside."""

    @property
    def is_folds(self) -> bool:
        """Whether there is more than one pair."""
        return len(self.pairs) > 1


def split_rows(y: np.ndarray, seed: int, *, order: tuple[str, np.ndarray] | None, groups: np.ndarray | None) -> Split:
    """The last rows by time, whole groups, or a stratified split; folds where there are few rows.

    Parameters
    ----------
    y : array
        Words for classes, else numbers.
    seed : int
    order : name of a column of dates and its values, optional
    groups : array, optional
    """
    n = len(y)
    if groups is not None:
        return _by_group(y, groups, seed)
    if order is not None:
        places = np.argsort(order[1], kind="stable")
        cut = n - max(1, round(ASIDE * n))
        pair = np.sort(places[:cut]), np.sort(places[cut:])
        words = f"the last {len(pair[1]):,} rows by {order[0]!r} were set aside, as a model meets later rows"
        return Split([pair], words, order[0])
    strata = strata_of(y)
    how = "with the same share of each class" if y.dtype.kind in "OU" else "with the same distribution of the target"
    if n >= FOLDED_ROWS:
        maker = StratifiedShuffleSplit if strata is not None else None
        if maker is None:
            places = np.random.default_rng(seed).permutation(n)
            cut = round(ASIDE * n)
            return Split([(np.sort(places[cut:]), np.sort(places[:cut]))], f"{cut:,} rows were set aside at random")
        train, test = next(maker(1, test_size=ASIDE, random_state=seed).split(np.empty(n), strata))
        return Split([(np.sort(train), np.sort(test))], f"{len(test):,} rows were set aside at random, {how}")
    pairs = []
    for repetition in range(REPETITIONS):
        if strata is None:
            folds = KFold(FOLDS, shuffle=True, random_state=seed + repetition).split(np.empty(n))
        else:
            folds = StratifiedKFold(FOLDS, shuffle=True, random_state=seed + repetition).split(np.empty(n), strata)
        pairs += list(folds)
    how = how if strata is not None else "at random"
    return Split(pairs, f"each row is set aside {REPETITIONS} times, in {FOLDS} folds {how}")


def _by_group(y: np.ndarray, groups: np.ndarray, seed: int) -> Split:
    n, count = len(y), len(np.unique(groups))
    if n >= FOLDED_ROWS or count < FOLDS:
        train, test = next(GroupShuffleSplit(1, test_size=ASIDE, random_state=seed).split(np.empty(n), y, groups))
        return Split(
            [(train, test)], f"{len(np.unique(groups[test])):,} whole groups were set aside, {len(test):,} rows"
        )
    pairs = list(GroupKFold(FOLDS).split(np.empty(n), y, groups))
    return Split(pairs, f"whole groups are set aside in {FOLDS} folds")


def random_rows(y: np.ndarray, count: int, seed: int) -> np.ndarray:
    """Some row numbers in random order; of classes, which are words, at least `OF_EACH_CLASS` rows if there are.

    The rows of rare classes are not random: a sample without a class says nothing about it, and most fits refuse it.
    """
    order = np.random.default_rng(seed).permutation(len(y))
    if y.dtype.kind not in "OU" or count >= len(y):
        return order[:count]
    classes, codes = np.unique(y[order], return_inverse=True)
    of_each = min(OF_EACH_CLASS, max(1, count // len(classes)))
    first = np.concatenate([np.flatnonzero(codes == code)[:of_each] for code in range(len(classes))])
    rest = np.setdiff1d(np.arange(len(order)), first)[: max(count - len(first), 0)]
    return order[np.sort(np.concatenate([first, rest]))]


def strata_of(y: np.ndarray) -> np.ndarray | None:
    """Strata: classes, or bins of numbers; None where one has too few rows for that."""
    if y.dtype.kind in "OU":
        strata = np.unique(y, return_inverse=True)[1]
    else:
        strata = np.searchsorted(np.quantile(y, np.linspace(0.0, 1.0, BINS + 1)[1:-1]), y)
        if np.bincount(strata).min() < FOLDS:
            strata = np.searchsorted([np.median(y)], y)
    return strata if np.bincount(strata)[np.unique(strata)].min() >= FOLDS else None
