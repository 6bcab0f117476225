"""Kernel methods from one theorem: kernels, Gram operators, and functions in reproducing-kernel Hilbert spaces."""

from representer import kernels, psd
from representer.estimators.clustering import KernelKMeans, SpectralClustering
from representer.estimators.density import ParzenDensity
from representer.estimators.discriminant import KernelFisherDiscriminant
from representer.estimators.gaussian_process import GaussianProcessRegressor
from representer.estimators.neighbors import KernelNeighborsClassifier, KernelNeighborsRegressor
from representer.estimators.ridge import KernelRidge, KernelRidgeClassifier
from representer.estimators.smoother import NadarayaWatson
from representer.functions import Function, project
from representer.gram import Gram

__version__ = "0.1.0.dev0"
__all__ = [
    "Function",
    "GaussianProcessRegressor",
    "Gram",
    "KernelFisherDiscriminant",
    "KernelKMeans",
    "KernelNeighborsClassifier",
    "KernelNeighborsRegressor",
    "KernelRidge",
    "KernelRidgeClassifier",
    "NadarayaWatson",
    "ParzenDensity",
    "SpectralClustering",
    "kernels",
    "project",
    "psd",
]
