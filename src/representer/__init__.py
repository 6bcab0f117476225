"""Kernel methods from one theorem: kernels, Gram operators, functions in H, and the estimators built on them.

Names are imported when they are first asked for, so that ``import representer`` and ``representer --help`` are quick.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # for type checkers and editors, which do not run this file
    from representer import kernels as kernels
    from representer import losses as losses
    from representer import plotting as plotting
    from representer import psd as psd
    from representer import regularizers as regularizers
    from representer.estimators.conditional_mean import ConditionalMeanEmbedding as ConditionalMeanEmbedding
    from representer.estimators.density import ParzenDensity as ParzenDensity
    from representer.estimators.discriminant import KernelFisherDiscriminant as KernelFisherDiscriminant
    from representer.estimators.gaussian_process import GaussianProcessRegressor as GaussianProcessRegressor
    from representer.estimators.gaussian_process_classifier import (
        GaussianProcessClassifier as GaussianProcessClassifier,
    )
    from representer.estimators.gplvm import GPLVM as GPLVM
    from representer.estimators.herding import herding as herding
    from representer.estimators.independence import HSIC as HSIC
    from representer.estimators.kernel_classifier import KernelClassifier as KernelClassifier
    from representer.estimators.kernel_k_means import KernelKMeans as KernelKMeans
    from representer.estimators.kernel_machine import KernelMachine as KernelMachine
    from representer.estimators.kernel_pca import KernelPCA as KernelPCA
    from representer.estimators.kernel_regressor import KernelRegressor as KernelRegressor
    from representer.estimators.kernel_ridge import KernelRidge as KernelRidge
    from representer.estimators.logistic_regression import KernelLogisticRegression as KernelLogisticRegression
    from representer.estimators.neighbors import KernelNeighborsClassifier as KernelNeighborsClassifier
    from representer.estimators.neighbors import KernelNeighborsRegressor as KernelNeighborsRegressor
    from representer.estimators.nu_svc import NuSVC as NuSVC
    from representer.estimators.one_class import OneClassSVM as OneClassSVM
    from representer.estimators.poisson_regression import KernelPoissonRegression as KernelPoissonRegression
    from representer.estimators.quantile_regression import KernelQuantileRegression as KernelQuantileRegression
    from representer.estimators.rbf_network import RBFNetwork as RBFNetwork
    from representer.estimators.ridge_classifier import KernelRidgeClassifier as KernelRidgeClassifier
    from representer.estimators.smoother import NadarayaWatson as NadarayaWatson
    from representer.estimators.spectral_clustering import SpectralClustering as SpectralClustering
    from representer.estimators.svc import SVC as SVC
    from representer.estimators.svc_path import SVCPath as SVCPath
    from representer.estimators.svr import SVR as SVR
    from representer.estimators.svr import NuSVR as NuSVR
    from representer.estimators.two_sample import MMD as MMD
    from representer.features.landmarks import landmarks as landmarks
    from representer.features.nystroem import Nystroem as Nystroem
    from representer.features.random_features import RandomFeatures as RandomFeatures
    from representer.features.sketch import Sketch as Sketch
    from representer.functions import Function as Function
    from representer.functions import mean_embedding as mean_embedding
    from representer.functions import project as project
    from representer.gram.tiled import Gram as Gram
    from representer.io import LoadError as LoadError
    from representer.io import load as load
    from representer.io import save as save
    from representer.onnx.export import to_onnx as to_onnx
    from representer.preimage import preimage as preimage
    from representer.rows import rows as rows
    from representer.tables.explaining import explain as explain
    from representer.tables.fitting import fit_table as fit_table
    from representer.tables.suspicious import suspicious_labels as suspicious_labels

__version__ = "0.1.0.dev0"

_ROOMS = ("kernels", "losses", "plotting", "psd", "regularizers")
_PLACES = {
    "GPLVM": "estimators.gplvm",
    "HSIC": "estimators.independence",
    "MMD": "estimators.two_sample",
    "SVC": "estimators.svc",
    "SVR": "estimators.svr",
    "ConditionalMeanEmbedding": "estimators.conditional_mean",
    "Function": "functions",
    "GaussianProcessClassifier": "estimators.gaussian_process_classifier",
    "GaussianProcessRegressor": "estimators.gaussian_process",
    "Gram": "gram.tiled",
    "KernelClassifier": "estimators.kernel_classifier",
    "KernelFisherDiscriminant": "estimators.discriminant",
    "KernelKMeans": "estimators.kernel_k_means",
    "KernelLogisticRegression": "estimators.logistic_regression",
    "KernelMachine": "estimators.kernel_machine",
    "KernelNeighborsClassifier": "estimators.neighbors",
    "KernelNeighborsRegressor": "estimators.neighbors",
    "KernelPCA": "estimators.kernel_pca",
    "KernelPoissonRegression": "estimators.poisson_regression",
    "KernelQuantileRegression": "estimators.quantile_regression",
    "KernelRegressor": "estimators.kernel_regressor",
    "KernelRidge": "estimators.kernel_ridge",
    "KernelRidgeClassifier": "estimators.ridge_classifier",
    "LoadError": "io",
    "NadarayaWatson": "estimators.smoother",
    "NuSVC": "estimators.nu_svc",
    "NuSVR": "estimators.svr",
    "Nystroem": "features.nystroem",
    "OneClassSVM": "estimators.one_class",
    "ParzenDensity": "estimators.density",
    "RBFNetwork": "estimators.rbf_network",
    "RandomFeatures": "features.random_features",
    "SVCPath": "estimators.svc_path",
    "Sketch": "features.sketch",
    "SpectralClustering": "estimators.spectral_clustering",
    "explain": "tables.explaining",
    "fit_table": "tables.fitting",
    "herding": "estimators.herding",
    "landmarks": "features.landmarks",
    "load": "io",
    "mean_embedding": "functions",
    "preimage": "preimage",
    "project": "functions",
    "rows": "rows",
    "save": "io",
    "suspicious_labels": "tables.suspicious",
    "to_onnx": "onnx.export",
}
"""Where each public name is defined; `tests/test_lazy_import.py` compares this with the imports above."""

__all__ = [*_PLACES, *_ROOMS]


class _Package(ModuleType):
    def __setattr__(self, name: str, value: Any) -> None:
        # the first import of a room named like one of its functions, such as rows, must not hide the function
        if not (name in _PLACES and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> Any:
    if name in _PLACES:
        value = getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)
    elif name in _ROOMS:
        value = import_module(f"{__name__}.{name}")
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, *(name for name in globals() if name.startswith("__"))])
