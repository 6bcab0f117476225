"""What all support vector machines share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from numbers import Real
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from representer.estimators.base import KernelEstimator, warn_user
from representer.estimators.in_span import is_approximation, kernel_for_rows, refuse
from representer.estimators.inputs import in_precision_of, require_bounded, take
from representer.functions import Function
from representer.gram.operator import Operator
from representer.gram.tiled import Gram
from representer.kernels import checks
from representer.kernels.base import Kernel
from representer.kernels.stationary import RBF
from representer.problems.box import BoxProblem
from representer.result import Budget, Certificate, Plan, Result, Work, certificate_of
from representer.rows.base import Rows
from representer.rows.validation import check_inputs
from representer.solvers import choose, smo

QUICK = 5e-3
"""Seconds of a fit up to which the interpreter, which runs one thread at a time, takes most of it."""
UNLIMITED = 10**15
"""Steps where the user set no limit."""
SVM_ADVICE = "use a larger tol or max_iter, a smaller C, or scale the inputs"


def usual_scale(X: Any, weights: np.ndarray | None) -> float:
    """The length scale at which 1 / (2 length_scale^2) = 1 / (n_columns Var(X)): scikit-learn's ``gamma="scale"``.

    The variance is that of all entries together, including those that a sparse matrix does not store; weights count as
    repetitions of rows.
    """
    rows = checks.vectors(X, "RBF")
    variance = checks.variance_of_entries(rows, weights)
    return checks.default_scale(float(np.sqrt(0.5 * rows.shape[1] * variance))) if variance > 0.0 else np.sqrt(0.5)


class SupportVectorMachine(KernelEstimator):
    """What all support vector machines share: kernel, plan, certificate, and functions on the support vectors."""

    C: float
    support_: np.ndarray
    _bounded = True  # whether the duality gap bounds the error of f

    def plan(self, X: Any, y: Any = None) -> Plan:
        """How `fit` would solve for these inputs, and the memory and time it takes."""
        kernel, budget = self._definite_kernel(X, None), self._budget()
        if isinstance(X, Rows) or is_approximation(kernel):
            return self._spanned(kernel, X).plan(X, budget)
        gram = self._gram(kernel, X)
        plan = smo.cost_of_pairs(gram, np.array([len(gram)]), budget, self._parts)
        return self._with_search(plan, gram, budget.memory)

    def _spanned(self, kernel: Kernel, X: Any) -> Any:
        """The machine in the span of a kernel's basis; raise where it has no form there."""
        refuse(kernel, f"The dual of {type(self).__name__}", "SVC, SVR, or an exact kernel")

    @property
    def _parts(self) -> int:
        """Parts of a coefficient: two where it has a positive and a negative one."""
        return 1

    def _with_search(self, plan: Plan, gram: Gram, memory: int, targets: int = 1) -> Plan:
        """The plan including the search, which this machine does not have."""
        return plan

    def _most_iterations(self) -> int:
        return UNLIMITED if self.max_iter == -1 else checks.integer(self.max_iter, "max_iter")

    def _definite_kernel(self, X: Any, weights: np.ndarray | None) -> Kernel:
        if isinstance(X, Rows):
            kernel = kernel_for_rows(self._given_kernel(), X)
        else:
            kernel = RBF(usual_scale(X, weights)) if self.kernel == "rbf" else self._kernel_for(X, weights)
        if not kernel.definite:
            warn_user(
                f"{kernel!r} is not positive semidefinite, so the dual may have several stationary points, of which "
                "the fit finds one, and the gap bounds nothing; representer.psd.report says how far off it is.",
                UserWarning,
            )
        return kernel

    def _largest_C(self) -> float:
        return float(checks.positive(self.C, "C"))

    def _limited(self, budget: Budget, n: int) -> Budget:
        """The budget with max(10^7, 100 n) steps when the user set no limit."""
        return budget if budget.max_iter < UNLIMITED else replace(budget, max_iter=max(10**7, 100 * n))

    def _fit_one(
        self,
        problem: BoxProblem,
        start: np.ndarray | None = None,
        plan: Plan | None = None,
        budget: Budget | None = None,
    ) -> Result:
        """The solution of a single dual; when no plan or budget is given, they are made here."""
        budget = self._limited(self._budget() if budget is None else budget, problem.n)
        plan = choose.plan(problem, budget) if plan is None else plan
        plan.require()
        with budget.progress.expect(plan.solver, plan.seconds):
            return smo.solve(problem, budget, plan.reason, start)

    def _keep(
        self, gram: Gram, coef: np.ndarray, intercept: Any, results: list[Result], seconds: float, taken: int
    ) -> None:
        """Store f = b + sum_i c_i k(x_i, .) over the support vectors alone; coef has one column per function.

        ``taken`` are the bytes of the matrices.
        """
        self.kernel_ = kernel = gram.kernel
        # a constant function still needs one point of the type of its inputs
        points = self.support_ if len(self.support_) else np.arange(1)
        columns = coef[points, 0] if coef.shape[1] == 1 else coef[points]
        inputs = gram.row_inputs
        prepared: Any = inputs.at(points) if kernel.rowwise and not inputs.on_demand else None
        # rows that the kernel keeps as they are need no second copy
        same = prepared is not None and getattr(inputs.like, "raw", None) is gram.X
        X = prepared.raw if same else take(gram.X, points, kernel)
        self.function_ = Function(kernel, X, columns, intercept, prepared=prepared, threads=self.threads)
        self.support_vectors_ = X if len(self.support_) else X[:0]
        self.n_iter_: Any = max(1, results[0].certificate.iterations)
        certificate = replace(
            _joint(results, self.tol), bytes=taken, seconds=seconds, kernel_evaluations=gram.evaluations
        )
        if not self._bounded or not kernel.definite:
            certificate = replace(certificate, error_bound=np.full(len(results), np.inf))
        self.certificate_ = certificate
        self._warn_unless_converged(certificate, SVM_ADVICE)

    def _keep_one(
        self, gram: Gram, coef: np.ndarray, intercept: float, result: Result, taken: int | None = None
    ) -> Any:
        """Store a single function; ``taken``, the bytes of its matrices, defaults to those of the certificate."""
        self.support_, certificate = np.flatnonzero(coef), result.certificate
        taken = certificate.bytes if taken is None else taken
        self._keep(gram, coef[:, None], intercept, [result], certificate.seconds, taken)
        self.dual_coef_, self.intercept_ = coef[None, self.support_], np.array([intercept])
        self.n_support_ = np.array([len(self.support_)], np.int32)
        return self

    @property
    def coef_(self) -> np.ndarray:
        """w with f(x) = <w, x> + b, where the kernel is linear: one row per pair of classes, or a single row."""
        return np.atleast_2d(super().coef_)

    def _values(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        if not self.kernel_.precomputed:
            return super()._values(X)
        X = check_inputs(self, X, self.kernel_, reset=False)
        columns = self.support_ if len(self.support_) else np.arange(1)  # those of the function's points
        values = self.function_(X.iloc[:, columns] if hasattr(X, "iloc") else X[:, columns])
        return in_precision_of(X, values)


def _joint(results: list[Result], tol: float) -> Certificate:
    """One certificate for the machines of all pairs of classes."""
    parts = [result.certificate for result in results]
    if len(parts) == 1:
        return parts[0]
    work = Work(
        solver=" and ".join(sorted({c.solver for c in parts})),
        reason=parts[0].reason,
        iterations=sum(c.iterations for c in parts),
        bytes=max(c.bytes for c in parts),
        seconds=sum(c.seconds for c in parts),
        precision=" and ".join(sorted({c.precision for c in parts})),
    )
    return certificate_of(parts, work, tol, max(c.kernel_evaluations for c in parts))


def in_order(work: Callable[[Any], Any], tasks: list[Any], pool: ThreadPoolExecutor, quick: float) -> Iterator[Any]:
    """work(task) for each task, on the pool's threads unless the first one takes less than ``quick`` seconds."""
    alone = False
    if quick > 0.0:
        start = perf_counter()
        first = work(tasks[0])
        alone, tasks = perf_counter() - start < quick, tasks[1:]
        yield first
    yield from (map if alone else pool.map)(work, tasks)


def upper_bounds(C: Any, weights: np.ndarray) -> np.ndarray:
    """C w_i, the upper bound of each coefficient."""
    most = checks.positive(C, "C") * weights
    way_out = "use a smaller C, such as 1e10, which is a hard margin for most data"
    require_bounded(float(most.max()), "C times the largest sample_weight", way_out)
    return most


def hinge_dual(K: Operator, positive: np.ndarray, most: np.ndarray) -> BoxProblem:
    """The dual of a machine with these positive samples, and these upper bounds on the absolute coefficients."""
    return BoxProblem(K, np.where(positive, 1.0, -1.0), np.where(positive, 0.0, -most), np.where(positive, most, 0.0))


def check_nu(nu: Any) -> None:
    """Raise if nu is not in (0, 1]."""
    if not isinstance(nu, Real) or not 0.0 < float(nu) <= 1.0:
        raise ValueError(f"nu is {nu!r}; it must be a number above 0 and at most 1.")


def filled(most: np.ndarray, total: float) -> np.ndarray:
    """Values between 0 and ``most`` with this total: the first ones at their bound, one in between, the others zero.

    All are at their bounds where the total is that of ``most`` up to rounding, as one just below it would count as
    free, and decide the intercept.
    """
    reached = np.cumsum(most)
    if total >= reached[-1] * (1.0 - len(most) * np.finfo(np.float64).eps):
        return most.copy()
    return np.clip(total - (reached - most), 0.0, most)
