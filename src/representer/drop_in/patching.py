"""Scripts written for scikit-learn run unchanged: its classes are replaced by those of this package, and put back."""

from __future__ import annotations

from contextlib import ContextDecorator
from importlib import import_module
from typing import Any

PLACES = {
    "SVC": ("sklearn.svm", "sklearn.svm._classes"),
    "SVR": ("sklearn.svm", "sklearn.svm._classes"),
    "NuSVC": ("sklearn.svm", "sklearn.svm._classes"),
    "NuSVR": ("sklearn.svm", "sklearn.svm._classes"),
    "OneClassSVM": ("sklearn.svm", "sklearn.svm._classes"),
    "KernelRidge": ("sklearn.kernel_ridge",),
    "KernelPCA": ("sklearn.decomposition", "sklearn.decomposition._kernel_pca"),
    "GaussianProcessRegressor": ("sklearn.gaussian_process", "sklearn.gaussian_process._gpr"),
    "GaussianProcessClassifier": ("sklearn.gaussian_process", "sklearn.gaussian_process._gpc"),
    "Nystroem": ("sklearn.kernel_approximation",),
    "RBFSampler": ("sklearn.kernel_approximation",),
    "KernelDensity": ("sklearn.neighbors", "sklearn.neighbors._kde"),
}
"""Where scikit-learn keeps its classes."""
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
    """What `patch` returns: a context in which scikit-learn is patched, and a decorator of functions that want it."""

    def __enter__(self) -> Patch:
        _replace(self.names)
        return self

    def __exit__(self, *reason: Any) -> None:
        unpatch(self.names)

    def __init__(self, names: list[str]):
        self.names = names


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
    chosen = _checked(names)
    _replace(chosen)
    return Patch(chosen)


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


def _replace(names: list[str]) -> None:
    for name in names:
        if name not in _originals:
            original = getattr(import_module(PLACES[name][0]), name)
            _put(name, getattr(import_module(f"representer.drop_in.{ROOMS[name]}"), name))
            _originals[name] = original


def _put(name: str, kind: Any) -> None:
    for place in PLACES[name]:
        setattr(import_module(place), name, kind)
