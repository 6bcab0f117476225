"""How estimators take kernels and inputs.

Kernels by name, rows of numbers as scikit-learn checks them, and lists of objects.
"""

from __future__ import annotations

from functools import cache
from numbers import Real
from types import FunctionType
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import assert_all_finite, check_array
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_consistent_length, column_or_1d

from representer.kernels import checks
from representer.kernels.algebra import Scaled
from representer.kernels.base import Kernel
from representer.kernels.dot_product import Cosine, Linear, Polynomial, Sigmoid
from representer.kernels.histogram import Chi2
from representer.kernels.precomputed import Callable, Precomputed
from representer.kernels.stationary import RBF, Laplacian, Matern
from representer.rows.distributed.lazy import is_lazy, lazily

LARGEST_TARGET = 1e151
"""Targets up to this size, and down to one over it, have squares whose sum is in the range of float64."""
ROW_METHODS = "predict", "transform", "decision_function", "predict_proba", "predict_log_proba", "score_samples"
NAMES: dict[str, type[Kernel]] = {
    "rbf": RBF,
    "linear": Linear,
    "poly": Polynomial,
    "polynomial": Polynomial,
    "laplacian": Laplacian,
    "matern": Matern,
    "cosine": Cosine,
    "sigmoid": Sigmoid,
    "chi2": Chi2,
    "precomputed": Precomputed,
}


def to_kernel(kernel: Any) -> Kernel:
    """A kernel object from an object, a name, or a function that returns all values between two slices of inputs."""
    if isinstance(kernel, Kernel):
        return kernel
    if isinstance(kernel, str) and kernel in NAMES:
        return NAMES[kernel]()
    if callable(kernel) and not isinstance(kernel, type):
        return Callable(kernel)
    raise ValueError(
        f"kernel is {kernel!r}; pass a kernel object such as RBF(), a function of two tables that returns all values, "
        f"or one of the names {', '.join(NAMES)}."
    )


LARGEST_WEIGHT = 1e100
"""Largest weight of a loss relative to the squared norm of f."""


class KernelParameters(BaseEstimator):
    """Estimators whose kernels may be given by name, with nested parameters such as ``kernel__length_scale``.

    Setting one of these with `set_params` creates the kernel object that the name stands for, so that a search over
    them works with the default kernel.

    Methods that treat each row of X independently are lazy on Dask collections.
    """

    takes_rows = False
    """Whether `fit` takes rows that are read in blocks."""
    takes_streams = False
    """Whether `fit` takes rows that can be read only once, or itself raises the reason why not."""

    def __init_subclass__(cls, **options: Any):
        super().__init_subclass__(**options)
        for name in ROW_METHODS:
            method = getattr(cls, name, None)  # also that of a mixin
            if isinstance(method, FunctionType) and not is_lazy(method):
                setattr(cls, name, lazily(method))

    @classmethod
    @cache  # inspecting a signature takes as long as a small fit
    def _get_param_names(cls) -> list[str]:
        return super()._get_param_names()

    def set_params(self, **params: Any) -> Any:
        """Set parameters, those of nested objects as ``kernel__name``, and return the estimator."""
        for name in {key.partition("__")[0] for key in params if key.startswith("kernel") and "__" in key}:
            given = params.get(name, getattr(self, name, None))
            if given is None or isinstance(given, str):
                params[name] = self._named_kernel(given)
        for name, nested, inner in (key.partition("__") for key in params):
            if nested and isinstance(given := params.get(name, getattr(self, name, None)), str):
                raise ValueError(
                    f"{name} is {given!r}, a name, which has no parameter {inner!r}; give an object that has one, such "
                    f"as RBF(1.0), or set another one of {', '.join(self.get_params(deep=False))}."
                )
        return super().set_params(**params)

    def _named_kernel(self, name: str | None) -> Kernel:
        """A new kernel object for a name; None is the default of Gaussian processes."""
        return Scaled(RBF(), 1.0) if name is None else to_kernel(name)


def is_precomputed(kernel: Any) -> bool:
    """Whether inputs are Gram matrices, which cross-validation must slice on both sides."""
    if isinstance(kernel, str):
        return kernel == "precomputed"
    return isinstance(kernel, Kernel) and kernel.precomputed


def in_column(Y: Any, kernel: Kernel) -> Any:
    """Numbers as one column, for a kernel on vectors; anything else as it is."""
    if not kernel.on_vectors or np.ndim(Y) != 1:
        return Y
    numbers = np.asarray(Y)
    if numbers.dtype == object and all(isinstance(y, Real) for y in numbers):
        numbers = numbers.astype(np.float64)
    return numbers[:, None] if numbers.dtype.kind in "biuf" else Y


