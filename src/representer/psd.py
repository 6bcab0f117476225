"""Whether a Gram matrix is positive semidefinite, how to repair one that is not, and a factor of one that is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg

from representer.gram.tiled import Gram
from representer.kernels import checks
from representer.kernels.base import Kernel


@dataclass(frozen=True)
class Report:
    """Extreme eigenvalues and asymmetry of a Gram matrix; ``definite`` allows for rounding."""

    n: int
    smallest: float
    largest: float
    asymmetry: float
    tolerance: float

    @property
    def definite(self) -> bool:
        """Whether no eigenvalue is negative and no entry asymmetric, up to rounding."""
        return bool(self.smallest >= -self.tolerance and self.asymmetry <= self.tolerance)

    def __str__(self) -> str:
        verdict = (
            "positive semidefinite to rounding."
            if self.definite
            else "NOT positive semidefinite; use a kernel that is, or repair(K, 'clip') or repair(K, 'shift')."
        )
        return (
            f"Gram matrix of {self.n} inputs: eigenvalues from {self.smallest:.3g} to {self.largest:.3g}, "
            f"asymmetry {self.asymmetry:.2g} (rounding allows {self.tolerance:.2g}): {verdict}"
        )


def report(kernel: Kernel, X: Any, *, sample: int = 2000, random_state: int = 0) -> Report:
    """The smallest and largest eigenvalue of the kernel matrix, and its asymmetry max |k(x, y) - k(y, x)|.

    Parameters
    ----------
    kernel : Kernel
    X : inputs of the kernel, or the Gram matrix itself when the kernel is ``Precomputed()``
    sample : int
        Largest number of inputs used.
    random_state : int
        Seed of the sample.

    Examples
    --------
    >>> import numpy as np
    >>> from representer import psd
    >>> from representer.kernels import Sigmoid
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> psd.report(Sigmoid(scale=2.0, offset=-1.0), X).definite
    False
    """
    checks.integer(sample, "sample")
    if kernel.precomputed:  # bypass the kernel, which would refuse an asymmetric matrix
        K = _square(X)
        some = _some(len(K), sample, random_state)
        K, dtype = K[np.ix_(some, some)].astype(np.float64), K.dtype
    else:
        gram = Gram(kernel, X)
        some = _some(len(gram), sample, random_state)
        K, dtype = gram.block(some, some).astype(np.float64), gram.dtype
    asymmetry = float(np.abs(K - K.T).max())
    eigenvalues = linalg.eigvalsh((K + K.T) / 2)
    size = float(np.abs(eigenvalues).max())
    tolerance = 10 * np.sqrt(len(K)) * float(np.finfo(dtype).eps) * size
    return Report(len(K), float(eigenvalues[0]), float(eigenvalues[-1]), asymmetry, tolerance)


def _some(n: int, at_most: int, seed: int) -> np.ndarray:
    """Indices of a random sample, sorted."""
    return np.sort(np.random.default_rng(seed).choice(n, at_most, replace=False)) if n > at_most else np.arange(n)


def _square(K: Any) -> np.ndarray:
    K = checks.vectors(K, "a Gram matrix")
    K = K if isinstance(K, np.ndarray) else K.toarray()
    if K.shape[0] != K.shape[1]:
        raise ValueError(f"The matrix has shape {K.shape}; a Gram matrix is square.")
    return K


def repair(K: np.ndarray, method: str = "clip") -> np.ndarray:
    """A positive semidefinite matrix near the symmetric part of K.

    Parameters
    ----------
    K : array of shape (n, n)
    method : {"clip", "shift"}
        "clip" sets negative eigenvalues to zero, which is the nearest such matrix in the Frobenius norm; "shift" adds a
        multiple of the identity, which keeps all off-diagonal entries.
    """
    K = _square(K)
    if method not in ("clip", "shift"):
        raise ValueError(f"method is {method!r}; use 'clip' or 'shift'.")
    K = (K + K.T) / 2
    if method == "shift":
        smallest = linalg.eigvalsh(K, subset_by_index=[0, 0])[0]
        return K + max(-smallest, 0.0) * np.eye(len(K), dtype=K.dtype)
    eigenvalues, vectors = linalg.eigh(K)
    return (vectors * np.maximum(eigenvalues, 0.0)) @ vectors.T


def factor(kernel: Kernel, X: Any) -> np.ndarray:
    """R with K = R R': row i is a point whose Euclidean geometry is that of k(x_i, .) in H.

    The Cholesky factor where K is positive definite, otherwise from eigenvectors, with one column per nonzero
    eigenvalue.
    """
    K = kernel(X)
    try:
        return linalg.cholesky(K, lower=True)
    except linalg.LinAlgError:
        eigenvalues, vectors = linalg.eigh(K.astype(np.float64))
    tolerance = 10 * np.sqrt(len(K)) * np.finfo(K.dtype).eps * np.abs(eigenvalues).max()
    if eigenvalues[0] < -tolerance:
        raise ValueError(
            f"The kernel matrix has the eigenvalue {eigenvalues[0]:.3g}, so it has no real factor; see psd.repair."
        )
    keep = eigenvalues > tolerance
    return (vectors[:, keep] * np.sqrt(eigenvalues[keep])).astype(K.dtype)
