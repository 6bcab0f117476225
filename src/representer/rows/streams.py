"""Rows that come in batches of any length: from files, from a function that opens a stream, from a generator."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from hashlib import blake2b
from itertools import chain
from typing import Any

import numpy as np
from joblib import hash as content_hash

from representer.rows import tables
from representer.rows.base import Block, Rows, rows_per_block
from representer.rows.layout import Layout, same_layout, signature
from representer.rows.reader import ahead, recut

Named = tuple[str, Any]
"""Where a batch comes from, for errors, and the batch."""


class Source:
    """A source of batches. Subclasses define `batches`, and what is known before reading."""

    passes: float = np.inf
    """How many times it can be opened."""
    n_rows: int | None = None
    """Rows of all batches, where that is known before they are read."""

    def batches(self, start: int) -> tuple[int, Iterator[Named]]:
        """Batches from one at or before row ``start``, and how many of their rows precede that row."""
        raise NotImplementedError

    def first(self) -> Named:
        """The first batch that has rows, or some of its rows."""
        raise NotImplementedError

    def fingerprint(self) -> str | None:
        """What identifies the source; None where its first batch has to do so."""
        return None


class Opened(Source):
    """A function that reopens the same stream on each call: an Arrow reader, or any iterable of batches."""

    def __init__(self, factory: Callable[[], Iterable[Any]]):
        self.factory = factory

    def batches(self, start: int) -> tuple[int, Iterator[Named]]:
        return start, self._all()

    def first(self) -> Named:
        return _first(self._all(), "The stream")

    def _all(self) -> Iterator[Named]:
        return _numbered(self.factory())


class Generated(Source):
    """A generator, whose batches come once."""

    passes = 1

    def __init__(self, batches: Iterator[Any]):
        self._batches: Iterator[Named] | None = _numbered(batches)
        self._begun: list[Named] = []
        """Batches that have been read: empty ones, and the first that has rows."""

    def first(self) -> Named:
        if not self._begun:
            if self._batches is None:
                raise ValueError(ONCE.format("it has been read"))
            _first(self._kept(self._batches), "The generator")
        return self._begun[-1]

    def _kept(self, batches: Iterator[Named]) -> Iterator[Named]:
        for named in batches:
            self._begun.append(named)
            yield named

    def batches(self, start: int) -> tuple[int, Iterator[Named]]:
        if self._batches is None:
            raise ValueError(ONCE.format("a second pass was asked for"))
        self.first()
        rest, self._batches = self._batches, None
        return start, chain(self._begun, rest)


ONCE = (
    "These rows come from a generator, which is exhausted after one pass, and {}; pass a function that reopens it "
    "each time, rows(lambda: ...), or files."
)


def _numbered(batches: Iterable[Any]) -> Iterator[Named]:
    for number, batch in enumerate(batches):
        yield f"Batch {number}", batch


def _first(batches: Iterator[Named], what: str) -> Named:
    for named in batches:
        if has_rows(named):
            return named
    raise ValueError(f"{what} is exhausted or has no rows; give it at least one.")


def has_rows(named: Named) -> bool:
    """Whether a batch has any rows."""
    batch = named[1]
    return tables.number_of_rows(batch[0] if isinstance(batch, tuple) else batch) > 0


class StreamRows(Rows):
    """Rows of a source, cut at fixed row numbers and prefetched by a thread.

    Parameters
    ----------
    source : Source
    layout : Layout
        Which parts of a batch are inputs, targets and weights.
    """

    def __init__(self, source: Source, layout: Layout):
        self.source, self.layout = source, layout
        where, batch = source.first()
        X, y, _ = layout.split(batch, where)
        self._signature = signature(X)
        self.n_columns, self.dtype = tables.number_of_columns(X), tables.dtype_of(X)
        self.names = names_in(batch, layout, where)
        self.has_targets, self.passes = y is not None, source.passes
        self._counted = source.n_rows

    @property
    def n_rows(self) -> int:
        if self._counted is None:
            if self.passes == 1:
                raise ValueError(ONCE.format("how many rows there are is asked before they are read"))
            for _ in self.blocks():
                pass
        assert self._counted is not None
        return self._counted

    def _known_rows(self) -> int | None:
        return self._counted

    def blocks(self, first: int = 0) -> Iterator[Block]:
        size = rows_per_block(self.n_columns)
        done = first * size
        if first and done >= self.n_rows:  # a checkpoint may be of the end of a pass
            return
        skip, batches = self.source.batches(done)
        for block in ahead(lambda: recut(self._checked(batches), size, skip)):
            done += tables.number_of_rows(block[0])
            yield block
        if self._counted not in (None, done):
            raise ValueError(
                f"The number of rows has changed: {done:,} came in this pass, and {self._counted:,} were known; a "
                "stream must be the same each time it is opened."
            )
        self._counted = done

    def _checked(self, batches: Iterator[Named]) -> Iterator[Block]:
        for where, batch in batches:
            X, y, w = self.layout.split(batch, where)
            if not tables.number_of_rows(X):
                warnings.warn(f"{where} has no rows and is skipped.", stacklevel=2)
                continue
            same_layout(X, self._signature, where)
            if (y is not None) != self.has_targets:
                raise ValueError(f"{where} has {'no ' * (y is None)}targets, unlike those before it.")
            yield tables.contiguous(X), tables.contiguous(y), tables.contiguous(w)

    def beginning(self) -> Block:
        where, batch = self.source.first()
        return self.layout.split(batch, where)

    @cached_property
    def fingerprint(self) -> str:
        known = self.source.fingerprint() or content_hash(self.layout.split(self.source.first()[1], "The first batch"))
        text = f"{self._counted} {self._signature} {self.names} {self.layout} {known}"
        return blake2b(text.encode(), digest_size=16).hexdigest()


def names_in(batch: Any, layout: Layout, where: str) -> list[str] | None:
    """The names of the input columns, if a batch has any."""
    if isinstance(batch, tuple):
        return tables.names_of(batch[0])
    names = list(batch.column_names) if hasattr(batch, "column_names") else tables.names_of(batch)
    return None if names is None else layout.inputs(names, where)
