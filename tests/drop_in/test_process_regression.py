"""Gaussian process regression by scikit-learn's signature agrees with scikit-learn's."""

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor as Theirs
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

from representer import kernels
from representer.drop_in import GaussianProcessClassifier, GaussianProcessRegressor

rng = np.random.default_rng(0)
X = rng.uniform(0, 6, size=(25, 1))
Y = np.stack([np.sin(X[:, 0]), np.cos(X[:, 0]) + 3.0], axis=1) + 0.1 * rng.normal(size=(25, 2))
POINTS = np.linspace(0, 6, 7)[:, None]
KERNEL = ConstantKernel(1.0) * RBF(1.0) + WhiteKernel(0.1)


@pytest.mark.parametrize(
    ("options", "y"),
    [
        ({"kernel": KERNEL}, Y[:, 0]),
        ({"kernel": KERNEL, "normalize_y": True, "n_restarts_optimizer": 1, "random_state": 0}, Y),
        ({"alpha": np.full(25, 0.05), "optimizer": None}, Y[:, :1]),
    ],
)
def test_fit_is_that_of_scikit_learn(options, y):
    ours, theirs = (kind(**options).fit(X, y) for kind in (GaussianProcessRegressor, Theirs))
    np.testing.assert_allclose(ours.kernel_.theta, theirs.kernel_.theta, atol=1e-3)
    theta = theirs.kernel_.theta
    ours.kernel_.theta = theta
    for attribute in ("alpha_", "L_", "y_train_", "X_train_", "_y_train_mean", "_y_train_std"):
        assert np.shape(getattr(ours, attribute)) == np.shape(getattr(theirs, attribute)), attribute
    for found, known in zip(
        ours.log_marginal_likelihood(theta, True), theirs.log_marginal_likelihood(theta, True), strict=True
    ):
        np.testing.assert_allclose(found, known, rtol=1e-8, atol=1e-7)
    for asked in ({}, {"return_std": True}, {"return_cov": True}):
        for each, other in zip(ours.predict(POINTS, **asked), theirs.predict(POINTS, **asked), strict=True):
            assert each.shape == other.shape
            np.testing.assert_allclose(each, other, rtol=1e-3, atol=1e-4)
    draws = [model.sample_y(POINTS, 3, random_state=1) for model in (ours, theirs)]
    np.testing.assert_allclose(draws[0], draws[1], atol=0.02)


@pytest.mark.parametrize("n_targets", [None, 2])
def test_prior_is_that_of_scikit_learn(n_targets):
    ours, theirs = (kind(KERNEL, n_targets=n_targets) for kind in (GaussianProcessRegressor, Theirs))
    for asked in ({"return_std": True}, {"return_cov": True}):
        for found, known in zip(ours.predict(POINTS, **asked), theirs.predict(POINTS, **asked), strict=True):
            np.testing.assert_allclose(found, known, atol=1e-12)
    np.testing.assert_allclose(ours.sample_y(POINTS), theirs.sample_y(POINTS), atol=1e-5)
    assert ours.get_params().keys() == theirs.get_params().keys()


@pytest.mark.parametrize("kind", [GaussianProcessRegressor, GaussianProcessClassifier])
def test_kernels_of_this_library_are_taken(kind):
    y, options = (Y[:, 0] > 0).astype(int), {"optimizer": None}
    found = kind(2.0 * kernels.RBF(0.7), **options).fit(X, y)
    known = kind(ConstantKernel(2.0) * RBF(0.7), **options).fit(X, y)
    np.testing.assert_allclose(found.predict(POINTS), known.predict(POINTS), rtol=1e-10)
    assert found.kernel_ == known.kernel_


def test_mistakes_raise_scikit_learns_errors():
    with pytest.raises(ValueError, match="number of targets"):
        GaussianProcessRegressor(n_targets=3).fit(X, Y)
    with pytest.raises(ValueError, match="alpha must be a scalar"):
        GaussianProcessRegressor(alpha=np.ones(3)).fit(X, Y)
    model = GaussianProcessRegressor(optimizer=None).fit(X, Y)
    with pytest.raises(RuntimeError, match="At most one"):
        model.predict(X, return_std=True, return_cov=True)
    with pytest.raises(ValueError, match="Gradient can only"):
        model.log_marginal_likelihood(eval_gradient=True)
    assert model.log_marginal_likelihood() == model.log_marginal_likelihood_value_
