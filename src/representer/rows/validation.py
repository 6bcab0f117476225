"""Inputs as scikit-learn checks them: rows of numbers by its rules, memory maps without a copy, objects as they are."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from representer._parallel import split
from representer.kernels import checks
from representer.kernels.base import Kernel

MAPPED_ROWS = 2**16
"""Rows of a memory map that are checked at a time."""


def check_inputs(estimator: Any, X: Any, kernel: Kernel, *, reset: bool) -> Any:
    """X for the kernel: rows of numbers by scikit-learn's rules, and anything else as it is."""
    if kernel.on_vectors and _is_plain(X):  # scikit-learn's own check takes as long as a fit of 100 rows
        if reset:
            reset_fitted(estimator, "feature_names_in_")
            estimator.n_features_in_ = X.shape[1]
            return X
        if getattr(estimator, "n_features_in_", None) == X.shape[1] and not hasattr(estimator, "feature_names_in_"):
            return X
    checks.unmasked(X, "X")
    if kernel.on_vectors and _is_mapped(X):  # scikit-learn would return a plain array, which is prepared all at once
        validate_data(estimator, X[:1].view(np.ndarray), dtype=[np.float64, np.float32], reset=reset)
        for rows in split(len(X), MAPPED_ROWS):
            checks.finite_rows(X[rows], "X", rows.start)
        return X
    if kernel.on_vectors:
        require_numbers(X)
        return validate_data(estimator, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=reset)
    checks.number_of(X)
    return X


def require_numbers(X: Any) -> None:
    """Raise if columns of a data frame, an array or a list hold anything but numbers, such as words or dates.

    Entries of masked arrays that are masked are no numbers either.
    """
    checks.unmasked(X, "X")
    if not hasattr(X, "columns"):
        checks.rows_of_numbers(X)
        if getattr(getattr(X, "dtype", None), "kind", None) in ("m", "M"):
            raise TypeError("X holds dates or times; convert them to numbers first, such as days since the first one.")
        return
    if not len(X.columns):
        raise ValueError("X has no columns; give it at least one (0 feature(s)).")
    if wrong := [str(name) for name in X.columns if not _is_numeric(X[name])]:
        raise ValueError(
            f"X has columns that are not numbers: {', '.join(wrong)}; choose columns with On(kernel, names), or "
            "encode them first."
        )


def _is_numeric(column: Any) -> bool:
    values = np.asarray(column)
    if values.dtype.kind != "O":
        return values.dtype.kind in "biuf"
    try:
        values.astype(np.float64)
    except (TypeError, ValueError):
        return False
    return True


def _is_plain(X: Any) -> bool:
    """Whether X is a 2-D array of finite floats, which passes all checks of scikit-learn."""
    if type(X) is not np.ndarray or X.dtype not in (np.float64, np.float32) or X.ndim != 2 or not X.size:
        return False
    return checks.are_finite(X)


def _is_mapped(X: Any) -> bool:
    """Whether X is a memory map of rows of numbers, which is kept as one."""
    return isinstance(X, np.memmap) and X.ndim == 2 and X.size > 0 and X.dtype.kind in "biuf"


def reset_fitted(estimator: Any, *names: str) -> None:
    """Remove attributes of an earlier fit that this one may not set."""
    for name in names:
        vars(estimator).pop(name, None)
