"""What all estimators share: tags, budget, warnings, values in the caller's precision, and all-or-nothing fits."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, cached_property, wraps
from inspect import signature
from pathlib import Path
from typing import Any, TypeVar

import joblib
import numpy as np
import sklearn
from scipy import sparse
from sklearn.base import is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from representer import _parallel
from representer.estimators.in_span import kernel_for
from representer.estimators.inputs import KernelParameters, in_precision_of, is_precomputed, to_kernel
from representer.estimators.on_rows import with_rows
from representer.estimators.progress import Progress, Step, with_callbacks
from representer.gram.tiled import Gram
from representer.kernels import checks
from representer.kernels.base import Kernel
from representer.result import Budget, Certificate
from representer.rows.validation import check_inputs

Fit = TypeVar("Fit", bound=Callable[..., Any])
INSIDE = tuple(str(Path(path).parent) for path in (_parallel.__file__, joblib.__file__, sklearn.__file__))


@contextmanager
def _attempt(model: Any, args: tuple, options: dict[str, Any]) -> Iterator[tuple[tuple, dict[str, Any]]]:
    """The arguments of a fit, with rows in place of Dask collections; after an error the model is as it was before."""
    before = dict(vars(model))
    kind: Any = type(model)
    for name in derived(kind):
        vars(model).pop(name, None)
    try:
        with with_rows(model, args, options) as (args, options):
            yield args, options
    except BaseException:
        vars(model).clear()
        vars(model).update(before)
        raise


def atomic(fit: Fit) -> Fit:
    """Make `fit` atomic: a failed or interrupted fit leaves the estimator unchanged. Dask collections become rows."""

    @wraps(fit)
    def fit_or_restore(self: Any, *args: Any, **options: Any) -> Any:
        with _attempt(self, args, options) as (args, options):
            return fit(self, *args, **options)

    return fit_or_restore  # type: ignore[return-value]


def observed(fit: Any) -> Any:
    """`atomic`, with a task tree that the callbacks of `set_callbacks` can follow, in one frame."""
    if with_callbacks is None:
        return atomic(fit)

    @with_callbacks
    @wraps(fit)
    def fit_with_callbacks(self: Any, X: Any, y: Any = None, *args: Any, **options: Any) -> Any:
        context = self._init_callback_context(max_subtasks=None)
        context.call_on_fit_task_begin(estimator=self, X=X, y=y)
        with _attempt(self, (X, y, *args), options) as (given, others):
            fit(self, *given, **others)
        context.call_on_fit_task_end(estimator=self, X=X, y=y, reconstruction_attributes={})
        return self

    return fit_with_callbacks


@cache
def derived(estimator: Any) -> list[str]:
    """The attributes that are computed from others on first access; no file needs to hold them."""
    named = [pair for kind in estimator.__mro__ for pair in vars(kind).items()]
    return [name for name, each in named if isinstance(each, cached_property)]


def warn_user(message: str, category: type[Warning] = ConvergenceWarning) -> None:
    """Warn at the innermost line outside this library, joblib and scikit-learn."""
    depth, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(INSIDE):
        depth, frame = depth + 1, frame.f_back
    warnings.warn(message, category, stacklevel=depth)


def own(X: Any) -> Any:
    """A copy of inputs in memory, so that later changes by the caller do not affect the fitted function.

    Memory maps and the items of lists are not copied.
    """
    if type(X) is np.ndarray or sparse.issparse(X) or hasattr(X, "iloc"):
        return X.copy()
    return list(X) if isinstance(X, list) else X


@cache  # reading a signature takes as long as a small fit
def _booleans(estimator: type) -> list[str]:
    """The parameters that are true or false; `verbose` may be a number as well."""
    parameters = signature(estimator).parameters.items()
    return [name for name, each in parameters if isinstance(each.default, bool) and name != "verbose"]


class KernelEstimator(KernelParameters):
    """What all estimators share. Subclasses have parameters of these names; for a missing one a default is used."""

    kernel: Any
    memory: int | None
    threads: int | None
    _way_to_probabilities = (
        "use KernelLogisticRegression, KernelClassifier, or sklearn.calibration.CalibratedClassifierCV around it"
    )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = is_precomputed(self.kernel)
        return tags

    def __getattr__(self, name: str) -> Any:
        """Raise with the reason why an attribute is missing, or with an alternative for missing probabilities."""
        if isinstance(known := getattr(type(self), name, None), property):
            return known.__get__(self)
        if name in ("predict_proba", "predict_log_proba") and is_classifier(self):
            raise AttributeError(f"This {type(self).__name__} has no {name}; {type(self)._way_to_probabilities}.")
        if name == "partial_fit" and self.takes_streams:
            raise AttributeError(
                f"{type(self).__name__} has partial_fit with kernels whose basis is given, such as "
                "Nystroem(RBF(1.0), landmarks=inputs), RandomFeatures(RBF(1.0), 500) or Linear()."
            )
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    @property
    def coef_(self) -> np.ndarray:
        """w with f(x) = <w, x> + b, where the kernel is linear; one row per function where there are several."""
        kernel, function = getattr(self, "kernel_", None), vars(self).get("function_")
        if not isinstance(kernel, Kernel) or not kernel.unscaled[0].linear or function is None:
            raise AttributeError(f"This {type(self).__name__} has no coef_; fit it with kernel='linear'.")
        return function.gradient(np.zeros((1, self.n_features_in_)))[0]

    def _budget(self, step: Step = lambda: False) -> Budget:
        """The budget of a fit, after its parameters are checked."""
        tol, verbose = self._tolerance(), getattr(self, "verbose", 0)
        kind: Any = type(self)
        for name in _booleans(kind):
            checks.boolean(getattr(self, name), name)
        memory, threads = (getattr(self, name, None) for name in ("memory", "threads"))
        for name, value in (("memory", memory), ("threads", threads)):
            if value is not None:
                checks.integer(value, name)
        return Budget(
            memory=_parallel.machine_memory() if memory is None else memory,
            tol=tol,
            max_iter=self._most_iterations(),
            threads=threads,
            random_state=getattr(self, "random_state", 0),
            progress=Progress(verbose, tol, step),
        )

    def _tolerance(self) -> float:
        return checks.positive(getattr(self, "tol", Budget.tol), "tol")

    def _most_iterations(self) -> int:
        return checks.integer(getattr(self, "max_iter", Budget.max_iter), "max_iter")

    def _kernel_for(self, X: Any, weights: np.ndarray | None = None) -> Kernel:
        """The kernel with length scales chosen from the data where none were given."""
        return kernel_for(self._given_kernel(), X, weights)

    def _given_kernel(self) -> Kernel:
        """The kernel as given by the user."""
        return to_kernel(self.kernel)

    def _gram(self, kernel: Kernel, X: Any, **options: Any) -> Gram:
        memory, threads = (getattr(self, name, None) for name in ("memory", "threads"))
        return Gram(kernel, X, threads=threads, memory=memory, **options)

    def _values(self, X: Any) -> np.ndarray:
        """The fitted function at new inputs, in their precision."""
        check_is_fitted(self)
        X = check_inputs(self, X, self.kernel_, reset=False)
        values = self.function_(X)
        return in_precision_of(X, values)

    def _warn_unless_converged(self, certificate: Certificate, advice: str) -> None:
        if not certificate.converged:
            gap = f" and a duality gap of {certificate.gap:.2g}" if certificate.measure == "KKT violation" else ""
            warn_user(
                f"The fit stopped after {certificate.iterations} iterations with a {certificate.measure} of "
                f"{certificate.residual:.2g}, above the tolerance {certificate.tolerance:.2g}{gap}; {advice}."
            )
