"""The contract of rows: total(part) = sum over blocks of part(X, y, w).

Blocks are cut at fixed row numbers wherever the rows are stored, and added in order, so that the same rows give
bit-for-bit the same sums from memory, from a memory map and from files.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from pathlib import Path
from typing import Any

import numpy as np

from representer.kernels import checks
from representer.rows import tables

Block = tuple[Any, Any, Any]
"""Inputs, targets and weights of some rows; the latter two may be None."""
Part = Callable[[Any, Any, Any], Any]
"""part(X, y, w) -> a tuple of arrays, to be summed over blocks. A pure, picklable function."""
Sums = tuple[Any, ...] | None
Watch = Callable[[int, int | None], Any]

LONGEST_BLOCK, SHORTEST_BLOCK, BLOCK_ENTRIES = 2**14, 2**9, 2**22


def rows_per_block(n_columns: int) -> int:
    """Rows between two cuts: a power of two that depends on the width alone."""
    fitting = 2 ** int(np.log2(max(BLOCK_ENTRIES // max(n_columns, 1), 1)))
    return max(SHORTEST_BLOCK, min(LONGEST_BLOCK, fitting))


class Rows:
    """Inputs, targets and weights in blocks.

    Subclasses define ``blocks`` and the attributes below; they may define a faster ``sample``.
    """

    n_columns: int
    """Columns of X; 1 for lists of objects."""
    dtype: np.dtype | None
    """float32 or float64 where X is numbers; None for objects and tables of mixed types."""
    names: list[str] | None = None
    """Names of the columns, if they have any."""
    passes: float = np.inf
    """How many times all rows can be read."""
    sample_passes: int = 1
    """Passes over all rows that a sample takes: none where rows can be indexed."""

    def blocks(self, first: int = 0) -> Iterator[Block]:
        """(X, y, w) of the blocks from number ``first`` on; all but the last have ``block_rows`` rows."""
        raise NotImplementedError

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        raise NotImplementedError

    @property
    def fingerprint(self) -> str:
        """Identifies the rows, so that work on some is not resumed with others."""
        raise NotImplementedError

    def __len__(self) -> int:
        return self.n_rows

    @property
    def block_rows(self) -> int:
        """Rows of a full block."""
        return rows_per_block(self.n_columns)

    @property
    def n_blocks(self) -> int:
        return -(-self.n_rows // self.block_rows)

    # ---- what estimators call around a fit ----

    _watch: Watch | None = None
    _sampled: int = 0
    _journal: Any = None

    def watched(self, watch: Watch) -> Rows:
        """The same rows, which call ``watch(rows done, rows)`` at the start of each sum and after each block."""
        other = copy(self)
        other._watch, other._sampled = watch, 0
        return other

    def expect(self, passes: int) -> None:
        """Tell the watch how many passes a fit will take, all in all, if it asks for that."""
        watch: Any = self._watch
        if hasattr(watch, "expect"):
            watch.expect(passes)

    def sampled(self) -> int:
        """The passes that samples and the like have taken since this was last asked."""
        found, self._sampled = self._sampled, 0
        return found

    def counted(self, passes: int = 1) -> None:
        """Count passes that were made beside those of a solver, as those of samples are."""
        self._sampled += passes

    def checkpointed(self, journal: Any) -> Rows:
        """The same rows, whose sums are kept by a `Journal`."""
        other = copy(self)
        other._journal = journal
        return other

    def require(self, passes: int, why: str) -> None:
        """Raise if the rows cannot be read this many times."""
        if passes > self.passes:
            raise ValueError(
                f"This fit reads all rows {passes} times ({why}), but they come from a generator, which can be read "
                "once; pass a function that reopens it each time, rows(lambda: ...), or files."
            )

    @contextmanager
    def fitting(self) -> Iterator[None]:
        """Context of one fit; its checkpoint is removed when the fit is done."""
        if self._journal is None:
            yield
            return
        self._journal.rewind()
        yield
        self._journal.remove()

    def _tell(self, blocks: int) -> None:
        if self._watch is not None:
            n = self._known_rows()
            self._watch(blocks * self.block_rows if n is None else min(blocks * self.block_rows, n), n)

    def _known_rows(self) -> int | None:
        """The number of rows, if known without reading them."""
        return self.n_rows

    # ---- what solvers call ----

    def total(self, part: Part) -> tuple[Any, ...]:
        """The sum of part(X, y, w) over all blocks, in order: a tuple of arrays.

        Floats are added in float64. An entry that is None in every block stays None.
        """
        if self._journal is not None:
            return finished(self._journal.total(self, part))
        return finished(self.partial(part))

    def partial(
        self, part: Part, first: int = 0, sums: Sums = None, after: Callable[[int, Any], Any] | None = None
    ) -> Sums:
        """``sums`` plus those of the blocks from number ``first`` on; ``after`` is called after each block."""
        self._tell(first)
        for number, block in enumerate(self.blocks(first), start=first):
            sums = added(sums, located(part, number, self.block_rows)(*block))
            if after is not None:
                after(number + 1, sums)
            self._tell(number + 1)
        return sums

    def map(self, part: Part) -> list[Any]:
        """part(X, y, w) of each block, in order."""
        return [located(part, number, self.block_rows)(*block) for number, block in enumerate(self.blocks())]

    def gathered(self) -> tuple[Any, Any]:
        """All inputs and weights, in order, where a sample is to be of all rows."""
        self._sampled += self.sample_passes
        blocks = self.map(_inputs_and_weights)
        X = blocks[0][0]
        for more, _ in blocks[1:]:
            X = checks.concatenate(X, more)
        return X, None if blocks[0][1] is None else np.concatenate([w for _, w in blocks])

    def beginning(self) -> Block:
        """Some of the first rows; a full pass reads them again."""
        return next(self.blocks())

    def apply(self, function: Callable[[Any], Any]) -> Iterator[Any]:
        """Yield function(X) for each block, such as ``predict`` of a fitted model."""
        for number, (X, _, _) in enumerate(self.blocks()):
            yield located(lambda X, y, w: function(X), number, self.block_rows)(X, None, None)

    def save(self, function: Callable[[Any], np.ndarray], path: Any) -> np.ndarray:
        """Write function(X) of all rows to a new .npy file, block by block; return a memory map of it.

        The file gets its name only once it is complete.
        """
        half, out, done = Path(f"{path}.writing"), None, 0
        try:
            for values in self.apply(function):
                if out is None:
                    shape = (self.n_rows, *values.shape[1:])
                    out = np.lib.format.open_memmap(half, mode="w+", dtype=values.dtype, shape=shape)
                out[done : done + len(values)] = values
                done += len(values)
            assert out is not None
            out.flush()
            del out
            os.replace(half, path)
        except BaseException:  # also an interrupt
            half.unlink(missing_ok=True)
            raise
        return np.load(path, mmap_mode="r")

    def sample(self, k: int, seed: int = 0) -> Block:
        """The rows with the k smallest of hash(seed, row number), in ascending order: a sample without replacement.

        It does not depend on where the rows are stored, and a smaller sample is a prefix of a larger one.
        """
        start, kept, hashes = 0, None, np.zeros(0, np.uint64)
        self._sampled += 1
        self._tell(0)
        for number, (X, y, w) in enumerate(self.blocks()):
            self._tell(number + 1)
            own = row_hashes(start, tables.number_of_rows(X), seed)
            start += len(own)
            near = np.flatnonzero(own < hashes.max()) if len(hashes) == k else np.arange(len(own))
            if not len(near):
                continue
            part = tuple(None if values is None else tables.at(values, near) for values in (X, y, w))
            kept = part if kept is None else tuple(tables.stacked(list(pair)) for pair in zip(kept, part, strict=True))
            hashes = np.concatenate([hashes, own[near]])
            best = least(hashes, k)
            kept = tuple(None if values is None else tables.at(values, best) for values in kept)
            hashes = hashes[best]
        assert kept is not None
        return kept  # type: ignore[return-value]


def _inputs_and_weights(X: Any, y: Any, w: Any) -> tuple:
    return X, w


def located(part: Part, number: int, size: int) -> Part:
    """The part, with errors that name the rows of its block."""

    def named(X: Any, y: Any, w: Any) -> Any:
        try:
            return part(X, y, w)
        except ValueError as error:
            start = number * size
            stop = start + tables.number_of_rows(X) - 1
            raise ValueError(f"In the rows {start} to {stop} (counted from there): {error}") from error

    return named


def added(sums: Sums, more: Any) -> Sums:
    """Add a block's arrays to the sums in place; those of the first block are copied."""
    if more is None:
        return sums
    more = more if isinstance(more, tuple) else (more,)
    if sums is None:
        return tuple(None if value is None else _wide(value) for value in more)
    for total, value in zip(sums, more, strict=True):
        if total is not None:
            np.add(total, value, out=total)
    return sums


