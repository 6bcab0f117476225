"""Lazy predictions of a fitted model for Dask collections."""

from __future__ import annotations

import warnings
from functools import partial, wraps
from typing import Any

import numpy as np

from representer.rows.base import Rows
from representer.rows.distributed import tasks
from representer.rows.distributed.dask_rows import DaskRows, dask, is_dask


def lazily(method: Any) -> Any:
    """Decorator of a method of X and options: lazy for a Dask collection, and block by block for `Rows`."""

    @wraps(method)
    def answer(self: Any, X: Any, *args: Any, **options: Any) -> Any:
        if isinstance(X, DaskRows):
            X = X.X
        if isinstance(X, Rows):
            return in_blocks(self, X, partial(method, self, **options))
        if not is_dask(X):
            return method(self, X, *args, **options)
        if args:
            raise TypeError(f"{method.__name__} of a Dask collection takes options by name.")
        return later(self, X, method.__name__, options)

    answer.is_lazy = True  # type: ignore[attr-defined]
    return answer


def in_blocks(model: Any, rows: Rows, answer: Any) -> Any:
    """Predictions for all rows, block by block; a tuple of arrays where there are several per row."""
    names = getattr(model, "feature_names_in_", None)
    if names is not None and rows.names is not None and list(names) != list(rows.names):
        raise ValueError(f"The rows have the columns {', '.join(rows.names)}, but the fit had {', '.join(names)}.")
    with warnings.catch_warnings():  # names were compared, and blocks are plain arrays
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        found = list(rows.apply(answer))
    if isinstance(found[0], tuple):
        return tuple(np.concatenate(parts) for parts in zip(*found, strict=True))
    return np.concatenate(found)


def is_lazy(method: Any) -> bool:
    """Whether a method is lazy already."""
    return getattr(method, "is_lazy", False)


def later(model: Any, X: Any, method: str, options: dict[str, Any]) -> Any:
    """A Dask array of a method's result for each row; the model is one node of the graph."""
    parcel = tasks.Parcel(model)
    node = dask().delayed(parcel, name=f"model-{parcel.key}", pure=True, traverse=False)
    if options.get("return_cov"):
        raise ValueError("A covariance is of all rows at once, but partitions are computed one by one; pass arrays.")
    call: dict[str, Any] = {"model": node, "method": method, "options": options}
    if hasattr(X, "columns"):
        meta, pair = tasks.tried(_two_rows(model, X), parcel, method, options)
        answer = X.map_partitions(tasks.answered, **call, meta=meta[:0])
        return _apart(answer, meta) if pair else answer
    X = X.rechunk({1: -1})
    meta, pair = tasks.tried(np.zeros((2, X.shape[1]), X.dtype), parcel, method, options)
    if meta.ndim == 1:
        return X.map_blocks(tasks.answered, **call, drop_axis=1, dtype=meta.dtype, meta=meta[:0])
    chunks = (X.chunks[0], *((n,) for n in meta.shape[1:]))
    axes = {"new_axis": list(range(2, meta.ndim))} if meta.ndim > 2 else {}
    answer = X.map_blocks(tasks.answered, **call, chunks=chunks, dtype=meta.dtype, meta=meta[:0], **axes)
    return _apart(answer, meta) if pair else answer


def _two_rows(model: Any, X: Any) -> Any:
    """Inputs for a trial run: those of the fit where they are objects or frames, else made up by Dask, with gaps."""
    made: Any = X._meta_nonempty.iloc[[0, 0]]
    known: Any = getattr(model, "X_fit_", None)
    if hasattr(known, "columns") and hasattr(made, "columns") and set(made.columns) <= set(known.columns):
        return known[list(made.columns)].iloc[:2]
    return known[:2] if isinstance(known, list) and not hasattr(made, "columns") else made


def _apart(answer: Any, meta: np.ndarray) -> tuple[Any, ...]:
    """Several results per row, which tasks have stacked, as separate arrays."""
    return tuple(answer[..., k] for k in range(meta.shape[-1]))
