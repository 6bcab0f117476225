"""Gaussian processes with approximations: sums over rows, Titsias's bound as evidence, the noise of its maximum."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial, wraps
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from sklearn.base import clone

from representer.estimators.hyperparameter_search import Search
from representer.estimators.in_span import design_of, function_of, is_approximation, rows_of, with_approximation
from representer.estimators.inputs import check_targets, evenly_spaced
from representer.estimators.measurement_noise import MeasurementNoise, check_noise
from representer.kernels import checks
from representer.kernels.base import Kernel
from representer.kernels.basis import Centres
from representer.problems.finite import FiniteRidge
from representer.processes.gaussian import doubled
from representer.processes.likelihood import Value
from representer.processes.spanned import Evidence, SpanProcess
from representer.processes.variational import Landmarks
from representer.result import Budget, Plan
from representer.rows.validation import check_inputs
from representer.solvers import normal_equations
from representer.solvers.normal_equations import Path

ROWS_TUNED, CENTRES_TUNED = 5000, 500
"""Rows and landmarks with which hyper-parameters of the kernel are sought."""
ROUNDS, SAME = 4, 0.02
"""Times that landmarks are chosen for the new hyper-parameters, and a change of logarithms that needs no other ones."""
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
    """Fit in the span: the kernel of landmarks is tuned on some rows, and noise="estimate" on all, by the bound."""
    X = check_inputs(model, X, kernel, reset=True)
    y = check_targets(model, X, y)
    model._check_options(len(y))
    noise = check_noise(model.noise, len(y))
    if model.objective != "likelihood":
        raise ValueError(f"objective={model.objective!r} needs an exact kernel; in a span it is 'likelihood', a bound.")
    if np.ndim(noise) or noise == 0.0:
        raise ValueError("In the span of a basis noise is one positive variance, or 'estimate'.")
    Y = y.reshape(len(y), -1)
    model._single_output, kernel = y.ndim == 1, kernel.with_default_scales(X)
    model._mean = Y.mean(axis=0) if model.normalize_y else np.zeros(Y.shape[1])
    spread = np.where(Y.std(axis=0) > 0, Y.std(axis=0), 1.0)
    model._scale = spread if model.normalize_y else np.ones(Y.shape[1])
    Y = (Y - model._mean) / model._scale
    _plan(model, kernel, X, Y).require()
    tuned, kernel = _tuned(model, kernel, X, Y, noise)
    assert kernel.basis is not None
    problem, basis = _problem(model, kernel, X, Y), kernel.basis(X)
    path = Path(problem, _budget(model))
    values, V = path.sums.spectrum
    trace = float(kernel.original.diag(X).astype(np.float64).sum())
    left_out = max(trace - float(np.trace(path.sums.S)), 0.0)
    evidence = Evidence(values, path.sums.inside, path.sums.yy, left_out, len(Y))
    last = _searched(evidence, noise, float(np.mean(Y**2)))
    found, model.search_ = float(np.exp(last.theta[0])), last if tuned is None else _joined(tuned, last)
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


def _tuned(model: Any, kernel: Kernel, X: Any, Y: np.ndarray, noise: Any) -> tuple[Search | None, Kernel]:
    """The kernel with hyper-parameters where the bound of some rows is largest, and landmarks chosen anew for it.

    None for the search, and the same kernel, where nothing is to be tuned: functions other than k(z, .) have no
    gradient by hyper-parameters.
    """
    basis: Any = kernel.basis(X)  # type: ignore[misc]
    if model.optimizer is None or not isinstance(basis, Centres) or basis.combination is not None:
        return None, kernel
    rows = evenly_spaced(len(Y), ROWS_TUNED)
    some, before = checks.take(X, rows), None
    for _ in range(ROUNDS):  # landmarks of a smooth kernel are few, and none for details that its successor has
        centres = checks.take(basis.centres, np.arange(min(basis.size, CENTRES_TUNED)))
        through = partial(_bound, centres=doubled(centres))
        search, of, _ = model._optimized(basis.of, some, Y[rows], noise, through)
        kernel = clone(model._prior_kernel()).set_params(kernel=of).with_default_scales(X)
        if before is not None and np.abs(search.theta - before).max() < SAME:
            break
        basis, before = kernel.basis(X), search.theta  # type: ignore[misc]
    return search, kernel


def _bound(
    kernel: Kernel, inputs: Any, Y: np.ndarray, noise: np.ndarray, threads: int | None, *, centres: Any
) -> Value:
    """Titsias's bound through the centres, with its gradient."""
    landmarks = kernel.prepare(centres, like=inputs)
    found = Landmarks(kernel, inputs, landmarks, Y, float(noise[0]), threads).bound()
    return Value(found.value, found.gradients, np.full(len(Y), found.by_noise / len(Y)))


def _joined(tuned: Search, last: Search) -> Search:
    """The search for hyper-parameters on some rows, with the noise and the bound of all rows."""
    theta = tuned.theta.copy()
    if "noise" in tuned.names:
        theta[-1:] = last.theta
    return replace(tuned, theta=theta, values=last.values)


def _searched(evidence: Evidence, noise: Any, variance: float) -> Search:
    """The noise as given, or where the bound is largest."""
    bounds = np.log(max(variance, 1e-300)) + np.log([[LEAST_NOISE, MOST_NOISE]])
    if not isinstance(noise, str):
        theta = np.log([noise])
        return Search(["noise"], theta, bounds, [evidence.bound(float(noise))], "the noise was given", True, 1)
    found = minimize_scalar(lambda t: -evidence.bound(float(np.exp(t))), bounds=tuple(bounds[0]), method="bounded")
    theta = np.array([found.x])
    return Search(["noise"], theta, bounds, [-float(found.fun)], "bounded search", True, found.nfev, found.nfev)