def finished(sums: Sums) -> tuple[Any, ...]:
    """The sums, with zero-dimensional arrays as scalars."""
    return () if sums is None else tuple(None if total is None else total[()] for total in sums)


def _wide(value: Any) -> np.ndarray:
    value = np.asarray(value)
    return np.array(value, np.result_type(value, np.float64) if value.dtype.kind == "f" else None)


def row_hashes(start: int, n: int, seed: int) -> np.ndarray:
    """hash(seed, row) for the rows start, ..., start + n - 1: splitmix64, a bijection of 64 bits for each seed."""
    with np.errstate(over="ignore"):
        z = np.arange(start, start + n, dtype=np.uint64)
        for word in (np.uint64(seed % 2**64), np.uint64(0)):
            z = (z ^ word) + np.uint64(0x9E3779B97F4A7C15)
            z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            z ^= z >> np.uint64(31)
    return z


def least_hashes(n: int, k: int, seed: int) -> np.ndarray:
    """The k of n row numbers with the smallest hashes, in ascending order of hash."""
    rows, hashes = np.zeros(0, np.int64), np.zeros(0, np.uint64)
    for start in range(0, n, 2**20):
        own = row_hashes(start, min(2**20, n - start), seed)
        near = np.flatnonzero(own < hashes.max()) if len(hashes) == k else np.arange(len(own))
        rows, hashes = np.concatenate([rows, start + near]), np.concatenate([hashes, own[near]])
        best = least(hashes, k)
        rows, hashes = rows[best], hashes[best]
    return rows


def least(hashes: np.ndarray, k: int) -> np.ndarray:
    """The places of the k smallest of different hashes, in ascending order of hash."""
    places = np.argpartition(hashes, k - 1)[:k] if k < len(hashes) else np.arange(len(hashes))
    return places[np.argsort(hashes[places])]
