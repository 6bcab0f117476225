"""Support vector machines for many C and many kernels at once, compared by cross-validation."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import check_cv
from sklearn.utils.validation import check_is_fitted

from representer import _tiles
from representer.estimators.inputs import check_inputs, check_labels, is_precomputed, to_kernel
from representer.estimators.support_vectors import QUICK, in_order
from representer.estimators.svm import SVC
from representer.gram import machine_memory
from representer.kernels import checks
from representer.kernels.base import Kernel, require_definite
from representer.kernels.stationary import SquaredDistance, Stationary
from representer.problem import BoxProblem
from representer.solvers import kernel_values, working_set
from representer.solvers.box import are_few

Distances = tuple[np.ndarray, float]
"""Squared distances of all pairs, and the length that is their unit."""


class SVCPath(ClassifierMixin, BaseEstimator):
    """`SVC` with the C and the kernel of greatest cross-validated accuracy.

    The result is that of a grid search (for kernels with given length scales; others are fitted to all samples once),
    but each kernel matrix is computed once for all folds, values of C and pairs of classes: rows are sorted by class
    and fold, so that a fold is a mask of a few slices. Each C starts from the solution for the one before. Kernels that
    differ in their length scale share the distances.

    Parameters
    ----------
    C : sequence of float
        Strengths of the loss, tried in rising order.
    kernels : sequence of Kernel or str
        Kernels to try, on inputs of any type.
    cv : int or splitter
        Folds, each sample in one of them.
    tol, threads
        As for `SVC`.
    memory : int, optional
        Bytes that a kernel matrix of n^2 floats may take, and the distances beside it if they fit; the machine's memory
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
        The values of C in rising order.
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
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = any(is_precomputed(kernel) for kernel in self._given)
        return tags

    @property
    def _given(self) -> Sequence[Any]:
        """The kernels as a sequence, also if a single one or its name was given."""
        several = isinstance(self.kernels, Sequence) and not isinstance(self.kernels, str)
        return self.kernels if several else [self.kernels]

    def fit(self, X: Any, y: Any) -> SVCPath:
        """Cross-validate all of the grid, and fit the best of it to all samples."""
        kernels, self.C_ = self._grid()
        X = check_inputs(self, X, kernels[0], reset=True)
        self.classes_, codes = check_labels(self, X, y)
        self._announce(len(codes))
        folds = self._folds(codes)
        order = np.lexsort((folds, codes))
        fitted = [kernel.fitted_to(X) for kernel in kernels]
        number = self._number(codes)
        distances, self._stopped = self._distances(fitted, X, order, number), set[str]()
        self.scores_ = np.stack(
            [self._scores(self._whole(k, X, order), distances, codes[order], folds[order], number) for k in fitted]
        )
        if self._stopped:
            warnings.warn(
                f"Fits of {', '.join(sorted(self._stopped))} stopped before the tolerance {self.tol:.2g}, so their "
                "scores are rough; use a smaller C, a larger tol, or scale the inputs.",
                ConvergenceWarning,
                stacklevel=2,
            )
        best = np.unravel_index(self.scores_.mean(axis=2).argmax(), self.scores_.shape[:2])
        self.best_score_ = float(self.scores_.mean(axis=2)[best])
        self.best_params_ = {"C": float(self.C_[best[1]]), "kernel": kernels[best[0]]}
        chosen = SVC(tol=self.tol, memory=self.memory, threads=self.threads).set_params(**self.best_params_)
        self.best_estimator_ = chosen.fit(X, y)
        return self

    def _grid(self) -> tuple[list[Kernel], np.ndarray]:
        """Kernels and values of C, checked together with all other parameters before work starts."""
        C = np.atleast_1d(self.C)
        if not len(self._given) or not len(C):
            raise ValueError("C or kernels is empty; give at least one of each to try.")
        kernels = [to_kernel(kernel) for kernel in self._given]
        for kernel in kernels:
            require_definite(kernel, "a support vector machine")
        checks.positive(self.tol, "tol")
        if self.threads is not None:
            checks.whole(self.threads, "threads")
        return kernels, np.sort([checks.positive(value, "C") for value in C.tolist()])

    @property
    def _budget(self) -> int:
        return machine_memory() if self.memory is None else checks.whole(self.memory, "memory")

    def _announce(self, n: int) -> None:
        if 4 * n * n > self._budget:
            raise MemoryError(
                f"A kernel matrix of {n} rows takes {4 * n * n / 1e9:.3g} GB, above the budget of "
                f"{self._budget / 1e9:.3g} GB; use fewer rows, a larger memory=, or GridSearchCV with SVC, which "
                "stores less and takes longer."
            )

    def _folds(self, y: np.ndarray) -> np.ndarray:
        """The number of the fold that holds out each sample."""
        folds, times = np.zeros(len(y), int), np.zeros(len(y), int)
        for number, (_, test) in enumerate(check_cv(self.cv, y, classifier=True).split(np.zeros((len(y), 1)), y)):
            folds[test] = number
            times[test] += 1
        if np.any(times != 1):
            raise ValueError(f"cv={self.cv!r} does not hold out each sample exactly once; use folds such as cv=5.")
        return folds

    def _whole(self, kernel: Kernel, X: Any, order: np.ndarray) -> BoxProblem:
        """All samples in this order, without targets and bounds."""
        empty = np.empty(len(order))
        return BoxProblem(kernel, X, empty, empty, empty, threads=self.threads, rows=order)

    def _number(self, codes: np.ndarray) -> Any:
        """The type of kernel values: float64 if each pair of classes has few samples, and there is memory for it."""
        threads = self.threads or _tiles.default_threads()
        return np.float64 if are_few(np.bincount(codes), self._budget, threads, matrices=2) else np.float32

    def _distances(self, kernels: list[Kernel], X: Any, order: np.ndarray, number: Any) -> Distances | None:
        """Distances of all pairs, if several kernels depend on nothing else and there is memory for them."""
        if sum(map(_isotropic, kernels)) < 2 or 8 * len(order) ** 2 > self._budget:
            return None
        logs = [np.log(kernel.length_scale) for kernel in kernels if _isotropic(kernel)]
        unit = float(np.exp(np.mean(logs)))  # in which float32 does not overflow
        return kernel_values.matrix_of(self._whole(SquaredDistance(unit), X, order), number), unit

    def _matrix(self, problem: BoxProblem, distances: Distances | None, number: Any) -> np.ndarray:
        """The kernel matrix of all samples, from shared distances where they decide."""
        kernel: Any = problem.kernel
        if distances is None or not _isotropic(kernel):
            return kernel_values.matrix_of(problem, number)
        squares, unit = distances
        K, factor = np.empty_like(squares), (unit / kernel.length_scale) ** 2

        def visit(run: list[_tiles.Tile]) -> None:
            for rows, _ in run:
                kernel.phi(np.multiply(squares[rows], factor, out=K[rows]))

        for _ in _tiles.walk([(rows, rows) for rows in _tiles.split(len(K), 64)], visit, threads=self.threads):
            pass
        return K

    def _scores(
        self, whole: BoxProblem, distances: Distances | None, codes: np.ndarray, folds: np.ndarray, number: Any
    ) -> np.ndarray:
        """Accuracies of one kernel: shape (n_C, n_folds)."""
        K, few = self._matrix(whole, distances, number), number == np.float64
        if not few:
            kernel_values.rounding_of(whole)  # measured once for all folds and pairs
        pairs = list(combinations(range(len(self.classes_)), 2))
        tasks = [(fold, pair) for fold in range(folds.max() + 1) for pair in pairs]

        def along_path(task: tuple[int, tuple[int, int]]) -> np.ndarray:
            fold, (a, b) = task
            rows = np.flatnonzero(((codes == a) | (codes == b)) & (folds != fold))
            test = np.flatnonzero(folds == fold)
            problem = replace(whole, threads=1, rows=np.asarray(whole.rows)[rows], matrix=K, columns=rows)
            problem.exact = whole.exact
            if not few:
                problem.fast = whole.fast
            return self._path(problem, codes[rows] == a, K[np.ix_(test, rows)])

        threads = self.threads or _tiles.default_threads()
        with _tiles.one_blas_thread(), ThreadPoolExecutor(threads) as pool:
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

    def _path(self, problem: BoxProblem, first: np.ndarray, K: np.ndarray) -> np.ndarray:
        """Values at held-out points for each C, from warm starts: shape (n_C, n_test); K pairs them with the others."""
        if not first.any() or first.all():  # one class is missing in these folds: the other one wins
            return np.full((len(self.C_), len(K)), 1.0 if first.any() else -1.0)
        out, start = np.empty((len(self.C_), len(K))), None
        problem.targets = np.where(first, 1.0, -1.0)
        for s, C in enumerate(self.C_):
            problem.lower, problem.upper = np.where(first, 0.0, -C), np.where(first, C, 0.0)
            result = working_set.solve(problem, tol=self.tol, start=start)
            if not result.converged:
                self._stopped.add(f"C = {C:g} with {problem.kernel!r}")
            support = np.flatnonzero(result.coef)
            out[s] = K[:, support] @ result.coef[support] + result.intercepts[0]
            start = result.coef
        return out

    def decision_function(self, X: Any) -> np.ndarray:
        """That of the best estimator."""
        check_is_fitted(self)
        return self.best_estimator_.decision_function(X)

    def predict(self, X: Any) -> np.ndarray:
        """Classes by the best estimator."""
        check_is_fitted(self)
        return self.best_estimator_.predict(X)


def _isotropic(kernel: Kernel) -> bool:
    return isinstance(kernel, Stationary) and kernel.isotropic
