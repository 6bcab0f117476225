"""Kernel methods from one theorem: kernels, Gram operators, and functions in reproducing-kernel Hilbert spaces."""

from representer import kernels, psd
from representer.estimators.gaussian_process import GaussianProcessRegressor
from representer.estimators.latent import GPLVM
from representer.estimators.rbf_network import RBFNetwork
from representer.estimators.ridge import KernelRidge, KernelRidgeClassifier
from representer.functions import Function, project
from representer.gram import Gram

__version__ = "0.1.0.dev0"
__all__ = [
    "GPLVM",
    "Function",
    "GaussianProcessRegressor",
    "Gram",
    "KernelRidge",
    "KernelRidgeClassifier",
    "RBFNetwork",
    "kernels",
    "project",
    "psd",
]
