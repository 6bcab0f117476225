"""Rows of Dask arrays and data frames.

A sum is one task per partition and a tree of fixed shape above them, so that its bits depend neither on the scheduler
nor on which worker was faster, or died. Nothing is scattered or pinned, and workers are stateless: what is lost with a
worker is recomputed from the graph.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import cache, cached_property
from importlib import import_module
from typing import Any

import numpy as np

from representer.rows import tables
from representer.rows.base import Block, Part, Rows, Sums, added, least_hashes, row_hashes
from representer.rows.distributed import tasks
from representer.rows.layout import signature

WAVE = 512
"""Partitions submitted to the scheduler at a time; a checkpoint may be written between waves."""
BRANCHES = 8
"""Sums that one task adds up."""
TRIAL_ROWS = 64
"""Rows on which the driver runs a part first, so that loops are compiled there, once, before workers need them."""
LOST = "scheduler-connection-lost"
"""Dask's message for tasks whose scheduler has died."""
EMPTY = "X is empty: none of its partitions has rows."


@cache
def dask() -> Any:
    """The dask module, which is importable wherever one of its collections exists."""
    return import_module("dask")


class DaskRows(Rows):
    """Rows of a Dask array or data frame.

    Parameters
    ----------
    X : dask.array.Array or dask.dataframe.DataFrame
    y : the same, or a Series, with the same partitions, optional
    w : as y
    """

    def __init__(self, X: Any, y: Any = None, w: Any = None):
        self.X = X.rechunk({1: -1}) if getattr(X, "numblocks", (0, 1))[1:] not in ((), (1,)) else X
        self.y, self.w = aligned(self.X, y, "y"), aligned(self.X, w, "the weights")
        self.names = tables.names_of(X)
        columns = [None if each is None else partitions(each) for each in (self.X, self.y, self.w)]
        n = len(columns[0] or ())
        for column, name in zip(columns[1:], ("y", "the weights"), strict=True):
            if column is not None and len(column) != n:
                raise ValueError(
                    f"X has {n} partitions, and those of {name} are {len(column)}; repartition one like the other."
                )
        self._parts = list(zip(*([None] * n if column is None else column for column in columns), strict=True))
        self._tried: set[type] = set()

    # ---- facts ----

    @cached_property
    def _facts(self) -> list[tasks.Facts]:
        """Facts of each partition; takes one pass where the lengths of partitions are not known."""
        lengths = getattr(self.X, "chunks", ((np.nan,),))[0]
        if np.isnan(np.sum(lengths)):
            survey = dask().delayed(tasks.facts_of, pure=True)
            names = [f"facts-{self._token}-{k}" for k in range(len(self._parts))]
            calls = [survey(each[0], dask_key_name=name) for each, name in zip(self._parts, names, strict=True)]
            facts = list(self._compute(calls))
        else:
            X = self._first[0]
            per_row = int(getattr(X, "nbytes", 0)) // tables.number_of_rows(X)
            facts = [(int(n), int(n) * per_row, signature(X)) for n in lengths]
        if empty := [k for k, each in enumerate(facts) if not each[0]]:
            _warn_empty(empty)
        if len(empty) == len(facts):
            raise ValueError(EMPTY)
        return facts

    @cached_property
    def _first(self) -> Block:
        """Some rows of the first partition that has any."""
        few = dask().delayed(tasks.beginning, pure=True)
        for X, y, w in self._parts:
            ((X, y, w),) = self._compute([few(X, y, w, TRIAL_ROWS)])
            if tables.number_of_rows(X):
                return tasks.own(X), tables.contiguous(y), tables.contiguous(w)
        raise ValueError(EMPTY)

    def beginning(self) -> Block:
        return self._first

    @cached_property
    def _token(self) -> str:
        return str(dask().base.tokenize(self.X, self.y, self.w))

    @property
    def fingerprint(self) -> str:
        return self._token

    @property
    def n_rows(self) -> int:
        return sum(self.lengths)

    @property
    def lengths(self) -> list[int]:
        """Rows of each partition."""
        return [rows for rows, _, _ in self._facts]

    @property
    def nbytes(self) -> int:
        """Bytes of all inputs, where they are numbers."""
        return sum(size for _, size, _ in self._facts)

    @property
    def n_columns(self) -> int:  # type: ignore[override]
        return tables.number_of_columns(self._first[0])

    @property
    def dtype(self) -> np.dtype | None:  # type: ignore[override]
        return tables.dtype_of(self._first[0])

    @property
    def n_blocks(self) -> int:
        return len(self._parts)

    # ---- sums ----

    def partial(
        self, part: Part, first: int = 0, sums: Sums = None, after: Callable[[int, Any], Any] | None = None
    ) -> Sums:
        """As in the base class, but blocks are waves of partitions."""
        self._try(part)
        parcel = tasks.Parcel(part)
        leaves = self._leaves(parcel, tasks.summed)
        waves = range(0, len(leaves), WAVE)
        self._tell_rows(waves[first] if first < len(waves) else len(leaves))
        for number, start in list(enumerate(waves))[first:]:
            (wave,) = self._compute([self._tree(leaves[start : start + WAVE], f"{parcel.key}-{start}")])
            sums = added(sums, wave)
            if after is not None:
                after(number + 1, sums)
            self._tell_rows(start + WAVE)
        return sums

    def map(self, part: Part) -> list[Any]:
        """part(X, y, w) of each partition that has rows, in order."""
        self._try(part)
        leaves = self._leaves(tasks.Parcel(part), tasks.mapped)
        return list(self._compute([leaf for leaf, rows in zip(leaves, self.lengths, strict=True) if rows]))

    def blocks(self, first: int = 0) -> Iterator[Block]:
        """The partitions that have rows, one after the other."""
        block = dask().delayed(tasks.block_of, pure=True)
        for k, (parts, rows) in enumerate(zip(self._parts, self.lengths, strict=True)):
            if rows and k >= first:
                ((X, y, w),) = self._compute([block(*parts, k, self._facts[k][2])])
                yield tasks.own(X), tables.contiguous(y), tables.contiguous(w)

    def sample(self, k: int, seed: int = 0) -> Block:
        n = self.n_rows
        self._sampled += 1
        self._tell_rows(0)
        last = least_hashes(n, min(k, n), seed)[-1]
        greatest = int(row_hashes(int(last), 1, seed)[0])
        pick, kind = dask().delayed(tasks.sampled, pure=True), self._kind
        starts = np.cumsum([0, *self.lengths])
        token = f"sample-{self._token}-{seed}-{greatest}"
        calls = [
            pick(*parts, k, kind, int(start), seed, greatest, dask_key_name=f"{token}-{k}")
            for k, (parts, start) in enumerate(zip(self._parts, starts, strict=False))
        ]
        found = [each for each in self._compute(calls) if each is not None]
        hashes, X, y, w = (tables.stacked(list(column)) for column in zip(*found, strict=True))
        order = np.argsort(hashes)
        X, y, w = (None if values is None else tables.at(values, order) for values in (X, y, w))
        return X, y, w

    def persisted(self) -> DaskRows:
        """The same rows, held in the memory of the workers, so that later passes do not read them again."""
        other = type(self).__new__(type(self))
        other.__dict__.update(self.__dict__)
        kept = [each for each in (self.X, self.y, self.w) if each is not None]
        held = iter(dask().persist(*kept))
        other.X, other.y, other.w = (None if each is None else next(held) for each in (self.X, self.y, self.w))
        columns = [
            [None] * len(self._parts) if each is None else partitions(each) for each in (other.X, other.y, other.w)
        ]
        other._parts = list(zip(*columns, strict=True))
        return other

    # ---- the graph ----

    def _leaves(self, part: tasks.Parcel, function: Any) -> list[Any]:
        """A task for each partition. The part, with centres and coefficients, is one node of the graph."""
        key = part.key
        node = dask().delayed(part, name=f"part-{key}", pure=True, traverse=False)
        leaf, kind = dask().delayed(function, pure=True), dask().delayed(self._kind, name=f"kind-{self._token}")
        names = [f"{function.__name__}-{self._token}-{key}-{k}" for k in range(len(self._parts))]
        return [leaf(node, *parts, k, kind, dask_key_name=names[k]) for k, parts in enumerate(self._parts)]

    @cached_property
    def _kind(self) -> tuple[Any, ...]:
        return next(kind for rows, _, kind in self._facts if rows)

    def _tree(self, leaves: list[Any], key: str) -> Any:
        """The sum of leaves, eight at a time."""
        merge, level = dask().delayed(tasks.merged, pure=True), 0
        while len(leaves) > 1 or not level:
            groups = [leaves[k : k + BRANCHES] for k in range(0, len(leaves), BRANCHES)]
            names = [f"merged-{self._token}-{key}-{level}-{k}" for k in range(len(groups))]
            leaves = [merge(*group, dask_key_name=name) for group, name in zip(groups, names, strict=True)]
            level += 1
        return leaves[0]

    def _compute(self, calls: list[Any]) -> tuple[Any, ...]:
        try:
            return dask().compute(*calls)
        except Exception as error:
            if type(error).__name__ == "CommClosedError" or LOST in str(error):
                raise ConnectionError(self._lost(error)) from error
            if type(error).__name__ != "KilledWorker":
                raise
            raise RuntimeError(
                "Too many workers died while they worked on the same partition, so Dask gave it up: most likely it "
                "takes more memory than a worker has. Use smaller partitions, workers with more memory, or a larger "
                f"distributed.scheduler.allowed-failures. Dask says: {error}"
            ) from error

    def _lost(self, error: Exception) -> str:
        """The error message for a lost scheduler, with what to do about it."""
        said = str(error).split("\n", 1)[0]
        if self._journal is None:
            again = "and repeat the call; with rows(..., checkpoint=path) a fit would go on from there"
        else:
            again = f"and repeat the call with the checkpoint {self._journal.path}, from which it goes on"
        return f"The connection to Dask's scheduler is lost. Start a scheduler, {again}. Dask says: {said}"

    def _try(self, part: Part) -> None:
        """Run the part on some rows in this process: errors surface at once, and loops are compiled only here."""
        if type(part) not in self._tried:
            part(*self._first)
            self._tried.add(type(part))

    def _tell_rows(self, partitions_done: int) -> None:
        if self._watch is not None:
            self._watch(sum(self.lengths[:partitions_done]), self.n_rows)


