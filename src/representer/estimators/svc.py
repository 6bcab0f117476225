"""Support vector machines for classification."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import combinations
from threading import Event
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, column_or_1d

from representer import _parallel
from representer.estimators.base import atomic
from representer.estimators.calibration import Sigmoid, coupled, left_out
from representer.estimators.criteria import Part, softened
from representer.estimators.in_span import is_approximation
from representer.estimators.inputs import check_labels, check_lengths, check_weights
from representer.estimators.progress import Progress
from representer.estimators.row_targets import labels
from representer.estimators.support_vectors import QUICK, SupportVectorMachine, hinge_dual, in_order, upper_bounds
from representer.estimators.svm_in_span import classifier_in_span, fit_pairs, pairs_of
from representer.estimators.tunable import Tunable
from representer.gram.operator import Operator
from representer.gram.submatrix import ClassPairs
from representer.gram.tiled import Gram
from representer.kernels import checks
from representer.losses.hinge import Hinge
from representer.problems.box import BoxProblem
from representer.result import Budget, Plan, Result
from representer.rows.base import Rows
from representer.rows.distributed.lazy import lazily
from representer.rows.validation import check_inputs, reset_fitted
from representer.solvers import smo


class _Dual(NamedTuple):
    """The samples of one pair of classes, and which of them are positive."""

    rows: np.ndarray
    positive: np.ndarray


class PairwiseClassifier(ClassifierMixin):
    """What C-SVC and nu-SVC share: one machine per pair of classes, votes, probabilities."""

    _weighs_classes = True

    @atomic
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fit to inputs X and labels y, weighted if weights are given (weight 2 is a repeated sample), or to rows."""
        started = perf_counter()
        reset_fitted(self, "_sigmoids")
        if isinstance(X, Rows):
            return fit_pairs(self, X, labels(self, X, y, sample_weight, self.class_weight).pairs())
        X = check_inputs(self, X, self._given_kernel(), reset=True)
        self.classes_, codes = check_labels(self, X, y)
        if self.decision_function_shape not in ("ovr", "ovo"):
            raise ValueError(f"decision_function_shape is {self.decision_function_shape!r}; use 'ovr' or 'ovo'.")
        given = check_weights(sample_weight, X)
        plain = np.ones(len(codes)) if given is None else given
        weights = self._class_weighted(codes, plain, given)
        if is_approximation(self._given_kernel()):
            return fit_pairs(self, X, pairs_of(X, codes, weights), given)
        budget = self._budget()
        gram, plan = self._planned(X, np.bincount(codes), given, budget)
        plan.require()
        gram = self._chosen(gram, codes, weights)
        if len(self.classes_) == 2:
            duals = [_Dual(np.arange(len(codes)), codes == 1)]
            problem = self._problem(gram, codes == 1, weights)
            results = [self._fit_one(problem, self._start(problem), plan, budget)]
            taken = results[0].certificate.bytes
        else:
            duals, results, taken = self._solve_pairs(gram, codes, weights, plan, budget)
        scaled = [self._scaled(result) for result in results]
        coef, intercept = np.zeros((len(codes), len(duals))), np.array([b for _, b in scaled])
        for s, dual in enumerate(duals):
            coef[dual.rows, s] = scaled[s][0]
        support = np.flatnonzero(coef if len(duals) == 1 else np.any(coef != 0.0, axis=1))
        self.support_ = support[codes[support].argsort(kind="stable")]
        b = intercept if len(duals) > 1 else intercept[0]
        self._keep(gram, coef, b, results, perf_counter() - started, taken)
        self.intercept_, codes = intercept, codes[self.support_]
        self.n_iter_ = np.array([max(1, result.certificate.iterations) for result in results], np.int32)
        self.n_support_ = np.bincount(codes, minlength=len(self.classes_)).astype(np.int32)
        self.dual_coef_ = self._in_rows(coef[self.support_], codes)
        if self._has_probability():
            self._calibrate(gram, duals, weights, plain, zip(results, scaled, strict=True))
        return self

    def plan(self, X: Any, y: Any = None) -> Plan:
        """How `fit` would solve for these inputs, and the memory and time that it takes."""
        n = checks.number_of(X)
        sizes = np.array([n // 2, n - n // 2]) if y is None else np.unique(np.asarray(y), return_counts=True)[1]
        if isinstance(X, Rows) or is_approximation(self._given_kernel()):
            return classifier_in_span(self, self._definite_kernel(X, None)).plan(X, self._budget())
        return self._planned(X, sizes, None, self._budget())[1]

    def _planned(self, X: Any, sizes: np.ndarray, weights: np.ndarray | None, budget: Budget) -> tuple[Gram, Plan]:
        """K, and the plan for classes of these sizes."""
        several = len(sizes) > 2
        # rows of several classes are prepared lazily, when their pair needs them
        kernel, later = self._definite_kernel(X, weights), several and not smo.pairs_are_small(sizes)
        gram = self._gram(kernel, X, on_demand=later)
        plan = smo.cost_of_pairs(gram, sizes if several else np.array([sizes.sum()]), budget)
        return gram, self._with_search(plan, gram, budget.memory)

    def _chosen(self, gram: Gram, codes: np.ndarray, weights: np.ndarray) -> Gram:
        """K with the kernel that the fit uses."""
        return gram

    def _class_weighted(self, codes: np.ndarray, weights: np.ndarray, given: np.ndarray | None) -> np.ndarray:
        """Sample weights times class weights; no class may have total weight zero."""
        if (factors := self.class_weight if self._weighs_classes else None) is not None:
            y = self.classes_[codes]
            weights = weights * compute_class_weight(factors, classes=self.classes_, y=y, sample_weight=given)[codes]
        totals = np.bincount(codes, weights, minlength=len(self.classes_))
        if not totals.min() > 0:
            missing = self.classes_.tolist()[int(np.argmin(totals))]
            raise ValueError(
                f"All samples of class {missing!r} have weight zero; remove them, or give some a positive weight."
            )
        return weights

    def _solve_pairs(
        self, gram: Gram, codes: np.ndarray, weights: np.ndarray, plan: Plan, budget: Budget
    ) -> tuple[list[_Dual], list[Result], int]:
        """The pairs of classes, their results, and the bytes of their matrices.

        Where all kernel values fit the memory, pairs share them and are solved in parallel, one per thread; otherwise
        one by one.
        """
        order, reason = np.argsort(codes, kind="stable"), plan.reason
        edges = np.searchsorted(codes[order], np.arange(len(self.classes_) + 1))
        pairs, threads = list(combinations(range(len(self.classes_)), 2)), self.threads or _parallel.default_threads()
        rows = [order[np.r_[edges[a] : edges[a + 1], edges[b] : edges[b + 1]]] for a, b in pairs]
        duals = [_Dual(index, codes[index] == a) for index, (a, _) in zip(rows, pairs, strict=True)]
        results: list[Result] = []
        if not smo.keeps_all_values(len(codes), budget):
            results += [self._solved(gram.take(dual.rows), dual, weights, reason, budget) for dual in duals]
            return duals, results, max(result.certificate.bytes for result in results)
        doubles, stop = smo.shares_doubles(gram, np.diff(edges), budget), Event()
        matrices = ClassPairs(gram.take(order), edges, threads, doubles)
        silent = replace(budget, progress=Progress(-1, self.tol, stop.is_set))

        def solve(s: int) -> Result:
            with matrices.lent(*pairs[s]) as K:
                return self._solved(K, duals[s], weights, reason, silent)

        with _parallel.one_blas_thread(), ThreadPoolExecutor(threads) as pool, budget.progress as progress:
            progress.expect("pairs of classes", plan.seconds)
            try:
                for result in in_order(solve, list(range(len(pairs))), pool, QUICK if doubles else 0.0):
                    results.append(result)
                    progress.count("pairs of classes", len(results), len(pairs))
            finally:  # after an error or an interrupt, stop the other pairs
                stop.set()
        own = max(result.certificate.bytes for result in results)
        return duals, results, matrices.nbytes + min(threads, len(pairs)) * own

    def _solved(self, K: Operator, dual: _Dual, weights: np.ndarray, reason: str, budget: Budget) -> Result:
        """The result of one pair of classes."""
        problem = self._problem(K, dual.positive, weights[dual.rows])
        return smo.solve(problem, self._limited(budget, problem.n), reason, self._start(problem))

    def _in_rows(self, coef: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """Coefficients in LIBSVM's layout: those of class a against class b are in row b, or b - 1 if b > a."""
        if coef.shape[1] == 1:
            return coef.T
        out = np.zeros((len(self.classes_) - 1, len(coef)))
        for s, (a, b) in enumerate(combinations(range(len(self.classes_)), 2)):
            out[b - 1, codes == a] = coef[codes == a, s]
            out[a, codes == b] = coef[codes == b, s]
        return out

    def _calibrate(
        self, gram: Gram, duals: list[_Dual], weights: np.ndarray, plain: np.ndarray, found: Iterable[Any]
    ) -> None:
        """One sigmoid per pair, fitted to leave-one-out scores with sample weights but not class weights."""
        self._sigmoids = []
        for (rows, positive), (result, (coef, intercept)) in zip(duals, found, strict=True):
            problem = self._problem(gram.take(rows) if len(duals) > 1 else gram, positive, weights[rows])
            scale = np.abs(coef).max() / np.abs(result.coef).max()
            self._sigmoids.append(Sigmoid.fit(left_out(problem, result) * scale + intercept, positive, plain[rows]))

    def decision_function(self, X: Any) -> np.ndarray:
        """f(x) for two classes; for more, one column per class ("ovr") or per pair of classes ("ovo")."""
        values = self._values(X)
        if len(self.classes_) == 2 or self.decision_function_shape == "ovo":
            return values
        return self._by_class(values)

    def _by_class(self, values: np.ndarray) -> np.ndarray:
        """Votes of the pairs, with ties broken by the sums of their values, squashed to less than half a vote."""
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
        """The class with the most pairwise votes; with break_ties, the largest value of the decision function."""
        check_is_fitted(self)
        several = len(self.classes_) > 2
        if self.break_ties and self.decision_function_shape == "ovo" and several:
            raise ValueError("break_ties must be False when decision_function_shape is 'ovo'.")
        values = self._values(X)
        if not several:
            return self.classes_[(values > 0).astype(int)]
        return self.classes_[(self._by_class(values) if self.break_ties else self._votes(values)).argmax(axis=1)]

    _way_to_probabilities = "set probability=True before fit"

    def _has_probability(self) -> bool:
        return bool(self.probability)

    @available_if(lambda self: self._has_probability())
    @lazily
    def predict_proba(self, X: Any) -> np.ndarray:
        """Class probabilities: sigmoids of the pairs' values, fitted to leave-one-out scores, and coupled."""
        check_is_fitted(self, "_sigmoids", msg="predict_proba is not available when fitted with probability=False.")
        values = self._values(X)
        values = values.reshape(len(values), -1)
        pairs = np.stack([sigmoid(values[:, s]) for s, sigmoid in enumerate(self._sigmoids)], axis=1)
        if len(self.classes_) == 2:
            return np.hstack([1.0 - pairs, pairs])
        return coupled(pairs, len(self.classes_))

    @available_if(lambda self: self._has_probability())
    @lazily
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logarithms of `predict_proba`."""
        return np.log(self.predict_proba(X))

    def slackness(self, X: Any, y: Any) -> np.ndarray:
        """The side of the margin of each point, for two classes: 1 outside, 0 on it, -1 inside.

        At the solution, points outside have coefficient 0, points inside the upper bound, and points on the margin any.
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


class SVC(PairwiseClassifier, Tunable, SupportVectorMachine):
    r"""minimise over f in H and b:  1/2 ||f||^2 + sum_i C w_i max(0, 1 - y_i (f(x_i) + b)),  y_i in {-1, 1}.

    Its dual is: maximise sum_i a_i - 1/2 sum_ij a_i a_j y_i y_j k(x_i, x_j) over 0 <= a_i <= C w_i with
    sum_i a_i y_i = 0, and f = sum_i a_i y_i k(x_i, .). Several classes are fitted in pairs, which share kernel
    values and vote.

    Parameters
    ----------
    C : float
        Strength of the loss relative to the norm.
    kernel : Kernel or str
        A kernel object on inputs of any type, or one of "rbf", "linear", "poly", "laplacian", "matern", "cosine",
        "chi2", "precomputed". scikit-learn's gamma is 1 / (2 length_scale^2); "rbf" has that of ``gamma="scale"``.
        Other length scales that are not given are the typical distance of an input from the mean.
    class_weight : dict, "balanced" or None
        Factors of C for the classes.
    probability : bool
        Whether to calibrate probabilities, on leave-one-out scores that the fit gives almost for free.
    tune : {None, "loo"}
        "loo" tunes C and all positive hyper-parameters of the kernel to minimise the leave-one-out loss of the machine
        with a smoothed hinge, by gradients.
    bounds : dict, optional
        Pairs (low, high) for hyper-parameters by name, such as ``{"length_scale": (0.1, 10.0), "C": (0.1, 100.0)}``.
    fixed : list of names
        Hyper-parameters that are not tuned.
    priors : dict, optional
        Distributions with a ``logpdf``, as in scipy.stats, by name.
    tol : float
        KKT violation at which the dual has converged, as in LIBSVM.
    max_iter : int
        Largest number of SMO steps; -1 for max(10^7, 100 n). With ``tune`` it bounds the search instead.
    decision_function_shape : {"ovr", "ovo"}
        Whether `decision_function` has one column per class or per pair of classes, where there are several.
    break_ties : bool
        Whether `predict` breaks ties of votes by the values of the pairs.
    memory : int, optional
        Bytes that a fit may use; more is refused before work starts. The machine's memory when not given.
    threads : int, optional
    verbose : int
        1 shows each step, -1 nothing; 0 shows fits that take more than three seconds, on a terminal.

    Attributes
    ----------
    function_ : Function
        The fitted f + b on the support vectors, with one output per pair of classes.
    support_, support_vectors_ : arrays of shape (n_support,)
        Indices of the support vectors, sorted by class, and those inputs.
    dual_coef_ : array of shape (n_classes - 1, n_support)
        Coefficients a_i y_i, for several classes in LIBSVM's layout.
    intercept_ : array of shape (n_pairs,)
    n_support_ : array of shape (n_classes,)
    classes_ : array of shape (n_classes,)
    kernel_ : Kernel
        The kernel used, with all length scales.
    C_ : float
        The C used.
    loo_error_ : float
        With ``tune``: the mean leave-one-out loss.
    certificate_ : Certificate
        Primal and dual value, KKT violation, and cost.

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
        tune: str | None = None,
        bounds: dict | None = None,
        fixed: Any = (),
        priors: dict | None = None,
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
        self.tune = tune
        self.bounds = bounds
        self.fixed = fixed
        self.priors = priors
        self.tol = tol
        self.max_iter = max_iter
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.memory = memory
        self.threads = threads
        self.verbose = verbose

    takes_rows = True
    _strength_name = "C"
    _search_factor = 5.0  # Newton steps

    def _chosen(self, gram: Gram, codes: np.ndarray, weights: np.ndarray) -> Gram:
        """K with the kernel, and C, that minimise the leave-one-out loss over all pairs of classes."""
        self.C_ = self._largest_C()
        reset_fitted(self, "loo_error_")
        if self.tune is None:
            return gram
        parts, every = [], np.arange(len(codes))
        for a, b in combinations(range(len(self.classes_)), 2):
            rows = every if len(self.classes_) == 2 else np.flatnonzero((codes == a) | (codes == b))
            signs = np.where(codes[rows] == a, 1.0, -1.0)
            parts.append(Part(signs, softened(Hinge(), signs), weights[rows], rows))
        kernel, self.C_ = self._search_machine(gram, parts, weights, self.C_)
        return self._gram(kernel, gram.X, on_demand=gram.row_inputs.on_demand)

    def _problem(self, K: Operator, positive: np.ndarray, weights: np.ndarray) -> BoxProblem:
        return hinge_dual(K, positive, upper_bounds(self.C_, weights))

    def _start(self, problem: BoxProblem) -> np.ndarray | None:
        return None

    def _scaled(self, result: Result) -> tuple[np.ndarray, float]:
        return result.coef, result.intercept[0]
