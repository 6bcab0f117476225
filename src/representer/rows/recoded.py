"""Rows whose targets are replaced by numbers, such as classes by their places among all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from representer.rows.base import Block, Part, Rows, Sums


@dataclass(frozen=True)
class Recoded:
    """part(X, code(y), w), a part again."""

    part: Any
    code: Any

    def __call__(self, X: Any, y: Any, w: Any) -> Any:
        return self.part(X, self.code(y), w)


@dataclass(frozen=True)
class Places:
    """The place of each label among the classes, which are sorted."""

    classes: np.ndarray

    def __call__(self, y: Any) -> np.ndarray:
        return np.searchsorted(self.classes, y)


@dataclass(frozen=True)
class Labels:
    """The labels of a block, each once."""

    def __call__(self, X: Any, y: Any, w: Any) -> np.ndarray:
        return np.unique(y)


def classes_of(rows: Rows) -> np.ndarray:
    """All labels in order, from one pass."""
    return np.unique(np.concatenate(rows.map(Labels())))


class RecodedRows(Rows):
    """The same rows with code(y) in place of y.

    Parameters
    ----------
    rows : Rows
    code : a function of an array, which can be pickled
    """

    def __init__(self, rows: Rows, code: Callable[[Any], np.ndarray]):
        self.rows, self.code = rows, code
        self.n_columns, self.dtype, self.names, self.passes = rows.n_columns, rows.dtype, rows.names, rows.passes

    @property
    def n_rows(self) -> int:
        return self.rows.n_rows

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
        for X, y, w in self.rows.blocks(first):
            yield X, self.code(y), w

    def total(self, part: Part) -> tuple[Any, ...]:
        return self.rows.total(Recoded(part, self.code))

    def partial(self, part: Part, first: int = 0, sums: Sums = None, after: Any = None) -> Sums:
        return self.rows.partial(Recoded(part, self.code), first, sums, after)

    def map(self, part: Part) -> list[Any]:
        return self.rows.map(Recoded(part, self.code))

    def sample(self, k: int, seed: int = 0) -> Block:
        X, y, w = self.rows.sample(k, seed)
        return X, self.code(y), w
