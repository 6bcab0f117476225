"""Fits of whole tables in a second, for tests that are not about which kernel is chosen."""

import numpy as np

from representer.estimators import starting_kernels
from representer.tables import splits


def try_one_family(patch):
    """Search among kernels of one family."""
    patch.setattr(starting_kernels, "FAMILIES", {"RBF": np.inf})


def make_quick(patch):
    """Judge models by two folds, and try one family of kernels."""
    patch.setattr(splits, "FOLDS", 2)
    patch.setattr(splits, "REPETITIONS", 1)
    try_one_family(patch)
