"""Kernels of rankings: a table with a rank or a score for each item, in which NaN means that an item is not ranked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy.stats import rankdata

from representer import _parallel
from representer.kernels import candidates, checks
from representer.kernels.base import Gradients, Kernel
from representer.kernels.basis import Basis, Columns, Points
from representer.kernels.candidates import Candidates
from representer.kernels.named_features import Features, LinearForm, no_features
from representer.kernels.prepared import FLOAT64, Prepared

FEW_PAIRS = 2048
"""Pairs of items (64 items) up to which the signs of a slice are cached; beyond, they are recomputed for each tile."""
MOST_SIGNS = 2**26
"""Most weights of pairs of items, over all functions, that are held at a time: half a gigabyte."""


@dataclass
class Rankings(Prepared):
    """Rankings as numbers that increase with the rank, and their squared norms |phi|^2.

    Where items are missing, ``expected`` is the mean sign of x_i - x_j over all positions of a missing item j, and 0
    for missing items i; ``observed`` is a mask of the ranked items.
    """

    places: np.ndarray
    squares: np.ndarray
    expected: np.ndarray | None = None
    observed: np.ndarray | None = None
    dtype: Any = FLOAT64
    per_row: ClassVar[tuple[str, ...]] = ("places", "squares", "expected", "observed")

    def __getitem__(self, index: Any) -> Rankings:
        part = super().__getitem__(index)
        part.__dict__.pop("signs", None)
        return part

    @cached_property
    def signs(self) -> np.ndarray:
        """phi for all pairs of items."""
        return self.features(*np.triu_indices(self.places.shape[1], 1))

    def features(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """phi_ij, the expected sign of x_i - x_j, for some pairs of items i and j."""
        signs = np.sign(self.places[:, first] - self.places[:, second])
        if self.expected is None or self.observed is None:
            return signs
        both = self.observed[:, first] & self.observed[:, second]
        return np.where(both, signs, self.expected[:, first] - self.expected[:, second])

    def chunks(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """All pairs of items, some at a time."""
        first, second = np.triu_indices(self.places.shape[1], 1)
        return ((first[part], second[part]) for part in _parallel.split(len(first), FEW_PAIRS))

    def products(self, other: Rankings, tile: np.ndarray) -> None:
        """tile_ij <- <phi(x_i), phi(y_j)>."""
        if number_of_pairs(self) <= FEW_PAIRS:
            np.matmul(self.signs, other.signs.T, out=tile)
            return
        tile[...] = 0.0
        for pair in self.chunks():
            tile += self.features(*pair) @ other.features(*pair).T


@dataclass
class Elements(Rankings):
    """Elements of the space, given by phi for all pairs of items, which need not be that of a ranking."""

    coordinates: np.ndarray | None = None
    per_row: ClassVar[tuple[str, ...]] = ("places", "squares", "expected", "observed", "coordinates")

    @classmethod
    def of(cls, phi: np.ndarray) -> Elements:
        """From a row for each element."""
        items = int((1.0 + np.sqrt(1.0 + 8.0 * phi.shape[1])) / 2.0 + 0.5)
        return cls(np.zeros((len(phi), items)), np.einsum("ij,ij->i", phi, phi), coordinates=phi)

    def features(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        p = self.places.shape[1]
        assert self.coordinates is not None
        return self.coordinates[:, first * p - first * (first + 1) // 2 + second - first - 1]


def number_of_pairs(inputs: Rankings) -> int:
    """The number of pairs of items."""
    p = inputs.places.shape[1]
    return p * (p - 1) // 2


class _RankingKernel(Kernel):
    """Base of kernels of the signs phi: how rankings are read."""

    on_vectors = False
    takes_missing = True
    missing: str
    best: str

    def prepare(self, X: Any, like: Rankings | None = None) -> Rankings:
        self.check()
        table = _table(X, type(self).__name__)
        if like is not None and table.shape[1] != like.places.shape[1]:
            raise ValueError(
                f"X ranks {table.shape[1]} items where the other rankings have {like.places.shape[1]}; "
                "give a column for each item, NaN where it is not ranked."
            )
        inputs = self._laid_out(table)
        inputs.squares = np.zeros(len(table))
        for rows in _parallel.split(len(table), 1024):
            for pair in inputs.chunks():
                signs = inputs[rows].features(*pair)
                inputs.squares[rows] += np.einsum("ij,ij->i", signs, signs)
        return inputs

    def candidates(self, X: Any) -> Candidates:
        table = _table(X, type(self).__name__)
        return candidates.rankings(table, not np.any(table % 1.0))

    def check(self) -> None:
        """Raise if a parameter has an unknown value."""
        for value, name, known in (
            (self.missing, "missing", ("anywhere", "last")),
            (self.best, "best", ("highest", "lowest")),
        ):
            if value not in known:
                raise ValueError(f"{name} is {value!r}; use {known[0]!r} or {known[1]!r}.")

    def _laid_out(self, table: np.ndarray) -> Rankings:
        missing = np.isnan(table)
        if not missing.any():
            return Rankings(table, np.empty(0))
        ranks = rankdata(table, axis=1, nan_policy="omit")
        ranks[missing] = 0.0
        if self.missing == "last":
            ranks[missing] = 0.0 if self.best == "highest" else table.shape[1] + 1.0
            return Rankings(ranks, np.empty(0))
        count = table.shape[1] - missing.sum(axis=1, keepdims=True)
        expected = np.where(missing, 0.0, (2.0 * ranks - count - 1.0) / (count + 1.0))
        return Rankings(ranks, np.empty(0), expected, ~missing)


class Kendall(_RankingKernel):
    """k(x, y) = the mean over pairs of items i < j of sign(x_i - x_j) sign(y_i - y_j), Kendall's tau.

    A pair that is tied in a ranking counts 0; `Normalized(Kendall())` is tau-b. Where items are missing, signs are
    replaced by their means over all rankings that agree with what is known, and so k by its mean (Jiao and Vert, 2018).
    k is the inner product of these signs, and so positive semidefinite, with ties and missing items, too.

    Parameters
    ----------
    missing : {"anywhere", "last"}
        What NaN means: an item that may have any position, or one that comes after all ranked items.
    best : {"highest", "lowest"}
        Which numbers the best items have: "highest" for scores, "lowest" for ranks that start with 1. It matters only
        where items are missing and come last.

    Notes
    -----
    Inputs are tables with a row for each ranking and a column for each item: its score or rank, not the items in their
    order. `ranks` builds such a table from orders.

    Examples
    --------
    >>> from representer.kernels import Kendall
    >>> Kendall()([[1, 2, 3], [1, 3, 2], [3, 2, 1]]).round(3)
    array([[ 1.   ,  0.333, -1.   ],
           [ 0.333,  1.   , -0.333],
           [-1.   , -0.333,  1.   ]])
    """

    def __init__(self, missing: str = "anywhere", best: str = "highest"):
        self.missing = missing
        self.best = best

    def prepare(self, X: Any, like: Rankings | None = None) -> Rankings:
        if isinstance(X, Points):
            return Elements.of(X.coordinates * np.sqrt(X.coordinates.shape[1]))
        return super().prepare(X, like)

    def basis(self, X: Any) -> Basis:
        return Columns(self, self.prepare(X.iloc[:1] if hasattr(X, "iloc") else X[:1]))

    def feature_rows(self, A: Rankings) -> np.ndarray:
        """The signs of all pairs, whose inner product is k."""
        return A.signs / np.sqrt(number_of_pairs(A))

    def with_features(self, W: np.ndarray) -> Points:
        """Elements of the space that have these features."""
        return Points(W)

    @property
    def features(self) -> Features:
        return replace(no_features(self), linear_form=self._linear_form)

    def _linear_form(self, A: Rankings, C: np.ndarray) -> LinearForm | None:
        if len(C) * number_of_pairs(A) > MOST_SIGNS:
            return None
        weighted = [(pair, C @ A.features(*pair) / number_of_pairs(A)) for pair in A.chunks()]
        return lambda B: sum(w @ B.features(*pair).T for pair, w in weighted)

    def fill(self, A: Rankings, B: Rankings, tile: np.ndarray) -> None:
        A.products(B, tile)
        tile /= number_of_pairs(A)

    def diagonal(self, A: Rankings) -> np.ndarray:
        return A.squares / number_of_pairs(A)

    def vjp(self, A: Rankings, B: Rankings, W: np.ndarray) -> Gradients:
        return {}


class Mallows(_RankingKernel):
    """k(x, y) = exp(-decay |phi(x) - phi(y)|^2 / 4), phi the signs of `Kendall`.

    Between complete rankings without ties it is exp(-decay d), where d is the number of discordant pairs. It is
    positive semidefinite for every decay, with ties and missing items, too.

    Parameters
    ----------
    decay : float or None
        Where None is given, estimators choose 2 / m, where m is the mean of |phi(x) - mean|^2 over the training
        rankings.
    missing : {"anywhere", "last"}
    best : {"highest", "lowest"}
        As in `Kendall`.
    """

    def __init__(self, decay: float | None = None, missing: str = "anywhere", best: str = "highest"):
        self.decay = decay
        self.missing = missing
        self.best = best

    def check(self) -> None:
        super().check()
        self._rate()

    def _rate(self) -> float:
        return 1.0 if self.decay is None else checks.positive(self.decay, "decay")

    def with_default_scales(self, X: Any, weights: np.ndarray | None = None) -> Kernel:
        decay = self.decay
        if decay is None:
            inputs = self.prepare(X)
            share = np.full(len(inputs), 1.0 / len(inputs)) if weights is None else weights / np.sum(weights)
            mean = sum(float(np.sum((share @ inputs.features(*pair)) ** 2)) for pair in inputs.chunks())
            spread = share @ inputs.squares - mean
            decay = 2.0 / checks.default_scale(spread if spread > 1e-12 * number_of_pairs(inputs) else 0.0, "decay")
        return type(self)(decay, self.missing, self.best)

    def _squared_distances(self, A: Rankings, B: Rankings, tile: np.ndarray) -> None:
        A.products(B, tile)
        tile *= -2.0
        tile += A.squares[:, None]
        tile += B.squares
        # products of expectations have rounding errors; those of signs are exact
        np.maximum(tile, 0.0, out=tile)

    def fill(self, A: Rankings, B: Rankings, tile: np.ndarray) -> None:
        self._squared_distances(A, B, tile)
        tile *= -0.25 * self._rate()
        np.exp(tile, out=tile)

    def diagonal(self, A: Rankings) -> np.ndarray:
        return np.ones(len(A))

    def vjp(self, A: Rankings, B: Rankings, W: np.ndarray) -> Gradients:
        squares = np.empty((len(A), len(B)))
        self._squared_distances(A, B, squares)
        squares *= 0.25
        return {"decay": -np.vdot(W, squares * np.exp(-self._rate() * squares))}


def _table(X: Any, name: str) -> np.ndarray:
    """Rows of ranks or scores as floats, NaN where an item is missing."""
    checks.number_of(X)
    checks.unmasked(X, "X")
    try:
        table = np.array(X.to_numpy() if hasattr(X, "to_numpy") else X, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(
            f"{name} takes a table with a rank or score for each item, but X is not one; build it from "
            "lists of items in their order with ranks(orders)."
        ) from None
    if table.ndim != 2:
        raise ValueError(
            f"X has {table.ndim} dimension{'s' * (table.ndim != 1)} where {name} needs a row for each ranking and a "
            "column for each item."
        )
    if table.shape[1] < 2:
        raise ValueError(f"X has {table.shape[1]} column; {name} compares at least two items.")
    if np.isinf(table).any():
        raise ValueError("X has infinite entries; use NaN for items that are not ranked.")
    return table


def ranks(orders: Any, items: Any = None) -> np.ndarray:
    """A table of ranks, 1 for the first, from orders: lists of items, the best first.

    Parameters
    ----------
    orders : list of sequences
        Omitted items have rank NaN; items in a set are tied, and share their mean rank.
    items : sequence, optional
        The columns of the table. All items that occur, sorted, when not given.

    Examples
    --------
    >>> from representer.kernels import ranks
    >>> ranks([["b", "a", "c"], ["c", {"a", "b"}], ["a"]])
    array([[2. , 1. , 3. ],
           [2.5, 2.5, 1. ],
           [1. , nan, nan]])
    """
    groups = [[part if isinstance(part, set | frozenset) else (part,) for part in order] for order in orders]
    if items is None:
        found = {item for order in groups for group in order for item in group}
        items = sorted(found)
    column = {item: f for f, item in enumerate(items)}
    table = np.full((len(groups), len(column)), np.nan)
    for row, order in enumerate(groups):
        before = 0
        for group in order:
            for item in group:
                if item not in column:
                    raise ValueError(f"Order {row} has {item!r}, which is not one of the items.")
                if not np.isnan(table[row, column[item]]):
                    raise ValueError(f"Order {row} has {item!r} twice; name each item once.")
                table[row, column[item]] = before + (len(group) + 1) / 2
            before += len(group)
    return table
