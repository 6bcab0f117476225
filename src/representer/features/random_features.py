"""Random features: k^(x, y) = <phi(x), phi(y)>, an unbiased estimate of k."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from representer.features.span import Transformer, fitted_part, seed_of
from representer.kernels import checks, laws
from representer.kernels.base import Gradients, Kernel
from representer.kernels.basis import Basis, Points
from representer.kernels.precomputed import central_differences
from representer.kernels.prepared import Prepared


@dataclass
class Drawn(Prepared):
    """Rows whose features are computed when needed, or the features themselves (then ``maps`` is None)."""

    rows: Any
    maps: Any = None
    dtype: Any = np.float64

    def __len__(self) -> int:
        return self.rows.shape[0]

    def __getitem__(self, index: Any) -> Drawn:
        return Drawn(self.rows[index], self.maps, self.dtype)

    def features(self) -> np.ndarray:
        """phi(x) as rows."""
        if self.maps is None:
            return self.rows
        out = np.empty((len(self), self.maps.size), self.dtype)
        self.maps(self.rows, out)
        return out


@dataclass(frozen=True)
class RandomBasis(Basis):
    """Random features as an orthonormal basis of the space they span."""

    kernel: Any
    maps: Any
    dtype: Any

    @property
    def size(self) -> int:  # type: ignore[override]
        return self.maps.size

    def prepare(self, X: Any) -> Drawn:
        return self.kernel.rows(X, self.maps, self.dtype)

    def fill(self, A: Drawn, tile: np.ndarray) -> None:
        self.maps(A.rows, tile)

    def astype(self, dtype: Any) -> RandomBasis:
        return RandomBasis(self.kernel, self.maps, np.dtype(dtype))


class RandomFeatures(Transformer, Kernel):
    r"""k^(x, y) = <phi(x), phi(y)> with random features phi, whose mean over all draws is k.

    A stationary kernel has phi(x) = sqrt(2 / D) (cos <w_j, x>, sin <w_j, x>) with random frequencies w_j: normal for
    RBF, Cauchy for Laplacian, Student's t for Matern, and mixtures for RationalQuadratic. ArcCosine has random ramps,
    Polynomial has tensor sketches, and sums have the features of their parts side by side. Products of stationary
    kernels have sums of frequencies, and other products tensor sketches of the features of their factors. The error
    decreases as 1 / sqrt(D).

    Parameters
    ----------
    kernel : Kernel
        k, on rows of numbers.
    n_components : int
        Number of features D. Frequencies give pairs, a cosine and a sine; an odd D ends with one cosine of random
        phase.
    sampling : {"orthogonal", "gaussian", "qmc"}
        Frequencies in blocks of orthogonal directions, independent ones, or quasi-random ones from a Sobol sequence.
    random_state : int
        Seed of the draw.

    Examples
    --------
    >>> import numpy as np
    >>> from representer import RandomFeatures
    >>> from representer.kernels import RBF
    >>> X = np.random.default_rng(0).normal(size=(100, 5))
    >>> k = RBF(2.0)
    >>> bool(np.abs(RandomFeatures(k, 4096)(X) - k(X)).max() < 0.1)
    True

    References
    ----------
    Rahimi and Recht, NeurIPS 2007. Yu, Suresh, Choromanski, Holtmann-Rice and Kumar, Orthogonal random features,
    NeurIPS 2016. Pham and Pagh, KDD 2013.
    """

    def __init__(
        self, kernel: Kernel, n_components: int = 1000, *, sampling: str = "orthogonal", random_state: Any = 0
    ):
        self.kernel = kernel
        self.n_components = n_components
        self.sampling = sampling
        self.random_state = random_state

    @property
    def on_vectors(self) -> bool:  # type: ignore[override]
        return self.kernel.on_vectors

    @property
    def original(self) -> Kernel:
        return self.kernel.original

    def with_default_scales(self, X: Any, weights: np.ndarray | None = None) -> Kernel:
        """A copy with length scales for X where none were given, and an integer seed."""
        laws.law_of(self.kernel)
        kernel = fitted_part(self.kernel, X, weights, "random features")
        return RandomFeatures(
            kernel, self.n_components, sampling=self.sampling, random_state=seed_of(self.random_state)
        )

    def draw(self, n_columns: int) -> Any:
        """The features for rows with this many columns, the same on each call."""
        size = checks.integer(self.n_components, "n_components")
        if self.sampling not in laws.SAMPLINGS:
            raise ValueError(f"sampling is {self.sampling!r}; use one of {', '.join(map(repr, laws.SAMPLINGS))}.")
        if not isinstance(self.random_state, int | np.integer):
            raise ValueError(
                f"random_state is {self.random_state!r}; a kernel by itself needs a number, so that it has the same "
                "features on each call."
            )
        source = laws.Source(self.sampling, int(self.random_state))
        return laws.law_of(self.kernel).features(self.kernel, n_columns, size, source)

    def basis(self, X: Any) -> Basis:
        X = checks.vectors(X[:1] if hasattr(X, "shape") else X, self)
        return RandomBasis(self, self.draw(X.shape[1]), X.dtype)

    def rows(self, X: Any, maps: Any, dtype: Any = None) -> Drawn:
        """Inputs whose features are computed when needed."""
        X = checks.vectors(X, self)
        X = X if dtype is None else X.astype(dtype, copy=False)
        return Drawn(X, maps, X.dtype)

    def prepare(self, X: Any, like: Drawn | None = None) -> Drawn:
        dtype = None if like is None or like.maps is None else like.dtype
        if isinstance(X, Points):
            return Drawn(X.coordinates, None, X.coordinates.dtype)
        X = checks.vectors(X, self)
        maps = self.draw(X.shape[1]) if like is None or like.maps is None else like.maps
        return self.rows(X, maps, dtype)

    def feature_rows(self, A: Drawn) -> np.ndarray:
        """phi(x)."""
        return A.features()

    def fill(self, A: Drawn, B: Drawn, tile: np.ndarray) -> None:
        F = A.features().astype(tile.dtype, copy=False)
        np.matmul(F, F.T if A is B else B.features().T.astype(tile.dtype, copy=False), out=tile)

    def diagonal(self, A: Drawn) -> np.ndarray:
        parts = [A[i : i + 1024].features() for i in range(0, len(A), 1024)]
        return np.concatenate([np.einsum("ij,ij->i", F, F) for F in parts])

    def vjp(self, A: Drawn, B: Drawn, W: np.ndarray) -> Gradients:
        return {}

    def input_vjp(self, A: Drawn, B: Drawn, W: np.ndarray) -> np.ndarray:
        """By central differences of the features: about ten digits where they vary on the scale of the data."""
        weights = W.astype(np.float64) @ B.features()

        def along(Z: np.ndarray) -> np.ndarray:
            return np.einsum("ij,ij->i", Drawn(Z, A.maps).features(), weights)

        X = np.asarray(A.rows.toarray() if hasattr(A.rows, "toarray") else A.rows, np.float64)
        return central_differences(along, X, X).astype(A.dtype)
