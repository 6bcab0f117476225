"""White noise is scikit-learn's."""

import numpy as np
from sklearn.gaussian_process.kernels import WhiteKernel

from representer.drop_in.white_noise import White
from representer.testing import check_gram

X = np.random.default_rng(0).normal(size=(10, 2))


def test_values_are_those_of_scikit_learn():
    ours, theirs = White(0.3), WhiteKernel(0.3)
    np.testing.assert_array_equal(ours(X), theirs(X))
    np.testing.assert_array_equal(ours(X, X), theirs(X, X))
    np.testing.assert_array_equal(ours.diag(X), theirs.diag(X))
    assert ours.contract(X, np.ones((10, 10)))["variance"] == 10.0
    check_gram(ours, X)
