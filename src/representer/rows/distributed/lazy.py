"""Answers of a fitted model about Dask collections, which are computed when somebody asks for them."""

from __future__ import annotations

from functools import wraps
from typing import Any

import numpy as np

from representer.rows.distributed import tasks
from representer.rows.distributed.dask_rows import dask, is_dask


def lazily(method: Any) -> Any:
    """A method of X alone and options, whose answer about a Dask collection is one, too."""

    @wraps(method)
    def answer(self: Any, X: Any, *args: Any, **options: Any) -> Any:
        if not is_dask(X):
            return method(self, X, *args, **options)
        if args:
            raise TypeError(f"{method.__name__} of a Dask collection takes options by name.")
        return later(self, X, method.__name__, options)

    answer.is_lazy = True  # type: ignore[attr-defined]
    return answer


def is_lazy(method: Any) -> bool:
    """Whether a method answers lazily already."""
    return getattr(method, "is_lazy", False)


def later(model: Any, X: Any, method: str, options: dict[str, Any]) -> Any:
    """A Dask array of what a method of the model says of each row; the model is one node of the graph."""
    parcel = tasks.Parcel(model)
    node = dask().delayed(parcel, name=f"model-{parcel.key}", pure=True, traverse=False)
    call: dict[str, Any] = {"model": node, "method": method, "options": options}
    if hasattr(X, "columns"):
        meta = tasks.answered(X._meta_nonempty, parcel, method, options)
        return X.map_partitions(tasks.answered, **call, meta=meta[:0])
    X = X.rechunk({1: -1})
    meta = tasks.answered(np.zeros((2, X.shape[1]), X.dtype), parcel, method, options)
    if meta.ndim == 1:
        return X.map_blocks(tasks.answered, **call, drop_axis=1, dtype=meta.dtype, meta=meta[:0])
    chunks = (X.chunks[0], *((n,) for n in meta.shape[1:]))
    return X.map_blocks(tasks.answered, **call, chunks=chunks, dtype=meta.dtype, meta=meta[:0])
