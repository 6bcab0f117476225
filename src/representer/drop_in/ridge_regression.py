"""scikit-learn's kernel ridge regression, with the solvers of this library."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import _check_feature_names, validate_data

from representer.drop_in.constraints import Constraints
from representer.drop_in.named_kernels import PlannedKernel
from representer.estimators import kernel_ridge
from representer.estimators.base import atomic, own
from representer.functions import Function


class KernelRidge(PlannedKernel, kernel_ridge.KernelRidge):
    r"""Kernel ridge regression: minimise over f in H  sum_i w_i (y_i - f(x_i))^2 + alpha ||f||^2.

    Parameters, attributes and defaults are those of ``sklearn.kernel_ridge.KernelRidge``: the default kernel is linear,
    and an array alpha has one entry per target. `function_`, `certificate_` and `plan` are also available.
    """

    _parameter_constraints = Constraints()
    fit_intercept = alpha_per_target = warm_start = False
    tune = bounds = priors = memory = threads = None
    fixed = ()
    solver = "auto"
    tol = 1e-10
    max_iter = 10_000
    random_state = verbose = 0

    def __init__(
        self,
        alpha: Any = 1,
        *,
        kernel: Any = "linear",
        gamma: Any = None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict | None = None,
    ):
        self.alpha = alpha
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params

    @atomic
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Fit to rows X, or to a matrix of kernel values, and targets of shape (n,) or (n, n_targets)."""
        self._validate_params()
        rows, y = validate_data(self, X, y, accept_sparse=("csr", "csc"), multi_output=True, y_numeric=True)
        if isinstance(sample_weight, float):
            sample_weight = np.full(rows.shape[0], sample_weight)
        super().fit(self._matrix(rows) if self._by_matrix else rows, y, sample_weight)
        self.n_features_in_, self.X_fit_ = rows.shape[1], own(rows) if self._by_matrix else self.X_fit_
        _check_feature_names(self, X, reset=True)
        return self

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Models that scikit-learn pickled have no function yet."""
        super().__setstate__(state)
        if "dual_coef_" in state and "function_" not in state:
            points = self._matrix(self.X_fit_) if self._by_matrix else self.X_fit_
            self.kernel_ = self._kernel_for(self.X_fit_)
            self.function_ = Function(self.kernel_, points, self.dual_coef_)

    def _alphas(self, n_targets: int) -> tuple[np.ndarray, bool]:
        """alpha as an array of shape (1, n_targets): there is nothing to choose."""
        alpha = np.atleast_1d(np.asarray(self.alpha, np.float64)).ravel()
        if len(alpha) not in (1, n_targets):
            raise ValueError(f"alpha has {len(alpha)} entries, but there are {n_targets} targets.")
        return np.broadcast_to(alpha, (1, n_targets)), False

    @property
    def partial_fit(self) -> Any:
        """Raise: scikit-learn's class has none, unlike that of this library."""
        raise AttributeError("scikit-learn's KernelRidge has no partial_fit; use representer.KernelRidge.")

    def predict(self, X: Any) -> np.ndarray:
        """f(x) for each x in X."""
        if hasattr(self, "function_") and self._by_matrix:
            X = validate_data(self, X, accept_sparse=("csr", "csc"), reset=False)
            return self.function_(self._matrix(X, self.X_fit_))
        return super().predict(X)
