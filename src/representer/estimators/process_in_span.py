"""Gaussian processes with approximations: sums over rows, Titsias's bound on the evidence, maximised over the noise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial, wraps
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from sklearn.base import clone

from representer.estimators.hyperparameter_search import Search
from representer.estimators.in_span import (
    basis_for,
    design_of,
    function_of,
    is_approximation,
    kernel_for,
    kernel_for_rows,
    with_approximation,
    with_samples,
)
from representer.estimators.inputs import check_targets
from representer.estimators.measurement_noise import MeasurementNoise, check_noise
from representer.estimators.row_targets import numbers
from representer.kernels import checks
from representer.kernels.base import Kernel
from representer.kernels.basis import Centres
from representer.problems.finite import FiniteRidge, columns_of
from representer.processes.gaussian import doubled
from representer.processes.likelihood import Value
from representer.processes.spanned import Evidence, SpanProcess
from representer.processes.variational import Landmarks
from representer.result import Budget, Plan, Result
from representer.rows.arrays import ArrayRows
from representer.rows.base import Rows
from representer.rows.recoded import RecodedRows, Standardised, Zeros
from representer.rows.validation import check_inputs
from representer.solvers import normal_equations
from representer.solvers.normal_equations import Path

ROWS_TUNED, CENTRES_TUNED = 5000, 500
"""Rows and landmarks used to tune the hyper-parameters of the kernel."""
ROUNDS, SAME = 4, 0.02
"""Times that landmarks are chosen again for new hyper-parameters, and a change of logarithms too small to do so."""
LEAST_NOISE, MOST_NOISE = 1e-6, 10.0
"""Bounds of the noise, in multiples of the variance of y."""


def through_span(method: Callable[..., Any]) -> Callable[..., Any]:
    """`fit` or `plan` of a process that delegates approximate kernels to the functions of this file."""

    @wraps(method)
    def either(self: Any, X: Any, y: Any = None) -> Any:
        kernel = self._prior_kernel()
        if not (is_approximation(kernel) or isinstance(X, Rows)):
            return method(self, X, y)
        return fit_process(self, kernel, X, y) if method.__name__ == "fit" else plan_process(self, kernel, X)

    return either


def fit_process(model: Any, kernel: Kernel, X: Any, y: Any) -> Any:
    """Fit in the span: landmark kernels are tuned on a sample of rows, and noise="estimate" on all, by the bound."""
    given, kernel = _source(model, kernel, X, y)
    model._check_options(n := given.n_rows)
    noise = check_noise(model.noise, n)
    if model.objective != "likelihood":
        raise ValueError(f"objective={model.objective!r} needs an exact kernel; in a span it is 'likelihood', a bound.")
    if np.ndim(noise) or noise == 0.0:
        raise ValueError("In the span of a basis noise is one positive variance, or 'estimate'.")
    mean, deviation = _mean_and_deviation(given)
    model._mean = mean if model.normalize_y else np.zeros_like(mean)
    model._scale = np.where(deviation > 0, deviation, 1.0) if model.normalize_y else np.ones_like(mean)
    rows = RecodedRows(given, Standardised(model._mean, model._scale))
    _plan(model, kernel, rows).require()
    tuned, kernel = _tuned(model, kernel, rows, noise)
    problem = _problem(model, kernel, rows)
    basis = problem.design.basis
    path, (trace,) = Path(problem, _budget(model)), rows.total(Trace(kernel.original))
    evidence, last, result = _solved(path, float(trace), noise)
    found, model.search_ = float(np.exp(last.theta[0])), last if tuned is None else _joined(tuned, last)
    model.kernel_, model.y_fit_, model._fitted_noise = kernel, None if y is None else np.array(y), found
    model.noise_ = MeasurementNoise.of(found, model._scale).variance
    model.n_iter_ = max(model.search_.iterations, 1)
    coef = result.coef * model._scale
    single = (coef[:, 0], model._mean[0]) if model._single_output else (coef, model._mean)
    model.function_ = function_of(basis, *single, model.threads)
    model.X_fit_, model.dual_coef_ = model.function_.X, model.function_.coef
    model.certificate_ = with_approximation(result.certificate, basis, problem.rows, None)
    model.log_marginal_likelihood_, model.log_marginal_likelihood_error_ = evidence.bound(found), 0.0
    design = design_of(basis.astype(np.float64), model.threads)
    values, V = path.sums.spectrum
    model._process = SpanProcess(kernel, design, V, values, found)
    return model


def _solved(path: Path, trace: float, noise: Any) -> tuple[Evidence, Search, Result]:
    """The bound, the noise that maximises it, and the solution for that noise, all from the same sums."""
    sums = None
    while sums is not path.sums:  # float32 sums are replaced if they do not reach the tolerance
        sums, n = path.sums, path.problem.n
        left_out = max(trace - float(np.trace(sums.S)), 0.0)
        evidence = Evidence(sums.spectrum[0], sums.inside, sums.yy, left_out, n)
        last = _searched(evidence, noise, float(np.mean(sums.yy)) / n)
        alpha = np.full(len(sums.yy), np.exp(last.theta[0]))
        result = path.solve(alpha, "the kernel is an approximation")
    return evidence, last, result


def _source(model: Any, kernel: Kernel, X: Any, y: Any) -> tuple[Rows, Kernel]:
    """Rows with checked targets, and the kernel with its data-dependent parameters."""
    if not isinstance(X, Rows):
        X = check_inputs(model, X, kernel, reset=True)
        y = check_targets(model, X, y)
        model._single_output = y.ndim == 1
        return ArrayRows(X, y), kernel_for(kernel, X)
    rows = numbers(model, X, y, None, several=True)
    _, some, weights = rows.beginning()
    if weights is not None:
        raise ValueError("A Gaussian process has no weights; give rows without weight=.")
    model._single_output = np.ndim(some) <= 1
    kernel = kernel_for_rows(kernel, rows)
    basis_for(kernel, rows)  # raises before long work where the kernel has none
    return rows, kernel


@dataclass(frozen=True)
class Deviations:
    """Sums of y - shift and of its squares."""

    shift: np.ndarray

    def __call__(self, X: Any, y: Any, w: Any) -> tuple:
        Y = columns_of(y) - self.shift
        return Y.sum(axis=0), (Y**2).sum(axis=0)


def _mean_and_deviation(rows: Rows) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of each target, from one pass; shifted by one row, so constant targets have 0."""
    shift = columns_of(rows.beginning()[1])[0]
    sums, squares = (np.atleast_1d(each) / rows.n_rows for each in rows.total(Deviations(shift)))
    return shift + sums, np.sqrt(np.maximum(squares - sums**2, 0.0))


