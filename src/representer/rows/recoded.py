"""Rows whose targets and weights are replaced: classes by numbers, targets by standardised ones, none by zeros."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from representer.rows import tables
from representer.rows.base import Block, Part, Rows, Sums

Code = Callable[[Any, Any, Any], Block]
"""code(X, y, w): inputs, targets and weights that replace those of a block; some rows may be left out."""
MOST_LABELS = 10_000
"""Most labels in one block; where there are more, the target is numeric and not a class."""


@dataclass(frozen=True)
class Recoded:
    """part(*code(X, y, w)), a part again; None for blocks that keep no row."""

    part: Any
    code: Code

    def __call__(self, X: Any, y: Any, w: Any) -> Any:
        block = self.code(X, y, w)
        return self.part(*block) if tables.number_of_rows(block[0]) else None


@dataclass(frozen=True)
class Places:
    """The index of each label among the sorted classes; weights are multiplied by those of the classes."""

    classes: np.ndarray
    factors: np.ndarray | None = None

    def __call__(self, X: Any, y: Any, w: Any) -> Block:
        places = np.searchsorted(self.classes, y)
        if self.factors is not None:
            w = self.factors[places] * (1.0 if w is None else w)
        return X, self.coded(places), w

    def coded(self, places: np.ndarray) -> np.ndarray:
        """Target values for the indices."""
        return places


@dataclass(frozen=True)
class Signs(Places):
    """A column for each class, +1 in it and -1 elsewhere; with two classes, one column for the second."""

    def coded(self, places: np.ndarray) -> np.ndarray:
        if len(self.classes) == 2:
            return 2.0 * places - 1.0
        return np.where(places[:, None] == np.arange(len(self.classes)), 1.0, -1.0)


@dataclass(frozen=True)
class Indicators(Places):
    """A column for each class, one in it and zero elsewhere."""

    def coded(self, places: np.ndarray) -> np.ndarray:
        return np.eye(len(self.classes))[places]


@dataclass(frozen=True)
class Pair(Places):
    """Only rows of two of the classes: +1 for the first and -1 for the second one."""

    first: int = 0
    second: int = 1

    def __call__(self, X: Any, y: Any, w: Any) -> Block:
        X, places, w = super().__call__(X, y, w)
        index = np.flatnonzero((places == self.first) | (places == self.second))
        signs = np.where(places[index] == self.first, 1.0, -1.0)
        return tables.at(X, index), signs, None if w is None else w[index]


@dataclass(frozen=True)
class Zeros:
    """Zeros as targets, for estimators without targets."""

    def __call__(self, X: Any, y: Any, w: Any) -> Block:
        return X, np.zeros(tables.number_of_rows(X)), w


@dataclass(frozen=True)
class Standardised:
    """(y - mean) / scale, in columns."""

    mean: np.ndarray
    scale: np.ndarray

    def __call__(self, X: Any, y: Any, w: Any) -> Block:
        y = np.asarray(y, np.float64)
        return X, (y.reshape(len(y), -1) - self.mean) / self.scale, w


@dataclass(frozen=True)
class Labels:
    """The distinct labels of a block, with the total weight and the number of their rows."""

    def __call__(self, X: Any, y: Any, w: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        labels, places, counts = np.unique(y, return_inverse=True, return_counts=True)
        if len(labels) > MOST_LABELS:
            raise ValueError(
                f"the target has more than {MOST_LABELS:,} labels; a classifier needs classes, not numbers."
            )
        return labels, np.bincount(places.ravel(), w).astype(np.float64), counts


def classes_of(rows: Rows) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """All distinct labels in order, their total weights and numbers of rows, from one pass."""
    labels, weights, counts = (np.concatenate(column) for column in zip(*rows.map(Labels()), strict=True))
    rows.counted()
    classes, places = np.unique(labels, return_inverse=True)
    return classes, np.bincount(places, weights), np.bincount(places, counts).astype(np.int64)


class RecodedRows(Rows):
    """The same rows with code(X, y, w) in place of each block.

    Parameters
    ----------
    rows : Rows
    code : a function of inputs, targets and weights, which can be pickled
    n_rows : int, optional
        Number of rows that remain, where the code leaves some out.
    """

    def __init__(self, rows: Rows, code: Code, n_rows: int | None = None):
        self.rows, self.code, self._left = rows, code, n_rows
        self.n_columns, self.dtype, self.names, self.passes = rows.n_columns, rows.dtype, rows.names, rows.passes
        self.sample_passes = rows.sample_passes

    @property
    def n_rows(self) -> int:
        return self.rows.n_rows if self._left is None else self._left

    @property
    def block_rows(self) -> int:
        return self.rows.block_rows

    @property
    def n_blocks(self) -> int:
        return self.rows.n_blocks

    @property
    def fingerprint(self) -> str:
        return self.rows.fingerprint

    def blocks(self, first: int = 0) -> Iterator[Block]:
        for block in self.rows.blocks(first):
            yield self.code(*block)

    def expect(self, passes: int) -> None:
        self.rows.expect(passes)

    def sampled(self) -> int:
        return self.rows.sampled() + super().sampled()

    def beginning(self) -> Block:
        return self.code(*self.rows.beginning())

    def total(self, part: Part) -> tuple[Any, ...]:
        return self.rows.total(Recoded(part, self.code))

    def partial(self, part: Part, first: int = 0, sums: Sums = None, after: Any = None) -> Sums:
        return self.rows.partial(Recoded(part, self.code), first, sums, after)

    def map(self, part: Part) -> list[Any]:
        return [each for each in self.rows.map(Recoded(part, self.code)) if each is not None]

    def sample(self, k: int, seed: int = 0) -> Block:
        """A sample of k rows, or about k where the code leaves some out."""
        share = self.n_rows / self.rows.n_rows
        X, y, w = self.code(*self.rows.sample(min(int(np.ceil(k / share)), self.rows.n_rows), seed))
        if tables.number_of_rows(X) > k:
            X, y, w = (None if values is None else tables.part(values, 0, k) for values in (X, y, w))
        return X, y, w
