"""Missing inputs as a separate point."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from representer.kernels import checks
from representer.kernels.algebra import Wrapper
from representer.kernels.base import Gradients, Kernel, add_gradients, require_kernel
from representer.kernels.named_features import Features, LinearForm, NamedFeatures
from representer.kernels.prepared import Prepared


@dataclass
class WithGaps(Prepared):
    """Prepared inputs in which another one replaces each missing one, and a mask of the missing ones.

    ``inputs`` is None where all of them are missing.
    """

    inputs: Any
    gone: np.ndarray
    dtype: Any

    def __len__(self) -> int:
        return len(self.gone)

    def __getitem__(self, index: Any) -> WithGaps:
        return WithGaps(None if self.inputs is None else self.inputs[index], self.gone[index], self.dtype)


class Missing(Wrapper, Kernel):  # type: ignore[override]
    """k(x, y) where neither is missing; missing inputs are one extra point *, with k(*, *) = 1 and k(*, x) = 0.

    That is the direct sum of two kernels, so it is positive semidefinite if k is. An input is missing if it is None,
    NaN, NaT or pandas.NA; a row of a table if any of its entries is; a list or an array as an input if all of its
    entries are.

    Parameters
    ----------
    kernel : Kernel

    Examples
    --------
    >>> from representer.kernels import Missing, Spectrum
    >>> Missing(Spectrum(2))(["abab", None, "ab"])
    array([[5., 0., 2.],
           [0., 1., 0.],
           [2., 0., 1.]])
    """

    on_vectors = False
    takes_missing = True

    def __init__(self, kernel: Kernel):
        self.kernel = require_kernel(kernel)

    candidates = None

    def with_default_scales(self, X: Any, weights: np.ndarray | None = None) -> Kernel:
        there = np.flatnonzero(~missing_entries(X))
        if not len(there):
            return Missing(self.kernel)
        return Missing(
            self.kernel.with_default_scales(checks.take(X, there), None if weights is None else weights[there])
        )

    def prepare(self, X: Any, like: WithGaps | None = None) -> WithGaps:
        checks.number_of(X)
        gone = missing_entries(X)
        other = None if like is None else like.inputs
        if gone.all():
            return WithGaps(None, gone, np.dtype(np.float64) if other is None else other.dtype)
        inputs = self.kernel.prepare(_filled(X, gone), like=other)
        return WithGaps(inputs, gone, inputs.dtype)

    def fill(self, A: WithGaps, B: WithGaps, tile: np.ndarray) -> None:
        if A.inputs is None or B.inputs is None:
            tile[...] = 0.0
        else:
            self.kernel.fill(A.inputs, B.inputs, tile)
        tile[A.gone] = 0.0
        tile[:, B.gone] = 0.0
        tile[np.ix_(A.gone, B.gone)] = 1.0

    def diagonal(self, A: WithGaps) -> np.ndarray:
        return np.ones(len(A)) if A.inputs is None else np.where(A.gone, 1.0, self.kernel.diagonal(A.inputs))

    def vjp(self, A: WithGaps, B: WithGaps, W: np.ndarray) -> Gradients:
        if A.inputs is None or B.inputs is None:
            return {}
        W = np.where(A.gone[:, None] | B.gone, 0.0, W).astype(A.dtype, copy=False)
        return add_gradients({}, self.kernel.vjp(A.inputs, B.inputs, W), "kernel__")

    @property
    def features(self) -> Features:
        """The features of the kernel, and an indicator of missing inputs."""
        return Features(self._named_features, self._linear_form)

    def _linear_form(self, A: WithGaps, C: np.ndarray) -> LinearForm | None:
        at_gaps = C[:, A.gone].sum(axis=1)[:, None]
        if A.inputs is None:
            return lambda B: np.where(B.gone, at_gaps, 0.0)
        form = self.kernel.features.linear_form(A.inputs, np.where(A.gone, 0.0, C))
        if form is None:
            return None
        return lambda B: np.where(B.gone, at_gaps, 0.0 if B.inputs is None else form(B.inputs))

    def _named_features(self, X: Any) -> NamedFeatures:
        gone = missing_entries(X)
        star = NamedFeatures(
            sparse.csr_array(gone[:, None].astype(np.float64)), lambda columns: ["missing"] * len(columns)
        )
        return star if gone.all() else self.kernel.features.named(_filled(X, gone)).scaled(~gone).beside(star)


def _filled(X: Any, gone: np.ndarray) -> Any:
    """X with missing inputs replaced by one that is present."""
    if not gone.any():
        return X
    source = np.arange(len(gone))
    source[gone] = np.flatnonzero(~gone)[0]
    return checks.take(X, source)


def missing_entries(X: Any) -> Any:
    """Whether each input is missing: None, NaN, NaT or pandas.NA; a row of a table if any of its entries is."""
    if sparse.issparse(X):
        return np.isnan(X @ np.zeros(X.shape[1]))
    if hasattr(X, "isna"):
        gone = np.asarray(X.isna(), bool)
    elif hasattr(X, "columns"):
        gone = np.stack([missing_entries(X[name]) for name in X.columns], axis=1)
    elif isinstance(X, np.ndarray) and X.dtype.kind in "fmMbiuUS":
        gone = np.isnan(X) if X.dtype.kind in "fmM" else np.zeros(X.shape, bool)
    elif isinstance(X, np.ndarray) and X.ndim > 1:
        gone = np.array([[_is_missing(x) for x in row] for row in X], bool)
    elif hasattr(X, "indptr"):  # graphs are never missing
        gone = np.zeros(len(X), bool)
    else:
        gone = np.array([_is_missing(x) for x in X], bool)
    return gone if gone.ndim == 1 else gone.reshape(len(gone), -1).any(axis=1)


def _is_missing(x: Any) -> bool:
    if x is None or type(x).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(x, float | np.floating | np.datetime64 | np.timedelta64):
        return bool(x != x)  # NaN and NaT do not equal themselves
    # a series may end with gaps and is still present
    parts = x.ravel().tolist() if isinstance(x, np.ndarray) else x
    return isinstance(parts, list | tuple) and len(parts) > 0 and all(map(_is_missing, parts))
