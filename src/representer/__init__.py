"""Kernel methods from one theorem: kernels, Gram operators, and functions in reproducing-kernel Hilbert spaces."""

from representer import kernels, losses, psd, regularizers
from representer.estimators.gaussian_process import GaussianProcessRegressor
from representer.estimators.gaussian_process_classifier import GaussianProcessClassifier
from representer.estimators.logistic import KernelLogisticRegression
from representer.estimators.machine import KernelMachine
from representer.estimators.poisson import KernelPoissonRegression
from representer.estimators.quantile import KernelQuantileRegression
from representer.estimators.ridge import KernelRidge, KernelRidgeClassifier
from representer.functions import Function, project
from representer.gram import Gram

__version__ = "0.1.0.dev0"
__all__ = [
    "Function",
    "GaussianProcessClassifier",
    "GaussianProcessRegressor",
    "Gram",
    "KernelLogisticRegression",
    "KernelMachine",
    "KernelPoissonRegression",
    "KernelQuantileRegression",
    "KernelRidge",
    "KernelRidgeClassifier",
    "kernels",
    "losses",
    "project",
    "psd",
    "regularizers",
]
