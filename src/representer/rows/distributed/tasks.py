"""Tasks for workers: pure functions of a partition, which a scheduler may rerun anywhere when a worker dies.

Task keys name what is computed, so that a task that runs twice gives the same bits under the same name.
"""

from __future__ import annotations

import pickle
from functools import lru_cache
from hashlib import blake2b
from importlib import import_module
from typing import Any

import numpy as np

from representer import _parallel
from representer.rows import tables
from representer.rows.base import Block, Sums, added, located, row_hashes, rows_per_block
from representer.rows.layout import Layout, check_block, same_layout, signature

Facts = tuple[int, int, tuple[Any, ...]]
"""Rows, bytes, and the signature of the inputs of a partition."""


class Parcel:
    """An object on its way to the workers, pickled to bytes.

    Arrays that a scheduler sends need not be aligned in memory, and NumPy multiplies unaligned ones by its own loops,
    which are slower than BLAS and round differently.
    """

    def __init__(self, content: Any):
        self.data = import_module("cloudpickle").dumps(content, protocol=4)  # Dask has it
        self.key = blake2b(self.data, digest_size=12).hexdigest()

    def open(self) -> Any:
        """The object, unpickled once for several tasks."""
        return _opened(self.data)


@lru_cache(maxsize=2)
def _opened(data: bytes) -> Any:
    return pickle.loads(data)


def block_of(X: Any, y: Any, w: Any, number: int, expected: tuple[Any, ...] | None) -> Block:
    """Inputs, targets and weights of a partition, checked to have the layout of the first one that has rows."""
    where = f"Partition {number}"
    X, y, w = plain(X), flat(y, where), flat(w, where)
    if tables.number_of_rows(X):
        check_block(X, y, w, where)
        if expected is not None:
            same_layout(X, expected, where)
    return tables.contiguous(X), tables.contiguous(y), tables.contiguous(w)


def plain(X: Any) -> Any:
    """A partition of a data frame as an array if all columns are numbers; categories as their values."""
    if not hasattr(X, "columns"):
        return tables.sliceable(X)
    X = own(X)
    names = [name for name, dtype in zip(X.columns, X.dtypes, strict=True) if str(dtype) == "category"]
    return Layout().split(X.astype({name: X[name].cat.categories.dtype for name in names}), "A partition")[0]


def flat(values: Any, where: str) -> Any:
    """Targets or weights of a partition as an array; a single column becomes one-dimensional."""
    if values is None:
        return None
    if hasattr(values, "columns") and len(values.columns) == 1:
        values = values.iloc[:, 0]
    values = np.asarray(values)
    if values.dtype == object and not any(isinstance(value, str) for value in values.ravel()[:1]):
        raise ValueError(f"{where} has targets or weights that are neither numbers nor text.")
    return values.astype(str) if values.dtype == object else values


def facts_of(X: Any) -> Facts:
    """What the driver needs to know about a partition."""
    X = plain(X)
    return tables.number_of_rows(X), int(getattr(X, "nbytes", 0)), signature(X)


def beginning(X: Any, y: Any, w: Any, k: int) -> Block:
    """The first k rows of a partition."""
    block = block_of(X, y, w, 0, None)
    X, y, w = (None if values is None else tables.part(values, 0, k) for values in block)
    return X, y, w


def summed(part: Parcel, X: Any, y: Any, w: Any, number: int, expected: tuple[Any, ...]) -> Sums:
    """The sum of the part over the blocks of a partition, in order, on one thread."""
    X, y, w = block_of(X, y, w, number, expected)
    n, size, sums = tables.number_of_rows(X), rows_per_block(tables.number_of_columns(X)), None
    with _parallel.one_thread():
        for k, start in enumerate(range(0, n, size)):
            cut = [None if values is None else tables.part(values, start, start + size) for values in (X, y, w)]
            try:
                sums = added(sums, located(part.open(), k, size)(*cut))
            except ValueError as error:
                raise ValueError(f"Partition {number}: {error}") from None
    return sums


def mapped(part: Parcel, X: Any, y: Any, w: Any, number: int, expected: tuple[Any, ...]) -> Any:
    """The part of a whole partition, on one thread."""
    block = block_of(X, y, w, number, expected)
    with _parallel.one_thread():
        return part.open()(*block)


def merged(*parts: Sums) -> Sums:
    """Sums of some partitions, added in order."""
    sums = None
    for part in parts:
        sums = added(sums, part)
    return sums


def sampled(
    X: Any, y: Any, w: Any, number: int, expected: tuple[Any, ...], start: int, seed: int, greatest: int
) -> tuple[Any, ...] | None:
    """The hashes up to ``greatest`` of a partition's rows, numbered from ``start`` on, and these rows.

    None if there are none.
    """
    hashes = row_hashes(start, tables.number_of_rows(X), seed)
    index = np.flatnonzero(hashes <= np.uint64(greatest))
    if not len(index):
        return None
    block = block_of(X, y, w, number, expected)
    return hashes[index], *(None if values is None else tables.at(values, index) for values in block)


def answered(X: Any, model: Any = None, method: str = "", options: dict | None = None) -> np.ndarray:
    """The result of a method of a fitted model for a partition, on one thread; ``model`` is a `Parcel`."""
    return tried(X, model, method, options or {})[0]


def tried(X: Any, model: Any, method: str, options: dict) -> tuple[np.ndarray, bool]:
    """The same, and whether there are several results per row, which are stacked."""
    with _parallel.one_thread():
        found = getattr(model.open(), method)(own(X), **options)
    several = isinstance(found, tuple)
    return np.stack(found, axis=-1) if several else np.asarray(found), several


def own(X: Any) -> Any:
    """A partition in memory that NumPy has allocated."""
    return X.copy() if hasattr(X, "columns") else tables.contiguous(X)
