"""scikit-learn's kernel estimators: its names, signatures, defaults and attributes with the solvers of this library.

``from representer.drop_in import SVC`` instead of ``from sklearn.svm import SVC``; or `patch`, after which scripts
written for scikit-learn run unchanged, as they do with ``python -m representer.drop_in script.py``. Classes are
imported on first access.
"""

from importlib import import_module
from typing import Any

from representer.drop_in.patching import ROOMS, patch, unpatch

__all__ = [
    "SVC",
    "SVR",
    "GaussianProcessClassifier",
    "GaussianProcessRegressor",
    "KernelDensity",
    "KernelPCA",
    "KernelRidge",
    "NuSVC",
    "NuSVR",
    "Nystroem",
    "OneClassSVM",
    "RBFSampler",
    "patch",
    "unpatch",
]


def __getattr__(name: str) -> Any:
    if name in ROOMS:
        return getattr(import_module(f"representer.drop_in.{ROOMS[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
