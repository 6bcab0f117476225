"""Kernel methods from one theorem: kernels, Gram operators, functions in H, and the estimators built on them."""

from representer import kernels, losses, plotting, psd, regularizers
from representer.estimators.conditional_mean import ConditionalMeanEmbedding
from representer.estimators.density import ParzenDensity
from representer.estimators.discriminant import KernelFisherDiscriminant
from representer.estimators.gaussian_process import GaussianProcessRegressor
from representer.estimators.gaussian_process_classifier import GaussianProcessClassifier
from representer.estimators.gplvm import GPLVM
from representer.estimators.herding import herding
from representer.estimators.independence import HSIC
from representer.estimators.kernel_classifier import KernelClassifier
from representer.estimators.kernel_k_means import KernelKMeans
from representer.estimators.kernel_machine import KernelMachine
from representer.estimators.kernel_pca import KernelPCA
from representer.estimators.kernel_regressor import KernelRegressor
from representer.estimators.kernel_ridge import KernelRidge
from representer.estimators.logistic_regression import KernelLogisticRegression
from representer.estimators.neighbors import KernelNeighborsClassifier, KernelNeighborsRegressor
from representer.estimators.nu_svc import NuSVC
from representer.estimators.one_class import OneClassSVM
from representer.estimators.poisson_regression import KernelPoissonRegression
from representer.estimators.quantile_regression import KernelQuantileRegression
from representer.estimators.rbf_network import RBFNetwork
from representer.estimators.ridge_classifier import KernelRidgeClassifier
from representer.estimators.smoother import NadarayaWatson
from representer.estimators.spectral_clustering import SpectralClustering
from representer.estimators.svc import SVC
from representer.estimators.svc_path import SVCPath
from representer.estimators.svr import SVR, NuSVR
from representer.estimators.two_sample import MMD
from representer.features.landmarks import landmarks
from representer.features.nystroem import Nystroem
from representer.features.random_features import RandomFeatures
from representer.features.sketch import Sketch
from representer.functions import Function, mean_embedding, project
from representer.gram.tiled import Gram
from representer.io import LoadError, load, save
from representer.preimage import preimage
from representer.rows import rows

__version__ = "0.1.0.dev0"
__all__ = [
    "GPLVM",
    "HSIC",
    "MMD",
    "SVC",
    "SVR",
    "ConditionalMeanEmbedding",
    "Function",
    "GaussianProcessClassifier",
    "GaussianProcessRegressor",
    "Gram",
    "KernelClassifier",
    "KernelFisherDiscriminant",
    "KernelKMeans",
    "KernelLogisticRegression",
    "KernelMachine",
    "KernelNeighborsClassifier",
    "KernelNeighborsRegressor",
    "KernelPCA",
    "KernelPoissonRegression",
    "KernelQuantileRegression",
    "KernelRegressor",
    "KernelRidge",
    "KernelRidgeClassifier",
    "LoadError",
    "NadarayaWatson",
    "NuSVC",
    "NuSVR",
    "Nystroem",
    "OneClassSVM",
    "ParzenDensity",
    "RBFNetwork",
    "RandomFeatures",
    "SVCPath",
    "Sketch",
    "SpectralClustering",
    "herding",
    "kernels",
    "landmarks",
    "load",
    "losses",
    "mean_embedding",
    "plotting",
    "preimage",
    "project",
    "psd",
    "regularizers",
    "rows",
    "save",
]
