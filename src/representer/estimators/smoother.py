"""The Nadaraya-Watson estimator: local means, and local lines."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from representer import _parallel
from representer.estimators.base import atomic, own, warn_user
from representer.estimators.density import DISTANCES, check_bandwidths, is_path, pick, plan_of_windows
from representer.estimators.inputs import (
    KernelParameters,
    check_targets,
    check_weights,
    in_precision_of,
    is_precomputed,
)
from representer.gram.tiled import Gram
from representer.kernels import checks
from representer.kernels.base import Kernel
from representer.kernels.windows import window_of, window_sums
from representer.result import Plan
from representer.rows.validation import check_inputs, reset_fitted

UNDERFLOW = {"float32": 2.0**-90, "float64": 2.0**-890}
"""Kernel values below this, in units of k(x, x), are unreliable: loops clamp exp at 2^-100 and 2^-900."""


class NadarayaWatson(MultiOutputMixin, RegressorMixin, KernelParameters):
    r"""f(x) = sum_i w_i K(|x - x_i| / h) y_i / sum_i w_i K(|x - x_i| / h),  K a window, h its bandwidth, w_i weights.

    This is a local mean. With ``degree=1`` f(x) is the value at x of the line, or plane, fitted by least squares
    weighted by the window; then it has no bias where the target is linear, nor at the borders.

    Parameters
    ----------
    bandwidth : float, array, "loo" or None
        h, the radius of windows with bounded support. From a list, the bandwidth with the smallest squared
        leave-one-out error is taken; all are tried in one pass over the distances. None is Scott's rule,
        n^(-1 / (d + 4)) times the standard deviation of a column over that of the window; "loo" tries 25 around it.
    window : str or Kernel
        "gaussian", "exponential", "uniform", "triangular", "epanechnikov", "biweight", "triweight", "tricube" or
        "cosine"; see `representer.kernels.windows`. Or a kernel object on inputs of any type, whose values, which must
        be nonnegative, are the weights; it has length scales of its own and takes no bandwidth. Far from the data,
        weights that underflow are compared by their logarithms if the kernel is a function of the distance, such as
        RBF; other kernels predict nan, with a warning, where all their values vanish.
    degree : {0, 1}
        0 for local means, 1 for local lines.
    threads : int, optional

    Attributes
    ----------
    bandwidth_ : float or None
        The bandwidth used; None for a kernel object.
    bandwidths_ : array of shape (n_bandwidths,)
        The bandwidths it was chosen from.
    loo_scores_ : array of shape (n_bandwidths,)
        With several bandwidths: minus the mean squared leave-one-out error.
    loo_predictions_ : array of shape (n,) or (n, n_targets)
        With several bandwidths: the prediction of each y_i without it, at the chosen bandwidth.
    kernel_ : Kernel or None
        The kernel object, with all length scales.

    References
    ----------
    Nadaraya, On estimating regression, 1964. Watson, Smooth regression analysis, 1964. Fan, Design-adaptive
    nonparametric regression, JASA 1992.

    Examples
    --------
    >>> import numpy as np
    >>> from representer import NadarayaWatson
    >>> X = np.linspace(0, 6, 200)[:, None]
    >>> y = np.sin(X).ravel() + 0.1 * np.random.default_rng(0).normal(size=200)
    >>> NadarayaWatson("loo", degree=1).fit(X, y).predict([[1.5], [3.0]]).round(1)
    array([1. , 0.1])
    """

    def __init__(self, bandwidth: Any = None, *, window: Any = "gaussian", degree: int = 0, threads: int | None = None):
        self.bandwidth = bandwidth
        self.window = window
        self.degree = degree
        self.threads = threads

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.degree == 0
        tags.input_tags.pairwise = is_precomputed(self.window)
        return tags

    @atomic
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> NadarayaWatson:
        """Store inputs X and targets y of shape (n,) or (n, n_targets), and choose the bandwidth."""
        reset_fitted(self, "loo_scores_", "loo_predictions_")
        by_kernel = isinstance(self.window, Kernel)
        X = own(check_inputs(self, X, self.window if by_kernel else DISTANCES, reset=True))
        y = check_targets(self, X, y)
        weights = check_weights(sample_weight, X)
        if self.degree not in (0, 1):
            raise ValueError(f"degree is {self.degree!r}; use 0 for local means or 1 for local lines.")
        if self.threads is not None:
            checks.integer(self.threads, "threads")
        self._single_output = y.ndim == 1
        targets = y.reshape(len(y), -1)
        total = np.ones(len(y)) if weights is None else weights
        # sums of small deviations lose fewer digits
        self._mean = np.average(targets, axis=0, weights=weights)
        self._columns = total[:, None] * np.column_stack([np.ones(len(y)), targets - self._mean])
        if by_kernel:
            self._fit_kernel(X, weights)
        else:
            self._fit_window(X, targets, weights)
        return self

    @cached_property
    def _window(self) -> Any:
        return window_of(self.window)

    @cached_property
    def _prepared(self) -> Any:
        return (DISTANCES if self.kernel_ is None else self.kernel_).prepare(self.X_fit_)

    def plan(self, X: Any, y: Any = None) -> Plan:
        """What `fit` stores, and the memory and time that choosing a bandwidth takes."""
        if not isinstance(self.window, Kernel):
            return plan_of_windows(X, self.bandwidth)
        return Plan("sums of windows", "fit keeps the inputs", Gram(self.window.with_default_scales(X), X).nbytes, 0)

    def _fit_kernel(self, X: Any, weights: np.ndarray | None) -> None:
        if self.bandwidth is not None:
            raise ValueError(
                f"bandwidth is {self.bandwidth!r}, but {self.window!r} has length scales of its own; "
                "set those, or use a window by name."
            )
        if self.degree == 1:
            raise ValueError(f"Local lines need a window by name, such as 'gaussian', and not {self.window!r}.")
        self.kernel_ = self.window.with_default_scales(X, weights)
        self.bandwidth_: float | None = None
        self.X_fit_, self._prepared = X, self.kernel_.prepare(X)

    def _fit_window(self, X: Any, targets: np.ndarray, weights: np.ndarray | None) -> None:
        self.kernel_, self._window = None, window_of(self.window)
        if self.degree == 1:
            if sparse.issparse(X):
                raise TypeError("Local lines do not take sparse input; pass X.toarray().")
            X = X.astype(np.float64)  # moments of the inputs are differences of large numbers
        self.X_fit_, self._prepared = X, DISTANCES.prepare(X)
        if self.degree == 1:
            self._spread = np.sqrt(self._prepared.variances(weights))
            self._spread[self._spread == 0] = 1.0
            self._columns = _with_moments(self._columns, self._prepared.values / self._spread)
        self.bandwidths_ = check_bandwidths(self.bandwidth, self._prepared, self._window, weights)
        self.bandwidth_ = float(self.bandwidths_[0])
        if is_path(self.bandwidth):
            predictions = self._smooth(self._prepared, self.bandwidths_, leave_out=True)
            counted = slice(None) if weights is None else weights > 0
            errors = ((predictions - targets) ** 2).mean(axis=2)[:, counted]
            scores = -np.average(errors, axis=1, weights=None if weights is None else weights[counted])
            self.loo_scores_ = np.where(np.isnan(scores), -np.inf, scores)
            self.bandwidth_ = pick(self.loo_scores_, self.bandwidths_, self.bandwidth)
            best = predictions[int(np.argmax(self.loo_scores_))]
            self.loo_predictions_ = best[:, 0] if self._single_output else best

    def _smooth(self, A: Any, bandwidths: np.ndarray, leave_out: bool = False) -> np.ndarray:
        """Predictions of shape (n_bandwidths, n, n_targets); nan where no window reaches."""
        n_targets = len(self._mean)
        out = np.empty((len(bandwidths), len(A), n_targets))

        def finish(rows: slice, sums: np.ndarray, exponents: np.ndarray) -> None:
            out[:, rows] = _line(sums, A.values[rows] / self._spread, n_targets) if self.degree else _mean(sums)

        options: Any = {"leave_out": leave_out, "threads": self.threads}
        window_sums(self._window, A, self._prepared, self._columns, bandwidths, finish, **options)
        return out + self._mean

    def _again_where_tiny(self, sums: np.ndarray, A: Any) -> np.ndarray:
        """Recompute sums of rows whose weights nearly underflow from logarithms, with the largest weight scaled to one.

        They are set to zero where the logarithms are not known: what is left of such weights is meaningless.
        """
        kernel, B, columns = self.kernel_, self._prepared, self._columns
        most = float(kernel.diagonal(B[:1])[0]) * columns[:, 0].sum()
        radial = kernel.radial
        if radial is None or radial.log is None:
            sums[sums[:, 0] <= UNDERFLOW[A.dtype.name] * most] = 0.0
            return sums
        tiny, log = np.flatnonzero(sums[:, 0] <= np.sqrt(UNDERFLOW[A.dtype.name]) * most), radial.log

        def visit(run: Any) -> None:
            for rows, _, apart in run:
                logs = np.where(columns[:, 0] > 0, log(apart.astype(np.float64)), -np.inf)
                largest = np.maximum(logs.max(axis=1, keepdims=True), -np.finfo(np.float64).max)
                sums[tiny[rows]] = np.exp(logs - largest) @ columns

        if len(tiny):
            gram = Gram.of(kernel, A[tiny], B, threads=self.threads)
            tiles = [(rows, slice(0, len(B))) for rows in _parallel.split(len(tiny), max(1, 2**18 // len(B)))]
            for _ in gram.map_tiles(visit, tiles=tiles, fill=radial.fill):
                pass
        return sums

    def predict(self, X: Any) -> np.ndarray:
        """f(x) for each x in X; nan, with a warning, where all weights are zero."""
        check_is_fitted(self)
        X = check_inputs(self, X, DISTANCES if self.kernel_ is None else self.kernel_, reset=False)
        if self.kernel_ is None:
            values = self._smooth(DISTANCES.prepare(X, like=self._prepared), np.array([self.bandwidth_]))[0]
        else:
            A = self.kernel_.prepare(X, like=self._prepared)
            sums = Gram.of(self.kernel_, A, self._prepared, threads=self.threads) @ self._columns
            if sums[:, 0].min() < 0:
                raise ValueError(
                    f"The weights of some inputs have a negative sum; {self.kernel_!r} has negative values, "
                    "use a kernel that has none."
                )
            values = _mean(self._again_where_tiny(sums, A)) + self._mean
        missing = int(np.isnan(values[:, 0]).sum())
        if missing:
            wider = "bandwidth" if self.kernel_ is None else f"length scale in {self.kernel_!r}"
            warn_user(
                f"{missing} inputs have no training input within the window, so their predictions are nan; "
                f"use a larger {wider}, or a window with unbounded support, such as 'gaussian'.",
                UserWarning,
            )
        values = values[:, 0] if self._single_output else values
        return in_precision_of(X, values)


def _mean(sums: np.ndarray) -> np.ndarray:
    """Weighted sums of targets over sums of weights, nan for 0 / 0; the weights are the first column."""
    total = sums[..., :1]
    return np.divide(sums[..., 1:], total, out=np.full_like(sums[..., 1:], np.nan), where=total > 0)


def _with_moments(columns: np.ndarray, Z: np.ndarray) -> np.ndarray:
    """Columns w and w y, followed by w z, w z z' and w y z, flattened."""
    w, d = columns[:, :1], Z.shape[1]
    squares = (Z[:, :, None] * Z[:, None, :]).reshape(len(Z), d * d)
    products = (columns[:, 1:, None] * Z[:, None, :]).reshape(len(Z), -1)
    return np.concatenate([columns, w * Z, w * squares, products], axis=1)


