"""The marginal likelihood at other hyper-parameters."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from representer import GaussianProcessClassifier, GaussianProcessRegressor, Nystroem
from representer.kernels import RBF

rng = np.random.default_rng(0)
X = rng.uniform(0, 5, size=(20, 2))
Y = np.stack([np.sin(X[:, 0]), X[:, 1]], axis=1)


CLASSES = np.digitize(X[:, 0], [1.5, 3.5])


@pytest.mark.parametrize(
    ("model", "y"),
    [
        (GaussianProcessRegressor(2.0 * RBF([1.0, 2.0]), optimizer=None), Y),
        (GaussianProcessRegressor(RBF(1.5), noise=0.1, normalize_y=True), Y[:, 0]),
        (GaussianProcessClassifier(2.0 * RBF(1.0), optimizer=None), X[:, 0] > 2.5),
        (GaussianProcessClassifier(RBF(1.0), optimizer=None), CLASSES),
    ],
    ids=["estimated noise", "given noise", "two classes", "three classes"],
)
def test_value_is_that_of_the_fit_and_gradients_are_differences(model, y):
    model.fit(X, y)
    known = getattr(model, "log_marginal_likelihood_", None) or model.log_marginal_likelihood_value_
    theta = np.log(list(model.hyperparameters_.values()))
    assert model.log_marginal_likelihood() == pytest.approx(known, abs=1e-8)
    assert model.log_marginal_likelihood(theta) == pytest.approx(known, abs=1e-8)
    value, gradient = model.log_marginal_likelihood(theta + 0.1, eval_gradient=True)
    assert value != pytest.approx(known)
    differences = approx_fprime(theta + 0.1, model.log_marginal_likelihood)
    np.testing.assert_allclose(gradient, differences, rtol=1e-4, atol=1e-5)


def test_mistakes_are_told():
    model = GaussianProcessRegressor(RBF(1.0), optimizer=None).fit(X, Y)
    assert list(model.hyperparameters_) == ["length_scale", "noise"]
    with pytest.raises(ValueError, match="give 2 logarithms, of length_scale, noise"):
        model.log_marginal_likelihood([0.0])
    with pytest.raises(TypeError, match="use an exact kernel"):
        GaussianProcessRegressor(Nystroem(RBF(1.0), 5)).fit(X, Y[:, 0]).log_marginal_likelihood()