@dataclass(frozen=True)
class Trace:
    """The sum of k(x, x)."""

    kernel: Kernel

    def __call__(self, X: Any, y: Any, w: Any) -> tuple:
        return (float(self.kernel.diag(X).astype(np.float64).sum()),)


def plan_process(model: Any, kernel: Kernel, X: Any) -> Plan:
    """The cost of a fit."""
    if isinstance(X, Rows):
        return _plan(model, kernel_for_rows(kernel, X), RecodedRows(X, Zeros()))
    return _plan(model, kernel_for(kernel, X), RecodedRows(ArrayRows(X), Zeros()))


def _plan(model: Any, kernel: Kernel, rows: Rows) -> Plan:
    problem = _problem(model, kernel, rows)
    return with_samples(normal_equations.cost(problem, _budget(model)), problem.design.basis, rows)


def _problem(model: Any, kernel: Kernel, rows: Rows) -> FiniteRidge:
    basis = basis_for(kernel, rows)
    assert basis is not None
    return FiniteRidge(design_of(basis, model.threads), rows, np.ones(columns_of(rows.beginning()[1]).shape[1]))


def _budget(model: Any) -> Budget:
    return Budget(memory=model._memory(), tol=model.tol, threads=model.threads)


def _tuned(model: Any, kernel: Kernel, rows: Rows, noise: Any) -> tuple[Search | None, Kernel]:
    """The kernel with hyper-parameters that maximise the bound on a sample of rows, and landmarks chosen again for it.

    None for the search, and the same kernel, where nothing can be tuned: basis functions other than k(z, .) have no
    gradient with respect to hyper-parameters.
    """
    basis: Any = basis_for(kernel, rows)
    if model.optimizer is None or not isinstance(basis, Centres) or basis.combination is not None:
        return None, kernel
    some, Y, _ = rows.sample(min(rows.n_rows, ROWS_TUNED), 0)
    before = None
    for _ in range(ROUNDS):  # a smooth kernel has few landmarks, too few for a rougher successor
        centres = checks.take(basis.centres, np.arange(min(basis.size, CENTRES_TUNED)))
        through = partial(_bound, centres=doubled(centres))
        search, of, _ = model._optimized(basis.of, some, Y, noise, through)
        kernel = kernel_for_rows(clone(model._prior_kernel()).set_params(kernel=of), rows)
        if before is not None and np.abs(search.theta - before).max() < SAME:
            break
        basis, before = basis_for(kernel, rows), search.theta
    return search, kernel


def _bound(
    kernel: Kernel, inputs: Any, Y: np.ndarray, noise: np.ndarray, threads: int | None, *, centres: Any
) -> Value:
    """Titsias's bound with the centres as landmarks, and its gradient."""
    landmarks = kernel.prepare(centres, like=inputs)
    found = Landmarks(kernel, inputs, landmarks, Y, float(noise[0]), threads).bound()
    return Value(found.value, found.gradients, np.full(len(Y), found.by_noise / len(Y)))


def _joined(tuned: Search, last: Search) -> Search:
    """The search for hyper-parameters on a sample of rows, with the noise and the bound on all rows."""
    theta = tuned.theta.copy()
    if "noise" in tuned.names:
        theta[-1:] = last.theta
    return replace(tuned, theta=theta, values=last.values)


def _searched(evidence: Evidence, noise: Any, variance: float) -> Search:
    """The noise as given, or the one that maximises the bound."""
    bounds = np.log(max(variance, 1e-300)) + np.log([[LEAST_NOISE, MOST_NOISE]])
    if not isinstance(noise, str):
        theta = np.log([noise])
        return Search(["noise"], theta, bounds, [evidence.bound(float(noise))], "the noise was given", True, 1)
    found = minimize_scalar(lambda t: -evidence.bound(float(np.exp(t))), bounds=tuple(bounds[0]), method="bounded")
    theta = np.array([found.x])
    return Search(["noise"], theta, bounds, [-float(found.fun)], "bounded search", True, found.nfev, found.nfev)