def _line(sums: np.ndarray, Z: np.ndarray, n_targets: int) -> np.ndarray:
    """The value at z of the line that fits best around z, from weighted moments of the inputs and targets.

    With local means m of x and t of y, local covariances C of x and c of x and y, it is t + c' C^+ (z - m). Directions
    in which the inputs of the window differ by less than 1e-4 times their distance from the overall mean are dropped,
    as rounding would dominate: with a single input only the local mean is left.
    """
    d = Z.shape[1]
    local = np.divide(sums, sums[..., :1], out=np.full_like(sums, np.nan), where=sums[..., :1] > 0)
    empty = np.isnan(local[..., 0])
    local[empty] = 0.0
    ends = np.cumsum([1, n_targets, d, d * d])
    _, t, first, second, mixed = np.split(local, ends, axis=-1)
    C = second.reshape(*second.shape[:-1], d, d) - first[..., :, None] * first[..., None, :]
    c = mixed.reshape(*mixed.shape[:-1], n_targets, d) - t[..., :, None] * first[..., None, :]
    values, vectors = np.linalg.eigh(C)
    least = 1e-8 * np.einsum("...ii->...", second.reshape(C.shape))[..., None]
    inverse = np.divide(1.0, values, out=np.zeros_like(values), where=values > least)
    offset = np.einsum("...ij,...i->...j", vectors, Z - first) * inverse
    slope = np.einsum("...ti,...ij->...tj", c, vectors)
    return np.where(empty[..., None], np.nan, t + np.einsum("...tj,...j->...t", slope, offset))
