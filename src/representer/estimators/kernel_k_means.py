"""Kernel k-means: clusters around means in H."""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from representer import _parallel
from representer.estimators.base import KernelEstimator, atomic, own, warn_user
from representer.estimators.inputs import check_weights, in_precision_of, in_units, is_precomputed, to_kernel
from representer.estimators.progress import Progress
from representer.features.approximation import left_out
from representer.functions import Function
from representer.gram.operator import Operator
from representer.gram.stored import stored_if_small
from representer.gram.tiled import Gram
from representer.kernels import checks
from representer.kernels.base import require_definite
from representer.problems.clusters import ClusterProblem
from representer.result import Plan, Work, certify, plan_of_products
from representer.rows.validation import check_inputs


def _columns_times(K: Operator, index: np.ndarray, V: np.ndarray) -> np.ndarray:
    """K[:, index] @ V."""
    return K.stored[:, index] @ V if K.stored is not None else K.take(slice(None), index) @ V


class KernelKMeans(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, KernelEstimator):
    r"""minimise over centres m_1, ..., m_k in H:  sum_i w_i min_c ||k(x_i, .) - m_c||^2.

    Lloyd's steps: a centre is the mean embedding of its cluster, and d(x, m_c)^2 = k(x, x) - 2 m_c(x) + ||m_c||^2. One
    product of the kernel matrix with indicators serves all clusters and all restarts, and later steps multiply only
    the columns of inputs that have moved. The result does not depend on the order of the rows.

    Parameters
    ----------
    n_clusters : int
    kernel : Kernel or str
        A kernel object on inputs of any type, or a name such as "rbf" or "precomputed".
    init : "k-means++" or inputs
        Initial centres: random and far apart, or the representers of n_clusters given inputs of the kernel.
    n_init : int
        Number of starts, of which the best is kept; one with given centres.
    max_iter : int
        Steps from each start.
    memory : int, optional
        Bytes; the machine's memory when not given. The kernel matrix is stored if it takes at most a quarter of them,
        and otherwise recomputed in each step. For a kernel with fewer features than inputs, such as `Nystroem`, it is
        never stored: products go through features.
    threads : int, optional
    random_state : int or Generator

    Attributes
    ----------
    centers_ : Function
        The centres, one output each.
    labels_ : array of shape (n,)
        The cluster of each training input.
    inertia_ : float
        The minimised sum; for an approximation within the space of k (`Nystroem`), measured in that space.
    kernel_ : Kernel
        The kernel used, with all length scales.
    n_iter_ : int
        Steps from the start that was kept.
    certificate_ : Certificate
        The relative decrease of the sum by a further step; zero at a local minimum.

    References
    ----------
    Arthur and Vassilvitskii, k-means++: the advantages of careful seeding, SODA 2007. Dhillon, Guan and Kulis, Kernel
    k-means, spectral clustering and normalized cuts, KDD 2004.

    Examples
    --------
    >>> from representer import KernelKMeans
    >>> from representer.kernels import Spectrum
    >>> model = KernelKMeans(2, kernel=Spectrum(2)).fit(["abab", "baba", "cdcd", "dcdc", "cdc"])
    >>> bool(model.labels_[0] == model.labels_[1] != model.labels_[2])
    True
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        kernel: Any = "rbf",
        init: Any = "k-means++",
        n_init: int = 10,
        max_iter: int = 300,
        memory: int | None = None,
        threads: int | None = None,
        random_state: Any = 0,
    ):
        self.n_clusters = n_clusters
        self.kernel = kernel
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.memory = memory
        self.threads = threads
        self.random_state = random_state

    @atomic
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> KernelKMeans:
        """Find the clusters of X; y is ignored."""
        X = own(check_inputs(self, X, to_kernel(self.kernel), reset=True))
        check_count(self.n_clusters, checks.number_of(X))
        checks.integer(self.n_init, "n_init", most=100_000)
        budget = self._budget()
        given = check_weights(sample_weight, X)
        weights, unit = in_units(np.ones(checks.number_of(X)) if given is None else given)
        kernel = to_kernel(self.kernel).with_default_scales(X, None if given is None else weights)
        require_definite(kernel, "a mean")
        gram = self._gram(kernel, X)
        begin, plan = perf_counter(), self._plan_of(gram)
        plan.require()
        with _parallel.one_blas_thread(), Progress(0, budget.tol) as progress:
            progress.expect(plan.solver, plan.seconds)
            K = stored_if_small(gram)
            runs = [
                run
                for labels in self._starts(K, gram, weights)
                for run in _lloyd(K, weights, labels, self.n_clusters, self.max_iter, progress)
            ]
            # the first among ties up to rounding
            best = min(run[0] for run in runs)
            inertia, labels, members, norms, steps = next(run for run in runs if run[0] <= best * (1 + 1e-9))
            total = sum(run[4] for run in runs)
            work = Work(plan.solver, plan.reason, total, plan.bytes, perf_counter() - begin, str(K.dtype))
            certificate = certify(ClusterProblem(K, weights), members, labels, work, budget.tol)
        far = float(weights @ left_out(kernel, X))  # in H, to the span that holds the centres of an approximation
        self.certificate_ = replace(certificate, primal=((certificate.primal or 0.0) + far) * unit)
        self.kernel_, self.inertia_ = kernel, (inertia + far) * unit
        self.labels_, self.n_iter_ = labels.astype(np.int32), steps
        self.centers_ = Function(kernel, gram.X, members, prepared=gram.inputs, threads=self.threads)
        self._norms, self._n_features_out = norms, self.n_clusters
        found = len(np.unique(labels))
        if found < self.n_clusters:
            self._warn(f"Only {found} of {self.n_clusters} clusters have members: there are too few distinct inputs")
        elif not self.certificate_.converged:
            self._warn(f"The clusters still moved after max_iter={self.max_iter} steps; use more")
        return self

    def plan(self, X: Any, y: Any = None) -> Plan:
        """Whether `fit` would store the kernel matrix, and the memory and time that it takes."""
        return self._plan_of(self._gram(self._kernel_for(X), X))

    def _plan_of(self, gram: Gram) -> Plan:
        more = 10 * 8 * len(gram) * self.n_clusters * self._at_once(gram)
        return plan_of_products("Lloyd's steps", gram, more, 20 * self.n_init)

    def _at_once(self, gram: Gram) -> int:
        """Starts that run together."""
        return int(np.clip(gram.memory // (16 * 8 * len(gram) * self.n_clusters), 1, self.n_init))

    def _warn(self, message: str) -> None:
        warn_user(f"{message}.")

    def _starts(self, K: Operator, gram: Gram, weights: np.ndarray) -> list[np.ndarray]:
        """Initial labels, as many starts at a time as fit the memory: arrays of shape (n_starts, n)."""
        k, kernel = self.n_clusters, gram.kernel
        if not isinstance(self.init, str):
            if checks.number_of(self.init) != k:
                raise ValueError(f"init has {checks.number_of(self.init)} inputs; give one for each of {k} clusters.")
            C = kernel.prepare(self.init, like=gram.inputs)
            values = kernel.diagonal(C) - 2.0 * Gram.of(kernel, gram.inputs, C, threads=self.threads).dense()
            return [values.argmin(axis=1)[None]]
        if self.init != "k-means++":
            raise ValueError(f"init is {self.init!r}; use 'k-means++' or give {k} inputs.")
        seeds = np.random.default_rng(self.random_state).integers(2**63, size=self.n_init)
        generators = [np.random.default_rng(seed) for seed in seeds]
        # inputs are drawn in the order of the mean embedding's values, so that the order of the rows does not matter
        order = np.argsort(K @ weights, kind="stable")
        parts = _parallel.split(self.n_init, self._at_once(gram))
        return [_far_apart(K, weights, order, k, generators[part]) for part in parts]

    def _to_centers(self, X: Any) -> tuple[Any, np.ndarray]:
        """Checked inputs, and -2 m_c(x) + ||m_c||^2."""
        check_is_fitted(self)
        X = check_inputs(self, X, self.kernel_, reset=False)
        return X, self._norms - 2.0 * self.centers_(X).astype(np.float64)

    def predict(self, X: Any) -> np.ndarray:
        """The cluster with the nearest centre, for each input in X."""
        return self._to_centers(X)[1].argmin(axis=1).astype(np.int32)

    def _squares(self, X: Any) -> tuple[Any, np.ndarray]:
        """Checked inputs, and squared distances from the centres."""
        X, values = self._to_centers(X)
        own = self._own(X)
        squares = values + own[:, None]
        # a difference as small as the rounding of its terms counts as zero: the input is its own cluster
        rounding = 8 * np.finfo(own.dtype).eps * (own[:, None] + np.where(np.isfinite(self._norms), self._norms, 0.0))
        return X, np.where(squares <= rounding, 0.0, squares)

    def _own(self, X: Any) -> np.ndarray:
        """k(x, x) of checked inputs; a precomputed matrix has it for the training inputs only."""
        fitted = self.centers_
        if not is_precomputed(self.kernel_):
            return self.kernel_.diagonal(self.kernel_.prepare(X, like=fitted.inputs)) + left_out(self.kernel_, X)
        if np.array_equal(X, fitted.X):
            return self.kernel_.diagonal(fitted.inputs)
        raise ValueError(
            "Kernel values between new and training inputs do not determine k(x, x), so distances from the centres "
            "are not known; use predict, which needs none, the training matrix itself, or a kernel object."
        )

    def transform(self, X: Any) -> np.ndarray:
        """The distances ||k(x, .) - m_c|| to all centres; with a precomputed kernel, for the training inputs only."""
        X, squares = self._squares(X)
        distances = np.sqrt(squares)
        return in_precision_of(X, distances)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Minus the (weighted) sum of squared distances to the nearest centre, available where `transform` is."""
        X, squares = self._squares(X)
        weights = check_weights(sample_weight, X)
        return -float(squares.min(axis=1) @ (np.ones(len(squares)) if weights is None else weights))


