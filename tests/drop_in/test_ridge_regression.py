"""Kernel ridge regression by scikit-learn's signature agrees with scikit-learn's."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import Matern
from sklearn.kernel_ridge import KernelRidge as Theirs

from representer.drop_in import KernelRidge

rng = np.random.default_rng(0)
X = np.abs(rng.normal(size=(40, 3)))
Y = np.stack([X[:, 0], np.sin(X[:, 1])], axis=1)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"kernel": "rbf", "alpha": [0.1, 1.0]},
        {"kernel": "poly", "degree": 1.5, "gamma": 0.2},
        {"kernel": "sigmoid", "gamma": 0.1, "alpha": 1.0},
        {"kernel": "additive_chi2", "alpha": 100.0},
        {"kernel": lambda x, y, power: float(x @ y) ** power, "kernel_params": {"power": 2}},
        {"kernel": Matern(nu=1.5)},
    ],
)
def test_predictions_are_those_of_scikit_learn(options):
    weights = rng.uniform(0.5, 2.0, size=40)
    ours, theirs = (kind(**options).fit(X, Y, sample_weight=weights) for kind in (KernelRidge, Theirs))
    np.testing.assert_allclose(ours.dual_coef_, theirs.dual_coef_, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(ours.predict(X[:7] + 0.1), theirs.predict(X[:7] + 0.1), rtol=1e-7, atol=1e-9)
    np.testing.assert_array_equal(ours.X_fit_, X)


def test_parameters_are_those_of_scikit_learn():
    assert KernelRidge().get_params() == Theirs().get_params()
    with pytest.raises(ValueError, match="alpha has 3 entries"):
        KernelRidge(alpha=[1.0, 2.0, 3.0]).fit(X, Y)
    np.testing.assert_allclose(
        KernelRidge().fit(X, Y, sample_weight=2.0).dual_coef_, Theirs().fit(X, Y, sample_weight=2.0).dual_coef_
    )
