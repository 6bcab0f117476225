"""Validation of inputs and parameters of kernels, with errors that say what to do."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy import sparse

from representer.kernels.graph_formats import is_graph_object, is_listed_graph
from representer.kernels.prepared import rows_at

COPIED_BYTES = 2**24
"""Read-only arrays up to this size, such as those of data frames, are copied: loops would be recompiled for them."""


def number_of(X: Any) -> int:
    """The number of inputs in X: rows of an array, a sparse matrix or a data frame, or items of a list."""
    if type(X) is np.ndarray and X.size:  # the common case, on the hot path of small fits
        return len(X)
    if isinstance(X, str | bytes | dict) and not sparse.issparse(X):  # a sparse matrix may be a dict of its entries
        raise TypeError(f"X is a single {type(X).__name__}; pass a list of inputs, an array or a data frame.")
    if is_graph_object(X):
        raise TypeError("X is one graph; pass [G].")
    if not getattr(X, "shape", ()) and not hasattr(X, "__len__"):
        raise TypeError(f"X is {X!r}; pass a list of inputs, an array or a data frame.")
    n = X.shape[0] if getattr(X, "shape", ()) else len(X)
    if n == 0:
        raise ValueError("X is empty; a kernel needs at least one input.")
    return n


def vectors(X: Any, kernel: Any, like: Any = None) -> Any:
    """X as a float32 or float64 array or CSR matrix with finite entries.

    It has the width, kind and dtype of ``like``. ``kernel``, or its name, is named in errors.
    """
    name = kernel if isinstance(kernel, str) else type(kernel).__name__
    number_of(X)
    rows_of_numbers(X, name)
    unmasked(X, "X")
    X = _to_csr(X) if sparse.issparse(X) else _to_array(X, name)
    if X.dtype.kind not in "biuf":
        raise TypeError(_not_numbers(name, "strings" if X.dtype.kind in "US" else str(X.dtype)))
    if X.dtype not in (np.float32, np.float64):
        X = X.astype(np.float64)
    if X.shape[1] == 0:
        raise ValueError(f"X has no columns; {name} needs at least one.")
    finite(X, "X")
    if like is None:
        return X
    if X.shape[1] != like.shape[1]:
        raise ValueError(
            f"X has {X.shape[1]} columns where the other inputs of {name} have {like.shape[1]}; "
            "pass the same columns to both."
        )
    if sparse.issparse(like):
        return sparse.csr_array(X, dtype=like.dtype)
    return (X.toarray() if sparse.issparse(X) else X).astype(like.dtype, copy=False)


def _to_csr(X: Any) -> sparse.csr_array:
    """With int32 indices where these suffice: loops are compiled for each index type."""
    X = sparse.csr_array(X)
    if X.indices.dtype == np.int32 or max(X.nnz, *X.shape) > np.iinfo(np.int32).max:
        return X
    return sparse.csr_array((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), X.shape)


def rows_of_numbers(X: Any, name: str = "The kernel") -> None:
    """Raise if X holds strings, sets or graphs: numpy takes a graph for a row of the names of its nodes."""
    if is_graph_object(X):
        raise TypeError("X is one graph; pass [G].")
    if isinstance(X, list | tuple):
        first = X[0] if X else None
    elif hasattr(X, "to_numpy") or isinstance(X, np.ndarray):
        first = next(iter(X), None) if len(X.shape) == 1 else None
    else:
        return
    for what, is_one, kernels in NO_ROWS:
        if is_one(first):
            raise TypeError(
                f"{name} needs numbers, but X holds {what}; use a kernel of {what}, such as {kernels}, or pick numeric "
                "columns of a data frame with On(kernel, columns)."
            )


NO_ROWS: tuple[tuple[str, Callable[[Any], bool], str], ...] = (
    ("strings", lambda x: isinstance(x, str), "Words() or Spectrum(3)"),
    ("sets", lambda x: isinstance(x, set | frozenset), "Jaccard()"),
    ("graphs", is_listed_graph, "WeisfeilerLehman()"),
)
"""What numpy makes no rows of numbers of, or wrong ones, and kernels that take it."""


def unmasked(X: Any, name: str) -> None:
    """Raise if entries are masked: as an array, X would expose what is behind the mask."""
    if np.ma.is_masked(X):
        raise ValueError(f"{name} has masked entries; fill or remove them first.")


def _to_array(X: Any, name: str) -> np.ndarray:
    try:
        X = np.asarray(X)
    except ValueError:
        raise ValueError(
            f"The rows of X have unequal lengths; {name} needs one number per column in each row."
        ) from None
    if X.dtype.kind == "O":
        try:
            X = X.astype(np.float64)
        except (TypeError, ValueError):
            raise TypeError(_not_numbers(name, "objects")) from None
    if X.dtype.kind not in "biuf":
        raise TypeError(_not_numbers(name, "strings" if X.dtype.kind in "US" else str(X.dtype)))
    if X.ndim != 2:
        hint = (
            "use X.reshape(-1, 1) or On(kernel, [name]) for one column, or X.reshape(1, -1) for one row"
            if X.ndim == 1
            else "use two dimensions"
        )
        raise ValueError(f"X has {X.ndim} dimension{'s' * (X.ndim != 1)} where {name} needs rows and columns; {hint}.")
    return X if X.flags.writeable or X.nbytes > COPIED_BYTES else X.copy()


def _not_numbers(name: str, what: str) -> str:
    return (
        f"{name} needs numbers, but X holds {what}; "
        f"pick numeric columns with On({name}(), columns) or use a kernel for such inputs."
    )


def finite(X: Any, name: str) -> None:
    """Raise if an entry is NaN or infinite."""
    if are_finite(X.data if sparse.issparse(X) else X):
        return
    if sparse.issparse(X):
        X = X.tocoo()
        bad = ~np.isfinite(X.data)
        where = np.stack([X.row[bad], X.col[bad]], axis=1)
    else:
        where = np.argwhere(~np.isfinite(X))
    raise ValueError(
        f"{name} has {len(where)} entries that are NaN or infinite, the first at {tuple(map(int, where[0]))}; "
        "remove or impute them."
    )


def finite_rows(X: Any, name: str, start: int) -> None:
    """Raise if an entry of these rows, the first of which is row ``start``, is NaN or infinite."""
    try:
        finite(X, name)
    except ValueError as error:
        raise ValueError(f"In the rows of {name} from {start} on (counted from there): {error}") from None


def are_finite(values: np.ndarray) -> bool:
    """Whether no entry is NaN or infinite. For many entries the sum is tested first, which needs no array of flags."""
    if values.size > 10_000:
        with np.errstate(over="ignore", invalid="ignore"):
            if np.isfinite(values.sum()):
                return True
    return bool(np.isfinite(values).all())


def no_overflow(values: np.ndarray, kernel: Any) -> None:
    """Raise if values of a kernel on finite inputs, or their intermediate results, overflow in float64.

    In float32 they may: solvers that try it first then switch to float64.
    """
    if values.dtype == np.float64 and not are_finite(values):
        raise ValueError(
            f"Values of {kernel!r} overflow, because the inputs are too large; scale them, or use another kernel."
        )


def variance_of_entries(rows: Any, weights: np.ndarray | None) -> float:
    """The variance of all entries of rows together, with weights as repetitions of rows."""
    share = np.full(rows.shape[0], 1.0) if weights is None else weights
    share = share / share.sum() / rows.shape[1]
    if sparse.issparse(rows):
        sums, squares = (np.asarray(each.sum(axis=1)).ravel() for each in (rows, rows.multiply(rows)))
        return float(share @ squares - (share @ sums) ** 2)
    off = rows - float(share @ rows.sum(axis=1, dtype=np.float64))
    return float(share @ np.einsum("ij,ij->i", off, off))


def default_scale(typical: float, name: str = "length_scale") -> float:
    """A default scale: the typical distance of X, or one where that is zero; raise if it overflows."""
    if not np.isfinite(typical):
        raise ValueError(
            f"No {name} can be chosen from X, because squares of its entries overflow; "
            f"divide X by a constant first, or give a {name}."
        )
    return float(typical) or 1.0


def concatenate(X: Any, Y: Any) -> Any:
    """The inputs X followed by the inputs Y, of the same type: arrays, sparse matrices, data frames or lists."""
    if sparse.issparse(X) or sparse.issparse(Y):
        return sparse.vstack([sparse.csr_array(X), sparse.csr_array(Y)], format="csr")
    if isinstance(X, np.ndarray) and isinstance(Y, np.ndarray):
        return np.concatenate([X, Y])
    if hasattr(X, "followed_by"):
        return X.followed_by(Y)
    frames = hasattr(X, "columns"), hasattr(Y, "columns")
    if frames[0] != frames[1]:
        raise TypeError(f"The inputs are of types {type(X).__name__} and {type(Y).__name__}; convert one of them.")
    if all(frames):
        if missing := [str(name) for name in X.columns if name not in Y.columns]:
            raise ValueError(f"Only the first data frame has the columns {', '.join(missing)}; pass the same to both.")
        library = import_module(type(X).__module__.split(".")[0])  # pandas and polars both have a concat
        return library.concat([X, Y[list(X.columns)]])
    return [*X, *Y]


def take(X: Any, index: Any) -> Any:
    """The inputs at some indices, of any type: arrays, sparse matrices, data frames, graphs or lists."""
    if hasattr(X, "iloc"):
        return X.iloc[index]
    if sparse.issparse(X):
        return X.tocsr()[index]
    return rows_at(X, index) if hasattr(X, "shape") else [X[i] for i in index]


def objects(X: Any, name: str) -> list:
    """The inputs of a kernel that does not take rows of numbers, as a list."""
    number_of(X)
    if hasattr(X, "columns"):
        raise TypeError(f"X is a data frame; pick the column for {name} with On({name}(...), column).")
    return list(X)


def items(X: Any) -> Any:
    """Inputs for a user's function: an array where they are rows of numbers, a CSR matrix, or a list."""
    number_of(X)
    if sparse.issparse(X):
        return X.tocsr()  # other formats have no slices
    if isinstance(X, np.ndarray):
        return X
    if hasattr(X, "columns"):
        return np.asarray(X)
    if not all(isinstance(x, list | tuple | np.ndarray) for x in X):
        return list(X)  # objects that NumPy would unpack, such as graphs into their nodes
    try:
        rows = np.asarray(X)
    except ValueError:
        return list(X)
    return rows if rows.ndim == 2 and rows.dtype.kind in "biuf" else list(X)


