"""Kernel densities by scikit-learn's signature agree with scikit-learn's."""

import numpy as np
import pytest
from each_case import each
from sklearn.neighbors import KernelDensity as Theirs

from representer.drop_in import KernelDensity

X = np.random.default_rng(0).normal(size=(60, 3))  # in even dimensions scikit-learn's "cosine" is not normalised


@each("kernel", ["gaussian", "tophat", "epanechnikov", "exponential", "linear", "cosine"])
@each("bandwidth", [0.7, "scott", "silverman"])
def test_densities_are_those_of_scikit_learn(kernel, bandwidth):
    weights = np.random.default_rng(1).uniform(size=60)
    ours, theirs = (kind(kernel=kernel, bandwidth=bandwidth).fit(X, None, weights) for kind in (KernelDensity, Theirs))
    points = X[:10] + 0.2
    np.testing.assert_allclose(ours.score_samples(points), theirs.score_samples(points), rtol=1e-9)
    assert ours.bandwidth_ == pytest.approx(theirs.bandwidth_)
    draws = ours.sample(3, random_state=0)
    assert draws.shape == (3, 3)
    if kernel in ("gaussian", "tophat"):
        np.testing.assert_allclose(draws, theirs.sample(3, random_state=0), rtol=1e-12)


def test_parameters_are_those_of_scikit_learn():
    assert KernelDensity().get_params() == Theirs().get_params()
    KernelDensity(metric="minkowski", metric_params={"p": 2}).fit(X)
    with pytest.raises(ValueError, match="distances are Euclidean here"):
        KernelDensity(metric="manhattan").fit(X)
