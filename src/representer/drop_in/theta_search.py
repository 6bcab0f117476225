"""The search for theta, the logarithms of hyper-parameters, as in scikit-learn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.utils.optimize import _check_optimize_result
from sklearn.utils.validation import validate_data

from representer.drop_in.process_kernels import to_sklearn
from representer.kernels.base import Kernel


def asked_kernel(kernel: Any, bounds: Any) -> Any:
    """A new kernel object of scikit-learn; None is ``1.0 * RBF(1.0)`` with these bounds."""
    if kernel is None:
        return ConstantKernel(1.0, bounds) * RBF(1.0, bounds)
    return to_sklearn(kernel) if isinstance(kernel, Kernel) else clone(kernel)


def values_of(kernel: Any) -> dict[str, float]:
    """Free hyper-parameters by scikit-learn's names, in the order of theta."""
    moved = [each for each in kernel.hyperparameters if not each.fixed]
    names = [f"{m.name}[{i}]" if m.n_elements > 1 else m.name for m in moved for i in range(m.n_elements)]
    return dict(zip(names, np.exp(kernel.theta).tolist(), strict=True))


def checked_inputs(estimator: Any, kernel: Any, X: Any, **options: Any) -> Any:
    """X, and y if it is given, by scikit-learn's rules for this kernel."""
    vectors = kernel.requires_vector_input
    return validate_data(estimator, X, ensure_2d=vectors, dtype="numeric" if vectors else None, **options)


def best_theta(
    value: Callable[[np.ndarray, bool], Any], kernel: Any, optimizer: Any, n_restarts: int, rng: np.random.RandomState
) -> tuple[np.ndarray, float]:
    """The maximiser of the log marginal likelihood, and its value, from the kernel's theta and random starts."""

    def negative(theta: np.ndarray, eval_gradient: bool = True) -> Any:
        if not eval_gradient:
            return -value(theta, False)
        found, gradient = value(theta, True)
        return -found, -gradient

    if n_restarts > 0 and not np.isfinite(kernel.bounds).all():
        raise ValueError("Multiple optimizer restarts (n_restarts_optimizer>0) requires that all bounds are finite.")
    starts = [kernel.theta.copy()]
    starts += [rng.uniform(kernel.bounds[:, 0], kernel.bounds[:, 1]) for _ in range(n_restarts)]
    optima = [_minimum(negative, start, kernel.bounds, optimizer) for start in starts]
    theta, least = min(optima, key=lambda pair: pair[1])
    return np.asarray(theta), -float(least)


def _minimum(objective: Any, start: np.ndarray, bounds: np.ndarray, optimizer: Any) -> tuple[np.ndarray, float]:
    if callable(optimizer):
        return optimizer(objective, start, bounds=bounds)
    if optimizer != "fmin_l_bfgs_b":
        raise ValueError(f"Unknown optimizer {optimizer}.")
    found = minimize(objective, start, method="L-BFGS-B", jac=True, bounds=bounds)
    _check_optimize_result("lbfgs", found)
    return found.x, found.fun
