"""Rows of a table of any type: an array, a sparse matrix, a data frame or a list."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
from scipy import sparse

from representer.kernels.prepared import rows_at


def number_of_rows(X: Any) -> int:
    """Number of rows of a table, possibly zero."""
    return X.shape[0] if getattr(X, "shape", ()) else len(X)


def number_of_columns(X: Any) -> int:
    """Number of columns of a table; 1 for a list of objects."""
    shape = getattr(X, "shape", ())
    return int(np.prod(shape[1:])) if len(shape) > 1 else 1


def part(X: Any, start: int, stop: int) -> Any:
    """The rows from start to stop; a view where the table has views."""
    return X.iloc[start:stop] if hasattr(X, "iloc") else X[start:stop]


def at(X: Any, index: np.ndarray) -> Any:
    """The rows at some indices, in that order."""
    if hasattr(X, "iloc"):
        return X.iloc[index]
    return rows_at(X, index) if hasattr(X, "shape") else [X[i] for i in index]


def contiguous(values: Any) -> Any:
    """The same values in row-major order and aligned in memory, like arrays that NumPy has allocated.

    BLAS may round products of other arrays differently. Those received over a network need not be aligned.
    """
    if sparse.issparse(values):
        parts = (values.data, values.indices, values.indptr)
        return values if all(part.flags.aligned for part in parts) else values.copy()
    if isinstance(values, np.ndarray) and values.dtype != object:
        return np.require(values, requirements=["C", "ALIGNED"])
    return values


def stacked(parts: list[Any]) -> Any:
    """The rows of several tables of the same type, concatenated; None where these are None."""
    first = parts[0]
    if first is None:
        return None
    if isinstance(first, np.ndarray):
        return np.concatenate(parts)
    if sparse.issparse(first):
        return sparse.vstack(parts, format="csr")
    if hasattr(first, "columns"):
        return import_module(type(first).__module__.split(".")[0]).concat(parts)  # pandas and polars both have a concat
    return [item for part in parts for item in part]


def sliceable(X: Any) -> Any:
    """X in a form that slices by rows: CSR for sparse matrices, a list for other sequences."""
    if sparse.issparse(X):
        return X.tocsr()
    if hasattr(X, "shape") or hasattr(X, "iloc") or isinstance(X, list):
        return X
    return list(X)


def dtype_of(X: Any) -> np.dtype | None:
    """The float type that kernels compute in, for a table of numbers; None for objects and mixed columns."""
    kind = getattr(X, "dtype", None)
    if isinstance(kind, np.dtype):
        return None if kind.kind not in "biuf" else kind if kind == np.float32 else np.dtype(np.float64)
    names = [str(each).lower() for each in getattr(X, "dtypes", ())]
    numeric = [name.startswith(("float", "int", "uint", "bool")) for name in names]
    if not names or not all(numeric):
        return None
    return np.dtype(np.float32 if all(name == "float32" for name in names) else np.float64)


def names_of(X: Any) -> list[str] | None:
    """The names of a data frame's columns."""
    return [str(name) for name in X.columns] if hasattr(X, "columns") else None
