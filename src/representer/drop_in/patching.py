"""Scripts written for scikit-learn run unchanged: its classes are replaced by those of this package, and put back."""

from __future__ import annotations

from contextlib import ContextDecorator
from importlib import import_module
from typing import Any

PLACES = {
    "SVC": "sklearn.svm",
    "SVR": "sklearn.svm",
    "NuSVC": "sklearn.svm",
    "NuSVR": "sklearn.svm",
    "OneClassSVM": "sklearn.svm",
    "KernelRidge": "sklearn.kernel_ridge",
    "KernelPCA": "sklearn.decomposition",
    "GaussianProcessRegressor": "sklearn.gaussian_process",
    "GaussianProcessClassifier": "sklearn.gaussian_process",
    "Nystroem": "sklearn.kernel_approximation",
    "RBFSampler": "sklearn.kernel_approximation",
    "KernelDensity": "sklearn.neighbors",
}
"""Where scripts find scikit-learn's classes. Private modules keep them, so that objects of them can be pickled."""
ROOMS = {
    "SVC": "libsvm_machines",
    "SVR": "libsvm_machines",
    "NuSVC": "libsvm_machines",
    "NuSVR": "libsvm_machines",
    "OneClassSVM": "libsvm_machines",
    "KernelRidge": "ridge_regression",
    "KernelPCA": "components",
    "GaussianProcessRegressor": "process_regression",
    "GaussianProcessClassifier": "process_classification",
    "Nystroem": "sampled_features",
    "RBFSampler": "sampled_features",
    "KernelDensity": "kernel_density",
}
"""The files of this package that have classes of the same names."""
_originals: dict[str, Any] = {}


class Patch(ContextDecorator):
    """What `patch` returns: a context in which scikit-learn is patched, and a decorator of functions that want it.

    At its end it puts back what it replaced, which is nothing where it was patched before.
    """

    def __init__(self, names: list[str]):
        self.names = names
        self.replaced = _replace(names)

    def __enter__(self) -> Patch:
        self.replaced += _replace(self.names)
        return self

    def __exit__(self, *reason: Any) -> None:
        unpatch(self.replaced)
        self.replaced = []


def patch(names: Any = None) -> Patch:
    """Replace scikit-learn's classes by those of this package, all of them or those named, from now on.

    What was imported from scikit-learn before keeps its old class. `unpatch` puts them back, and so does the end of a
    ``with`` block.

    Examples
    --------
    >>> from representer import drop_in
    >>> with drop_in.patch():
    ...     from sklearn.svm import SVC
    >>> SVC.__module__
    'representer.drop_in.libsvm_machines'
    """
    return Patch(_checked(names))


def unpatch(names: Any = None) -> None:
    """Put scikit-learn's own classes back, all of them or those named."""
    for name in _checked(names):
        if name in _originals:
            _put(name, _originals.pop(name))


def _checked(names: Any) -> list[str]:
    names = list(PLACES) if names is None else [names] if isinstance(names, str) else list(names)
    if unknown := [name for name in names if name not in PLACES]:
        raise ValueError(
            f"There is nothing to replace {', '.join(map(repr, unknown))} by; there are {', '.join(PLACES)}."
        )
    return names


def _replace(names: list[str]) -> list[str]:
    """Replace these classes; those that were not replaced before."""
    new = [name for name in names if name not in _originals]
    for name in new:
        original = getattr(import_module(PLACES[name]), name)
        _put(name, getattr(import_module(f"representer.drop_in.{ROOMS[name]}"), name))
        _originals[name] = original
    return new


def _put(name: str, kind: Any) -> None:
    setattr(import_module(PLACES[name]), name, kind)