def _warn_empty(empty: list[int]) -> None:
    several = f"Partitions {', '.join(map(str, empty[:5]))}{' and others' * (len(empty) > 5)} have"
    which = f"Partition {empty[0]} has" if len(empty) == 1 else several
    warnings.warn(f"{which} no rows and will be skipped.", stacklevel=2)


def is_dask(X: Any) -> bool:
    """Whether X is a Dask collection, without importing Dask."""
    return hasattr(X, "__dask_graph__") and hasattr(X, "to_delayed")


def partitions(collection: Any) -> list[Any]:
    """The partitions of an array or a data frame, each as a delayed object."""
    return list(np.ravel(collection.to_delayed()))


def aligned(X: Any, values: Any, name: str) -> Any:
    """Targets or weights partitioned like X, or an error that says how to do that."""
    if values is None:
        return None
    if not is_dask(values):
        raise TypeError(
            f"X is a collection of Dask, but {name} is {type(values).__name__}; make it one, too, with the partitions "
            f"of X, such as dask.array.from_array({name.split()[-1]}, chunks=X.chunks[0])."
        )
    ours, theirs = (getattr(each, "chunks", ((np.nan,),))[0] for each in (X, values))
    if np.isnan(np.sum(ours)) or np.isnan(np.sum(theirs)):
        return values  # lengths are compared on the workers
    if sum(ours) != sum(theirs):
        raise ValueError(f"X has {sum(ours)} rows and {name} {sum(theirs)}; give one for each row of X.")
    return values if ours == theirs else values.rechunk({0: ours})
