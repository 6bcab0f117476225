"""What all support vector machines share."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from numbers import Real
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from representer import _tiles
from representer.estimators.inputs import check_inputs, is_precomputed, take, to_kernel
from representer.estimators.progress import Progress
from representer.functions import Function
from representer.gram import machine_memory
from representer.kernels import checks
from representer.kernels.base import require_definite
from representer.kernels.prepared import Later
from representer.problem import BoxProblem, Certificate
from representer.solvers import working_set
from representer.solvers.box import BoxResult
from representer.solvers.choose import Plan, choose_box

QUICK = 5e-3
"""Seconds of a fit up to which most of it is the interpreter's, which one thread has at a time."""


class SupportVectorMachine(BaseEstimator):
    """What all support vector machines share: inputs, kernel, plan, certificate, and functions of few points."""

    support_: np.ndarray
    _bounded = True  # whether the duality gap bounds the error of f
    _copies = 1  # coefficients of each sample

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = is_precomputed(self.kernel)
        return tags

    def plan(self, X: Any, y: Any = None) -> Plan:
        """How `fit` would solve for these inputs, and the memory and kernel values that it takes."""
        n_classes = 2 if y is None or not isinstance(self, ClassifierMixin) else len(np.unique(y))
        return self._plan(checks.number_of(X), n_classes)

    def _plan(self, n: int, n_classes: int = 2) -> Plan:
        checks.positive(self.tol, "tol")
        if self.max_iter != -1:
            checks.whole(self.max_iter, "max_iter")
        for name in ("memory", "threads"):
            if getattr(self, name) is not None:
                checks.whole(getattr(self, name), name)
        memory = machine_memory() if self.memory is None else self.memory
        n *= self._copies
        threads = 1 if n_classes == 2 else self.threads or _tiles.default_threads()  # for pairs at the same time
        probability = getattr(self, "probability", False)
        return choose_box(n, memory=memory, n_classes=n_classes, probability=probability, threads=threads)

    def _fitted_kernel(self, X: Any, weights: np.ndarray | None) -> Any:
        kernel = to_kernel(self.kernel).fitted_to(X, weights)
        require_definite(kernel, "a support vector machine")
        return kernel

    def _solve(
        self, problem: BoxProblem, start: np.ndarray | None = None, progress: Progress | None = None
    ) -> BoxResult:
        limit = None if self.max_iter == -1 else self.max_iter
        with progress or Progress(self.verbose, self.tol) as progress:
            return working_set.solve(
                problem, tol=self.tol, start=start, max_steps=limit, memory=self.memory, progress=progress
            )

    def _keep(
        self,
        problem: BoxProblem,
        coef: np.ndarray,
        intercept: Any,
        results: list[BoxResult],
        plan: Plan,
        seconds: float,
    ) -> None:
        """Keep f = b + sum_i c_i k(x_i, .) over the support vectors alone; coef has one column for each function."""
        self.kernel_ = kernel = problem.kernel
        if not len(self.support_):
            self.support_ = np.arange(1)  # a constant function still needs a point that tells the type of its inputs
        columns = coef[self.support_, 0] if coef.shape[1] == 1 else coef[self.support_]
        later = isinstance(problem.prepared, Later)  # then the function does it as well, and keeps no second copy
        prepared = problem.prepared[self.support_] if kernel.sliced and not later else None
        if prepared is not None and getattr(problem.prepared, "raw", None) is problem.X:
            self._X = prepared.raw  # the same rows need no second copy
        else:
            self._X = take(problem.X, self.support_, kernel)
        self.function_ = Function(kernel, self._X, columns, intercept, prepared=prepared)
        self.n_iter_ = max(1, *(r.steps for r in results))
        self.certificate_ = self._certified(results, plan, seconds)
        if not self.certificate_.converged:
            warnings.warn(
                f"The fit stopped after {self.certificate_.iterations} steps with a violation of "
                f"{self.certificate_.residual:.2g}, not the tolerance {self.tol:.2g}, and a duality gap of "
                f"{self.certificate_.gap:.2g}; use a larger tol or max_iter, a smaller C, or scale the inputs.",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _keep_one(self, problem: BoxProblem, coef: np.ndarray, intercept: float, result: BoxResult, plan: Plan) -> Any:
        """Keep a single function."""
        self.support_ = np.flatnonzero(coef)
        self._keep(problem, coef[:, None], intercept, [result], plan, result.seconds)
        self.dual_coef_, self.intercept_ = coef[None, self.support_], np.array([intercept])
        return self

    def _certified(self, results: list[BoxResult], plan: Plan, seconds: float) -> Certificate:
        gaps = np.array([max(r.primal - r.dual, 0.0) for r in results])
        return Certificate(
            solver=plan.solver,
            reason=plan.reason,
            converged=all(r.converged for r in results),
            residual=max(r.violation for r in results),
            tolerance=self.tol,
            error_bound=np.sqrt(2.0 * gaps) if self._bounded else np.full(len(gaps), np.inf),
            iterations=sum(r.steps for r in results),
            kernel_evaluations=sum(r.kernel_evaluations for r in results),
            bytes=max(plan.bytes, *(r.bytes for r in results)),
            seconds=seconds,
            precision=" and ".join(sorted({r.precision for r in results})),
            primal=sum(r.primal for r in results),
            dual=sum(r.dual for r in results),
            measure="violation",
        )

    @property
    def support_vectors_(self) -> Any:
        """The inputs that the fitted function is made of."""
        return self._X

    def _values(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        X = check_inputs(self, X, self.kernel_, reset=False)
        if is_precomputed(self.kernel_):
            X = X[:, self.support_]
        values = self.function_(X)
        return values.astype(np.float32) if getattr(X, "dtype", None) == np.float32 else values


def in_order(work: Callable[[Any], Any], tasks: list[Any], pool: ThreadPoolExecutor, quick: float) -> Iterator[Any]:
    """work(task) for each task, on the pool's threads unless the first one takes less than so many seconds."""
    alone = False
    if quick > 0.0:
        start = perf_counter()
        first = work(tasks[0])
        alone, tasks = perf_counter() - start < quick, tasks[1:]
        yield first
    yield from (map if alone else pool.map)(work, tasks)


def check_nu(nu: Any) -> None:
    """Raise if nu is not a fraction."""
    if not isinstance(nu, Real) or not 0.0 < float(nu) <= 1.0:
        raise ValueError(f"nu is {nu!r}; it must be a number above 0 and at most 1.")


def filled(most: np.ndarray, total: float) -> np.ndarray:
    """Numbers between 0 and `most` that sum up to the total: the first ones full, one in part, the others empty."""
    before = np.cumsum(most) - most
    return np.clip(total - before, 0.0, most)
