"""Kernels of counted features, such as the words of a string or the subtrees of a graph.

A kernel defines which features an input has; the base class counts them and compares the counts of two inputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from representer._loops import tallies
from representer.kernels import checks
from representer.kernels.base import Gradients, Kernel, add_gradients, require_kernel
from representer.kernels.dot_product import Linear
from representer.kernels.implicit_rows import ImplicitRows
from representer.kernels.named_features import Features, LinearForm, NamedFeatures
from representer.kernels.prepared import Prepared, SparseVectors

MOST_WEIGHTS = 2**26
"""Most feature weights, over all functions, that are held at a time: half a gigabyte."""


@dataclass(frozen=True)
class Counted:
    """The features of all inputs, one occurrence after the other.

    ``owner`` is the index of the input that has the feature; ``key`` an unsigned 64-bit number that depends on the
    feature alone, so that inputs can be counted at different times and places; ``amount`` what the occurrence adds to
    the count; ``level`` the group of features that it belongs to, such as the words of one length, which a kernel may
    weight.
    """

    owner: np.ndarray
    key: np.ndarray
    amount: Any = 1.0
    level: Any = 0


@dataclass
class Tallied(Prepared):
    """Counts of features as ``compare`` has prepared them, and what gradients of weights need."""

    rows: Any
    """`SparseVectors`, or `ImplicitRows`."""
    levels: Any = None
    """The level of each column."""
    counts: Any = None
    """The unweighted rows, if weights were given."""
    shared: Any = None
    """What the kernel requires both sides to have in common, such as the length of strings."""

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: Any) -> Tallied:
        counts = None if self.counts is None else self.counts[index]
        return Tallied(self.rows[index], self.levels, counts, self.shared)

    @property
    def dtype(self) -> np.dtype:
        return self.rows.dtype

    def level(self, level: int) -> SparseVectors:
        """The unweighted counts of one level."""
        counts = self.counts
        kept = self.levels[counts.indices] == level
        starts = np.concatenate([[0], np.cumsum(kept)])[counts.indptr].astype(counts.indptr.dtype)
        values = sparse.csr_array((counts.data[kept], counts.indices[kept], starts), shape=counts.shape)
        return _with_keys(SparseVectors.of(values), self.rows.keys)


class Counts(Kernel):
    """k(x, y) = sum_u w_level(u) c_u(x) c_u(y), c_u(x) the count of feature u in x; or another kernel of the counts.

    A kernel of this family defines ``count``: which features each input has, as `Counted`. It may define ``names``, and

    * ``compare``, a parameter: a kernel of rows that compares the counts instead of the inner product, such as
      HistogramIntersection(), Tanimoto(), MinMax() or RBF();
    * ``weights``, a parameter: one number >= 0 for each level, or None for ones; ``n_levels`` says how many there are.

    Keys are the same whatever other inputs there are, so inputs are prepared one by one, in blocks or on other
    machines, and features that the other side has never seen count in k(x, x).
    """

    on_vectors = False
    compare: Any = None
    weights: Any = None

    # ---- what a kernel defines ----

    def count(self, X: Any) -> Counted:
        """The features of the inputs, in the order of the inputs."""
        raise NotImplementedError

    def names(self, X: Any, places: np.ndarray) -> Sequence[str]:
        """Names of the occurrences at these places of ``count(X)``; their keys by default."""
        return [f"{key:016x}" for key in self.count(X).key[places].tolist()]

    @property
    def n_levels(self) -> int:
        """The number of levels of features."""
        return 1

    def implicit_rows(self, X: Any, like: Any) -> ImplicitRows | None:
        """The counts as implicit rows, where weighted products are faster to compute than the counts; else None."""
        return None

    def check(self) -> None:
        """Raise if a parameter is out of its range."""

    # ---- what the family implements ----

    @property
    def definite(self) -> bool:  # type: ignore[override]
        return self.compare is None or self.compare.definite

    @property
    def _by(self) -> str:
        """What the comparison depends on: "products", "distances" or "minima" of two rows."""
        if self.compare is None:
            return "products"
        compare: Any = require_kernel(self.compare)
        scale: Any = getattr(compare, "length_scale", None)
        if compare.compares_by is None or np.ndim(scale):
            raise ValueError(
                f"compare is {compare!r}; counts are compared by Linear(), HistogramIntersection(), Tanimoto(), "
                "MinMax(), or a kernel of distances or products with one length scale, such as RBF(2.0)."
            )
        return compare.compares_by

    def level_weights(self) -> np.ndarray | None:
        """The weights as an array, or None for ones."""
        if self.weights is None:
            return None
        try:
            weights = np.asarray(self.weights, np.float64)
        except (TypeError, ValueError):
            weights = np.array(np.nan)
        if weights.shape != (self.n_levels,) or not np.all((weights >= 0.0) & (weights < np.inf)):
            raise ValueError(
                f"weights is {self.weights!r}; {type(self).__name__} needs {self.n_levels} numbers, none negative, "
                "one for each level of features."
            )
        return weights

    def _counts(self, X: Any) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray]:
        """Counts (CSR), and for each column its key, its level and the first occurrence of its feature."""
        self.check()
        n, found = checks.number_of(X), self.count(X)
        if len(found.key) >= 2**31:
            raise ValueError(f"{len(found.key):,} features are too many to count at once; prepare fewer inputs.")
        amounts = np.atleast_1d(np.asarray(found.amount, np.float64))
        key = np.ascontiguousarray(found.key, np.uint64)
        data, indices, starts, keys, places = tallies.tally(np.asarray(found.owner, np.int64), key, amounts, n)
        levels = np.broadcast_to(found.level, key.shape)[places]
        if not len(keys):  # a matrix needs a column
            keys, levels = np.zeros(1, np.uint64), np.zeros(1, int)
        return sparse.csr_array((data, indices, starts), shape=(n, len(keys))), keys, levels, places

    def _weighted(self, counts: Any, levels: np.ndarray) -> Any:
        """Counts whose products, or minima, are weighted by level."""
        weights = self.level_weights()
        if weights is None:
            return counts
        factors = (weights if self._by == "minima" else np.sqrt(weights))[levels]
        rows = sparse.csr_array((counts.data * factors[counts.indices], counts.indices, counts.indptr), counts.shape)
        if np.any(weights == 0.0):
            rows = rows.copy()  # the counts stay as they are
            rows.eliminate_zeros()
        return rows

    def prepare(self, X: Any, like: Any = None) -> Any:
        self.check()
        by, _ = self._by, self.level_weights()  # raise before the long work
        if by != "minima" and (known := self.implicit_rows(X, None if like is None else like.rows)) is not None:
            return Tallied(known)
        counts, keys, levels, _ = self._counts(X)
        values = self._weighted(counts, levels)
        rows = SparseVectors.of(values) if self.compare is None else self.compare.prepare(values)
        raw = None if self.weights is None else counts
        return Tallied(_with_keys(rows, keys), levels, raw)

    def fill(self, A: Any, B: Any, tile: np.ndarray) -> None:
        if self.compare is None:
            A.rows.products(B.rows, tile)
        else:
            self.compare.fill(A.rows, B.rows, tile)

    def diagonal(self, A: Any) -> np.ndarray:
        return A.rows.squared_norms if self.compare is None else self.compare.diagonal(A.rows)

    @property
    def features(self) -> Features:
        return Features(self._named_features, self._linear_form)

    def _linear_form(self, A: Any, C: np.ndarray) -> LinearForm | None:
        if (self.compare is not None and not isinstance(self.compare, Linear)) or isinstance(A.rows, ImplicitRows):
            return None
        if len(C) * A.rows.values.shape[1] > MOST_WEIGHTS:
            return None
        W = C @ A.rows.values
        return lambda B: (B.rows.in_columns_of(A.rows).values @ W.T).T

    def with_default_scales(self, X: Any, weights: np.ndarray | None = None) -> Kernel:
        if self.compare is None:
            return clone(self)
        if self._by != "minima" and (known := self.implicit_rows(X, None)) is not None:
            spread, weights = known.spread(weights), None
            rows: Any = np.array([[spread], [-spread]])  # rows of the same spread
        else:
            counts, _, levels, _ = self._counts(X)
            rows = self._weighted(counts, levels)
        return clone(self).set_params(compare=self.compare.with_default_scales(rows, weights))

    def vjp(self, A: Any, B: Any, W: np.ndarray) -> Gradients:
        gradients: Gradients = {}
        if self.compare is not None:
            add_gradients(gradients, self.compare.vjp(A.rows, B.rows, W), "compare__")
        if self.weights is not None:
            slopes = (W, None, None) if self.compare is None else self.compare.count_slopes(A.rows, B.rows, W)
            gradients["weights"] = self._by_level(A, B, *slopes)
        return gradients

    def _by_level(self, A: Any, B: Any, by_both: np.ndarray, by_a: Any, by_b: Any) -> np.ndarray:
        """Gradients by the weights of levels, from the slopes of `count_slopes`."""
        by = {"products": "products", "distances": "squared_distances", "minima": "minima"}[self._by]
        total, s = np.zeros(self.n_levels), np.empty(by_both.shape)
        for level in range(self.n_levels):
            a, b = A.level(level), B.level(level)
            getattr(a, by)(b, s)
            total[level] = np.vdot(by_both, s)
            for rows, slopes in ((a, by_a), (b, by_b)):
                if slopes is not None:
                    own = rows.squared_norms if by == "products" else np.asarray(rows.values.sum(axis=1)).ravel()
                    total[level] += slopes @ own
        return total

    def _named_features(self, X: Any) -> NamedFeatures:
        if self.compare is not None and not isinstance(self.compare, Linear):
            raise TypeError(
                f"{self!r} compares counts by another kernel than the inner product, so its functions are not linear "
                "in them; the counts are the features of the same kernel with compare=None."
            )
        counts, _, levels, places = self._counts(X)
        scale = checks.length_scale(None if self.compare is None else self.compare.length_scale, 1)

        def names(columns: np.ndarray) -> list[str]:
            # without any feature, as in empty strings, the matrix has a column of zeros
            return list(self.names(X, places[columns])) if len(places) else ["no feature"] * len(columns)

        found = NamedFeatures(self._weighted(counts, levels), names)
        return found if scale == 1.0 else found.scaled(1.0 / scale)


def _with_keys(rows: SparseVectors, keys: np.ndarray | None) -> SparseVectors:
    """Rows whose columns are identified by keys instead of numbers."""
    return rows if keys is None else replace(rows, keys=keys, frequent=keys[rows.frequent.astype(np.int64)])