def positive(value: Any, name: str) -> float:
    """A positive finite number."""
    if not isinstance(value, Real) or isinstance(value, bool) or not 0 < float(value) < np.inf:
        raise ValueError(f"{name} is {value!r}; it must be a positive number.")
    return float(value)


def integer(value: Any, name: str, least: int = 1, most: int | None = None) -> int:
    """An integer, at least ``least`` and at most ``most``."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} is {value!r}; it must be an integer, at least {least}.")
    if most is not None and int(value) > most:
        raise ValueError(f"{name} is {value!r}, which would take too long or too much memory; use at most {most:,}.")
    return int(value)


def boolean(value: Any, name: str) -> bool:
    """True or False; other values, such as "no", would be taken for True."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} is {value!r}; it must be True or False.")
    return bool(value)


def real(value: Any, name: str) -> float:
    """A finite number."""
    if not isinstance(value, Real) or not np.isfinite(float(value)):
        raise ValueError(f"{name} is {value!r}; it must be a finite number.")
    return float(value)


def length_scale(value: Any, n_columns: int, name: str = "length_scale") -> np.ndarray:
    """A positive number or one per column, as an array that broadcasts against rows. None means 1."""
    if isinstance(value, float) and 0.0 < value < np.inf:
        return np.asarray(value, np.float64)
    try:
        given = np.asarray(1.0 if value is None else value)
        scale = given.astype(np.float64) if given.dtype.kind in "iuf" else np.array(np.nan)
    except (TypeError, ValueError):
        scale = np.array(np.nan)
    if scale.ndim > 1 or not np.all((scale > 0.0) & (scale < np.inf)):
        raise ValueError(f"{name} is {value!r}; it must be a positive number, or one positive number per column.")
    if scale.ndim == 1 and len(scale) != n_columns:
        raise ValueError(
            f"{name} has {len(scale)} entries, but X has {n_columns} columns; give one number or one per column."
        )
    return scale
