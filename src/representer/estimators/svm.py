"""Support vector machines for classification."""

from __future__ import annotations

import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import combinations
from threading import Event
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, column_or_1d

from representer import _tiles
from representer.estimators.calibration import Sigmoid, coupled, left_out
from representer.estimators.inputs import check_inputs, check_labels, check_lengths, check_weights, to_kernel
from representer.estimators.progress import Progress
from representer.estimators.support_vectors import QUICK, SupportVectorMachine, check_nu, filled, in_order
from representer.kernels import checks
from representer.kernels.base import OfOneNumber
from representer.kernels.prepared import Later
from representer.problem import BoxProblem
from representer.solvers.box import BoxResult, are_few
from representer.solvers.choose import Plan
from representer.solvers.kernel_values import PairMatrices
from representer.solvers.working_set import SET_SIZE


class _Classifier(ClassifierMixin, SupportVectorMachine):
    """What C-SVC and nu-SVC share: one machine for each pair of classes, votes, probabilities."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Fit to inputs X and labels y, weighted if weights are given (weight 2 is a repeated sample)."""
        started, kernel = perf_counter(), to_kernel(self.kernel)
        X = check_inputs(self, X, kernel, reset=True)
        self.classes_, codes = check_labels(self, X, y)
        if self.decision_function_shape not in ("ovr", "ovo"):
            raise ValueError(f"decision_function_shape is {self.decision_function_shape!r}; use 'ovr' or 'ovo'.")
        weights = check_weights(sample_weight, X)
        plan = self._plan(len(codes), len(self.classes_))
        kernel = self._fitted_kernel(X, weights)
        plain = np.ones(len(codes)) if weights is None else weights
        own = plain
        if (given := getattr(self, "class_weight", None)) is not None:
            y = self.classes_[codes]
            own = own * compute_class_weight(given, classes=self.classes_, y=y, sample_weight=weights)[codes]
        totals = np.bincount(codes, own, minlength=len(self.classes_))
        if not totals.min() > 0:
            missing = self.classes_.tolist()[int(np.argmin(totals))]
            raise ValueError(
                f"All samples of class {missing!r} have weight zero; remove them, or give some a positive weight."
            )
        problems, rows, matrices = self._problems(X, codes, own, kernel, plan)
        results = self._solve_all(problems, matrices)
        if matrices is not None:
            n, first = len(codes), results[0]
            results[0] = replace(first, kernel_evaluations=first.kernel_evaluations + n * (n + 1) // 2)
            plan = replace(plan, bytes=min(plan.bytes, matrices.bytes + self._calibration_bytes(n)))
        self._keep_pairs(problems[0], codes, rows, results, plan, perf_counter() - started)
        if self.probability:
            self._calibrate(problems, results, plain, rows)
        return self

    def _problems(
        self, X: Any, codes: np.ndarray, weights: np.ndarray, kernel: Any, plan: Plan
    ) -> tuple[list[BoxProblem], list[np.ndarray], PairMatrices | None]:
        """A problem for each pair of classes, the rows that it is about, and matrices.

        Matrices are those of several classes, if they fit the memory; rows of the second class are the last ones then.
        """
        if len(self.classes_) == 2:
            return [self._problem(X, kernel, codes == 1, weights)], [np.arange(len(codes))], None
        order = np.argsort(codes, kind="stable")
        edges = np.searchsorted(codes[order], np.arange(len(self.classes_) + 1))
        empty = np.empty(len(order))
        whole = BoxProblem(kernel, X, empty, empty, empty, threads=self.threads, rows=order)
        n, matrices = len(codes), None
        threads = self.threads or _tiles.default_threads()
        few = are_few(np.diff(edges), plan.bytes - self._calibration_bytes(n), threads)
        if plan.kernel_evaluations < n**2:  # each pair of points once, as all fit the memory
            if isinstance(X, np.ndarray) and isinstance(kernel, OfOneNumber) and not few:  # cheap to prepare
                whole.fast, whole.exact = Later(kernel, X, np.float32), Later(kernel, X, np.float64)
            matrices = PairMatrices(whole, edges, threads, few)
        problems, rows = [], []
        for a, b in combinations(range(len(self.classes_)), 2):
            index = order[np.r_[edges[a] : edges[a + 1], edges[b] : edges[b + 1]]]
            problem = self._problem(X, kernel, codes[index] == a, weights[index])
            problem.rows = index
            problem.exact, problem.rounding = whole.exact, whole.rounding
            if not few:
                problem.fast = whole.fast
            if matrices is not None:
                problem.threads = 1
            problems.append(problem)
            rows.append(index)
        return problems, rows, matrices

    def _solve_all(self, problems: list[BoxProblem], matrices: PairMatrices | None) -> list[BoxResult]:
        """Pairs that share kernel values are solved at the same time, one on each thread; others one by one."""
        if matrices is None:
            return [self._solve(problem, self._start(problem)) for problem in problems]
        stop, tasks = Event(), list(zip(problems, combinations(range(len(self.classes_)), 2), strict=True))

        def solve(task: tuple[BoxProblem, tuple[int, int]]) -> BoxResult:
            problem, pair = task
            with matrices.lent_to(problem, *pair):
                return self._solve(problem, self._start(problem), Progress(0, self.tol, stop.is_set))

        threads, results = self.threads or _tiles.default_threads(), []
        with (
            _tiles.one_blas_thread(),
            ThreadPoolExecutor(threads) as pool,
            Progress(self.verbose, self.tol) as progress,
        ):
            try:
                for result in in_order(solve, tasks, pool, QUICK if matrices.few else 0.0):
                    results.append(result)
                    progress.count("pairs of classes", len(results), len(problems))
            finally:  # after an error, or an interruption, other pairs do not go on
                stop.set()
        return results

    def _keep_pairs(
        self,
        problem: BoxProblem,
        codes: np.ndarray,
        rows: list[np.ndarray],
        results: list[BoxResult],
        plan: Plan,
        seconds: float,
    ) -> None:
        coef, intercept = np.zeros((len(codes), len(results))), np.empty(len(results))
        for s, (index, result) in enumerate(zip(rows, results, strict=True)):
            coef[index, s], intercept[s] = self._scaled(result)
        support = np.flatnonzero(coef if len(results) == 1 else np.any(coef != 0.0, axis=1))
        self.support_ = support[np.argsort(codes[support], kind="stable")]
        self._keep(problem, coef, intercept if len(results) > 1 else intercept[0], results, plan, seconds)
        self.intercept_ = intercept
        self.n_support_ = np.bincount(codes[self.support_], minlength=len(self.classes_)).astype(np.int32)
        self.dual_coef_ = self._in_rows(coef[self.support_], codes[self.support_])

    def _in_rows(self, coef: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """Coefficients as LIBSVM lays them out: one of class a has its part against b in row b, or b - 1 if b > a."""
        if coef.shape[1] == 1:
            return coef.T
        out = np.zeros((len(self.classes_) - 1, len(coef)))
        for s, (a, b) in enumerate(combinations(range(len(self.classes_)), 2)):
            out[b - 1, codes == a] = coef[codes == a, s]
            out[a, codes == b] = coef[codes == b, s]
        return out

    def _calibration_bytes(self, n: int) -> int:
        return 8 * min(n, SET_SIZE) ** 2 if self.probability else 0

    def _calibrate(
        self, problems: list[BoxProblem], results: list[BoxResult], weights: np.ndarray, rows: list[np.ndarray]
    ) -> None:
        """A sigmoid for each pair, fitted to leave-one-out scores."""
        self._sigmoids = []
        for problem, result, index in zip(problems, results, rows, strict=True):
            coef, intercept = self._scaled(result)
            scale = np.abs(coef).max() / np.abs(result.coef).max()
            scores = left_out(problem, result) * scale + intercept
            self._sigmoids.append(Sigmoid.fit(scores, problem.upper > 0, weights[index]))

    def decision_function(self, X: Any) -> np.ndarray:
        """f(x) for two classes; for more one column for each class ("ovr") or for each pair of classes ("ovo")."""
        values = self._values(X)
        if len(self.classes_) == 2 or self.decision_function_shape == "ovo":
            return values
        return self._by_class(values)

    def _by_class(self, values: np.ndarray) -> np.ndarray:
        """Votes of the pairs, with ties broken by the sums of their values, squeezed to less than half a vote."""
        votes, sums = self._votes(values), np.zeros((len(values), len(self.classes_)))
        for s, (a, b) in enumerate(combinations(range(len(self.classes_)), 2)):
            sums[:, a] += values[:, s]
            sums[:, b] -= values[:, s]
        return votes + sums / (3.0 * (np.abs(sums) + 1.0))

    def _votes(self, values: np.ndarray) -> np.ndarray:
        votes = np.zeros((len(values), len(self.classes_)))
        for s, (a, b) in enumerate(combinations(range(len(self.classes_)), 2)):
            votes[:, a] += values[:, s] > 0
            votes[:, b] += values[:, s] <= 0
        return votes

    def predict(self, X: Any) -> np.ndarray:
        """The class with the most votes of the pairs; with break_ties the greatest value of the decision function."""
        check_is_fitted(self)
        several = len(self.classes_) > 2
        if self.break_ties and self.decision_function_shape == "ovo" and several:
            raise ValueError("break_ties must be False when decision_function_shape is 'ovo'.")
        values = self._values(X)
        if not several:
            return self.classes_[(values > 0).astype(int)]
        return self.classes_[(self._by_class(values) if self.break_ties else self._votes(values)).argmax(axis=1)]

    def _has_probability(self) -> bool:
        if not self.probability:
            raise AttributeError("predict_proba needs probability=True, to be set before fit.")
        return True

    @available_if(_has_probability)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the classes: sigmoids of the pairs' values, fitted to leave-one-out scores, and coupled."""
        check_is_fitted(self, "_sigmoids", msg="Set probability=True before the fit.")
        values = self._values(X)
        values = values.reshape(len(values), -1)
        pairs = np.stack([sigmoid(values[:, s]) for s, sigmoid in enumerate(self._sigmoids)], axis=1)
        if len(self.classes_) == 2:
            return np.hstack([1.0 - pairs, pairs])
        return coupled(pairs, len(self.classes_))

    @available_if(_has_probability)
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logarithms of `predict_proba`."""
        return np.log(self.predict_proba(X))

    def slackness(self, X: Any, y: Any) -> np.ndarray:
        """Where points sit: 1 outside the margin, 0 on it, -1 inside, for two classes.

        At the solution those outside have coefficient 0, those inside the largest one, and those on the margin any.
        """
        check_is_fitted(self)
        if len(self.classes_) != 2:
            raise ValueError("The margin is that of two classes; fit two classes, or look at one pair of them.")
        y = column_or_1d(y)
        check_lengths(X, y)
        if not np.all(np.isin(y, self.classes_)):
            raise ValueError(f"y has labels other than the classes {self.classes_.tolist()} of the fit.")
        margin = np.where(np.asarray(y) == self.classes_[1], 1.0, -1.0) * self._values(X)
        return np.where(np.abs(margin - 1.0) <= 2.0 * self.tol, 0, np.where(margin > 1.0, 1, -1))


class SVC(_Classifier):
    r"""minimise over f in H and b:  1/2 ||f||^2 + sum_i C w_i max(0, 1 - y_i (f(x_i) + b)),  y_i in {-1, 1}.

    Its dual is: maximise sum_i a_i - 1/2 sum_ij a_i a_j y_i y_j k(x_i, x_j) over 0 <= a_i <= C w_i with
    sum_i a_i y_i = 0, and f = sum_i a_i y_i k(x_i, .). Several classes are fitted in pairs, which share kernel
    values and vote.

    Parameters
    ----------
    C : float
        Strength of the loss against the norm.
    kernel : Kernel or str
        A kernel object on inputs of any type, or one of "rbf", "linear", "poly", "laplacian", "matern", "cosine",
        "chi2", "precomputed". A length scale that is not given is the typical distance of an input from the mean;
        scikit-learn's gamma is 1 / (2 length_scale^2).
    class_weight : dict, "balanced" or None
        Factors of C for the classes.
    probability : bool
        Whether to calibrate probabilities, on leave-one-out scores that the fit gives almost for free.
    tol : float
        Violation of the optimality conditions at which the dual counts as solved, as in LIBSVM.
    max_iter : int
        Steps of two coefficients; -1 for max(10^7, 100 n).
    decision_function_shape : {"ovr", "ovo"}
        Whether `decision_function` has one column for each of several classes or for each pair of them.
    break_ties : bool
        Whether `predict` breaks ties of votes by the values of the pairs.
    memory : int, optional
        Bytes that a fit may use; more is refused before work starts. The machine's memory when not given.
    threads : int, optional
    verbose : int
        Whether to show the progress of a long fit.

    Attributes
    ----------
    function_ : Function
        The fitted f + b on the support vectors, with one output for each pair of classes.
    support_, support_vectors_ : arrays of shape (n_support,)
        Indices of the support vectors, sorted by class, and those inputs.
    dual_coef_ : array of shape (n_classes - 1, n_support)
        Coefficients a_i y_i, for several classes as LIBSVM lays them out.
    intercept_ : array of shape (n_pairs,)
    n_support_ : array of shape (n_classes,)
    classes_ : array of shape (n_classes,)
    kernel_ : Kernel
        The kernel used, with all length scales.
    certificate_ : Certificate
        Primal and dual value, violation, and what it took.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from representer import SVC
    >>> X, y = load_iris(return_X_y=True)
    >>> bool(SVC(C=10.0).fit(X, y).score(X, y) > 0.95)
    True
    """

    def __init__(
        self,
        C: float = 1.0,
        *,
        kernel: Any = "rbf",
        class_weight: Any = None,
        probability: bool = False,
        tol: float = 1e-3,
        max_iter: int = -1,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        memory: int | None = None,
        threads: int | None = None,
        verbose: int = 0,
    ):
        self.C = C
        self.kernel = kernel
        self.class_weight = class_weight
        self.probability = probability
        self.tol = tol
        self.max_iter = max_iter
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.memory = memory
        self.threads = threads
        self.verbose = verbose

    def _problem(self, X: Any, kernel: Any, positive: np.ndarray, weights: np.ndarray) -> BoxProblem:
        checks.positive(self.C, "C")
        signs, most = np.where(positive, 1.0, -1.0), self.C * weights
        return BoxProblem(
            kernel, X, signs, np.where(positive, 0.0, -most), np.where(positive, most, 0.0), threads=self.threads
        )

    def _start(self, problem: BoxProblem) -> np.ndarray | None:
        return None

    def _scaled(self, result: BoxResult) -> tuple[np.ndarray, float]:
        return result.coef, result.intercepts[0]


class NuSVC(_Classifier):
    r"""minimise over f in H, b and r >= 0:  1/2 ||f||^2 - nu r sum_i w_i + sum_i w_i max(0, r - y_i (f(x_i) + b)).

    nu bounds the weight of the samples inside the margin from above and that of the support vectors from below. The
    fitted f and b are divided by r, so that the margin is at 1 as for `SVC`, whose other parameters and attributes it
    has, but for `class_weight`: the margin makes both classes weigh the same. As r is a result, too, the certificate
    has no bound on the error of f.

    Parameters
    ----------
    nu : float
        In (0, 1].
    """

    _bounded = False

    def __init__(
        self,
        nu: float = 0.5,
        *,
        kernel: Any = "rbf",
        probability: bool = False,
        tol: float = 1e-3,
        max_iter: int = -1,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        memory: int | None = None,
        threads: int | None = None,
        verbose: int = 0,
    ):
        self.nu = nu
        self.kernel = kernel
        self.probability = probability
        self.tol = tol
        self.max_iter = max_iter
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.memory = memory
        self.threads = threads
        self.verbose = verbose

    def _problem(self, X: Any, kernel: Any, positive: np.ndarray, weights: np.ndarray) -> BoxProblem:
        check_nu(self.nu)
        if self.nu * weights.sum() > 2.0 * min(weights[positive].sum(), weights[~positive].sum()):
            largest = 2.0 * min(weights[positive].sum(), weights[~positive].sum()) / weights.sum()
            raise ValueError(
                f"nu = {self.nu} is infeasible: classes this unequal allow at most {largest:.3g}; use a smaller nu."
            )
        return BoxProblem(
            kernel,
            X,
            np.zeros(len(weights)),
            np.where(positive, 0.0, -weights),
            np.where(positive, weights, 0.0),
            groups=(positive != positive[0]).astype(int),
            threads=self.threads,
        )

    def _start(self, problem: BoxProblem) -> np.ndarray:
        share = 0.5 * self.nu * (problem.upper - problem.lower).sum()
        return filled(problem.upper, share) - filled(-problem.lower, share)

    def _scaled(self, result: BoxResult) -> tuple[np.ndarray, float]:
        first, second = result.intercepts
        margin = 0.5 * abs(second - first)
        if result.converged and margin <= max(result.violation, 1e-12 * np.abs(result.coef).sum()):
            warnings.warn(
                f"nu = {self.nu} leaves no margin between two classes, of which some samples coincide or nearly do, so "
                "that values of the fit are rounding errors; use a larger nu, or SVC.",
                ConvergenceWarning,
                stacklevel=4,
            )
        margin = max(margin, 1e-12)
        return result.coef / margin, 0.5 * (first + second) / margin
