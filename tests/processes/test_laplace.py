import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessClassifier as Other
from sklearn.gaussian_process.kernels import RBF as OtherRBF
from sklearn.gaussian_process.kernels import ConstantKernel

from representer.kernels import RBF
from representer.processes.laplace import Laplace


def test_as_scikit_learn(rng):
    X = rng.normal(size=(50, 2))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=50) > 0, 1.0, -1.0)
    own = Laplace(4.0 * RBF(1.2), X, y, tol=1e-13)
    other = Other(ConstantKernel(4.0) * OtherRBF(1.2), optimizer=None, max_iter_predict=1000).fit(X, y)
    value, gradient = other.log_marginal_likelihood(other.kernel_.theta, eval_gradient=True)
    assert own.log_likelihood == pytest.approx(value, rel=1e-6)
    found = own.gradients()
    np.testing.assert_allclose([4.0 * found["factor"], 1.2 * found["kernel__length_scale"]], gradient, rtol=1e-4)
    Z = rng.normal(size=(30, 2))
    mean, variance = own.moments(Z)
    expected = other.base_estimator_.latent_mean_and_variance(Z)
    np.testing.assert_allclose(mean, expected[0], atol=1e-5)
    np.testing.assert_allclose(variance, expected[1], atol=1e-5)


def test_gradient_by_differences(rng):
    X, y = rng.normal(size=(30, 2)), np.sign(rng.normal(size=30))

    def value(scale):
        return Laplace(2.0 * RBF(scale), X, y, tol=1e-14).log_likelihood

    slope = (value(0.8 + 1e-4) - value(0.8 - 1e-4)) / 2e-4
    found = Laplace(2.0 * RBF(0.8), X, y, tol=1e-14).gradients()["kernel__length_scale"]
    assert found == pytest.approx(slope, rel=1e-5)
