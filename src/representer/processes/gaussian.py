"""A Gaussian process at new inputs: variances, covariances and draws, from the prior or the posterior."""

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
"""Largest rank of the low-rank factor behind prior draws."""


class GaussianProcess:
    """f ~ GP(0, k) or, with a ``posterior``, the posterior covariance: k(x, x') - k(x, X) A^(-1) k(X, x').

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
        """Lower and upper bounds on the variance of f at each x in X."""
        A, prior = self._prior_variance(X)
        low, high = prior.copy(), prior.copy()
        for some, columns in self._columns(A):
            least, most = self.posterior.explained_bounds(columns, prior[some])  # type: ignore[union-attr]
            low[some] -= most
            high[some] -= least
        return np.maximum(low, 0.0), np.maximum(high, 0.0)

    def _prior_variance(self, X: Any) -> tuple[Any, np.ndarray]:
        """New inputs, prepared like the training inputs, and k(x, x)."""
        A = self.kernel.prepare(doubled(X), like=None if self.posterior is None else self.posterior.inputs)
        return A, self.kernel.diagonal(A).astype(np.float64)

    def _columns(self, A: Any) -> Iterator[tuple[slice, np.ndarray]]:
        """Blocks of columns k(X, x), each with the slice of new inputs it belongs to; none for the prior."""
        if self.posterior is None:
            return
        with _parallel.blas_threads_for(len(self.posterior.noise)):
            for some in _parallel.split(len(A), self.posterior.at_once):
                yield some, Gram.of(self.kernel, A[some], self.posterior.inputs, threads=self.threads).dense().T

    def covariance(self, X: Any) -> np.ndarray:
        """The covariance of f between all pairs of X: len(X)^2 + 2 n len(X) doubles for n training inputs."""
        # words or items absent from the training inputs still matter between new inputs, so the prior is prepared anew
        covariance = self.kernel(doubled(X)).astype(np.float64, copy=False)
        if self.posterior is not None:
            A = self.kernel.prepare(doubled(X), like=self.posterior.inputs)
            columns = Gram.of(self.kernel, A, self.posterior.inputs, threads=self.threads).dense().T
            with _parallel.blas_threads_for(len(columns)):
                self.posterior.subtract_explained(columns, covariance)
        return covariance

    def draws(self, X: Any, count: int, rng: np.random.Generator) -> np.ndarray:
        """Draws of f minus its mean at all x in X, of shape (n, count), by eigendecomposition of the covariance."""
        covariance = self.covariance(X)
        with _parallel.blas_threads_for(len(covariance)):
            values, vectors = np.linalg.eigh(covariance)
            vectors *= np.sqrt(np.maximum(values, 0.0))
            return vectors @ rng.normal(size=(len(values), count))

    def paths(self, X: Any, count: int, rng: np.random.Generator) -> np.ndarray:
        """f - k(., X_fit) A^(-1) (f(X_fit) + noise) for prior draws f (Matheron's rule); shaped like `draws`.

        Prior draws use a low-rank factor of the covariance at all inputs; the remainder, at most a millionth of the
        variance unless the largest rank is reached, is drawn independently at each input.
        """
        everywhere = self.kernel.prepare(doubled(X if self.posterior is None else checks.concatenate(self.X, X)))
        trace = self.kernel.diagonal(everywhere).sum()
        gram = Gram.of(self.kernel, everywhere, threads=self.threads)
        with _parallel.blas_threads_for(len(everywhere)):
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
    """A copy of the inputs, so that later changes to them do not affect the model; list items are not copied."""
    if hasattr(X, "clone"):  # polars
        return X.clone()
    return X.copy() if hasattr(X, "copy") else X if hasattr(X, "shape") else list(X)