def check_count(n_clusters: Any, n: int) -> None:
    """Raise if there are fewer inputs than clusters."""
    if checks.integer(n_clusters, "n_clusters") > n:
        raise ValueError(f"n_samples={n} should be >= n_clusters={n_clusters}.")


def _far_apart(
    K: Operator, weights: np.ndarray, order: np.ndarray, k: int, generators: list[np.random.Generator]
) -> np.ndarray:
    """Labels by k-means++: a seed is drawn with probability proportional to w_i d_i^2, d_i the distance from the seeds.

    Among a few draws, the one that lowers the sum of w_i d_i^2 most is taken. Returns the nearest seed of each input,
    for each generator.
    """
    n_starts, own = len(generators), K.diag().astype(np.float64)
    squares = np.full((n_starts, len(weights)), np.inf)
    labels = np.zeros((n_starts, len(weights)), np.int64)
    drawn = np.stack([_draw(weights, order, 1, rng) for rng in generators])
    for seed in range(k):
        columns = K.block(slice(None), drawn.ravel()).astype(np.float64).T.reshape(*drawn.shape, -1)
        distances = np.maximum(own + own[drawn][:, :, None] - 2.0 * columns, 0.0)
        best = (np.minimum(distances, squares[:, None]) @ weights).argmin(axis=1)
        distances = distances[np.arange(n_starts), best]
        labels[distances < squares] = seed
        squares = np.minimum(squares, distances)
        pairs = zip(squares, generators, strict=True)
        drawn = np.stack([_draw(weights * row, order, 2 + int(np.log(k)), rng) for row, rng in pairs])
    return labels


