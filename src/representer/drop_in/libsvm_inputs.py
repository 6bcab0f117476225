"""Rows and weights as scikit-learn's support vector machines take them."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import _num_samples


def doubled_rows(X: Any) -> Any:
    """Rows as float64, the precision that scikit-learn uses here."""
    return X.astype(np.float64) if getattr(X, "dtype", None) == np.float32 else X


def nonnegative_weights(sample_weight: Any, X: Any) -> Any:
    """Sample weights, with negative ones set to 0."""
    weights = np.asarray([] if sample_weight is None else sample_weight, np.float64)
    if not weights.size:
        return None
    if weights.shape != (_num_samples(X),):
        raise ValueError(f"sample_weight and X have incompatible shapes: {weights.shape!r} vs {X.shape!r}")
    weights = np.maximum(weights, 0.0)
    if not np.any(weights):
        raise ValueError("Invalid input - all samples have zero or negative weights.")
    return weights
