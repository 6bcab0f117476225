"""scikit-learn's kernel principal component analysis, with the solvers of this library."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import _check_feature_names, check_is_fitted, validate_data

from representer.drop_in.constraints import Constraints
from representer.drop_in.named_kernels import PlannedKernel
from representer.estimators import kernel_pca
from representer.estimators.base import atomic, own
from representer.estimators.kernel_ridge import KernelRidge
from representer.functions import Function
from representer.kernels.base import Kernel

MOST_NEGATIVE = 1e-5
"""Fraction of the largest eigenvalue beyond which negative ones are not due to rounding."""


class KernelPCA(PlannedKernel, kernel_pca.KernelPCA):
    r"""Kernel principal components: the directions of most variance in H.

    Parameters, attributes and defaults are those of ``sklearn.decomposition.KernelPCA``; the default kernel is linear.
    `tol`, `max_iter` and ``eigen_solver="dense"`` are those of the solvers of this library; `iterated_power`, `copy_X`
    and the other `eigen_solver` have no effect, nor has `n_jobs` for kernels that this library has: inputs are copied,
    and results are exact to `tol`, where 0 means 1e-10. There are also `eigenfunctions_`, `certificate_` and `plan`.
    """

    _parameter_constraints = Constraints()
    center = True
    memory = threads = None
    verbose = 0

    def __init__(
        self,
        n_components: int | None = None,
        *,
        kernel: Any = "linear",
        gamma: Any = None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict | None = None,
        alpha: float = 1.0,
        fit_inverse_transform: bool = False,
        eigen_solver: str = "auto",
        tol: float = 0,
        max_iter: int | None = None,
        iterated_power: Any = "auto",
        remove_zero_eig: bool = False,
        random_state: Any = None,
        copy_X: bool = True,
        n_jobs: int | None = None,
    ):
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.alpha = alpha
        self.fit_inverse_transform = fit_inverse_transform
        self.eigen_solver = eigen_solver
        self.tol = tol
        self.max_iter = max_iter  # type: ignore[assignment]
        self.iterated_power = iterated_power
        self.remove_zero_eig = remove_zero_eig
        self.random_state = random_state
        self.copy_X = copy_X
        self.n_jobs = n_jobs

    @property
    def solver(self) -> str:  # type: ignore[override]
        """The solver of this library."""
        return "dense" if self.eigen_solver == "dense" else "auto"

    def _tolerance(self) -> float:
        return float(self.tol) or 1e-10

    def _most_iterations(self) -> int:
        return 1000 if self.max_iter is None else self.max_iter

    def _named(self, gamma: float) -> Kernel | None:
        found = super()._named(gamma)
        return found if found is None or found.definite else None

    @atomic
    def fit(self, X: Any, y: Any = None) -> Any:  # type: ignore[override]
        """Find the components of rows X, or of a matrix of kernel values."""
        self._fitted(X)
        return self

    @atomic
    def fit_transform(self, X: Any, y: Any = None) -> np.ndarray:  # type: ignore[override]
        """Fit, and return the scores of X."""
        X = self._fitted(X)
        scores = self.eigenvectors_ * np.sqrt(self.eigenvalues_)
        return scores.astype(X.dtype, copy=False)

    def _fitted(self, X: Any) -> Any:
        """Fit, and return the checked inputs."""
        self._validate_params()
        if self.fit_inverse_transform and self.kernel == "precomputed":
            raise ValueError("Cannot fit_inverse_transform with a precomputed kernel.")
        if self.fit_inverse_transform and hasattr(X, "tocsr"):
            raise NotImplementedError("Inverse transform not implemented for sparse matrices!")
        named, X = X, validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32])
        self.gamma_ = self._gamma_for(X)
        given = X
        if self._given_kernel().precomputed:  # functions need not be symmetric to the last bit, nor at all
            K = X.toarray() if hasattr(X, "toarray") else X
            K = self._matrix(X) if self._by_matrix else K
            given = 0.5 * (K + K.T) if K.ndim == 2 and len(K) == K.shape[1] else K
        self._fit(given, None)
        self.n_features_in_, self.X_fit_ = X.shape[1], own(X) if given is not X else self.X_fit_
        _check_feature_names(self, named, reset=True)
        self._turn_and_fill(X.shape[0])
        if self.fit_inverse_transform:
            self._learn_inverse(X)
        return X

    def _check(self, result: Any, trace: float, n: int) -> None:
        """Raise if requested eigenvalues are negative by more than rounding."""
        values = np.asarray(result.eigenvalues)
        asked = n if self.n_components is None else min(n, self.n_components)
        largest = values.max(initial=0.0)
        if len(values) < asked and values.sum() - trace > MOST_NEGATIVE * max(largest, -trace):
            raise ValueError(
                "There are significant negative eigenvalues in the centred kernel matrix, so that it is not positive "
                "semidefinite; representer.psd.report says how far off it is, psd.repair repairs it."
            )
        self._warn_unless_converged(result.certificate, "use a larger tol or max_iter, or eigen_solver='dense'")

    def _turn_and_fill(self, n: int) -> None:
        """Choose signs as scikit-learn does, and pad requested components without variance with zeros."""
        U = self.eigenvectors_
        signs = np.sign(U[np.abs(U).argmax(axis=0), np.arange(U.shape[1])])
        self.eigenvectors_, found = U * signs, self.eigenfunctions_
        more = 0
        if self.n_components is not None and not self.remove_zero_eig:
            more = min(n, self.n_components) - len(self.eigenvalues_)
        coef, constant = found.coef * signs, found.constant * signs
        self.eigenfunctions_ = found.with_coef(np.pad(coef, ((0, 0), (0, more))), np.pad(constant, (0, more)))
        self.eigenvectors_ = np.pad(self.eigenvectors_, ((0, 0), (0, more)))
        self.eigenvalues_ = np.pad(self.eigenvalues_, (0, more))

    def _learn_inverse(self, X: Any) -> None:
        """Ridge regression of the inputs on their scores, with the same kernel."""
        scores = self.X_transformed_fit_ = self.eigenvectors_ * np.sqrt(self.eigenvalues_)
        ridge = KernelRidge(self.alpha, kernel=self.kernel_, tol=1e-10)
        self._inverse = ridge.fit(self._matrix(scores) if self._by_matrix else scores, X)
        self.dual_coef_ = self._inverse.dual_coef_

    def _matrix(self, X: Any, Y: Any = None) -> np.ndarray:
        given, self.gamma = self.gamma, self.gamma_
        try:
            return super()._matrix(X, Y)
        finally:
            self.gamma = given

    def transform(self, X: Any) -> np.ndarray:
        """The scores of new rows, or of rows of kernel values."""
        check_is_fitted(self)
        if not self._by_matrix:
            return super().transform(X)
        X = validate_data(self, X, accept_sparse="csr", reset=False)
        return self.eigenfunctions_(self._matrix(X, self.X_fit_))

    def written_scores(self) -> Function:
        """The scores as functions of rows, after a fit, also where it was to a matrix of values of a named kernel."""
        kernel = None if callable(self.kernel) else super()._named(self.gamma_)
        if not self._by_matrix or kernel is None or kernel.precomputed:
            return self.eigenfunctions_
        return Function(kernel, self.X_fit_, self.eigenfunctions_.coef, self.eigenfunctions_.constant)

    def inverse_transform(self, X: Any) -> Any:  # type: ignore[override]
        """Inputs from scores, by the regression that ``fit_inverse_transform=True`` fits."""
        if not self.fit_inverse_transform:
            raise NotFittedError(
                "The fit_inverse_transform parameter was not set to True when instantiating and hence the inverse "
                "transform is not available."
            )
        check_is_fitted(self)
        X = np.asarray(X)
        return self._inverse.predict(self._matrix(X, self.X_transformed_fit_) if self._by_matrix else X)
