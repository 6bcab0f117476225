"""Sums of radial functions over centres by compiled loops over many rows, as `Kernel.residuals` describes them."""

from __future__ import annotations

from typing import Any

import numpy as np

from representer._loops import radial_residuals
from representer.kernels.prepared import FEW_COLUMNS, Vectors

COMPILED = {
    0.5: radial_residuals.MATERN12,
    1.5: radial_residuals.MATERN32,
    2.5: radial_residuals.MATERN52,
    np.inf: radial_residuals.EXPONENTIAL,
}
"""The compiled functions phi of Matern kernels by nu."""


def residuals(A: Any, B: Any, nu: float) -> Any:
    """A loop over rows of A for the Matern kernel of smoothness nu; None if it is not compiled, or rows are sparse."""
    form = COMPILED.get(nu)
    if form is None or not isinstance(A, Vectors) or not A.plain:
        return None
    rows, weights = A.differences
    if rows.shape[1] <= FEW_COLUMNS:
        columns = B.raw_columns
        return lambda i, *more: radial_residuals.from_differences(rows[i], columns, weights, form, *more)
    right = B.values, B.squared_norms, B.differences[0], weights
    values, squares = A.values, A.squared_norms
    return lambda i, *more: radial_residuals.from_products((values[i], squares[i], rows[i]), right, form, *more)
