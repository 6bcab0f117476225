"""A Gaussian process at new inputs: variances, covariances and draws, before data and after."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from representer import _parallel
from representer.features.pivoted_cholesky import pivoted_cholesky
from representer.gram.tiled import Gram
from representer.kernels import checks
from representer.kernels.base import Kernel
from representer.processes.posterior import CorrectedPosterior, ExactPosterior

PATH_RANK = 2000
"""Largest rank of the factor from which draws of the prior are made."""


class GaussianProcess:
    """f ~ GP(0, k) or, with a ``posterior``, what data leave open: k(x, x') - k(x, X) A^(-1) k(X, x').

    Parameters
    ----------
    kernel : Kernel
    X : inputs of the data, optional
    posterior : ExactPosterior or CorrectedPosterior, optional
    threads : int, optional
    """

    def __init__(
        self,
        kernel: Kernel,
        X: Any = None,
        posterior: ExactPosterior | CorrectedPosterior | None = None,
        threads: int | None = None,
    ):
        self.kernel, self.X, self.posterior, self.threads = kernel, X, posterior, threads

    def variance(self, X: Any) -> np.ndarray:
        """The variance of f at each x in X."""
        A, variance = self._prior_variance(X)
        for some, columns in self._columns(A):
            variance[some] -= self.posterior.explained(columns, variance[some])  # type: ignore[union-attr]
        return np.maximum(variance, 0.0)

    def variance_bounds(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Two numbers between which the variance of f at each x in X is."""
        A, prior = self._prior_variance(X)
        low, high = prior.copy(), prior.copy()
        for some, columns in self._columns(A):
            least, most = self.posterior.explained_bounds(columns, prior[some])  # type: ignore[union-attr]
            low[some] -= most
            high[some] -= least
        return np.maximum(low, 0.0), np.maximum(high, 0.0)

    def _prior_variance(self, X: Any) -> tuple[Any, np.ndarray]:
        """New inputs that are prepared like those of the data, and k(x, x)."""
        A = self.kernel.prepare(doubled(X), like=None if self.posterior is None else self.posterior.inputs)
        return A, self.kernel.diagonal(A).astype(np.float64)

    def _columns(self, A: Any) -> Iterator[tuple[slice, np.ndarray]]:
        """The columns k(X, x) of some new inputs at a time, with where they are; none before there are data."""
        if self.posterior is None:
            return
        with _parallel.blas_threads_for(len(self.posterior.noise)):
            for some in _parallel.split(len(A), self.posterior.at_once):
                yield some, Gram.of(self.kernel, A[some], self.posterior.inputs, threads=self.threads).dense().T

    def covariance(self, X: Any) -> np.ndarray:
        """The covariance of f between all pairs of X. It takes len(X)^2 + 2 n len(X) doubles, n the number of data."""
        # words or items that the data do not have still matter between new inputs, so the prior is prepared anew
        covariance = self.kernel(doubled(X)).astype(np.float64, copy=False)
        if self.posterior is not None:
            A = self.kernel.prepare(doubled(X), like=self.posterior.inputs)
            columns = Gram.of(self.kernel, A, self.posterior.inputs, threads=self.threads).dense().T
            with _parallel.blas_threads_for(len(columns)):
                self.posterior.subtract_explained(columns, covariance)
        return covariance

    def draws(self, X: Any, count: int, rng: np.random.Generator) -> np.ndarray:
        """Draws of f at all x in X around its mean, of shape (n, count), by eigenvectors of the covariance."""
        covariance = self.covariance(X)
        with _parallel.blas_threads_for(len(covariance)):
            values, vectors = np.linalg.eigh(covariance)
            vectors *= np.sqrt(np.maximum(values, 0.0))
            return vectors @ rng.normal(size=(len(values), count))

    def paths(self, X: Any, count: int, rng: np.random.Generator) -> np.ndarray:
        """f - k(., X_fit) A^(-1) (f(X_fit) + noise) for draws f of the prior (Matheron's rule), as `draws`.

        The prior comes from a low-rank factor of its covariance at all inputs; what the factor leaves out, at most a
        millionth of the variance or all beyond the largest rank, is drawn independently at each input.
        """
        everywhere = self.kernel.prepare(doubled(X if self.posterior is None else checks.concatenate(self.X, X)))
        trace = self.kernel.diagonal(everywhere).sum()
        gram = Gram.of(self.kernel, everywhere, threads=self.threads)
        low_rank = pivoted_cholesky(gram, PATH_RANK, stop=1e-6 * trace, random_state=rng)
        rest = np.sqrt(low_rank.remainder)[:, None] * rng.normal(size=(len(everywhere), count))
        prior = low_rank.factor.T @ rng.normal(size=(len(low_rank.factor), count)) + rest
        if self.posterior is None:
            return prior
        n = len(self.posterior.noise)
        noise = np.sqrt(self.posterior.noise)[:, None] * rng.normal(size=(n, count))
        coef = self.posterior.coefficients(prior[:n] + noise)
        return prior[n:] - Gram.of(self.kernel, everywhere[n:], everywhere[:n], threads=self.threads) @ coef


def doubled(X: Any) -> Any:
    """float32 numbers as float64, anything else as it is."""
    return X.astype(np.float64) if getattr(X, "dtype", None) == np.float32 else X


def copied(X: Any) -> Any:
    """A copy of inputs, so that a model does not change with them; the items of a list are not copied."""
    if hasattr(X, "clone"):  # polars
        return X.clone()
    return X.copy() if hasattr(X, "copy") else X if hasattr(X, "shape") else list(X)
