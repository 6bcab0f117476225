"""Mercer's expansion of a kernel from data, and draws of a Gaussian process by the Karhunen-Loeve expansion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import eigh

from representer.functions import Function
from representer.gram.tiled import Gram
from representer.kernels import checks
from representer.kernels.base import Kernel, require_definite


@dataclass(frozen=True)
class Mercer:
    """k(x, y) = sum_i eigenvalues_i psi_i(x) psi_i(y), with eigenfunctions psi_i that are orthonormal over the data.

    Eigenvalues and eigenfunctions are those of the integral operator with respect to the distribution of the data,
    where (1 / n) sum_j psi_i(x_j) psi_l(x_j) is 1 for i = l and 0 otherwise. In H, ||psi_i||^2 = 1 / eigenvalues_i.
    """

    eigenvalues: np.ndarray
    """Array of shape (n_components,), in descending order."""
    eigenfunctions: Function
    """One output for each component."""
    trace: float
    """The sum of all eigenvalues, the mean of k(x, x)."""

    def features(self, X: Any) -> np.ndarray:
        """sqrt(eigenvalues_i) psi_i(x), whose inner products are the truncated kernel."""
        return self.eigenfunctions(X) * np.sqrt(self.eigenvalues)

    def draw(self, n_draws: int = 1, random_state: Any = 0) -> Function:
        """f = sum_i sqrt(eigenvalues_i) z_i psi_i with standard normal z, one output for each draw.

        It is the Gaussian process with covariance k, truncated after M components. E ||f||^2 = M grows without bound,
        so paths of the process itself lie outside H if there are infinitely many components.
        """
        z = np.random.default_rng(random_state).normal(size=(len(self.eigenvalues), checks.integer(n_draws, "n_draws")))
        coef = self.eigenfunctions.coef @ (np.sqrt(self.eigenvalues)[:, None] * z)
        return Function(self.eigenfunctions.kernel, self.eigenfunctions.X, coef)

    def truncation_error(self, n_components: int | None = None) -> float:
        """E |f(x) - f_M(x)|^2 over the data when M components are kept: the sum of the eigenvalues left out."""
        kept = self.eigenvalues if n_components is None else self.eigenvalues[:n_components]
        return max(self.trace - float(kept.sum()), 0.0)


def mercer(kernel: Kernel, X: Any, n_components: int | None = None, *, memory: int | None = None) -> Mercer:
    """Mercer's expansion with respect to the distribution of X, from the eigenvectors of K / n.

    Parameters
    ----------
    kernel : Kernel
    X : inputs of the kernel
    n_components : int, optional
        All whose eigenvalue is above rounding when not given.
    memory : int, optional
        Bytes that may be used; MemoryError if more are needed. The machine's memory when not given.

    Examples
    --------
    >>> import numpy as np
    >>> from representer.features import mercer
    >>> from representer.kernels import Brownian
    >>> t = (np.arange(500) + 0.5)[:, None] / 500
    >>> m = mercer(Brownian(), t, 3)
    >>> (1 / np.sqrt(m.eigenvalues) / np.pi).round(2)
    array([0.5, 1.5, 2.5])
    """
    require_definite(kernel, "an expansion")
    K = Gram(kernel, X, memory=memory).dense().astype(np.float64)
    n = len(K)
    trace = float(K.trace()) / n
    wanted = n if n_components is None else min(checks.integer(n_components, "n_components"), n)
    values, vectors = eigh(K / n, subset_by_index=[n - wanted, n - 1], check_finite=False)
    values, vectors = values[::-1], vectors[:, ::-1]
    keep = values > n * np.finfo(np.float64).eps * values[0]
    values, vectors = values[keep], vectors[:, keep]
    # psi_i(x) = sum_j u_ji k(x_j, x) / (sqrt(n) lambda_i), the extension of sqrt(n) u_i from the data to all x
    return Mercer(values, Function(kernel, X, vectors / (np.sqrt(n) * values)), trace)
