"""Kernels of finite sets, given as a list of sets (or other collections) of hashable items."""

from __future__ import annotations

import pickle
from hashlib import blake2b
from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse

from representer.kernels import checks
from representer.kernels.base import Gradients, Kernel
from representer.kernels.counts import Counted, Counts, Tallied
from representer.kernels.labels import key_of


class SetKernel:
    """Mixin of set kernels, besides `Counts`: k(A, B) from the sizes |A|, |B| and |A & B|.

    A set kernel turns a tile of |A & B| into values, and inherits from both: ``class Overlap(SetKernel, Counts)``.
    Items are compared by value: numbers, strings, tuples and frozen sets as in Python, others by their contents.
    """

    def values(self, common: np.ndarray, a: np.ndarray, b: np.ndarray) -> None:
        """common <- k, in place; a and b are the sizes and broadcast against it."""
        raise NotImplementedError

    def _sets(self, X: Any) -> list[frozenset]:
        name = type(self).__name__
        table = isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "biuf"
        rows = [] if table or sparse.issparse(X) else checks.objects(X, name)
        if not rows or _are_bits(rows):
            raise TypeError(
                f"{name} takes sets; X is a table of numbers: use Tanimoto(), or "
                "[set(np.flatnonzero(row)) for row in X] for the sets of columns that are not zero."
            )
        return [self._to_set(x) for x in rows]

    def count(self, X: Any) -> Counted:
        sets, known = self._sets(X), {}
        for x in sets:
            for item in x:
                if item not in known:
                    known[item] = item_key(item)
        keys = np.array([known[item] for x in sets for item in x], np.uint64)
        return Counted(np.repeat(np.arange(len(sets)), [len(x) for x in sets]), keys)

    def names(self, X: Any, places: np.ndarray) -> list[str]:
        items = [item for x in self._sets(X) for item in x]
        return [str(items[place]) for place in places]

    def prepare(self, X: Any, like: Any = None) -> Tallied:
        inputs = Counts.prepare(self, X, like)  # type: ignore[arg-type]
        checks.no_overflow(self.diagonal(inputs), self)
        return inputs

    def _to_set(self, x: Any) -> frozenset:
        if isinstance(x, str | bytes) or not np.iterable(x):
            raise TypeError(
                f"{type(self).__name__} needs a list of sets, but one input is {x!r}; "
                f"wrap it as a set, such as {{{x!r}}}."
            )
        return frozenset(x.tolist() if isinstance(x, np.ndarray) else x)

    features = Kernel.features  # none: values are not inner products of counts

    def fill(self, A: Tallied, B: Tallied, tile: np.ndarray) -> None:
        A.rows.products(B.rows, tile)
        self.values(tile, A.rows.squared_norms[:, None], B.rows.squared_norms)

    def diagonal(self, A: Tallied) -> np.ndarray:
        common = A.rows.squared_norms.copy()
        self.values(common, A.rows.squared_norms, A.rows.squared_norms)
        return common

    def vjp(self, A: Tallied, B: Tallied, W: np.ndarray) -> Gradients:
        return {}


class Intersection(SetKernel, Counts):
    """k(A, B) = |A & B|; positive semidefinite, as the product of indicators."""

    features = Counts.features

    def values(self, common: np.ndarray, a: np.ndarray, b: np.ndarray) -> None:
        """Leave |A & B| as it is."""


class Subset(SetKernel, Counts):
    """k(A, B) = 2^|A & B|, the number of common subsets; positive semidefinite, as a product over items.

    Examples
    --------
    >>> from representer.kernels import Subset
    >>> Subset()([{1, 2}, {2, 3}])
    array([[4., 2.],
           [2., 4.]])
    """

    @property
    def normalized(self) -> Kernel:
        return NormalizedSubset()

    def values(self, common: np.ndarray, a: np.ndarray, b: np.ndarray) -> None:
        with np.errstate(over="ignore"):
            np.exp2(common, out=common)


class NormalizedSubset(SetKernel, Counts):
    """k(A, B) = 2^(|A & B| - (|A| + |B|) / 2), the normalised `Subset`, even where that overflows."""

    def values(self, common: np.ndarray, a: np.ndarray, b: np.ndarray) -> None:
        common -= 0.5 * a
        common -= 0.5 * b
        np.exp2(common, out=common)


class Jaccard(SetKernel, Counts):
    """k(A, B) = |A & B| / |A | B|; 1 for two empty sets. It is positive semidefinite (Gower, 1971)."""

    def values(self, common: np.ndarray, a: np.ndarray, b: np.ndarray) -> None:
        union = a + b - common
        np.divide(common, union, out=common, where=union > 0)
        common[union == 0] = 1.0


def _are_bits(rows: list) -> bool:
    """Whether these are rows of one length with repeated zeros and ones: a table, as no set has an item twice."""
    if any(isinstance(row, str | bytes | set | frozenset) or not hasattr(row, "__getitem__") for row in rows):
        return False
    if not all(hasattr(row, "__len__") and len(row) == len(rows[0]) > 2 for row in rows):
        return False
    return all(isinstance(item, Real | np.bool_) and item in (0, 1) for row in rows for item in row)


def item_key(item: Any) -> int:
    """An unsigned 64-bit number for an item, the same for equal items and in every process."""
    try:
        return key_of(item)
    except TypeError:  # no number, string, tuple or frozen set of such
        return int.from_bytes(blake2b(pickle.dumps(item, protocol=4), digest_size=8).digest(), "little")
