"""Power series of a kernel: exp(k), and sums of powers of k."""

from __future__ import annotations

from typing import Any

import numpy as np

from representer.kernels.algebra import Unary
from representer.kernels.base import Gradients, Kernel, require_kernel

MOST_TERMS = 1000
"""Most terms of a power series: each is one pass over a tile."""


class Exp(Unary):
    """exp(k(x, y)), the limit of sums of products of k."""

    def __init__(self, kernel: Kernel):
        self.kernel = require_kernel(kernel)

    def outer(self, values: np.ndarray) -> None:
        np.exp(values, out=values)

    def outer_derivative(self, values: np.ndarray) -> None:
        np.exp(values, out=values)


class PowerSeries(Unary):
    """sum_p coefficients_p k(x, y)^p, with nonnegative coefficients, from p = 0 on.

    Parameters
    ----------
    kernel : Kernel
    coefficients : array of shape (degree + 1,)
        At most 1,000.
    """

    def __init__(self, kernel: Kernel, coefficients: Any = (1.0, 1.0)):
        self.kernel = require_kernel(kernel)
        self.coefficients = coefficients

    def check(self) -> None:
        c = np.asarray(self.coefficients, np.float64)
        if c.size > MOST_TERMS:
            raise ValueError(
                f"coefficients has {c.size:,} entries; use at most {MOST_TERMS:,}, as each is one more pass over all "
                "kernel values."
            )
        if c.ndim != 1 or not len(c) or not np.all(np.isfinite(c)) or np.any(c < 0):
            raise ValueError(
                f"coefficients is {self.coefficients!r}; give a list of numbers that are zero or positive."
            )

    def outer(self, values: np.ndarray) -> None:
        _horner(values, np.asarray(self.coefficients, np.float64))

    def outer_derivative(self, values: np.ndarray) -> None:
        c = np.asarray(self.coefficients, np.float64)
        _horner(values, c[1:] * np.arange(1, len(c)) if len(c) > 1 else np.zeros(1))

    def outer_gradients(self, values: np.ndarray, W: np.ndarray) -> Gradients:
        sums, power = [], W.copy()
        for _ in self.coefficients:
            sums.append(power.sum(dtype=np.float64))
            power *= values
        return {"coefficients": np.array(sums)}


def _horner(values: np.ndarray, coefficients: np.ndarray) -> None:
    base = values.copy()
    values[...] = coefficients[-1]
    for c in coefficients[-2::-1]:
        values *= base
        values += c
