"""Kernels given by their values: a Gram matrix, or a user's own function."""

from __future__ import annotations

from collections.abc import Callable as Function
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from representer import _parallel
from representer.kernels import checks
from representer.kernels.base import Gradients, Kernel
from representer.kernels.prepared import Prepared
from representer.kernels.tiles import new_tile


@dataclass
class GramRows(Prepared):
    """Rows of a Gram matrix, one column per training input; ``index`` says which training inputs these are."""

    rows: np.ndarray
    index: np.ndarray | None
    values: np.ndarray
    per_row: ClassVar[tuple[str, ...]] = ("rows", "index", "values")

    @property
    def dtype(self) -> np.dtype:
        return self.rows.dtype


class Precomputed(Kernel):
    """The inputs are the Gram matrix itself, as in scikit-learn: n x n at training, and n_new x n for new inputs.

    Examples
    --------
    >>> import numpy as np
    >>> from representer import Function
    >>> from representer.kernels import Precomputed
    >>> K = np.array([[2.0, 1.0], [1.0, 2.0]])
    >>> f = Function(Precomputed(), K, np.array([1.0, -1.0]))
    >>> f(np.array([[0.5, 0.25]]))
    array([0.25])
    """

    rowwise = False
    precomputed = True

    def prepare(self, X: Any, like: GramRows | None = None) -> GramRows:
        K = checks.vectors(X, self)
        K = K if isinstance(K, np.ndarray) else K.toarray()
        if like is not None:
            if K.shape[1] != len(like):
                raise ValueError(
                    f"X has {K.shape[1]} columns, but there are {len(like)} training inputs; "
                    "give one kernel value for each of them."
                )
            return GramRows(K.astype(like.dtype, copy=False), None, np.full(len(K), np.nan, like.dtype))
        if K.shape[0] != K.shape[1]:
            raise ValueError(
                f"A precomputed Gram matrix must be square, but X has shape {K.shape}; "
                "pass k(x_i, x_j) for all training inputs."
            )
        self._check_symmetry(K)
        return GramRows(K, np.arange(len(K)), np.ascontiguousarray(K.diagonal()))

    def _check_symmetry(self, K: np.ndarray) -> None:
        tolerance = np.sqrt(np.finfo(K.dtype).eps) * max(abs(K.max()), abs(K.min()))
        for i in _parallel.split(len(K), 1024):
            worst = np.abs(K[i] - K[:, i].T).max()
            if worst > tolerance:
                raise ValueError(
                    f"The precomputed Gram matrix is not symmetric (entries differ by up to {worst:.2g}); "
                    "use (X + X.T) / 2 if that is meant."
                )

    def fill(self, A: GramRows, B: GramRows, tile: np.ndarray) -> None:
        if B.index is None:
            raise ValueError(
                "Kernel values between two sets of new inputs are not known; "
                "a precomputed Gram matrix gives those with training inputs only."
            )
        tile[...] = A.rows[:, B.index]

    def diagonal(self, A: GramRows) -> np.ndarray:
        if A.index is None:
            raise ValueError(
                "k(x, x) of new inputs is not known; "
                "a precomputed Gram matrix gives kernel values with training inputs only."
            )
        return A.values

    def vjp(self, A: GramRows, B: GramRows, W: np.ndarray) -> Gradients:
        return {}


@dataclass
class Objects(Prepared):
    """Inputs of a user's function, as they were given."""

    items: Any

    @property
    def dtype(self) -> np.dtype:
        """float32 for an array of that type, else float64."""
        return np.dtype(np.float32 if getattr(self.items, "dtype", None) == np.float32 else np.float64)

    def __len__(self) -> int:
        return self.items.shape[0] if sparse.issparse(self.items) else len(self.items)

    def __getitem__(self, index: Any) -> Objects:
        if isinstance(self.items, list) and not isinstance(index, slice):
            return Objects([self.items[i] for i in index])
        return Objects(self.items[index])


class Callable(Kernel):
    """k(x, y) given by a user's own function, on inputs of any type.

    Parameters
    ----------
    function : callable
        With ``pairs=False`` it takes two slices X and Y of the inputs and returns the block of all k(x_i, y_j); with
        ``pairs=True`` it takes two inputs and returns one number, which is slow. Slices of a sparse matrix are CSR, and
        so may be the block.
    pairs : bool

    Examples
    --------
    >>> import numpy as np
    >>> from representer.kernels import Callable
    >>> Callable(lambda x, y: len(set(x) & set(y)), pairs=True)(["abc", "bcd"])
    array([[3., 2.],
           [2., 3.]])
    """

    on_vectors = False
    takes_missing = True

    def __init__(self, function: Function, pairs: bool = False):
        self.function = function
        self.pairs = pairs

    def prepare(self, X: Any, like: Objects | None = None) -> Objects:
        checks.boolean(self.pairs, "pairs")
        X = checks.items(X)
        if getattr(X, "dtype", None) in (np.float32, np.float64):
            checks.finite(X, "X")
        return Objects(X)

    def fill(self, A: Objects, B: Objects, tile: np.ndarray) -> None:
        if self.pairs:
            tile[...] = [[self.function(x, y) for y in B.items] for x in A.items]
            return
        block = self.function(A.items, B.items)
        block = block.toarray() if sparse.issparse(block) else np.asarray(block)
        if block.shape != tile.shape:
            raise ValueError(
                f"The function returned shape {block.shape} for {len(A)} and {len(B)} inputs; "
                "return all pairs, or use pairs=True."
            )
        tile[...] = block

    def vjp(self, A: Objects, B: Objects, W: np.ndarray) -> Gradients:
        return {}

    def input_vjp(self, A: Objects, B: Objects, W: np.ndarray) -> np.ndarray:
        """By central differences: about ten digits where the function varies on the scale of the data."""
        X = A.items
        if not (isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "iuf"):
            return super().input_vjp(A, B, W)

        def along(Z: np.ndarray) -> np.ndarray:
            return np.einsum("ij,ij->i", W, new_tile(self, Objects(Z), B))

        return central_differences(along, X.astype(np.float64), B.items).astype(A.dtype)


def central_differences(function: Function[[np.ndarray], np.ndarray], X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """d function_i / d X_i for each row i, where function_i depends on row i only.

    Steps are the cube root of the rounding unit times the range of a column in X and Y, and the quotient uses the steps
    as rounded.
    """
    gradient = np.empty(X.shape)
    for f in range(X.shape[1]):
        both = np.concatenate([X[:, f], np.asarray(Y, np.float64)[:, f]])
        step = np.finfo(np.float64).eps ** (1 / 3) * (np.ptp(both) or max(np.abs(both).max(), 1.0))
        up, down = X.copy(), X.copy()
        up[:, f] += step
        down[:, f] -= step
        gradient[:, f] = (function(up) - function(down)) / (up[:, f] - down[:, f])
    return gradient