def _draw(masses: np.ndarray, order: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """Indices drawn with probabilities proportional to their masses, accumulated in the given order."""
    ends = np.cumsum(masses[order])
    found = np.searchsorted(ends, rng.random(count) * ends[-1], side="right")
    return order[np.minimum(found, len(order) - 1)]


def _lloyd(
    K: Operator, weights: np.ndarray, labels: np.ndarray, k: int, max_iter: int, progress: Progress
) -> list[tuple]:
    """Lloyd's steps from several starts at once, until no label changes.

    Returns inertia, labels, the coefficients of the centres, their squared norms and the number of steps, for each
    start.
    """
    (n_starts, n), own = labels.shape, K.diag().astype(np.float64)
    starts = np.arange(n_starts)
    labels = labels.T.copy()
    members = np.zeros((n, n_starts, k))
    members[np.arange(n)[:, None], starts, labels] = weights[:, None]
    sums = (K @ members.reshape(n, -1)).reshape(members.shape)
    steps = np.zeros(n_starts, int)
    for step in range(1, max_iter + 1):
        values, _, _ = _distances(sums, members)
        new = values.argmin(axis=2)
        _fill_empty(new, values + own[:, None, None], weights, k)
        moved = np.flatnonzero(np.any(new != labels, axis=1))
        steps[np.any(new != labels, axis=0) | (step == 1)] = step
        if not len(moved):
            break
        progress.iterate("Lloyd's steps, inputs that moved", len(moved))
        old = members[moved]
        labels = new
        members[moved] = 0.0
        members[moved[:, None], starts, labels[moved]] = weights[moved, None]
        if len(moved) < n // 4:
            sums += _columns_times(K, moved, (members[moved] - old).reshape(len(moved), -1)).reshape(sums.shape)
        else:
            sums = (K @ members.reshape(n, -1)).reshape(sums.shape)
    values, norms, masses = _distances(sums, members)
    labels = values.argmin(axis=2)
    nearest = np.maximum(np.take_along_axis(values, labels[:, :, None], axis=2)[:, :, 0] + own[:, None], 0.0)
    inertia = weights @ nearest
    coef = members / np.where(masses > 0, masses, 1.0)
    return [(float(inertia[r]), labels[:, r], coef[:, r], norms[r], int(steps[r])) for r in starts]


def _distances(sums: np.ndarray, members: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """-2 m_c(x_i) + ||m_c||^2 for each input, start and cluster; ||m_c||^2, infinite for empty clusters; masses."""
    masses = members.sum(axis=0)
    safe = np.where(masses > 0, masses, 1.0)
    means = sums / safe
    norms = np.where(masses > 0, np.einsum("irc,irc->rc", members / safe, means), np.inf)
    return norms - 2.0 * means, norms, masses


def _fill_empty(labels: np.ndarray, squares: np.ndarray, weights: np.ndarray, k: int) -> None:
    """Move the input farthest from its centre into each empty cluster, unless all inputs are at their centres."""
    for r in range(labels.shape[1]):
        masses = np.bincount(labels[:, r], weights, k)
        for empty in np.flatnonzero(masses == 0):
            far = np.take_along_axis(squares[:, r], labels[:, r, None], axis=1).ravel()
            far = np.where((weights > 0) & (masses[labels[:, r]] > weights), far, 0.0)
            if far.max() <= 1e-12 * np.abs(squares[:, r][np.isfinite(squares[:, r])]).max():
                break
            masses[labels[far.argmax(), r]] -= weights[far.argmax()]
            masses[empty] += weights[far.argmax()]
            labels[far.argmax(), r] = empty
