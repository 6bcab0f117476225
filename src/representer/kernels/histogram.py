"""Kernels of histograms: rows of nonnegative numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from representer._loops import coordinates, radial
from representer.kernels import checks
from representer.kernels.base import CountSlopes, Gradients, Kernel
from representer.kernels.prepared import SparseVectors, Vectors, lay_out, scale_columns
from representer.kernels.tiles import new_tile


def histograms(X: Any, kernel: Kernel, like: Any) -> Any:
    """Rows of nonnegative numbers, as wide as those of ``like``."""
    X = checks.vectors(X, kernel, like)
    if (X.data if sparse.issparse(X) else X).min(initial=0.0) < 0:
        raise ValueError(
            f"X has negative entries; {type(kernel).__name__} compares histograms, whose entries are zero or positive."
        )
    return X


class HistogramIntersection(Kernel):
    """k(x, y) = sum_f min(x_f, y_f), for nonnegative entries."""

    compares_by = "minima"

    def prepare(self, X: Any, like: Any = None) -> Vectors | SparseVectors:
        return lay_out(histograms(X, self, None if like is None else like.values))

    def fill(self, A: Any, B: Any, tile: np.ndarray) -> None:
        A.minima(B, tile)

    def diagonal(self, A: Any) -> np.ndarray:
        return np.asarray(A.values.sum(axis=1)).ravel()

    def vjp(self, A: Any, B: Any, W: np.ndarray) -> Gradients:
        return {}

    def count_slopes(self, A: Any, B: Any, W: np.ndarray) -> CountSlopes:
        return W, None, None

    def input_vjp(self, A: Any, B: Any, W: np.ndarray) -> np.ndarray:
        """1 where x_f is the smaller, 1/2 where the two are equal."""
        A, B = A.dense(), B.dense()
        smaller = (np.heaviside(np.subtract.outer(a, b).T, 0.5).T for a, b in zip(-A.columns, -B.columns, strict=True))
        return np.stack([np.einsum("ij,ij->i", W, part) for part in smaller], axis=1).astype(A.dtype)


class Chi2(Kernel):
    """k(x, y) = exp(-sum_f (x_f - y_f)^2 / ((x_f + y_f) length_scale_f)), for entries >= 0, with 0 / 0 = 0.

    Parameters
    ----------
    length_scale : float, array of shape (n_columns,) or None
        None stands for 1 when the kernel is used by itself, and lets an estimator choose from its data.
    """

    def __init__(self, length_scale: Any = None):
        self.length_scale = length_scale

    def prepare(self, X: Any, like: Any = None) -> Vectors | SparseVectors:
        X = histograms(X, self, None if like is None else like.values)
        return lay_out(scale_columns(X, checks.length_scale(self.length_scale, X.shape[1])))

    def with_default_scales(self, X: Any, weights: np.ndarray | None = None) -> Kernel:
        if self.length_scale is not None:
            return clone(self)
        A: Any = self.prepare(X)
        share = np.ones(len(A)) if weights is None else weights
        mean = (share @ A.values / share.sum()).astype(A.dtype)[None]
        distances = np.empty((len(A), 1), A.dtype)
        A.chi_squares(lay_out(sparse.csr_array(mean) if sparse.issparse(A.values) else mean), distances)
        typical = float(np.average(distances.ravel(), weights=weights))
        return clone(self).set_params(length_scale=checks.default_scale(typical))

    def fill(self, A: Any, B: Any, tile: np.ndarray) -> None:
        A.chi_squares(B, tile)
        radial.exponential(tile, 1.0)

    def diagonal(self, A: Any) -> np.ndarray:
        return np.ones(len(A), A.dtype)

    def vjp(self, A: Any, B: Any, W: np.ndarray) -> Gradients:
        G = W * new_tile(self, A, B)
        A, B = A.dense(), B.dense()
        scale = checks.length_scale(self.length_scale, A.values.shape[1])
        term = np.empty_like(G)
        by_scale = np.empty(A.values.shape[1])
        for f in range(len(by_scale)):
            coordinates.chi_squares(A.values[:, f : f + 1], B.columns[f : f + 1], term)
            by_scale[f] = np.vdot(G, term)
        by_scale /= scale
        return {"length_scale": by_scale if scale.ndim else by_scale.sum()}

    def input_vjp(self, A: Any, B: Any, W: np.ndarray) -> np.ndarray:
        G = W * new_tile(self, A, B)
        A, B = A.dense(), B.dense()
        scale = checks.length_scale(self.length_scale, A.values.shape[1]).astype(A.dtype)
        slopes = []
        for a, b in zip(A.columns, B.columns, strict=True):
            total, difference = np.add.outer(a, b), np.subtract.outer(a, b)
            ratio = np.divide(difference, total, out=np.zeros_like(total), where=total > 0)
            slopes.append(np.einsum("ij,ij->i", G, ratio * (2.0 - ratio)))
        return -np.stack(slopes, axis=1) / scale
