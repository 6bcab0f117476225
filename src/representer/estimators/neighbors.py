"""Nearest neighbours in H: votes or means over the training inputs whose representers are nearest."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from representer import _parallel
from representer._loops import k_smallest
from representer.estimators.base import KernelEstimator, atomic, own
from representer.estimators.in_span import refuse
from representer.estimators.inputs import check_labels, check_targets, in_precision_of, to_kernel
from representer.gram.tiled import Gram
from representer.kernels import checks
from representer.kernels.base import require_definite
from representer.result import Plan
from representer.rows.validation import check_inputs


def nearest(gram: Gram, k: int) -> tuple[np.ndarray, np.ndarray]:
    """For each row the k nearest columns: the values they are ranked by, in increasing order, and indices.

    For a radial kernel that is a distance of inputs, else k(b, b) - 2 k(a, b), the squared distance in H minus k(a, a).
    Tiles are computed, used and discarded. In a symmetric matrix an input is not a neighbour of itself.
    """
    radial = gram.kernel.radial
    squares = None if radial is not None else gram.kernel.diagonal(gram.column_inputs.chunk(slice(0, gram.shape[1])))
    values, indices = np.full((gram.shape[0], k), np.inf, gram.dtype), np.zeros((gram.shape[0], k), np.int64)

    def visit(tiles: Any) -> None:
        for rows, columns, tile in tiles:
            if squares is not None:
                tile *= -2.0
                tile += squares[columns]
            if gram.symmetric:
                own = np.arange(max(rows.start, columns.start), min(rows.stop, columns.stop))
                tile[own - rows.start, own - columns.start] = np.inf
            k_smallest.keep_smallest(tile, columns.start, values[rows], indices[rows])

    height, width = _parallel.tile_shape(gram.dtype)
    strips, columns = _parallel.split(gram.shape[0], height), _parallel.split(gram.shape[1], width)
    tiles = [(i, j) for i in strips for j in columns]
    # all tiles of a row strip are in one run, so that no two threads update the neighbours of one input
    for _ in gram.map_tiles(visit, tiles=tiles, runs=len(strips), fill=None if radial is None else radial.fill):
        pass
    return values, indices


class _Neighbors(KernelEstimator):
    """What classification and regression share: kernel, neighbours, weights."""

    def __init__(
        self, n_neighbors: int = 5, *, kernel: Any = "rbf", weights: Any = "uniform", threads: int | None = None
    ):
        self.n_neighbors = n_neighbors
        self.kernel = kernel
        self.weights = weights
        self.threads = threads

    def _prepare(self, X: Any) -> None:
        """Check the arguments and store the prepared inputs."""
        named = isinstance(self.weights, str) and self.weights in ("uniform", "distance")
        if not (named or callable(self.weights)):
            raise ValueError(f"weights is {self.weights!r}; use 'uniform', 'distance' or a function of the distances.")
        self._budget()
        n = checks.number_of(X)
        if checks.integer(self.n_neighbors, "n_neighbors") > n:
            raise ValueError(
                f"n_neighbors is {self.n_neighbors}, but there are only n_samples = {n} inputs; use at most that many."
            )
        self.kernel_ = to_kernel(self.kernel).with_default_scales(X)
        require_definite(self.kernel_, "a distance")
        refuse(self.kernel_, type(self).__name__, "an exact kernel, or scikit-learn's neighbours of fit_transform(X)")
        self.X_fit_, self.n_samples_fit_ = X, n
        self._fitted = self._gram(self.kernel_, X)

    @cached_property
    def _fitted(self) -> Gram:
        """The Gram matrix of the training inputs, which are prepared once."""
        return self._gram(self.kernel_, self.X_fit_)

    def plan(self, X: Any, y: Any = None) -> Plan:
        """What `fit` stores; kernel values are computed by `predict`."""
        gram = self._gram(self._kernel_for(X), X)
        return Plan("brute force", "fit keeps the inputs", gram.nbytes, 0).within(gram.memory, "use fewer rows")

    def kneighbors(self, X: Any = None, n_neighbors: int | None = None, return_distance: bool = True) -> Any:
        """The nearest training inputs of each input in X, nearest first.

        Parameters
        ----------
        X : inputs of the kernel, optional
            The training inputs when not given; then no input is its own neighbour.
        n_neighbors : int, optional
        return_distance : bool

        Returns
        -------
        distances : array of shape (n, n_neighbors)
            ||k(x, .) - k(x_j, .)||, only with ``return_distance``.
        indices : array of shape (n, n_neighbors)
        """
        check_is_fitted(self)
        k = self.n_neighbors if n_neighbors is None else checks.integer(n_neighbors, "n_neighbors")
        known = self.n_samples_fit_ - (X is None)
        if k > known:
            raise ValueError(f"n_neighbors is {k}, but there are only {known} other inputs; use at most that many.")
        gram = self._fitted
        if X is not None:
            A = self.kernel_.prepare(check_inputs(self, X, self.kernel_, reset=False), like=gram.inputs)
            gram = Gram.of(self.kernel_, A, gram.inputs, threads=self.threads)
        values, indices = nearest(gram, k)
        if not return_distance:
            return indices
        if self.kernel_.radial is not None:
            return np.sqrt(np.maximum(self.kernel_.radial.squared(values), 0.0)), indices
        own = self.kernel_.diagonal(self._fitted.inputs if X is None else A)[:, None]
        squares = values + own
        # a difference as small as the rounding of its terms counts as zero: the neighbour is the input itself
        squares[squares <= 8 * np.finfo(gram.dtype).eps * (own + self._fitted.diag()[indices])] = 0.0
        return np.sqrt(squares), indices

    def _shares(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """The neighbours of each input, and their weights in its prediction, which sum to one."""
        check_is_fitted(self)
        if self.weights == "uniform":
            indices = self.kneighbors(X, return_distance=False)
            return indices, np.full(indices.shape, 1.0 / indices.shape[1])
        distances, indices = self.kneighbors(X)
        if callable(self.weights):
            weights = np.asarray(self.weights(distances), np.float64)
            if weights.shape != distances.shape:
                raise ValueError(
                    f"weights returned shape {weights.shape} for distances of shape {distances.shape}; "
                    "return one weight for each distance."
                )
        else:
            zero = distances == 0
            weights = np.where(zero.any(axis=1, keepdims=True), zero, 1.0 / np.where(zero, 1.0, distances))
        total = weights.sum(axis=1, keepdims=True)
        if not np.all(total > 0):
            raise ValueError("All neighbours of an input have weight zero; use weights that are positive.")
        return indices, weights / total


class KernelNeighborsClassifier(ClassifierMixin, _Neighbors):
    r"""The most frequent class among the inputs nearest in H, d(x, y)^2 = k(x, x) + k(y, y) - 2 k(x, y).

    The matrix of distances is never stored. With the linear kernel this is scikit-learn's `KNeighborsClassifier`; for a
    kernel that decreases with the distance, such as RBF, the neighbours are the same, too. They are ranked by the
    distances of inputs, so the order is correct also for columns with a large mean, and far from the training inputs,
    where all kernel values underflow. (Distances in H are equal there, and so are their weights.)

    Parameters
    ----------
    n_neighbors : int
    kernel : Kernel or str
        A kernel object on inputs of any type, or a name such as "linear" or "precomputed". A precomputed Gram matrix
        lacks k(x, x) for new inputs, so their neighbours are known, but the distances are not.
    weights : {"uniform", "distance"} or callable
        "distance" weights neighbours by one over their distance; inputs at distance zero take all the weight. A
        callable takes an array of distances and returns the weights.
    threads : int, optional

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    kernel_ : Kernel
        The kernel used, with all length scales.
    n_samples_fit_ : int

    Examples
    --------
    >>> from representer import KernelNeighborsClassifier
    >>> from representer.kernels import Spectrum
    >>> model = KernelNeighborsClassifier(1, kernel=Spectrum(2)).fit(["abab", "cdcd"], ["early", "late"])
    >>> model.predict(["bababa", "dcdc"]).tolist()
    ['early', 'late']
    """

    @atomic
    def fit(self, X: Any, y: Any) -> KernelNeighborsClassifier:
        """Store the inputs X and their labels y."""
        X = own(check_inputs(self, X, to_kernel(self.kernel), reset=True))
        self.classes_, self._labels = check_labels(self, X, y, least=1)
        self._prepare(X)
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """The share of each class among the (weighted) neighbours."""
        indices, shares = self._shares(X)
        labels = self._labels[indices]
        return np.stack([(shares * (labels == c)).sum(axis=1) for c in range(len(self.classes_))], axis=1)

    def predict(self, X: Any) -> np.ndarray:
        """The class with the largest share, the first among ties."""
        # shares that are equal up to rounding are ties
        best = self.predict_proba(X).round(12).argmax(axis=1)
        return self.classes_[best]


class KernelNeighborsRegressor(MultiOutputMixin, RegressorMixin, _Neighbors):
    r"""The mean target of the inputs nearest in H, d(x, y)^2 = k(x, x) + k(y, y) - 2 k(x, y).

    Parameters and attributes are those of `KernelNeighborsClassifier`, without classes.

    Examples
    --------
    >>> import numpy as np
    >>> from representer import KernelNeighborsRegressor
    >>> X = np.arange(6.0)[:, None]
    >>> KernelNeighborsRegressor(2).fit(X, 10 * X.ravel()).predict([[2.4], [4.6]])
    array([25., 45.])
    """

    @atomic
    def fit(self, X: Any, y: Any) -> KernelNeighborsRegressor:
        """Store the inputs X and their targets y of shape (n,) or (n, n_targets)."""
        X = own(check_inputs(self, X, to_kernel(self.kernel), reset=True))
        self._targets = own(check_targets(self, X, y))
        self._prepare(X)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """The (weighted) mean of the neighbours' targets."""
        indices, shares = self._shares(X)
        values = np.einsum("ik,ik...->i...", shares, self._targets[indices])
        return in_precision_of(X, values)
