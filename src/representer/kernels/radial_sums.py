"""Sums of radial functions over centres by compiled loops over many rows, as `Kernel.residuals` describes them."""

from __future__ import annotations

from typing import Any

import numpy as np

from representer._loops import radial_residuals
from representer.kernels.prepared import FEW_COLUMNS, Vectors

COMPILED = {0.5: "MATERN12", 1.5: "MATERN32", 2.5: "MATERN52", np.inf: "EXPONENTIAL"}
"""The compiled functions phi of Matern kernels by nu, as `radial_residuals` names them."""


def residuals(A: Any, B: Any, nu: float) -> Any:
    """A loop over rows of A for the Matern kernel of smoothness nu; None if it is not compiled, or rows are sparse."""
    if nu not in COMPILED or not isinstance(A, Vectors) or not A.plain:
        return None
    form = getattr(radial_residuals, COMPILED[nu])
    rows, weights = A.differences
    if rows.shape[1] <= FEW_COLUMNS:
        columns = B.raw_columns
        return lambda i, *more: radial_residuals.from_differences(rows[i], columns, weights, form, *more)
    right = B.values, B.squared_norms, B.differences[0], weights
    values, squares = A.values, A.squared_norms
    return lambda i, *more: radial_residuals.from_products((values[i], squares[i], rows[i]), right, form, *more)
