"""Gaussian processes in the span of a basis: Titsias's bound, and variances that do not collapse far from the data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from representer.features.approximation import residual_diagonal
from representer.gram.design import Design
from representer.kernels.base import Kernel
from representer.processes.likelihood import log_density


@dataclass(frozen=True)
class Evidence:
    """log N(y; 0, K^ + noise I) - trace(K - K^) / (2 noise), a lower bound on the evidence, from sums over rows.

    Parameters
    ----------
    values : eigenvalues of S = sum_i phi_i phi_i'
    inside : sum_i phi_i y_i' in the eigenvectors, a column for each target
    squares : sum_i y_i^2 of each target
    left_out : trace(K - K^)
    n : rows

    References
    ----------
    Titsias, Variational learning of inducing variables in sparse Gaussian processes, AISTATS 2009.
    """

    values: np.ndarray
    inside: np.ndarray
    squares: np.ndarray
    left_out: float
    n: int

    def bound(self, noise: float) -> float:
        """The sum over targets."""
        shifted = self.values + noise
        fits = (self.squares.sum() - np.sum(self.inside**2 / shifted[:, None])) / noise
        determinant = np.log(shifted).sum() + (self.n - len(shifted)) * np.log(noise)
        targets = len(self.squares)
        return float(log_density(fits, determinant, self.n, targets) - 0.5 * targets * self.left_out / noise)


@dataclass(frozen=True)
class SpanProcess:
    """The posterior of f: k(x, x') - k^(x, x') + noise phi(x)' (S + noise I)^(-1) phi(x')."""

    kernel: Kernel
    design: Design
    vectors: np.ndarray
    values: np.ndarray
    noise: float
    posterior: Any = None
    """None, as no n x n matrix is factorised."""

    def _half(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """phi(x), and a square root of the variance within the span."""
        phi = self.design.features(X).astype(np.float64)
        return phi, (phi @ self.vectors) * np.sqrt(self.noise / (self.values + self.noise))

    def _outside(self, X: Any, phi: np.ndarray) -> np.ndarray:
        """The prior variance outside the span, k(x, x) - k^(x, x)."""
        return residual_diagonal(self.kernel, X, np.einsum("ij,ij->i", phi, phi))

    def variance(self, X: Any) -> np.ndarray:
        """Variance of f at each x."""
        phi, half = self._half(X)
        return self._outside(X, phi) + np.einsum("ij,ij->i", half, half)

    def variance_bounds(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """The variance twice: it is exact for this approximation."""
        variance = self.variance(X)
        return variance, variance

    def covariance(self, X: Any) -> np.ndarray:
        """Covariance of f at all x."""
        phi, half = self._half(X)
        return self.kernel.original(X).astype(np.float64) - phi @ phi.T + half @ half.T

    def draws(self, X: Any, n: int, rng: np.random.Generator) -> np.ndarray:
        """n draws of f minus its mean, jointly at all x."""
        values, U = np.linalg.eigh(self.covariance(X))
        return (U * np.sqrt(np.maximum(values, 0.0))) @ rng.normal(size=(len(U), n))

    def paths(self, X: Any, n: int, rng: np.random.Generator) -> np.ndarray:
        """Like `draws`, for many x: draws in the span, and the remaining variance drawn independently at each x."""
        phi, half = self._half(X)
        outside = np.sqrt(self._outside(X, phi))[:, None]
        return half @ rng.normal(size=(half.shape[1], n)) + outside * rng.normal(size=(len(phi), n))