def check_weights(sample_weight: Any, X: Any) -> np.ndarray | None:
    """One nonnegative weight per input, not all zero; None when no weights are given."""
    if sample_weight is None:
        return None
    checks.unmasked(sample_weight, "sample_weight")
    anchor = np.empty((checks.number_of(X), 1))
    return _check_sample_weight(sample_weight, anchor, dtype=np.float64, ensure_non_negative=True)


def require_bounded(weight: float, what: str, way_out: str) -> None:
    """Raise if losses weigh so much more than the norm of f that squares of coefficients would overflow."""
    if not weight <= LARGEST_WEIGHT:
        raise ValueError(
            f"{what} is {weight:.3g}, above {LARGEST_WEIGHT:.0e}: squares of coefficients would overflow; {way_out}."
        )


def in_units(weights: np.ndarray) -> tuple[np.ndarray, float]:
    """Weights in units of a power of four near the largest one, and that unit.

    Neither the weights nor their square roots are rounded, and sums and squares neither overflow nor underflow.
    """
    unit = 2.0 ** ((np.frexp(weights.max())[1] - 1) // 2 * 2)
    return weights / unit, unit


def check_lengths(X: Any, y: np.ndarray) -> None:
    """Raise if X and y have different numbers of rows."""
    n = checks.number_of(X)
    if n != len(y):
        check_consistent_length(np.empty(n), y)


def check_targets(estimator: Any, X: Any, y: Any) -> np.ndarray:
    """Numeric targets of shape (n,) or (n, n_targets), one row per input."""
    if y is None:
        raise ValueError(f"{type(estimator).__name__} requires y to be passed, but the target y is None.")
    checks.unmasked(y, "y")
    if np.asarray(y).dtype.kind in "mM":
        raise TypeError("y holds dates or times; convert them to numbers first, such as days since the first one.")
    y = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
    check_lengths(X, y)
    size = np.abs(y).max(initial=0.0)
    if size > LARGEST_TARGET or 0.0 < size < 1.0 / LARGEST_TARGET:
        raise ValueError(f"The largest entry of y is {size:.1e}, whose square is out of range; divide y by it first.")
    return y


def check_labels(estimator: Any, X: Any, y: Any, least: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """The classes, at least ``least`` of them, and the index of each input's label among them, none missing."""
    if y is None:
        raise ValueError(f"{type(estimator).__name__} requires y to be passed, but the target y is None.")
    checks.unmasked(y, "y")
    if not (type(y) is np.ndarray and y.ndim == 1 and y.dtype.kind in "biu"):
        y = column_or_1d(y, warn=True)
        assert_all_finite(y, input_name="y")  # before scikit-learn casts them to integers
    check_lengths(X, y)
    classes, codes = _coded(y)
    # checking repeated integers or words finds nothing, and takes as long as a fit to a few hundred inputs
    if y.dtype.kind not in "biuU" or 2 * len(classes) > len(y):
        check_classification_targets(y)
    if len(classes) < least:
        raise ValueError(f"y has only one class, {classes.tolist()[0]!r}; a classifier needs at least {least}.")
    return classes, codes


def _coded(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The distinct labels in order, and the index of each label among them; two integer labels need no sorting."""
    if y.dtype.kind in "iu" and len(y):
        least, greatest = y.min(), y.max()
        codes = y == greatest
        if least < greatest and np.count_nonzero(y == least) + np.count_nonzero(codes) == len(y):
            return np.array([least, greatest], y.dtype), codes.astype(int)
    return np.unique(y, return_inverse=True)


def take(X: Any, rows: np.ndarray, kernel: Any) -> Any:
    """A subset of the inputs, of any type; a precomputed Gram matrix is indexed along both axes."""
    if is_precomputed(kernel):
        return X.iloc[rows, rows] if hasattr(X, "iloc") else X[rows][:, rows]
    return checks.take(X, rows)


def evenly_spaced(n: int, at_most: int) -> np.ndarray:
    """Indices of at most ``at_most`` of n inputs, evenly spaced."""
    return np.unique(np.linspace(0, n - 1, min(n, at_most)).astype(int))


def in_precision_of(X: Any, values: np.ndarray) -> np.ndarray:
    """The values, in float32 where the inputs X are."""
    return values.astype(np.float32) if getattr(X, "dtype", None) == np.float32 else values
