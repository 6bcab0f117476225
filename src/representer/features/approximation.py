"""The error of an approximation k^ of a kernel k, measured on a sample of rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from representer.gram.design import Design
from representer.gram.tiled import Gram
from representer.kernels import checks
from representer.kernels.basis import Basis

MEASURED = 256
"""Rows on which k^ is compared with k."""


@dataclass(frozen=True)
class Approximation:
    """k - k^ on sampled rows: a separate error from the solver's, which the tolerance does not bound."""

    mean: float
    """Mean of k(x, x) - k^(x, x) over the mean of k(x, x): the fraction of the trace that a span leaves out.

    Zero for pairs of cosines and sines, whose k^(x, x) is k(x, x).
    """
    standard_error: float
    """The standard error of that mean, as an estimate for all rows."""
    pairs: float
    """|K - K^| / |K| (Frobenius) on the sample, off the diagonal as well."""
    rows: int
    """The number of rows in the sample."""
    full_gap: float | None = None
    """An upper bound on the objective's excess over its minimum in the RKHS of k; None where it was not computed."""

    def __str__(self) -> str:
        full = "" if self.full_gap is None else f", within {self.full_gap:.3g} of the least objective with k"
        return (
            f"k - k^ is {self.mean:.2g} +- {self.standard_error:.1g} of k(x, x), {self.pairs:.2g} of K on "
            f"{self.rows} rows{full}"
        )


def left_out(kernel: Any, X: Any) -> np.ndarray:
    """k(x, x) - k^(x, x), the squared distance in H of k(x, .) from a span; zero for kernels without one."""
    if not kernel.projects or kernel.original is kernel:
        return np.zeros(checks.number_of(X))
    return residual_diagonal(kernel, X, kernel.diag(X))


def residual_diagonal(kernel: Any, X: Any, diagonal: np.ndarray) -> np.ndarray:
    """k(x, x) - k^(x, x), not below 0, for the k that a kernel approximates and the known diagonal k^(x, x)."""
    return np.maximum(kernel.original.diag(X).astype(np.float64) - diagonal, 0.0)


def approximation(basis: Basis, X: Any) -> Approximation:
    """The error of the kernel of a basis on a sample of rows."""
    K = Gram(basis.kernel.original, X).astype(np.float64).dense().astype(np.float64)
    phi = Design(basis.astype(np.float64)).features(X).astype(np.float64)
    other = phi @ phi.T
    size = max(float(K.diagonal().mean()), float(np.finfo(np.float64).tiny))
    gaps = (K.diagonal() - other.diagonal()) / size
    n = checks.number_of(X)
    error = float(gaps.std(ddof=1) / np.sqrt(n)) if n > 1 else 0.0
    pairs = float(np.linalg.norm(K - other) / max(float(np.linalg.norm(K)), float(np.finfo(np.float64).tiny)))
    return Approximation(float(gaps.mean()), error, pairs, n)
