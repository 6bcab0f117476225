"""Kernels by scikit-learn's names have scikit-learn's values."""

import numpy as np
import pytest
from each_case import each
from scipy import sparse
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.svm import SVC

from representer.drop_in.named_kernels import gamma_for, named_kernel

X = np.abs(np.random.default_rng(0).normal(size=(20, 3)))
USED = {"rbf": ["gamma"], "laplacian": ["gamma"], "chi2": ["gamma"], "linear": [], "cosine": []}


@each("name", ["rbf", "poly", "polynomial", "sigmoid", "laplacian", "chi2", "linear", "cosine"])
@each("gamma", [0.0, 0.7])
def test_values_are_those_of_scikit_learn(name, gamma):
    given = {"gamma": gamma, "degree": 2, "coef0": 0.5}
    used = {key: given[key] for key in USED.get(name, given)} if name != "sigmoid" else {"gamma": gamma, "coef0": 0.5}
    np.testing.assert_allclose(
        named_kernel(name, **given)(X, X[:7]), pairwise_kernels(X, X[:7], metric=name, **used), rtol=1e-12, atol=1e-14
    )


def test_kernels_that_are_missing_here():
    assert named_kernel("additive_chi2", 1.0, 3, 1.0) is None
    assert named_kernel("poly", 1.0, 1.5, 1.0) is None


@each("rows", [X, sparse.csr_array(X), np.ones((3, 2))])
@each("gamma", ["scale", "auto", 0.3])
def test_gamma_is_that_of_scikit_learn(rows, gamma):
    y = np.arange(rows.shape[0]) % 2
    assert gamma_for(gamma, rows) == pytest.approx(SVC(gamma=gamma).fit(rows, y)._gamma, rel=1e-12)


def test_gamma_of_numbers_that_are_too_large():
    with pytest.raises(ValueError, match="is not finite"):
        gamma_for("scale", 1e300 * X)
