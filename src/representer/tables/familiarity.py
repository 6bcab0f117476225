"""Unfamiliar rows: those whose posterior variance given the training rows is almost the prior variance."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular

from representer.estimators.inputs import evenly_spaced
from representer.gram.tiled import Gram
from representer.kernels import checks

KNOWN_ROWS = 1500
"""Largest number of training rows used."""
UNKNOWN = 0.9
"""Fraction of the variance of the kernel's features above which a row is unfamiliar."""
RARE = 0.995
"""Fraction of the training rows that are familiar by definition when left out."""
NEW_ROWS_AT_ONCE = 2000


@dataclass(frozen=True)
class Familiarity:
    """v(x) = k(x, x) - k' (K + alpha I)^(-1) k on some training rows, and the value above which x is unfamiliar.

    That is 90 % of the mean squared distance of the training rows' features from their mean, or the value that one in
    two hundred training rows exceeds when left out, whichever is larger.
    """

    kernel: Any
    rows: Any
    alpha: float
    threshold: float

    @classmethod
    def of(cls, kernel: Any, X: Any, alpha: float) -> Familiarity:
        """The familiarity given rows of the kernel."""
        rows = checks.take(X, evenly_spaced(checks.number_of(X), KNOWN_ROWS))
        made = cls(kernel, rows, alpha, np.inf)
        K, factor = made._matrix, made._factor
        spread = float(np.mean(np.diagonal(K)) - K.mean())
        left_out = 1.0 / np.diagonal(cho_solve(factor, np.eye(len(K)))) - made.noise
        return cls(kernel, rows, alpha, max(UNKNOWN * spread, float(np.quantile(left_out, RARE))))

    @cached_property
    def _matrix(self) -> np.ndarray:
        return np.asarray(Gram(self.kernel, self.rows).dense(), np.float64)

    @property
    def noise(self) -> float:
        """alpha, or the jitter that rounding requires."""
        return max(self.alpha, 1e-8 * float(np.trace(self._matrix)) / len(self._matrix))

    @cached_property
    def _factor(self) -> Any:
        K = self._matrix.copy()
        K.flat[:: len(K) + 1] += self.noise
        return cho_factor(K, lower=True, overwrite_a=True)

    def variances(self, X: Any) -> np.ndarray:
        """v(x) for rows of the kernel."""
        n = checks.number_of(X)
        out = np.empty(n)
        for start in range(0, n, NEW_ROWS_AT_ONCE):
            part = np.arange(start, min(start + NEW_ROWS_AT_ONCE, n))
            some = checks.take(X, part)
            columns = np.asarray(Gram(self.kernel, self.rows, some).dense(), np.float64)
            half = solve_triangular(self._factor[0], columns, lower=True, overwrite_b=True, check_finite=False)
            out[part] = self.kernel.diag(some) - np.einsum("ij,ij->j", half, half)
        return out

    def unfamiliar(self, X: Any) -> np.ndarray:
        """Whether each row is unfamiliar."""
        return self.variances(X) > self.threshold
