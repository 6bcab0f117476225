"""Support vector machines for many C and many kernels at once, compared by cross-validation."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.model_selection import check_cv
from sklearn.utils.validation import check_is_fitted

from representer import _parallel
from representer.estimators.base import KernelEstimator, atomic, warn_user
from representer.estimators.inputs import check_labels, is_precomputed, to_kernel
from representer.estimators.support_vectors import QUICK, in_order, upper_bounds
from representer.estimators.svc import SVC
from representer.gram.shared_distances import SharedDistances
from representer.gram.stored import Stored
from representer.gram.submatrix import stored_precisely
from representer.gram.tiled import Gram
from representer.kernels import checks
from representer.kernels.base import Kernel, require_definite
from representer.kernels.stationary import SquaredDistance
from representer.problems.box import BoxProblem
from representer.result import Budget, Plan
from representer.rows.validation import check_inputs
from representer.solvers import smo


class SVCPath(ClassifierMixin, KernelEstimator):
    """`SVC` with the C and the kernel of highest cross-validated accuracy.

    The result is that of a grid search (for kernels with given length scales; others are chosen once, from all
    samples), but each kernel matrix is computed once for all folds, values of C and pairs of classes: rows are sorted
    by class and fold, so that a fold is a mask of a few slices. Each C is warm-started from the one before. Kernels
    that differ only in their length scale share the distances.

    Parameters
    ----------
    C : sequence of float
        Strengths of the loss, tried in increasing order.
    kernels : sequence of Kernel or str
        Kernels to try, on inputs of any type.
    cv : int or splitter
        Folds, each sample in one of them.
    tol, threads
        As for `SVC`.
    memory : int, optional
        Bytes that a kernel matrix of n^2 floats may take, along with the distances if they fit; the machine's memory
        when not given.

    Attributes
    ----------
    best_estimator_ : SVC
        Fitted to all samples.
    best_params_ : dict
        Its C and kernel.
    best_score_ : float
        Its cross-validated accuracy.
    scores_ : array of shape (n_kernels, n_C, n_folds)
    C_ : array of shape (n_C,)
        The values of C in increasing order.
    classes_ : array of shape (n_classes,)

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from representer import SVCPath
    >>> from representer.kernels import RBF
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SVCPath(C=[0.1, 1.0, 10.0], kernels=[RBF(0.5), RBF(2.0)]).fit(X, y)
    >>> bool(model.best_score_ > 0.95), model.scores_.shape
    (True, (2, 3, 5))
    """

    def __init__(
        self,
        C: Sequence[float] = (0.1, 1.0, 10.0, 100.0),
        *,
        kernels: Sequence[Any] = ("rbf",),
        cv: Any = 5,
        tol: float = 1e-3,
        memory: int | None = None,
        threads: int | None = None,
    ):
        self.C = C
        self.kernels = kernels
        self.cv = cv
        self.tol = tol
        self.memory = memory
        self.threads = threads

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = any(is_precomputed(kernel) for kernel in self._given)
        return tags

    kernel = None  # it has several

    @property
    def _given(self) -> Sequence[Any]:
        """The kernels as a sequence, also if a single one or its name was given."""
        several = isinstance(self.kernels, Sequence) and not isinstance(self.kernels, str)
        return self.kernels if several else [self.kernels]

    @atomic
    def fit(self, X: Any, y: Any) -> SVCPath:
        """Cross-validate the whole grid, and fit the best point of it to all samples."""
        kernels, self.C_ = self._grid()
        X = check_inputs(self, X, kernels[0], reset=True)
        self.classes_, codes = check_labels(self, X, y)
        folds = self._folds(codes)
        plan, number, shared = self._planned(kernels, X, codes, folds.max() + 1)
        plan.require()
        order = np.lexsort((folds, codes))
        fitted = [kernel.with_default_scales(X) for kernel in kernels]
        distances = self._distances(fitted, X, order, number) if shared else None
        self._stopped = set[str]()
        grams = (self._gram(kernel, X).take(order) for kernel in fitted)
        scores = [self._scores(_matrix(gram, distances, number), codes[order], folds[order]) for gram in grams]
        self.scores_ = np.stack(scores)
        if self._stopped:
            warn_user(
                f"Fits of {', '.join(sorted(self._stopped))} stopped before the tolerance {self.tol:.2g}, so their "
                "scores are rough; use a smaller C, a larger tol, or scale the inputs."
            )
        best = np.unravel_index(self.scores_.mean(axis=2).argmax(), self.scores_.shape[:2])
        self.best_score_ = float(self.scores_.mean(axis=2)[best])
        self.best_params_ = {"C": float(self.C_[best[1]]), "kernel": kernels[best[0]]}
        chosen = SVC(tol=self.tol, memory=self.memory, threads=self.threads).set_params(**self.best_params_)
        self.best_estimator_ = chosen.fit(X, y)
        self.certificate_ = self.best_estimator_.certificate_
        return self

    def _grid(self) -> tuple[list[Kernel], np.ndarray]:
        """Kernels and values of C, checked together with all other parameters before work starts."""
        C = np.atleast_1d(self.C)
        if not len(self._given) or not len(C):
            raise ValueError("C or kernels is empty; give at least one of each to try.")
        kernels = [to_kernel(kernel) for kernel in self._given]
        for kernel in kernels:
            require_definite(kernel, "a support vector machine")
        return kernels, np.sort([upper_bounds(value, np.ones(1))[0] for value in C.tolist()])

    def plan(self, X: Any, y: Any = None) -> Plan:
        """How `fit` would solve for these inputs, and the memory and time it takes; without y, for two classes."""
        y = np.arange(checks.number_of(X)) % 2 if y is None else np.asarray(y)
        codes = np.unique(y, return_inverse=True)[1]
        folds = check_cv(self.cv).get_n_splits()
        if folds < 1:
            raise self._fold_error()
        return self._planned(self._grid()[0], X, codes, folds)[0]

    def _fold_error(self) -> ValueError:
        return ValueError(f"cv={self.cv!r} does not hold out each sample exactly once; use folds such as cv=5.")

    def _planned(self, kernels: list[Kernel], X: Any, codes: np.ndarray, folds: int) -> tuple[Plan, Any, bool]:
        """The plan, the dtype of kernel values, and whether several kernels share stored distances.

        Values are float64 where each pair of classes has few samples, and the memory allows it.
        """
        budget, n, sizes = self._budget(), len(codes), np.bincount(codes)
        threads = self.threads or _parallel.default_threads()
        other = smo.overhead(self._gram(kernels[0].with_default_scales(X), X), budget)
        shared = sum(kernel.isotropic for kernel in kernels) > 1
        doubles = smo.pairs_share_doubles(sizes, budget.memory - other, threads, 1 + shared)
        matrix = (8 if doubles else 4) * n * n
        fitted = sizes * (folds - 1) // folds
        held_out = threads * matrix * int(np.sort(fitted)[-2:].sum()) // (folds * n)  # their rows in a pair's matrix
        bytes_ = matrix + held_out + (smo.pair_bytes(fitted, threads) if doubles else 0) + other
        shared = shared and matrix + bytes_ <= budget.memory
        bytes_ += matrix if shared else 0
        final = SVC(kernel=kernels[0], tol=self.tol, memory=self.memory, threads=self.threads).plan(X, codes)
        values = n * (n + 1) // 2 * (len(kernels) + 1)
        seconds = 3e-9 * values * (1 + folds * np.size(self.C))
        plan = Plan("SMO", "all of the grid shares kernel matrices", max(bytes_, final.bytes), values, seconds)
        way_out = "use fewer rows, a larger memory=, or GridSearchCV with SVC, which stores less and takes longer"
        return plan.within(budget.memory, way_out), np.float64 if doubles else np.float32, shared

    def _folds(self, y: np.ndarray) -> np.ndarray:
        """The index of the fold that holds out each sample."""
        folds, times = np.zeros(len(y), int), np.zeros(len(y), int)
        for number, (_, test) in enumerate(check_cv(self.cv, y, classifier=True).split(np.zeros((len(y), 1)), y)):
            folds[test] = number
            times[test] += 1
        if np.any(times != 1):
            raise self._fold_error()
        return folds

    def _distances(self, kernels: list[Kernel], X: Any, order: np.ndarray, number: Any) -> SharedDistances:
        """Distances of all pairs, for the kernels that depend on them alone."""
        scales: list[Any] = [kernel.length_scale for kernel in kernels if kernel.isotropic]
        unit = float(np.exp(np.mean(np.log(scales))))  # in which float32 does not overflow
        return SharedDistances(self._gram(SquaredDistance(unit), X).take(order), number)

    def _scores(self, K: Stored, codes: np.ndarray, folds: np.ndarray) -> np.ndarray:
        """Accuracies of one kernel: shape (n_C, n_folds)."""
        gram, few = K.gram, K.values.dtype == np.float64
        if not few:
            gram.float32_error()  # measured once for all folds and pairs
        pairs = list(combinations(range(len(self.classes_)), 2))
        tasks = [(fold, pair) for fold in range(folds.max() + 1) for pair in pairs]
        alone = Stored(gram.on_threads(1), K.values)

        def along_path(task: tuple[int, tuple[int, int]]) -> np.ndarray:
            fold, (a, b) = task
            rows = np.flatnonzero(((codes == a) | (codes == b)) & (folds != fold))
            test = np.flatnonzero(folds == fold)
            pair = alone.take(rows)
            return self._path(pair.copied() if few else pair, codes[rows] == a, K.values[np.ix_(test, rows)])

        threads = self.threads or _parallel.default_threads()
        with _parallel.one_blas_thread(), ThreadPoolExecutor(threads) as pool:
            found = in_order(along_path, tasks, pool, QUICK * len(self.C_) if few else 0.0)
            values = dict(zip(tasks, found, strict=True))
        scores = np.empty((len(self.C_), folds.max() + 1))
        for fold in range(folds.max() + 1):
            votes = np.zeros((len(self.C_), np.count_nonzero(folds == fold), len(self.classes_)))
            for a, b in pairs:
                votes[:, :, a] += values[fold, (a, b)] > 0
                votes[:, :, b] += values[fold, (a, b)] <= 0
            scores[:, fold] = (votes.argmax(axis=2) == codes[folds == fold]).mean(axis=1)
        return scores

    def _path(self, K: Stored, first: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Values at held-out points for each C, from warm starts: shape (n_C, n_test); ``rows`` are theirs of K."""
        if not first.any() or first.all():  # one class is missing from these folds: the other one wins
            return np.full((len(self.C_), len(rows)), 1.0 if first.any() else -1.0)
        out, start, signs = np.empty((len(self.C_), len(rows))), None, np.where(first, 1.0, -1.0)
        budget = Budget(self._budget().memory, self.tol, max(10**7, 100 * len(first)))
        for s, C in enumerate(self.C_):
            problem = BoxProblem(K, signs, np.where(first, 0.0, -C), np.where(first, C, 0.0))
            result = smo.solve(problem, budget, "all of the grid shares kernel matrices", start)
            if not result.certificate.converged:
                self._stopped.add(f"C = {C:g} with {K.gram.kernel!r}")
            start = result.coef
            out[s] = rows @ start.astype(K.dtype) + result.intercept[0]
        return out

    def decision_function(self, X: Any) -> np.ndarray:
        """The decision function of the best estimator."""
        X = self._checked(X)
        return self.best_estimator_.decision_function(X)

    def predict(self, X: Any) -> np.ndarray:
        """Classes predicted by the best estimator."""
        X = self._checked(X)
        return self.best_estimator_.predict(X)

    def _checked(self, X: Any) -> Any:
        """X as the best estimator was fitted to it."""
        check_is_fitted(self)
        return check_inputs(self, X, self.best_estimator_.kernel_, reset=False)


def _matrix(gram: Gram, distances: SharedDistances | None, number: Any) -> Stored:
    """The kernel matrix of all samples, from shared distances where the kernel depends on them alone."""
    if distances is None or not gram.kernel.isotropic:
        return stored_precisely(gram, number)
    return distances.matrix(gram)
