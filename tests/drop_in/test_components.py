"""Kernel principal components by scikit-learn's signature agree with scikit-learn's, signs included."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.decomposition import KernelPCA as Theirs
from sklearn.exceptions import NotFittedError

from representer.drop_in import KernelPCA

X = np.random.default_rng(0).normal(size=(40, 3))


@pytest.mark.parametrize(
    "options",
    [
        {"n_components": 2},
        {"n_components": 3, "kernel": "rbf", "gamma": 0.5, "eigen_solver": "dense"},
        {"n_components": 3, "kernel": "poly", "fit_inverse_transform": True, "alpha": 0.1},
        {"n_components": 2, "kernel": "sigmoid", "gamma": 0.01},
        {"n_components": 2, "kernel": lambda x, y: float(x @ y) + 1.0, "fit_inverse_transform": True},
    ],
)
def test_scores_are_those_of_scikit_learn(options):
    ours, theirs = KernelPCA(**options), Theirs(**options)
    np.testing.assert_allclose(ours.fit_transform(X), theirs.fit_transform(X), atol=1e-8)
    np.testing.assert_allclose(ours.transform(X[:5] + 0.1), theirs.transform(X[:5] + 0.1), atol=1e-8)
    np.testing.assert_allclose(ours.eigenvalues_, theirs.eigenvalues_, rtol=1e-10)
    assert ours.gamma_ == theirs.gamma_
    if options.get("fit_inverse_transform"):
        scores = theirs.transform(X[:5])
        np.testing.assert_allclose(ours.inverse_transform(scores), theirs.inverse_transform(scores), atol=1e-6)
        np.testing.assert_allclose(ours.dual_coef_, theirs.dual_coef_, atol=1e-5)


def test_parameters_are_those_of_scikit_learn():
    assert KernelPCA().get_params() == Theirs().get_params()


def test_components_that_do_not_vary_are_zero_or_removed():
    assert KernelPCA(5).fit_transform(X).shape == (40, 5)
    assert KernelPCA(5, remove_zero_eig=True).fit_transform(X).shape == (40, 3)
    np.testing.assert_allclose(KernelPCA(5).fit(X).transform(X)[:, 3:], 0.0)


def test_mistakes_raise_scikit_learns_errors():
    with pytest.raises(ValueError, match="significant negative eigenvalues"):
        KernelPCA(kernel="precomputed").fit(-np.eye(4) + 0.1)
    with pytest.raises(NotFittedError, match="fit_inverse_transform"):
        KernelPCA(2).fit(X).inverse_transform(X[:, :2])
    with pytest.raises(NotImplementedError, match="sparse"):
        KernelPCA(2, fit_inverse_transform=True).fit(sparse.csr_array(X))
    with pytest.raises(ValueError, match="precomputed kernel"):
        KernelPCA(2, kernel="precomputed", fit_inverse_transform=True).fit(X @ X.T)
