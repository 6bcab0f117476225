"""Batches of any kind as inputs, targets and weights: Arrow batches, data frames, arrays, tuples.

The first batch, or a schema, decides what batches hold; a later one that differs raises an error that names it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from representer.kernels import checks
from representer.rows import tables
from representer.rows.base import Block


@dataclass(frozen=True)
class Layout:
    """Which columns are targets and weights, and which are inputs.

    Column names for tables, indices for arrays; inputs are all other columns where ``columns`` is None.
    """

    target: Any = None
    weight: Any = None
    columns: Any = None

    def split(self, batch: Any, where: str) -> Block:
        """Inputs, targets and weights of a batch; ``where`` names it in errors."""
        if isinstance(batch, tuple):
            X, y, w = self._parts(batch, where)
        elif hasattr(batch, "schema") and hasattr(batch, "column_names"):  # Arrow
            X, y, w = self._of_arrow(batch, where)
        elif hasattr(batch, "columns"):
            X, y, w = self._of_frame(batch, where)
        else:
            X, y, w = self._of_array(batch, where)
        y, w = (None if values is None else _plain(values) for values in (y, w))
        check_block(X, y, w, where)
        return X, y, w

    @property
    def others(self) -> list[Any]:
        """The columns of targets and weights."""
        targets = self.target if isinstance(self.target, list) else [self.target]
        return [column for column in (*targets, self.weight) if column is not None]

    def inputs(self, names: list[str], where: str) -> list[str]:
        """The names of the input columns, after checking that all wanted columns exist."""
        others = self.others
        wanted = [name for name in names if name not in others] if self.columns is None else list(self.columns)
        if missing := [str(name) for name in (*wanted, *others) if name not in names]:
            raise ValueError(
                f"{where} has no column {', '.join(map(repr, missing))}; its columns are {', '.join(names)}."
            )
        if not wanted:
            raise ValueError(f"{where} has no columns besides target and weight.")
        return wanted

    def _parts(self, batch: tuple, where: str) -> Block:
        if self.target is not None or self.weight is not None or self.columns is not None:
            raise ValueError(
                f"{where} is a tuple (X, y, weights) already, so target, weight and columns have no meaning; "
                "leave them out."
            )
        if not 1 <= len(batch) <= 3:
            raise ValueError(f"{where} is a tuple of {len(batch)}; it must be (X,), (X, y) or (X, y, weights).")
        X, y, w = (*batch, None, None)[:3]
        return tables.sliceable(X), y, w

    def _of_arrow(self, batch: Any, where: str) -> Block:
        wanted = self.inputs(batch.column_names, where)
        several = isinstance(self.target, list)
        y = np.column_stack([_numbers(batch, name, where) for name in self.target]) if several else None
        if not several and self.target is not None:
            y = _numbers(batch, self.target, where)
        w = None if self.weight is None else _numbers(batch, self.weight, where)
        kinds = [_kind(batch.schema.field(name).type) for name in wanted]
        if None in kinds:
            return batch.select(wanted).to_pandas(strings_to_categorical=False), y, w
        dtype = np.float32 if all(kind == "float32" for kind in kinds) else np.float64
        X = np.empty((batch.num_rows, len(wanted)), dtype)
        for j, name in enumerate(wanted):
            X[:, j] = _numbers(batch, name, where)
        return X, y, w

    def _of_frame(self, frame: Any, where: str) -> Block:
        wanted = self.inputs(list(map(str, frame.columns)), where)
        y = None if self.target is None else np.asarray(frame[self.target])
        w = None if self.weight is None else np.asarray(frame[self.weight])
        X = frame[wanted]
        dtype = tables.dtype_of(X)
        return X if dtype is None else np.ascontiguousarray(X, dtype), y, w

    def _of_array(self, X: Any, where: str) -> Block:
        X = tables.sliceable(X)
        if self.target is None and self.weight is None and self.columns is None:
            return X, None, None
        n_columns = tables.number_of_columns(X)
        for number in self.others:
            if not isinstance(number, int | np.integer) or not -n_columns <= number < n_columns:
                raise ValueError(
                    f"{where} is an array with {n_columns} columns, so {number} is not a column of it; "
                    "give target and weight as numbers of columns."
                )
        rest = np.delete(np.arange(n_columns), self.others)
        y = None if self.target is None else X[:, self.target]
        w = None if self.weight is None else X[:, self.weight]
        return X[:, rest if self.columns is None else self.columns], y, w


def check_block(X: Any, y: Any, w: Any, where: str) -> None:
    """Raise if numbers are missing or infinite, weights negative, or lengths unequal."""
    n = tables.number_of_rows(X)
    for values, name in ((y, "targets"), (w, "weights")):
        if values is not None and len(values) != n:
            raise ValueError(f"{where} has {n} rows of inputs and {len(values)} {name}; give one for each row.")
    numeric = sparse.issparse(X) or (isinstance(X, np.ndarray) and X.dtype.kind == "f")
    for values, name in ((X if numeric else None, "the inputs"), (y, "the target"), (w, "the weight")):
        if values is None or (values is not X and values.dtype.kind != "f"):
            continue
        if not checks.are_finite(values.data if sparse.issparse(values) else values):
            row = "" if sparse.issparse(values) else f" in row {_first_bad(values)} of it"
            raise ValueError(f"{where} has missing or infinite values among {name},{row}; remove or impute them.")
    if w is not None and (w.dtype.kind not in "biuf" or np.any(w < 0)):
        raise ValueError(f"{where} has weights that are negative or not numbers.")


def same_layout(X: Any, first: tuple[Any, ...], where: str) -> None:
    """Raise if the width, names or type of a batch differ from those of the first one."""
    here = signature(X)
    for mine, expected, what in zip(here, first, ("columns", "type", "names"), strict=True):
        if mine != expected:
            raise ValueError(
                f"{where} has different {what} from those before it: {_shown(mine)} where they have {_shown(expected)}."
            )


def signature(X: Any) -> tuple[Any, ...]:
    """Width, type and names of inputs."""
    dtype = getattr(X, "dtype", None)
    kind = str(dtype) if isinstance(dtype, np.dtype) else type(X).__name__
    return tables.number_of_columns(X), kind, tables.names_of(X)


def _shown(value: Any) -> str:
    return ", ".join(value) if isinstance(value, list) else str(value)


def _first_bad(values: np.ndarray) -> int:
    return int(np.argwhere(~np.isfinite(values))[0][0])


def _plain(values: Any) -> np.ndarray:
    return values if type(values) is np.ndarray else np.asarray(values)


def _kind(kind: Any) -> str | None:
    """float32, number, or None for an Arrow type that is neither."""
    name = str(kind)
    if name == "float":
        return "float32"
    return "number" if name == "double" or name.startswith(("int", "uint", "bool", "halffloat", "decimal")) else None


def _numbers(batch: Any, name: str, where: str) -> np.ndarray:
    """A column of an Arrow batch as an array; raise if values are missing."""
    column = batch.column(name)
    if column.null_count:
        values = np.asarray(column.is_null())
        raise ValueError(
            f"{where} has {column.null_count} missing values in column {name!r}, the first in row "
            f"{int(values.argmax())} of it; remove or impute them."
        )
    return np.asarray(column.to_numpy(zero_copy_only=False) if not hasattr(column, "chunks") else column.to_numpy())
