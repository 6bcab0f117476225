"""Kernels of finite sets, given as a list of sets (or other collections) of hashable items."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from representer.kernels import checks
from representer.kernels.base import Gradients, Kernel
from representer.kernels.prepared import SparseVectors


class SetKernel(Kernel):
    """The family: k(A, B) from the sizes |A|, |B| and |A & B|. Subclasses turn a tile of |A & B| into values."""

    rowwise = False
    on_vectors = False

    def values(self, common: np.ndarray, a: np.ndarray, b: np.ndarray) -> None:
        """common <- k, in place; a and b are the sizes and broadcast against it."""
        raise NotImplementedError

    def prepare(self, X: Any, like: SparseVectors | None = None) -> SparseVectors:
        sets = [self._to_set(x) for x in checks.objects(X, type(self).__name__)]
        if like is None:
            items = dict.fromkeys(item for x in sets for item in x)
            vocabulary = {item: column for column, item in enumerate(items)}
        else:
            vocabulary = like.vocabulary
        known = [[vocabulary[item] for item in x if item in vocabulary] for x in sets]
        sizes = np.array([len(x) for x in sets], np.float64)
        starts = np.concatenate([[0], np.cumsum([len(x) for x in known])])
        columns = np.concatenate([np.sort(x) for x in known]).astype(np.int64)
        members = sparse.csr_array((np.ones(len(columns)), columns, starts), shape=(len(sets), max(len(vocabulary), 1)))
        # sizes count items that the other side has never seen, too
        inputs = SparseVectors(members, sizes, vocabulary=vocabulary)
        checks.no_overflow(self.diagonal(inputs), self)
        return inputs

    def _to_set(self, x: Any) -> frozenset:
        if isinstance(x, str | bytes) or not np.iterable(x):
            raise TypeError(
                f"{type(self).__name__} needs a list of sets, but one input is {x!r}; "
                f"wrap it as a set, such as {{{x!r}}}."
            )
        return frozenset(x.tolist() if isinstance(x, np.ndarray) else x)

    def fill(self, A: SparseVectors, B: SparseVectors, tile: np.ndarray) -> None:
        A.products(B, tile)
        self.values(tile, A.squared_norms[:, None], B.squared_norms)

    def diagonal(self, A: SparseVectors) -> np.ndarray:
        common = A.squared_norms.copy()
        self.values(common, A.squared_norms, A.squared_norms)
        return common

    def vjp(self, A: SparseVectors, B: SparseVectors, W: np.ndarray) -> Gradients:
        return {}


class Intersection(SetKernel):
    """k(A, B) = |A & B|."""

    def values(self, common: np.ndarray, a: np.ndarray, b: np.ndarray) -> None:
        """Leave |A & B| as it is."""


class Subset(SetKernel):
    """k(A, B) = 2^|A & B|, the number of sets that are subsets of both.

    Examples
    --------
    >>> from representer.kernels import Subset
    >>> Subset()([{1, 2}, {2, 3}])
    array([[4., 2.],
           [2., 4.]])
    """

    def values(self, common: np.ndarray, a: np.ndarray, b: np.ndarray) -> None:
        with np.errstate(over="ignore"):
            np.exp2(common, out=common)


class Jaccard(SetKernel):
    """k(A, B) = |A & B| / |A | B|; 1 for two empty sets."""

    def values(self, common: np.ndarray, a: np.ndarray, b: np.ndarray) -> None:
        union = a + b - common
        np.divide(common, union, out=common, where=union > 0)
        common[union == 0] = 1.0
