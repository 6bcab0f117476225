"""Gaussian process classification by scikit-learn's signature agrees with scikit-learn's."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.gaussian_process import GaussianProcessClassifier as Theirs
from sklearn.gaussian_process.kernels import RBF, CompoundKernel

from representer.drop_in import GaussianProcessClassifier

X, LABELS = load_iris(return_X_y=True)
X, LABELS = X[::5], LABELS[::5]
KERNEL = 1.0 * RBF(1.0)


def both(y, **options):
    return [kind(KERNEL, **options).fit(X, y) for kind in (GaussianProcessClassifier, Theirs)]


def test_two_classes():
    ours, theirs = both(LABELS == 1)
    np.testing.assert_allclose(ours.kernel_.theta, theirs.kernel_.theta, atol=1e-2)
    theta = theirs.kernel_.theta
    for found, known in zip(
        ours.log_marginal_likelihood(theta, True), theirs.log_marginal_likelihood(theta, True), strict=True
    ):
        np.testing.assert_allclose(found, known, atol=1e-4)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=2e-3)
    for found, known in zip(ours.latent_mean_and_variance(X), theirs.latent_mean_and_variance(X), strict=True):
        np.testing.assert_allclose(found, known, rtol=5e-2, atol=1e-2)
    assert ours.log_marginal_likelihood_value_ == pytest.approx(theirs.log_marginal_likelihood_value_, abs=1e-4)
    assert ours.get_params().keys() == theirs.get_params().keys()
    ours.log_marginal_likelihood(theta, clone_kernel=False)
    np.testing.assert_array_equal(ours.kernel_.theta, theta)


@pytest.mark.parametrize("multi_class", ["one_vs_rest", "one_vs_one"])
def test_several_classes(multi_class):
    ours, theirs = both(LABELS, multi_class=multi_class, optimizer=None)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    assert isinstance(ours.kernel_, CompoundKernel)
    for theta in (KERNEL.theta, np.zeros(6)):
        assert ours.log_marginal_likelihood(theta) == pytest.approx(theirs.log_marginal_likelihood(theta), abs=1e-5)
    with pytest.raises(ValueError, match="Shape of theta"):
        ours.log_marginal_likelihood(np.zeros(5))
    with pytest.raises(NotImplementedError, match="multi-class"):
        ours.log_marginal_likelihood(np.zeros(2), eval_gradient=True)
    with pytest.raises(ValueError, match="only supported for binary"):
        ours.latent_mean_and_variance(X)
    if multi_class == "one_vs_one":
        with pytest.raises(ValueError, match="one_vs_one"):
            ours.predict_proba(X)
    else:
        np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-3)


def test_mistakes_raise_scikit_learns_errors():
    with pytest.raises(ValueError, match="CompoundKernel"):
        GaussianProcessClassifier(CompoundKernel([KERNEL])).fit(X, LABELS)
    with pytest.raises(ValueError, match="2 or more distinct classes"):
        GaussianProcessClassifier().fit(X, np.zeros(len(X)))
