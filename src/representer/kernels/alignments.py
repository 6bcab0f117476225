"""The global alignment kernel of time series."""

from __future__ import annotations

from typing import Any

import numpy as np

from representer._loops import alignment
from representer.kernels import checks
from representer.kernels.base import Gradients, Kernel
from representer.kernels.ragged import Lanes, Ragged, fill_by_lanes


class GlobalAlignment(Kernel):
    r"""k(x, y) = sum over alignments of x and y of the product of kappa(x_i, y_j) over their aligned samples.

    kappa = g / (2 - g) with g = exp(-\|x_i - y_j\|^2 / (2 length_scale^2)), which makes k positive semidefinite
    (Cuturi, 2007). An alignment is a path of steps (1, 0), (0, 1) and (1, 1) from the first pair of samples to the
    last.

    Parameters
    ----------
    length_scale : float or None
        Where None is given, estimators choose the root mean squared distance of samples from their mean, times the
        fourth root of the median length; the longer the series, the more factors there are.
    normalize : bool
        Whether k is divided by sqrt(k(x, x) k(y, y)). Without that k grows as 5.8^T with the length T of the series and
        overflows float64 from about 400 samples on; `Normalized` would come too late.

    Notes
    -----
    Series are given as a list of arrays of shape (T,) or (T, d), where T may vary; as a table with a series in each
    row; or as an array of shape (n, T, d). Trailing NaN are padding and are cut off.

    Examples
    --------
    >>> from representer.kernels import GlobalAlignment
    >>> GlobalAlignment(1.0)([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0, 0.0], [1.0, 0.0]]).round(3)
    array([[1.   , 0.747, 0.423],
           [0.747, 1.   , 0.16 ],
           [0.423, 0.16 , 1.   ]])
    """

    on_vectors = False

    def __init__(self, length_scale: float | None = None, normalize: bool = True):
        self.length_scale = length_scale
        self.normalize = normalize

    def _scale(self) -> float:
        return 1.0 if self.length_scale is None else checks.positive(self.length_scale, "length_scale")

    def with_default_scales(self, X: Any, weights: np.ndarray | None = None) -> Kernel:
        scale = self.length_scale
        if scale is None:
            series = _series(X)
            share = np.ones(len(series)) if weights is None else weights
            each = np.repeat(share / share.sum(), [len(x) for x in series])
            samples, each = np.concatenate(series), each / each.sum()
            centred = samples - each @ samples
            spread = np.sqrt(each @ np.einsum("ij,ij->i", centred, centred))
            scale = checks.default_scale(spread * _median([len(x) for x in series], share) ** 0.25)
        return GlobalAlignment(scale, self.normalize)

    def prepare(self, X: Any, like: Ragged | None = None) -> Ragged:
        checks.boolean(self.normalize, "normalize")
        series = _series(X)
        inputs = Ragged.of([x / (np.sqrt(2.0) * self._scale()) for x in series], np.float64)
        if like is not None and inputs.values.shape[1] != like.values.shape[1]:
            raise ValueError(
                f"The samples of X have {inputs.values.shape[1]} columns where those of the other series have "
                f"{like.values.shape[1]}; pass the same columns to both."
            )
        inputs.own = inputs.on_lanes(lambda group: _logs(group, group)[0])
        if not self.normalize and inputs.own.max() > np.log(np.finfo(np.float64).max):
            raise ValueError(f"Values of {self!r} overflow, because the series are too long; use normalize=True.")
        return inputs

    def fill(self, A: Ragged, B: Ragged, tile: np.ndarray) -> None:
        fill_by_lanes(A, B, _logs, tile)
        if self.normalize:
            tile -= 0.5 * (A.own[:, None] + B.own)
        np.exp(tile, out=tile)

    def diagonal(self, A: Ragged) -> np.ndarray:
        return np.ones(len(A)) if self.normalize else np.exp(A.own)

    def vjp(self, A: Ragged, B: Ragged, W: np.ndarray) -> Gradients:
        values, slopes = np.empty((len(A), len(B))), np.empty((len(A), len(B)))
        fill_by_lanes(A, B, _logs_and_slopes, values, slopes)
        if self.normalize:
            values -= 0.5 * (A.own[:, None] + B.own)
            a, b = (side.on_lanes(lambda group: _logs_and_slopes(group, group)[1]) for side in (A, B))
            slopes -= 0.5 * (a[:, None] + b)
        return {"length_scale": float(np.vdot(W, np.exp(values) * slopes)) / self._scale()}


def _arguments(x: Lanes, y: Lanes) -> tuple:
    columns = len(x.values) // (x.longest * alignment.LANES)
    return x.values, x.lengths, x.longest, y.values, y.lengths, y.longest, columns


def _logs(x: Lanes, y: Lanes) -> tuple[np.ndarray]:
    """The logarithm of the sum over alignments, for each lane."""
    out = np.empty(alignment.LANES)
    alignment.lanes(*_arguments(x, y), out)
    return (out,)


def _logs_and_slopes(x: Lanes, y: Lanes) -> tuple[np.ndarray, np.ndarray]:
    """The same, and its derivative with respect to the logarithm of the length scale."""
    out, slopes = np.empty(alignment.LANES), np.empty(alignment.LANES)
    alignment.lanes_with_slopes(*_arguments(x, y), out, slopes)
    return out, slopes


def _series(X: Any) -> list[np.ndarray]:
    """Arrays of shape (T, d), without trailing NaN."""
    checks.number_of(X)
    X = X.to_numpy() if hasattr(X, "to_numpy") else X
    found = [_one(x, i) for i, x in enumerate(X)]
    if len(widths := sorted({x.shape[1] for x in found})) > 1:
        raise ValueError(f"The samples of the series have {widths[0]} to {widths[-1]} columns; give all the same.")
    return found


def _one(x: Any, i: int) -> np.ndarray:
    try:
        x = np.asarray(x, np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"Series {i} is {x!r:.80}; GlobalAlignment needs arrays of numbers.") from None
    if x.ndim not in (1, 2):
        raise ValueError(
            f"Series {i} has {x.ndim} dimensions; a series has shape (T,) or (T, d), and X is a list of them."
        )
    x = x[:, None] if x.ndim == 1 else x
    there = np.flatnonzero(~np.isnan(x).all(axis=1))
    x = x[: there[-1] + 1] if len(there) else x[:0]
    if not len(x):
        raise ValueError(f"Series {i} has no samples; drop it, or use Missing(GlobalAlignment()).")
    if not np.isfinite(x).all():
        raise ValueError(f"Series {i} has samples that are NaN or infinite; remove or impute them.")
    return x


def _median(lengths: list[int], weights: np.ndarray) -> float:
    order = np.argsort(lengths, kind="stable")
    total = np.cumsum(np.asarray(weights, np.float64)[order])
    return float(np.asarray(lengths)[order][np.searchsorted(total, 0.5 * total[-1])])
