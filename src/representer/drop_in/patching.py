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
"""Public modules of scikit-learn's classes. Private modules keep the originals, so that these can be pickled.

KernelRidge, Nystroem and RBFSampler have no private module: while they are patched, an object of the original class,
made before, cannot be pickled, as its class is not found under its name.
"""
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
"""The modules of this package with classes of the same names."""
_originals: dict[str, Any] = {}


class Patch(ContextDecorator):
    """The result of `patch`: a context manager and decorator under which scikit-learn is patched.

    On exit it restores what it replaced, which is nothing if scikit-learn was already patched. A decorated function is
    patched during each of its calls, and nothing is before the first.
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

    def __call__(self, function: Any) -> Any:
        self.__exit__()
        return super().__call__(function)

    def _recreate_cm(self) -> Patch:
        """A context manager of each call, as calls may be nested."""
        return Patch(self.names)


def patch(names: Any = None) -> Patch:
    """Replace scikit-learn's classes with those of this package, all of them or those named, from now on.

    Names imported from scikit-learn before keep the original class. `unpatch` restores the originals, and so does the
    end of a ``with`` block.

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
    """Restore scikit-learn's own classes, all of them or those named."""
    for name in _checked(names):
        if name in _originals:
            _put(name, _originals.pop(name))


def original(name: str) -> Any:
    """scikit-learn's class of this name, whether it is replaced or not."""
    return _originals.get(name) or getattr(import_module(PLACES[name]), name)


def _checked(names: Any) -> list[str]:
    names = list(PLACES) if names is None else [names] if isinstance(names, str) else list(names)
    if unknown := [name for name in names if name not in PLACES]:
        raise ValueError(f"There is no replacement for {', '.join(map(repr, unknown))}; there are {', '.join(PLACES)}.")
    return names


def _replace(names: list[str]) -> list[str]:
    """Replace these classes; returns those that were not replaced before."""
    new = [name for name in names if name not in _originals]
    for name in new:
        original = getattr(import_module(PLACES[name]), name)
        _put(name, getattr(import_module(f"representer.drop_in.{ROOMS[name]}"), name))
        _originals[name] = original
    return new


def _put(name: str, kind: Any) -> None:
    setattr(import_module(PLACES[name]), name, kind)
