"""Kernel methods from one theorem: kernels, Gram operators, and functions in reproducing-kernel Hilbert spaces."""

from representer import kernels, psd
from representer.estimators.conditional_mean import ConditionalMeanEmbedding
from representer.estimators.gaussian_process import GaussianProcessRegressor
from representer.estimators.herding import herding
from representer.estimators.independence import HSIC
from representer.estimators.ridge import KernelRidge, KernelRidgeClassifier
from representer.estimators.two_sample import MMD
from representer.functions import Function, mean_embedding, project
from representer.gram import Gram

__version__ = "0.1.0.dev0"
__all__ = [
    "HSIC",
    "MMD",
    "ConditionalMeanEmbedding",
    "Function",
    "GaussianProcessRegressor",
    "Gram",
    "KernelRidge",
    "KernelRidgeClassifier",
    "herding",
    "kernels",
    "mean_embedding",
    "project",
    "psd",
]
