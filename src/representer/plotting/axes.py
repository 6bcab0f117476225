"""Axes and grids of displays."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse


def pyplot() -> Any:
    """matplotlib.pyplot, which is an optional dependency."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("Plots need matplotlib; install it with: pip install 'representer[plot]'") from error
    return plt


def dense(X: Any) -> np.ndarray:
    """Inputs to draw, sparse or not, as an array."""
    return X.toarray() if sparse.issparse(X) else np.asarray(X)


def panels(ax: Any, count: int = 1) -> np.ndarray:
    """``count`` matplotlib axes as an array: those given, or those of a new figure."""
    plt = pyplot()
    if ax is None:
        _, ax = plt.subplots(1, count, figsize=(6.4 * count, 4.8), layout="constrained")
    given = np.atleast_1d(np.asarray(ax, dtype=object)).ravel()
    if len(given) != count:
        raise ValueError(f"ax has {len(given)} axes; this display draws into {count}.")
    return given


def log_scale(values: np.ndarray) -> dict[str, Any]:
    """Options of ``ax.set_xscale``: logarithmic, and linear below the smallest positive value if some are 0."""
    positive = values[values > 0]
    if len(positive) == values.size:
        return {"value": "log"}
    return {"value": "symlog", "linthresh": positive.min()} if len(positive) else {"value": "linear"}


def even_grid(points: np.ndarray, size: int, margin: Any) -> list[np.ndarray]:
    """Evenly spaced values over the range of each column plus a margin, or plus one where the range is zero."""
    low, high = points.min(axis=0) - margin, points.max(axis=0) + margin
    same = low == high
    return [np.linspace(a, b, size) for a, b in zip(low - same, high + same, strict=True)]
