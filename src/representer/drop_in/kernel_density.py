"""scikit-learn's kernel density estimate, with the sums of this library."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from scipy.special import gammainc
from sklearn.utils.validation import _check_feature_names, _check_sample_weight, validate_data

from representer.drop_in.constraints import Constraints
from representer.estimators import density
from representer.estimators.base import atomic

WINDOW_OF = {
    "gaussian": "gaussian",
    "tophat": "uniform",
    "epanechnikov": "epanechnikov",
    "exponential": "exponential",
    "linear": "triangular",
    "cosine": "cosine",
}
EUCLIDEAN = ("euclidean", "l2")


class KernelDensity(density.ParzenDensity):
    r"""p(x) = sum_i w_i K(|x - x_i| / h) / (sum_i w_i  h^d  integral of K).

    Parameters, defaults and kernels are those of ``sklearn.neighbors.KernelDensity``; samples can be drawn from all
    kernels. The distance is Euclidean: other metrics are refused. Sums are exact and need no tree, so that `algorithm`,
    `atol`, `rtol`, `breadth_first` and `leaf_size` have no effect.
    """

    _parameter_constraints = Constraints()
    threads = None

    def __init__(
        self,
        *,
        bandwidth: Any = 1.0,
        algorithm: str = "auto",
        kernel: str = "gaussian",
        metric: str = "euclidean",
        atol: float = 0,
        rtol: float = 0,
        breadth_first: bool = True,
        leaf_size: int = 40,
        metric_params: dict | None = None,
    ):
        self.bandwidth = bandwidth
        self.algorithm = algorithm
        self.kernel = kernel
        self.metric = metric
        self.atol = atol
        self.rtol = rtol
        self.breadth_first = breadth_first
        self.leaf_size = leaf_size
        self.metric_params = metric_params

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags

    @property
    def window(self) -> str:  # type: ignore[override]
        """The name of the kernel as a window of this library."""
        return WINDOW_OF[self.kernel]

    @atomic
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Store the rows X."""
        self._validate_params()
        given = self.metric_params or {}
        if not (self.metric in EUCLIDEAN or (self.metric in ("minkowski", "p") and given.get("p", 2) == 2)):
            raise ValueError(
                f"invalid metric {self.metric!r}: distances are Euclidean here; use sklearn.neighbors.KernelDensity, "
                "which has trees for other metrics, or representer.drop_in.unpatch('KernelDensity')."
            )
        rows = validate_data(self, X, order="C", dtype=np.float64)
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, rows, dtype=np.float64, ensure_non_negative=True)
        super().fit(rows, None, sample_weight)
        _check_feature_names(self, X, reset=True)
        return self

    def _bandwidths(self, weights: np.ndarray | None) -> np.ndarray:
        """h: a number, or n^(-1 / (d + 4)) for "scott", (n (d + 2) / 4)^(-1 / (d + 4)) for "silverman"."""
        if isinstance(self.bandwidth, Real):
            return np.array([float(self.bandwidth)])
        n, d = self.X_fit_.shape
        return np.array([(n if self.bandwidth == "scott" else n * (d + 2) / 4.0) ** (-1.0 / (d + 4))])

    def _steps(self, shape: tuple[int, ...], rng: np.random.RandomState) -> np.ndarray:
        """The same steps as scikit-learn's for the same seed, for the two kernels that it can sample."""
        if self.kernel not in ("gaussian", "tophat"):
            return super()._steps(shape, rng)
        steps = rng.normal(size=shape)
        if self.kernel == "gaussian":
            return steps
        squares = (steps**2).sum(axis=1, keepdims=True)
        return steps * gammainc(0.5 * shape[1], 0.5 * squares) ** (1.0 / shape[1]) / np.sqrt(squares)
