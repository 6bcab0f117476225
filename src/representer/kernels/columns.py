"""Kernels of some columns of a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from representer.kernels import checks, separated
from representer.kernels.algebra import Wrapper
from representer.kernels.base import Gradients, Kernel, require_kernel
from representer.kernels.dates import as_days, dates_as_days, is_date
from representer.kernels.missing import missing_entries
from representer.kernels.named_features import Features, LinearForm, NamedFeatures
from representer.kernels.prepared import Prepared


@dataclass
class Columns(Prepared):
    """The inputs that the kernel has prepared from some columns, and the number of columns of the whole table."""

    inputs: Any
    n_columns: int
    numeric: bool

    def __len__(self) -> int:
        return len(self.inputs)

    def __getitem__(self, index: Any) -> Columns:
        return Columns(self.inputs[index], self.n_columns, self.numeric)

    @property
    def dtype(self) -> np.dtype:
        return self.inputs.dtype


class On(Wrapper, Kernel):  # type: ignore[override]
    """k applied to some columns of a data frame (pandas, polars, or anything indexed by name) or of an array.

    Parameters
    ----------
    kernel : Kernel
    columns : str, int, or list of them
        A list passes the kernel a table, as kernels on vectors expect, even for one column; a single name passes the
        column itself, as kernels of strings, sets, graphs and categories expect.

    Notes
    -----
    Dates and times become days since 1970, and time differences become days, so that `On(Periodic(period=365.25),
    ["date"])` repeats every year.

    Examples
    --------
    >>> import pandas as pd
    >>> from representer.kernels import On, RBF, Spectrum
    >>> people = pd.DataFrame({"age": [30.0, 31.0], "income": [2.0, 2.0], "sequence": ["ACGT", "ACGA"]})
    >>> k = On(RBF(), ["age", "income"]) * On(Spectrum(3), "sequence")
    >>> k(people).round(4)
    array([[2.    , 0.6065],
           [0.6065, 2.    ]])
    """

    def __init__(self, kernel: Kernel, columns: Any):
        self.kernel = require_kernel(kernel)
        self.columns = columns

    on_vectors = False
    separated = separated.of_columns

    candidates = None

    def with_default_scales(self, X: Any, weights: np.ndarray | None = None) -> Kernel:
        self._check(X)
        return On(self.kernel.with_default_scales(self.pick(X), weights), self.columns)

    def prepare(self, X: Any, like: Columns | None = None) -> Columns:
        numeric = self._check(X)
        inputs = self.kernel.prepare(self.pick(X), like=None if like is None else like.inputs)
        return Columns(inputs, X.shape[1], numeric)

    def _check(self, X: Any) -> bool:
        """Whether X is an array, after checking that it is a table."""
        checks.number_of(X)
        numeric = isinstance(X, np.ndarray) or sparse.issparse(X)
        if isinstance(X, list | tuple):
            raise TypeError(
                "On needs a data frame or a two-dimensional array, but X is a list; "
                "use pandas.DataFrame(X) or numpy.asarray(X)."
            )
        if numeric and X.ndim != 2:
            raise ValueError(f"X has {X.ndim} dimensions; On picks columns of a table with two.")
        return numeric

    def pick(self, X: Any) -> Any:
        """The columns of X that the kernel is applied to."""
        several = not isinstance(self.columns, str) and np.iterable(self.columns)
        wanted = list(self.columns) if several else [self.columns]
        if wanted and all(isinstance(c, bool | np.bool_) for c in wanted):
            raise ValueError("columns is a mask; give the names or numbers of the columns instead.")
        if isinstance(X, np.ndarray) or sparse.issparse(X):
            wrong = [c for c in wanted if not isinstance(c, int | np.integer) or not -X.shape[1] <= c < X.shape[1]]
            if wrong:
                raise ValueError(
                    f"X is an array with {X.shape[1]} columns, so On cannot pick {wrong[0]!r}; "
                    "give column numbers, or pass a data frame."
                )
            return X[:, wanted if several else self.columns]
        wrong = [c for c in wanted if c not in list(X.columns)]
        if wrong:
            raise ValueError(f"X has no column {wrong[0]!r}; its columns are {', '.join(map(str, X.columns))}.")
        if several:
            table = dates_as_days(X[wanted], wanted)
            for name in wanted if self.kernel.on_vectors else ():
                self._require_present(table[name], name)
            return table
        column = as_days(X[self.columns]) if is_date(X[self.columns]) else X[self.columns]
        self._require_present(column, self.columns)
        return column

    def _require_present(self, column: Any, name: Any) -> None:
        if self.kernel.takes_missing:
            return
        gone = missing_entries(column)
        if gone.any():
            raise ValueError(
                f"Row {int(np.flatnonzero(gone)[0])} of {str(name)!r} is missing; "
                f"use Missing({self.kernel!r}) or drop it."
            )

    @property
    def features(self) -> Features:
        return Features(self._named_features, self._linear_form)

    def _linear_form(self, A: Columns, C: np.ndarray) -> LinearForm | None:
        inner = self.kernel.features.linear_form(A.inputs, C)
        return None if inner is None else lambda B: inner(B.inputs)

    def _named_features(self, X: Any) -> NamedFeatures:
        self._check(X)
        column = self.columns if isinstance(self.columns, str | int) else ", ".join(map(str, self.columns))
        return self.kernel.features.named(self.pick(X)).renamed(lambda name: f"{column}: {name}")

    def fill(self, A: Columns, B: Columns, tile: np.ndarray) -> None:
        self.kernel.fill(A.inputs, B.inputs, tile)

    def diagonal(self, A: Columns) -> np.ndarray:
        return self.kernel.diagonal(A.inputs)

    def vjp(self, A: Columns, B: Columns, W: np.ndarray) -> Gradients:
        return {f"kernel__{name}": value for name, value in self.kernel.vjp(A.inputs, B.inputs, W).items()}

    def input_vjp(self, A: Columns, B: Columns, W: np.ndarray) -> np.ndarray:
        if not A.numeric:
            raise TypeError("The inputs are a data frame, which has no gradient; pass its numeric columns as an array.")
        gradient = np.zeros((len(A), A.n_columns), A.dtype)
        for column, part in zip(
            np.atleast_1d(self.columns), self.kernel.input_vjp(A.inputs, B.inputs, W).T, strict=True
        ):
            gradient[:, column] += part
        return gradient
