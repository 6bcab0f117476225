"""Inputs of unequal lengths, concatenated, and interleaved in groups of sixteen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from representer._loops import alignment
from representer.kernels.prepared import FLOAT64, Prepared


def gathered(starts: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where some rows start once concatenated, and the source indices of their entries."""
    sizes = np.diff(starts)[rows]
    new = np.concatenate([[0], np.cumsum(sizes)])
    return new, np.arange(new[-1]) + np.repeat(starts[:-1][rows] - new[:-1], sizes)


@dataclass(frozen=True)
class Lanes:
    """Up to sixteen inputs, interleaved: entry t of column f of lane k is at ((f T) + t) 16 + k."""

    values: np.ndarray
    lengths: np.ndarray
    longest: int
    members: np.ndarray


@dataclass
class Ragged(Prepared):
    """Inputs of unequal lengths: input i has the rows ``starts[i]`` to ``starts[i + 1]`` of ``values``.

    ``own`` is what a kernel stores for each input, such as k(x, x), and ``fill`` the padding of an input that is
    interleaved with longer ones.
    """

    values: np.ndarray
    starts: np.ndarray
    fill: int = 0
    own: Any = None
    dtype: Any = FLOAT64

    @classmethod
    def of(cls, items: list[np.ndarray], dtype: Any, fill: int = 0) -> Ragged:
        """Inputs from arrays with a row for each entry."""
        starts = np.concatenate([[0], np.cumsum([len(x) for x in items])])
        return cls(np.ascontiguousarray(np.concatenate(items), dtype), starts, fill)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, index: Any) -> Ragged:
        rows = np.arange(len(self))[index]
        starts, places = gathered(self.starts, rows)
        return Ragged(self.values[places], starts, self.fill, None if self.own is None else self.own[rows], self.dtype)

    @property
    def lengths(self) -> np.ndarray:
        """The length of each input."""
        return np.diff(self.starts)

    @cached_property
    def lanes(self) -> list[Lanes]:
        """The inputs in groups of sixteen of similar length; the last group is padded with its first input."""
        order = np.argsort(self.lengths, kind="stable")
        return [self._lanes(order[first : first + alignment.LANES]) for first in range(0, len(order), alignment.LANES)]

    def _lanes(self, members: np.ndarray) -> Lanes:
        filled = np.concatenate([members, np.full(alignment.LANES - len(members), members[0])])
        longest, d = int(self.lengths[members].max()), self.values.shape[1]
        values = np.full((d, longest, alignment.LANES), self.fill, self.values.dtype)
        for k, i in enumerate(filled):
            values[:, : self.lengths[i], k] = self.values[self.starts[i] : self.starts[i + 1]].T
        return Lanes(values.ravel(), self.lengths[filled], longest, members)

    def repeated(self, i: int) -> Lanes:
        """One input in all lanes."""
        values = np.repeat(self.values[self.starts[i] : self.starts[i + 1]].T.ravel(), alignment.LANES)
        length = int(self.lengths[i])
        return Lanes(values, np.full(alignment.LANES, length), length, np.full(alignment.LANES, i))

    def on_lanes(self, function: Callable[[Lanes], np.ndarray]) -> np.ndarray:
        """A number for each input, from a function that computes all lanes at once."""
        found = np.empty(len(self))
        for group in self.lanes:
            found[group.members] = function(group)[: len(group.members)]
        return found


def fill_by_lanes(A: Ragged, B: Ragged, function: Callable[[Lanes, Lanes], tuple], *tiles: np.ndarray) -> None:
    """Fill tiles with numbers for all pairs a_i and b_j, from a function that computes sixteen pairs at once.

    Where A is B, each pair is computed once, except within a group.
    """
    places = np.empty(len(A), int)
    if A is B:
        places[np.concatenate([group.members for group in A.lanes])] = np.arange(len(A))
    for i in range(len(A)):
        x = A.repeated(i)
        for group in B.lanes[: places[i] // alignment.LANES + 1] if A is B else B.lanes:
            for found, tile in zip(function(x, group), tiles, strict=True):
                tile[i, group.members] = found[: len(group.members)]
                if A is B:
                    tile[group.members, i] = found[: len(group.members)]
