import numpy as np
import pytest
from sklearn import svm as libsvm
from sklearn.datasets import load_digits
from sklearn.utils.estimator_checks import parametrize_with_checks

from representer import OneClassSVM
from representer.kernels import RBF

GAMMA = 0.05
KERNEL = RBF(length_scale=float(np.sqrt(1.0 / (2.0 * GAMMA))))


@parametrize_with_checks([OneClassSVM()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_one_class_as_libsvm():
    X = load_digits().data[:600] / 16.0
    ours = OneClassSVM(nu=0.2, kernel=KERNEL, tol=1e-7).fit(X)
    theirs = libsvm.OneClassSVM(nu=0.2, gamma=GAMMA, tol=1e-7).fit(X)
    assert ours.score_samples(X) == pytest.approx(theirs.score_samples(X), abs=1e-4)
    assert ours.offset_ == pytest.approx(theirs.offset_[0], abs=1e-4)
    # points on the boundary may fall on either side
    assert np.mean(ours.predict(X) == theirs.predict(X)) > 0.98


def test_nu_bounds_the_fraction_of_outliers():
    X = np.random.default_rng(0).normal(size=(400, 5))
    one = OneClassSVM(nu=0.3, tol=1e-6).fit(X)
    assert np.mean(one.decision_function(X) < -1e-5) <= 0.3 <= len(one.support_) / len(X)


def test_largest_nu():
    X = np.random.default_rng(0).normal(size=(40, 2))
    assert np.isfinite(OneClassSVM(nu=1.0).fit(X).offset_)
