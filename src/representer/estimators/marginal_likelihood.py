"""The marginal likelihood of a fitted Gaussian process at other hyper-parameters."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from representer.estimators.budget import Budgeted
from representer.estimators.hyperparameters import LogParameters, ProcessParameters
from representer.processes.gaussian import doubled
from representer.processes.likelihood import log_marginal_likelihood


class MarginalLikelihood(Budgeted):
    """What Gaussian process regression and classification share: the likelihood as a function of theta.

    theta are the logarithms of ``hyperparameters_``, in its order.
    """

    @property
    def hyperparameters_(self) -> dict[str, float]:
        """The tuned hyper-parameters with their fitted values: those of the kernel, then the noise."""
        check_is_fitted(self, "function_")
        found = [dict(zip(each.names, np.exp(each.start).tolist(), strict=True)) for each in self._unknowns()]
        if len(found) == 1:
            return found[0]
        return {f"{name} of class {i}": value for i, each in enumerate(found) for name, value in each.items()}

    def log_marginal_likelihood(self, theta: Any = None, eval_gradient: bool = False) -> Any:
        """log p(y | X) at theta, or at the fit where theta is None; with ``eval_gradient`` also its gradient.

        For a classifier with several classes it is the mean over them.
        """
        unknowns = self._unknowns()
        start = np.concatenate([each.start for each in unknowns])
        theta = start if theta is None else np.asarray(theta, np.float64)
        if theta.shape != start.shape:
            names = ", ".join(self.hyperparameters_)
            raise ValueError(f"theta has shape {theta.shape}; give {len(start)} logarithms, of {names}.")
        parts = np.split(theta, np.cumsum([len(each.start) for each in unknowns])[:-1])
        found = [self._likelihood_at(i, each, part) for i, (each, part) in enumerate(zip(unknowns, parts, strict=True))]
        value = float(np.mean([each for each, _ in found]))
        return (value, np.concatenate([each for _, each in found]) / len(found)) if eval_gradient else value

    def _unknowns(self: Any) -> list[Any]:
        raise NotImplementedError

    def _likelihood_at(self: Any, part: int, unknowns: Any, theta: np.ndarray) -> tuple[float, np.ndarray]:
        raise NotImplementedError


class RegressionLikelihood(MarginalLikelihood):
    """Regression: -(y' A^(-1) y + log |A| + n log 2 pi) / 2 with A = K + noise, y normalised as in the fit."""

    def _unknowns(self: Any) -> list[Any]:
        check_is_fitted(self, "function_")
        if getattr(getattr(self._process, "posterior", None), "factor", None) is None:
            raise TypeError("Without an exact factor the likelihood is known at the fit alone; use an exact kernel.")
        X, kernel, n = doubled(self.X_fit_), self.function_.kernel, len(self.y_fit_)
        noise = np.broadcast_to(np.asarray(self._fitted_noise, np.float64), n)
        return [ProcessParameters(kernel, kernel.prepare(X), noise, isinstance(self.noise, str))]

    def _likelihood_at(self: Any, part: int, unknowns: Any, theta: np.ndarray) -> tuple[float, np.ndarray]:
        Y = (self.y_fit_.reshape(len(self.y_fit_), -1) - self._mean) / self._scale
        kernel = unknowns.kernel_at(theta)
        inputs, noise = kernel.prepare(doubled(self.X_fit_)), unknowns.noise_at(theta)
        value = log_marginal_likelihood(kernel, inputs, Y, noise, self.threads)
        return value.value, unknowns.gradient(theta, value)


class ClassificationLikelihood(MarginalLikelihood):
    """Classification: the marginal likelihood of Laplace's approximation."""

    def _unknowns(self: Any) -> list[Any]:
        check_is_fitted(self, "function_")
        kernels = self.kernel_ if isinstance(self.kernel_, list) else [self.kernel_]
        return [LogParameters(kernel, kernel.prepare(doubled(self.X_fit_))) for kernel in kernels]

    def _likelihood_at(self: Any, part: int, unknowns: Any, theta: np.ndarray) -> tuple[float, np.ndarray]:
        found = self._laplace(unknowns.kernel_at(theta), doubled(self.X_fit_), self._signs()[part])
        return found.log_likelihood, unknowns.gradient(theta, found.gradients())
