"""Gaussian processes with approximations: sums over rows, Titsias's bound as evidence, the noise of its maximum."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from representer.estimators.hyperparameter_search import Search
from representer.estimators.in_span import design_of, function_of, is_approximation, rows_of, with_approximation
from representer.estimators.inputs import check_targets
from representer.estimators.measurement_noise import MeasurementNoise, check_noise
from representer.kernels.base import Kernel
from representer.problems.finite import FiniteRidge
from representer.processes.spanned import Evidence, SpanProcess
from representer.result import Budget, Plan
from representer.rows.validation import check_inputs
from representer.solvers import normal_equations
from representer.solvers.normal_equations import Path

LEAST_NOISE, MOST_NOISE = 1e-6, 10.0
"""Between these multiples of the variance of y the noise is sought."""


def through_span(method: Callable[..., Any]) -> Callable[..., Any]:
    """`fit` or `plan` of a process that leaves kernels which are approximations to the functions of this file."""

    @wraps(method)
    def either(self: Any, X: Any, y: Any = None) -> Any:
        kernel = self._prior_kernel()
        if not is_approximation(kernel):
            return method(self, X, y)
        return fit_process(self, kernel, X, y) if method.__name__ == "fit" else plan_process(self, kernel, X)

    return either


def fit_process(model: Any, kernel: Kernel, X: Any, y: Any) -> Any:
    """Fit in the span; hyper-parameters of the kernel stay as they are, and noise="estimate" is found by the bound."""
    X = check_inputs(model, X, kernel, reset=True)
    y = check_targets(model, X, y)
    noise = check_noise(model.noise, len(y))
    if np.ndim(noise) or noise == 0.0:
        raise ValueError("In the span of a basis noise is one positive variance, or 'estimate'.")
    Y = y.reshape(len(y), -1)
    model._single_output, kernel = y.ndim == 1, kernel.with_default_scales(X)
    model._mean = Y.mean(axis=0) if model.normalize_y else np.zeros(Y.shape[1])
    spread = np.where(Y.std(axis=0) > 0, Y.std(axis=0), 1.0)
    model._scale = spread if model.normalize_y else np.ones(Y.shape[1])
    Y = (Y - model._mean) / model._scale
    _plan(model, kernel, X, Y).require()
    assert kernel.basis is not None
    problem, basis = _problem(model, kernel, X, Y), kernel.basis(X)
    path = Path(problem, _budget(model))
    values, V = path.sums.spectrum
    trace = float(kernel.original.diag(X).astype(np.float64).sum())
    left_out = max(trace - float(np.trace(path.sums.S)), 0.0)
    evidence = Evidence(values, path.sums.inside, path.sums.yy, left_out, len(Y))
    model.search_ = _searched(evidence, noise, float(np.mean(Y**2)))
    found = float(np.exp(model.search_.theta[0]))
    result = path.solve(np.full(Y.shape[1], found), "the kernel is an approximation")
    model.kernel_, model.y_fit_, model._fitted_noise = kernel, y.copy(), found
    model.noise_ = MeasurementNoise.of(found, model._scale).variance
    model.n_iter_ = max(model.search_.iterations, 1)
    coef = result.coef * model._scale
    single = (coef[:, 0], model._mean[0]) if model._single_output else (coef, model._mean)
    model.function_ = function_of(basis, *single, model.threads)
    model.X_fit_, model.dual_coef_ = model.function_.X, model.function_.coef
    model.certificate_ = with_approximation(result.certificate, basis, problem.rows, None)
    model.log_marginal_likelihood_, model.log_marginal_likelihood_error_ = evidence.bound(found), 0.0
    design = design_of(basis.astype(np.float64), model.threads)
    model._process = SpanProcess(kernel, design, V, values, found)
    return model


def plan_process(model: Any, kernel: Kernel, X: Any) -> Plan:
    """What a fit would take."""
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    return _plan(model, kernel.with_default_scales(X), X, np.zeros((n, 1)))


def _plan(model: Any, kernel: Kernel, X: Any, Y: np.ndarray) -> Plan:
    return normal_equations.cost(_problem(model, kernel, X, Y), _budget(model))


def _problem(model: Any, kernel: Kernel, X: Any, Y: np.ndarray) -> FiniteRidge:
    assert kernel.basis is not None
    return FiniteRidge(design_of(kernel.basis(X), model.threads), rows_of(X, Y), np.ones(Y.shape[1]))


def _budget(model: Any) -> Budget:
    return Budget(memory=model._memory(), tol=model.tol, threads=model.threads)


def _searched(evidence: Evidence, noise: Any, variance: float) -> Search:
    """The noise as given, or where the bound is largest."""
    bounds = np.log(max(variance, 1e-300)) + np.log([[LEAST_NOISE, MOST_NOISE]])
    if not isinstance(noise, str):
        theta = np.log([noise])
        return Search(["noise"], theta, bounds, [evidence.bound(float(noise))], "the noise was given", True, 1)
    found = minimize_scalar(lambda t: -evidence.bound(float(np.exp(t))), bounds=tuple(bounds[0]), method="bounded")
    theta = np.array([found.x])
    return Search(["noise"], theta, bounds, [-float(found.fun)], "bounded search", True, found.nfev, found.nfev)
