"""Parzen's density estimate: a window around each input."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import DensityMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from representer import _parallel
from representer.estimators.base import atomic, own, warn_user
from representer.estimators.inputs import KernelParameters, check_weights, in_precision_of
from representer.gram.tiled import Gram
from representer.kernels import checks
from representer.kernels.stationary import RBF
from representer.kernels.windows import Window, window_of, window_sums
from representer.result import Plan
from representer.rows.validation import check_inputs, reset_fitted

DISTANCES = RBF(length_scale=1.0)
"""Lays inputs out for Euclidean distances."""


def scott(A: Any, window: Window, weights: np.ndarray | None) -> float:
    """n^(-1 / (d + 4)) times the standard deviation of a column (root mean variance), over that of the window.

    With weights, n is their sum, so that a weight of two is a row given twice. Zero becomes one.
    """
    d, n = A.values.shape[1], len(A) if weights is None else weights.sum()
    deviation = np.sqrt(A.variances(weights).mean())
    return float(n ** (-1.0 / (d + 4.0)) * deviation / window.deviation(d)) or 1.0


def is_path(bandwidth: Any) -> bool:
    """Whether leave-one-out is to choose the bandwidth."""
    return bool(np.ndim(bandwidth)) or (isinstance(bandwidth, str) and bandwidth == "loo")


def check_bandwidths(bandwidth: Any, A: Any, window: Window, weights: np.ndarray | None) -> np.ndarray:
    """Bandwidths to choose from, in the order given; one if there is nothing to choose."""
    if is_path(bandwidth) and len(A) == 1:
        raise ValueError("Leave-one-out needs more than n_samples = 1 input; give a single bandwidth.")
    if not np.isfinite(4.0 * A.squared_norms.sum()):
        raise ValueError(
            f"Squared distances between inputs overflow {A.dtype}, because X has entries that are too large; "
            "divide X, and a bandwidth that is given, by a constant."
        )
    if bandwidth is None:
        return np.array([scott(A, window, weights)])
    if isinstance(bandwidth, str) and bandwidth == "loo":
        return scott(A, window, weights) * np.geomspace(0.05, 4.0, 25)
    try:
        bandwidths = np.atleast_1d(np.asarray(bandwidth, np.float64))
    except (TypeError, ValueError):
        bandwidths = np.array([np.nan])
    if bandwidths.ndim > 1 or not bandwidths.size or not np.all((bandwidths > 0) & (bandwidths < np.inf)):
        raise ValueError(
            f"bandwidth is {bandwidth!r}; it must be a positive number, a list of them to choose from, 'loo' or None."
        )
    if len(bandwidths) > 10_000:
        raise ValueError(f"bandwidth has {len(bandwidths):,} entries to choose from; use at most 10,000.")
    return bandwidths


def plan_of_windows(X: Any, bandwidth: Any) -> Plan:
    """The cost of storing the inputs and, with a bandwidth to choose, of the windows between all inputs."""
    gram = Gram(DISTANCES, X)
    if not is_path(bandwidth):
        return Plan("sums of windows", "fit keeps the inputs", gram.nbytes, 0)
    values, count = len(gram) ** 2, 25 if isinstance(bandwidth, str) else np.size(bandwidth)
    tiles = 2 * _parallel.TILE_BYTES * _parallel.default_threads()
    bytes_ = gram.nbytes + tiles + 16 * count * len(gram)
    return Plan("sums of windows", "leave-one-out chooses the bandwidth", bytes_, values, 1e-9 * values * (1 + count))


def pick(scores: np.ndarray, bandwidths: np.ndarray, bandwidth: Any) -> float:
    """The bandwidth with the best leave-one-out score; raise if none has a finite one."""
    if not np.any(np.isfinite(scores)):
        raise ValueError(
            "No bandwidth reaches from every input to another one, so leave-one-out cannot tell which is best; "
            "give larger ones, or use a window with unbounded support, such as 'gaussian'."
        )
    best = int(np.argmax(scores))
    if isinstance(bandwidth, str) and best in (0, len(scores) - 1):
        warn_user(
            f"The best bandwidth {bandwidths[best]:.3g} is the {'largest' if best else 'smallest'} of those that "
            "bandwidth='loo' tries; give a list that extends beyond it. (Repeated inputs favour the smallest.)",
            UserWarning,
        )
    return float(bandwidths[best])


class ParzenDensity(DensityMixin, KernelParameters):
    r"""p(x) = sum_i w_i K(|x - x_i| / h) / (sum_i w_i  h^d  integral of K),  K a window, h its bandwidth, w_i weights.

    Parameters
    ----------
    bandwidth : float, array, "loo" or None
        h, the radius of windows with bounded support. From a list, the bandwidth with the largest leave-one-out
        likelihood is taken; all are tried in one pass over the distances. None is Scott's rule, n^(-1 / (d + 4)) times
        the standard deviation of a column over that of the window; "loo" tries 25 bandwidths around it.
    window : str
        "gaussian", "exponential", "uniform", "triangular", "epanechnikov", "biweight", "triweight", "tricube" or
        "cosine": see `representer.kernels.windows`.
    threads : int, optional

    Attributes
    ----------
    bandwidth_ : float
        The bandwidth used.
    bandwidths_ : array of shape (n_bandwidths,)
        The bandwidths it was chosen from.
    X_fit_ : inputs
        The training inputs.
    loo_scores_ : array of shape (n_bandwidths,)
        With several bandwidths: the mean over inputs of log p_(-i)(x_i), p_(-i) estimated without input i.

    References
    ----------
    Parzen, On estimation of a probability density function and mode, Annals of Mathematical Statistics 1962.

    Examples
    --------
    >>> import numpy as np
    >>> from representer import ParzenDensity
    >>> X = np.random.default_rng(0).normal(size=(500, 1))
    >>> model = ParzenDensity(bandwidth="loo").fit(X)
    >>> np.exp(model.score_samples([[0.0], [2.0]])).round(2)
    array([0.36, 0.06])
    """

    def __init__(self, bandwidth: Any = None, *, window: str = "gaussian", threads: int | None = None):
        self.bandwidth = bandwidth
        self.window = window
        self.threads = threads

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @atomic
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> ParzenDensity:
        """Store the inputs X, and choose the bandwidth; y is ignored."""
        reset_fitted(self, "loo_scores_")
        X = own(check_inputs(self, X, DISTANCES, reset=True))
        weights = check_weights(sample_weight, X)
        if self.threads is not None:
            checks.integer(self.threads, "threads")
        self.X_fit_, self._window, self._prepared = X, window_of(self.window), DISTANCES.prepare(X)
        self._weights = np.ones(len(self._prepared)) if weights is None else weights
        self.bandwidths_ = self._bandwidths(weights)
        self.bandwidth_ = float(self.bandwidths_[0])
        if is_path(self.bandwidth):
            rest = self._weights.sum() - self._weights
            values = self._log_density(self._prepared, self.bandwidths_, leave_out=True, totals=rest)
            counted = self._weights > 0
            self.loo_scores_ = np.average(values[:, counted], axis=1, weights=self._weights[counted])
            self.bandwidth_ = pick(self.loo_scores_, self.bandwidths_, self.bandwidth)
        return self

    def _bandwidths(self, weights: np.ndarray | None) -> np.ndarray:
        """The bandwidths to choose from, or the single one given."""
        return check_bandwidths(self.bandwidth, self._prepared, self._window, weights)

    @cached_property
    def _window(self) -> Any:
        return window_of(self.window)

    @cached_property
    def _prepared(self) -> Any:
        return DISTANCES.prepare(self.X_fit_)

    def plan(self, X: Any, y: Any = None) -> Plan:
        """What `fit` stores, and the memory and time that choosing a bandwidth takes."""
        return plan_of_windows(X, self.bandwidth)

    def _log_density(self, A: Any, bandwidths: np.ndarray, leave_out: bool, totals: np.ndarray) -> np.ndarray:
        """log p, shape (n_bandwidths, n), where the weights of the windows sum to ``totals``."""
        out = np.empty((len(bandwidths), len(A)))

        def finish(rows: slice, sums: np.ndarray, exponents: np.ndarray) -> None:
            with np.errstate(divide="ignore", invalid="ignore"):
                out[:, rows] = np.log(sums[:, :, 0]) - np.where(sums[:, :, 0] > 0, exponents, 0.0)

        options: Any = {"leave_out": leave_out, "threads": self.threads}
        window_sums(self._window, A, self._prepared, self._weights[:, None], bandwidths, finish, **options)
        d = A.values.shape[1]
        out -= d * np.log(bandwidths)[:, None] + self._window.log_integral(d)
        return out - np.log(np.where(totals > 0, totals, 1.0))

    def score_samples(self, X: Any) -> np.ndarray:
        """log p(x) for each x in X; minus infinity where no window reaches."""
        check_is_fitted(self)
        X = check_inputs(self, X, DISTANCES, reset=False)
        A = DISTANCES.prepare(X, like=self._prepared)
        totals = np.full(len(A), self._weights.sum())
        values = self._log_density(A, np.array([self.bandwidth_]), False, totals)[0]
        with np.errstate(over="ignore"):  # a log density below the float32 range becomes -inf
            return in_precision_of(X, values)

    def score(self, X: Any, y: Any = None) -> float:
        """The log-likelihood of X: the sum of log p(x)."""
        return float(self.score_samples(X).sum(dtype=np.float64))

    def sample(self, n_samples: int = 1, random_state: Any = None) -> np.ndarray:
        """Random inputs from the density p, shape (n_samples, n_columns)."""
        check_is_fitted(self)
        checks.integer(n_samples, "n_samples")
        rng = check_random_state(random_state)
        rows = rng.choice(len(self._weights), n_samples, p=self._weights / self._weights.sum())
        centres = self.X_fit_[rows]
        centres = centres.toarray() if sparse.issparse(centres) else centres
        return (centres + self.bandwidth_ * self._steps(centres.shape, rng)).astype(centres.dtype)

    def _steps(self, shape: tuple[int, ...], rng: np.random.RandomState) -> np.ndarray:
        """Random vectors drawn from the window with bandwidth one."""
        directions = rng.normal(size=shape)
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        return self._window.radii(shape[1], shape[0], rng)[:, None] * directions
