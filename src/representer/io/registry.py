"""The classes that a file may name. Names are looked up here; a file can never cause an import."""

from __future__ import annotations

from types import ModuleType

from sklearn.base import BaseEstimator

from representer import kernels, losses, regularizers
from representer.estimators.calibration import Sigmoid
from representer.estimators.conditional_mean import ConditionalMeanEmbedding
from representer.estimators.density import ParzenDensity
from representer.estimators.discriminant import KernelFisherDiscriminant
from representer.estimators.gaussian_process import GaussianProcessRegressor
from representer.estimators.gaussian_process_classifier import GaussianProcessClassifier
from representer.estimators.gplvm import GPLVM
from representer.estimators.hyperparameter_search import Search
from representer.estimators.kernel_classifier import KernelClassifier
from representer.estimators.kernel_k_means import KernelKMeans
from representer.estimators.kernel_machine import KernelMachine
from representer.estimators.kernel_pca import KernelPCA
from representer.estimators.kernel_regressor import KernelRegressor
from representer.estimators.kernel_ridge import KernelRidge
from representer.estimators.logistic_regression import KernelLogisticRegression
from representer.estimators.model_search import Trial
from representer.estimators.neighbors import KernelNeighborsClassifier, KernelNeighborsRegressor
from representer.estimators.nu_svc import NuSVC
from representer.estimators.one_class import OneClassSVM
from representer.estimators.poisson_regression import KernelPoissonRegression
from representer.estimators.quantile_regression import KernelQuantileRegression
from representer.estimators.rbf_network import Network, RBFNetwork
from representer.estimators.ridge_classifier import KernelRidgeClassifier
from representer.estimators.smoother import NadarayaWatson
from representer.estimators.spectral_clustering import SpectralClustering
from representer.estimators.svc import SVC
from representer.estimators.svc_path import SVCPath
from representer.estimators.svr import SVR, NuSVR
from representer.estimators.table_encoding import ColumnCode, TableEncoding
from representer.estimators.tuning import Tuned
from representer.features.approximation import Approximation
from representer.features.nystroem import Nystroem
from representer.features.random_features import RandomFeatures
from representer.features.sketch import Sketch
from representer.kernels.basis import Both, Points
from representer.kernels.text import DocumentFrequencies
from representer.result import Certificate
from representer.solvers.saddle import Polynomials
from representer.tables.column_plan import ColumnPlan, Treatment
from representer.tables.machines import SearchedMachine
from representer.tables.outcome import Comparison, Coverage, Finding, HeldOut, Outcome, Score, Suspicion, TableColumn
from representer.tables.table_model import FittedRows, TableModel
from representer.tables.targets import Target


def _exported(module: ModuleType) -> dict[str, type]:
    """The exported classes of a module that are built from parameters, by module.name."""
    room = module.__name__.rpartition(".")[2]
    names = getattr(module, "__all__", [name for name in vars(module) if not name.startswith("_")])
    found = {f"{room}.{name}": getattr(module, name) for name in names}
    return {name: each for name, each in found.items() if isinstance(each, type) and issubclass(each, BaseEstimator)}


ESTIMATORS = (
    *(ConditionalMeanEmbedding, GaussianProcessClassifier, GaussianProcessRegressor, GPLVM, KernelClassifier),
    *(KernelFisherDiscriminant, KernelKMeans, KernelLogisticRegression, KernelMachine, KernelNeighborsClassifier),
    *(KernelNeighborsRegressor, KernelPCA, KernelPoissonRegression, KernelQuantileRegression, KernelRegressor),
    *(KernelRidge, KernelRidgeClassifier, NadarayaWatson, NuSVC, NuSVR, OneClassSVM, ParzenDensity, RBFNetwork),
    *(SVC, SVCPath, SVR, SpectralClustering),
)
APPROXIMATIONS = (Nystroem, RandomFeatures, Sketch)
NAMED_CLASSES: dict[str, type] = {
    **{f"features.{each.__name__}": each for each in APPROXIMATIONS},
    **{f"estimators.{each.__name__}": each for each in ESTIMATORS},
    **_exported(kernels),
    **_exported(losses),
    **_exported(regularizers),
}
"""Classes built from parameters; estimators have fitted attributes in addition."""
RECORD_CLASSES = (
    *(Approximation, Both, Certificate, ColumnCode, DocumentFrequencies, Network, Points, Polynomials),
    *(Search, Sigmoid, TableEncoding, Trial, Tuned),
    *(ColumnPlan, Comparison, Coverage, Finding, FittedRows, HeldOut, Outcome, Score, SearchedMachine),  # of tables
    *(Suspicion, TableColumn, TableModel, Target, Treatment),
)
RECORDS: dict[str, type] = {each.__name__: each for each in RECORD_CLASSES}
"""Dataclasses, saved field by field."""
CLASS_NAMES = {each: name for name, each in (NAMED_CLASSES | RECORDS).items()}
