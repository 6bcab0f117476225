"""scikit-learn's kernels by name, with gamma, degree and coef0, or callables."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse

from representer.kernels import checks
from representer.kernels.base import Kernel
from representer.kernels.constant import Constant
from representer.kernels.dot_product import Cosine, Linear, Polynomial, Sigmoid
from representer.kernels.histogram import Chi2
from representer.kernels.precomputed import Precomputed
from representer.kernels.stationary import RBF, Laplacian
from representer.result import Plan


def gamma_for(gamma: Any, X: Any, weights: np.ndarray | None = None) -> float:
    """The value of gamma for X: "scale" is 1 / (n_columns Var(X)), "auto" and None are 1 / n_columns.

    The variance is that of all entries together, with weights as repetitions of rows; where it is 0, "scale" is 1.
    """
    if isinstance(gamma, Real):
        return float(gamma)
    if gamma != "scale":
        return 1.0 / X.shape[1]
    with np.errstate(over="ignore", invalid="ignore"):
        rows = X if sparse.issparse(X) else np.asarray(X, np.float64)
        variance = checks.variance_of_entries(rows, weights)
    if not np.isfinite(variance):
        raise ValueError(
            "The dual coefficients or intercepts are not finite. The input data may contain large values and need to "
            "be preprocessed: the variance of X, from which gamma='scale' is computed, is not finite."
        )
    return 1.0 / (X.shape[1] * variance) if variance != 0 else 1.0


def named_kernel(name: str, gamma: float, degree: float, coef0: float) -> Kernel | None:
    """The kernel of this library for a name of scikit-learn's; None where there is none.

    "rbf" is exp(-gamma |x - y|^2), "poly" (gamma <x, y> + coef0)^degree, "sigmoid" tanh(gamma <x, y> + coef0),
    "laplacian" exp(-gamma |x - y|_1) and "chi2" exp(-gamma sum_f (x_f - y_f)^2 / (x_f + y_f)).
    """
    if name == "linear":
        return Linear()
    if name == "cosine":
        return Cosine()
    if name == "precomputed":
        return Precomputed()
    if name == "sigmoid":
        return Sigmoid(gamma, coef0)
    if name in ("rbf", "laplacian", "chi2") and gamma == 0.0:
        return Constant(1.0)
    if name == "rbf":
        return RBF(float(np.sqrt(0.5 / gamma)))
    if name == "laplacian":
        return Laplacian(1.0 / gamma)
    if name == "chi2":
        return Chi2(1.0 / gamma)
    if name in ("poly", "polynomial") and degree == int(degree):
        return _polynomial(gamma, int(degree), coef0)
    return None


def _polynomial(gamma: float, degree: int, coef0: float) -> Kernel:
    if degree == 0:
        return Constant(1.0)
    if gamma == 0.0:
        return Constant(float(coef0) ** degree)
    return Polynomial(degree, float(coef0), float(np.sqrt(1.0 / gamma)))


class NamedKernel:
    """Estimators with a kernel given by name, gamma, degree and coef0, or by a callable.

    Callables, and kernels that this library does not have, are evaluated by scikit-learn's conventions: all values at
    once. The fit then uses a precomputed matrix.
    """

    kernel: Any
    gamma: Any
    degree: Any
    coef0: Any
    kernel_params: Any = None
    n_jobs: Any = None

    def _named(self, gamma: float) -> Kernel | None:
        return None if callable(self.kernel) else named_kernel(self.kernel, gamma, self.degree, self.coef0)

    @property
    def _by_matrix(self) -> bool:
        """Whether all values of the kernel are computed by scikit-learn, or by the user's function."""
        return self._named(1.0) is None

    def _given_kernel(self) -> Kernel:
        return self._named(1.0) or Precomputed()

    def _gamma_for(self, X: Any, weights: np.ndarray | None = None) -> float:
        return gamma_for(self.gamma, X, weights)

    def _kernel_for(self, X: Any, weights: np.ndarray | None = None) -> Kernel:
        return Precomputed() if self._by_matrix else self._named(self._gamma_for(X, weights))  # type: ignore[return-value]

    def _matrix(self, X: Any, Y: Any = None) -> np.ndarray:
        """All k(x_i, y_j)."""
        if callable(self.kernel):
            options = self.kernel_params or {}
        else:
            options = {"gamma": self.gamma, "degree": self.degree, "coef0": self.coef0}
        from sklearn.metrics.pairwise import pairwise_kernels  # which imports all metrics

        return pairwise_kernels(X, Y, metric=self.kernel, filter_params=True, n_jobs=self.n_jobs, **options)


class PlannedKernel(NamedKernel):
    """Estimators of this library with such a kernel."""

    def plan(self, X: Any, y: Any = None) -> Plan:
        """How `fit` would solve for these inputs, and the memory and time it takes; functions are not evaluated."""
        X = X if hasattr(X, "shape") else np.asarray(X)
        if self._by_matrix:
            X = np.broadcast_to(0.0, (X.shape[0], X.shape[0]))
        return super().plan(X, y)  # type: ignore[misc]
