"""Unfamiliar rows: those whose posterior variance given the training rows is almost the prior variance."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from representer.estimators.inputs import evenly_spaced
from representer.gram.tiled import Gram
from representer.kernels import checks
from representer.processes.gaussian import GaussianProcess
from representer.processes.likelihood import Factor
from representer.processes.posterior import ExactPosterior

KNOWN_ROWS = 1500
"""Largest number of training rows used."""
UNKNOWN = 0.9
"""Fraction of the variance of the kernel's features above which a row is unfamiliar."""
RARE = 0.995
"""Fraction of the training rows that are familiar by definition when left out."""


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
        gram, noise = Gram(kernel, rows), made._noise
        n = len(gram)
        spread = float(gram.diag().mean() - (gram @ np.ones((n, 1))).sum() / n**2)
        left_out = 1.0 / Factor(kernel, gram.inputs, noise).inverse().diagonal() - noise
        return cls(kernel, rows, alpha, max(UNKNOWN * spread, float(np.quantile(left_out, RARE))))

    @property
    def _noise(self) -> np.ndarray:
        """alpha, or the jitter that rounding requires, for each row."""
        prior = self.kernel.diag(self.rows).astype(np.float64)
        return np.full(len(prior), max(self.alpha, 1e-8 * float(prior.mean())))

    @cached_property
    def _process(self) -> GaussianProcess:
        return GaussianProcess(self.kernel, self.rows, ExactPosterior(self.kernel, self.rows, self._noise))

    def variances(self, X: Any) -> np.ndarray:
        """v(x) for rows of the kernel."""
        return self._process.variance(X)

    def unfamiliar(self, X: Any) -> np.ndarray:
        """Whether each row is unfamiliar."""
        return self.variances(X) > self.threshold
