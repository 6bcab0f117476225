"""What a problem says of coefficients: how far they are from its solution."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

ROUNDINGS = 2.0 * float(np.finfo(np.float64).eps)
"""Relative rounding of a sum of products, whose own roundings are independent."""
TINY = float(np.finfo(np.float64).tiny)
"""What gaps and distances are relative to at least, so that a perfect fit of zeros has a relative gap of zero."""


@dataclass(frozen=True)
class Judgement:
    """How far some coefficients are from the solution, from products with K in float64."""

    residuals: np.ndarray
    """What the tolerance is compared with, for each target, component or pair of classes."""
    measure: str
    """What the residuals are, in words."""
    error_bound: np.ndarray = field(default_factory=lambda: np.array([np.inf]))
    """At least ||f - f*|| for each output; infinite where no bound is known."""
    primal: float | None = None
    """The objective of the coefficients."""
    dual: float | None = None
    """A lower bound of the objective of every function."""
