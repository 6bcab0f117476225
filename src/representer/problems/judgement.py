"""How far coefficients are from the solution of a problem."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

ROUNDINGS = 2.0 * float(np.finfo(np.float64).eps)
"""Relative rounding error of a sum of products whose rounding errors are independent."""
TINY = float(np.finfo(np.float64).tiny)
"""Lower bound on what gaps and distances are relative to, so that a perfect fit of zeros has a relative gap of zero."""


@dataclass(frozen=True)
class Judgement:
    """How far coefficients are from the solution."""

    residuals: np.ndarray
    """What the tolerance is compared with, for each target, component or pair of classes."""
    measure: str
    """What the residuals are, in words."""
    error_bound: np.ndarray = field(default_factory=lambda: np.array([np.inf]))
    """An upper bound on ||f - f*|| for each output; infinite where none is known."""
    primal: float | None = None
    """The objective of the coefficients."""
    dual: float | None = None
    """A lower bound on the objective of every function."""
