"""Comparison up to the tolerance of a law."""

from __future__ import annotations

from typing import Any

import numpy as np


def close(actual: Any, expected: Any, tolerance: float, law: str) -> None:
    """Raise, naming the law, if values differ by more than the tolerance or have different shapes."""
    actual, expected = np.asarray(actual, np.float64), np.asarray(expected, np.float64)
    assert actual.shape == expected.shape or not expected.shape, f"{law}: shapes {actual.shape} and {expected.shape}"
    error = np.abs(actual - expected).max(initial=0.0)
    assert error <= tolerance, f"{law}: off by {error:.3g}, allowed {tolerance:.3g}"
