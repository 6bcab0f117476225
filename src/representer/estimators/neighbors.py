"""Nearest neighbours in H: the vote or the mean of the training inputs whose representers are nearest."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_array, check_is_fitted

from representer import _tiles
from representer._loops import selection
from representer.estimators.inputs import check_inputs, check_labels, check_lengths, is_precomputed, to_kernel
from representer.kernels import checks
from representer.kernels.base import Kernel, require_definite


def nearest(
    kernel: Kernel, A: Any, B: Any, k: int, *, same: bool = False, threads: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """The k of the prepared inputs B that are nearest to each of A: what tells so, in rising order, and indices.

    For a kernel of a distance of inputs that is their distance, else k(b, b) - 2 k(a, b), the squared distance in H
    less k(a, a). Tiles are computed, used and forgotten. With ``same``, A is B and an input is no neighbour of itself.
    """
    squares = None if kernel.of_distance else kernel.diagonal(B)
    values, indices = np.full((len(A), k), np.inf, A.dtype), np.zeros((len(A), k), np.int64)
    part_b = _tiles.parts(B)
    height, width = _tiles.tile_shape(A.dtype)

    def visit(run: list[_tiles.Tile]) -> None:
        tile_of = _tiles.buffer(A.dtype)
        for rows, _ in run:
            part = A[rows]
            for columns in _tiles.split(len(B), width):
                tile = tile_of((rows, columns))
                if squares is None:
                    kernel.fill_distances(part, part_b(columns), tile)
                else:
                    kernel.fill(part, part_b(columns), tile)
                    tile *= -2.0
                    tile += squares[columns]
                if same:
                    own = np.arange(max(rows.start, columns.start), min(rows.stop, columns.stop))
                    tile[own - rows.start, own - columns.start] = np.inf
                selection.keep_smallest(tile, columns.start, values[rows], indices[rows])

    blocks = [(rows, slice(0, 1)) for rows in _tiles.split(len(A), height)]
    for _ in _tiles.walk(blocks, visit, threads=threads, runs=len(blocks)):
        pass
    return values, indices


class _Neighbors(BaseEstimator):
    """What classification and regression share: kernel, neighbours, weights."""

    def __init__(
        self, n_neighbors: int = 5, *, kernel: Any = "rbf", weights: Any = "uniform", threads: int | None = None
    ):
        self.n_neighbors = n_neighbors
        self.kernel = kernel
        self.weights = weights
        self.threads = threads

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = is_precomputed(self.kernel)
        return tags

    def _prepare(self, X: Any) -> None:
        """Check the arguments and keep the prepared inputs."""
        named = isinstance(self.weights, str) and self.weights in ("uniform", "distance")
        if not (named or callable(self.weights)):
            raise ValueError(f"weights is {self.weights!r}; use 'uniform', 'distance' or a function of the distances.")
        if self.threads is not None:
            checks.whole(self.threads, "threads")
        n = checks.number_of(X)
        if checks.whole(self.n_neighbors, "n_neighbors") > n:
            raise ValueError(
                f"n_neighbors is {self.n_neighbors}, but there are only n_samples = {n} inputs; use at most that many."
            )
        self.kernel_ = to_kernel(self.kernel).fitted_to(X)
        require_definite(self.kernel_, "a distance")
        self._prepared = self.kernel_.prepare(X)
        self.n_samples_fit_ = n

    def kneighbors(self, X: Any = None, n_neighbors: int | None = None, return_distance: bool = True) -> Any:
        """The nearest training inputs of each input in X, nearest first.

        Parameters
        ----------
        X : inputs of the kernel, optional
            The training inputs when not given; then none is a neighbour of itself.
        n_neighbors : int, optional
        return_distance : bool

        Returns
        -------
        distances : array of shape (n, n_neighbors)
            ||k(x, .) - k(x_j, .)||, only with ``return_distance``.
        indices : array of shape (n, n_neighbors)
        """
        check_is_fitted(self)
        k = self.n_neighbors if n_neighbors is None else checks.whole(n_neighbors, "n_neighbors")
        known = self.n_samples_fit_ - (X is None)
        if k > known:
            raise ValueError(f"n_neighbors is {k}, but there are only {known} other inputs; use at most that many.")
        if X is None:
            A = self._prepared
        else:
            A = self.kernel_.prepare(check_inputs(self, X, self.kernel_, reset=False), like=self._prepared)
        values, indices = nearest(self.kernel_, A, self._prepared, k, same=X is None, threads=self.threads)
        if not return_distance:
            return indices
        if self.kernel_.of_distance:
            return np.sqrt(np.maximum(self.kernel_.squares_from(values), 0.0)), indices
        own = self.kernel_.diagonal(A)[:, None]
        squares = values + own
        # a difference as small as the rounding of its terms is none: the neighbour is the input itself
        squares[squares <= 8 * np.finfo(A.dtype).eps * (own + self.kernel_.diagonal(self._prepared)[indices])] = 0.0
        return np.sqrt(squares), indices

    def _shares(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """The neighbours of each input, and the shares that they have in its prediction."""
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
    kernel that is a falling function of the distance, such as RBF, the neighbours are the same, too. Their order is
    that of the inputs' distances, so it is right also for columns with a large mean, and far from the training inputs,
    where all kernel values are zero to the last digit. (Distances in H are equal there, and so are their weights.)

    Parameters
    ----------
    n_neighbors : int
    kernel : Kernel or str
        A kernel object on inputs of any type, or a name such as "linear" or "precomputed". A precomputed Gram matrix
        does not tell k(x, x) of new inputs; so their neighbours are known, but the distances are not.
    weights : {"uniform", "distance"} or callable
        "distance" weighs neighbours by one over their distance; an input at distance zero decides alone. A callable
        takes an array of distances and returns the weights.
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

    def fit(self, X: Any, y: Any) -> KernelNeighborsClassifier:
        """Keep the inputs X and their labels y."""
        X = check_inputs(self, X, to_kernel(self.kernel), reset=True)
        self.classes_, self._labels = check_labels(self, X, y, least=1)
        self._prepare(X)
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """The share of each class among the (weighted) neighbours."""
        indices, shares = self._shares(X)
        labels = self._labels[indices]
        return np.stack([(shares * (labels == c)).sum(axis=1) for c in range(len(self.classes_))], axis=1)

    def predict(self, X: Any) -> np.ndarray:
        """The class with the largest share, the first of equals."""
        # shares that are equal up to rounding count as equal
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

    def fit(self, X: Any, y: Any) -> KernelNeighborsRegressor:
        """Keep the inputs X and their targets y of shape (n,) or (n, n_targets)."""
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        X = check_inputs(self, X, to_kernel(self.kernel), reset=True)
        y = check_array(y, ensure_2d=False, dtype=np.float64, allow_nd=False, input_name="y")
        check_lengths(X, y)
        self._targets = y
        self._prepare(X)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """The (weighted) mean of the neighbours' targets."""
        indices, shares = self._shares(X)
        values = np.einsum("ik,ik...->i...", shares, self._targets[indices])
        return values.astype(np.float32) if getattr(X, "dtype", None) == np.float32 else values
