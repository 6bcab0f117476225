import numpy as np
import pytest
from sklearn import svm as libsvm
from sklearn.datasets import load_digits
from sklearn_contract import faults

from representer import OneClassSVM
from representer.kernels import RBF

GAMMA = 0.05
KERNEL = RBF(length_scale=float(np.sqrt(1.0 / (2.0 * GAMMA))))


def test_scikit_learn_checks():
    assert faults(OneClassSVM()) == []


def test_one_class_as_libsvm():
    X = load_digits().data[:600] / 16.0
    ours = OneClassSVM(nu=0.2, kernel=KERNEL, tol=1e-7).fit(X)
    theirs = libsvm.OneClassSVM(nu=0.2, gamma=GAMMA, tol=1e-7).fit(X)
    assert ours.score_samples(X) == pytest.approx(theirs.score_samples(X), abs=1e-4)
    assert ours.offset_ == pytest.approx(theirs.offset_[0], abs=1e-4)
    # points on the boundary may fall on either side
    assert np.mean(ours.predict(X) == theirs.predict(X)) > 0.98


@pytest.mark.parametrize("nu", [0.05, 0.3, 1.0])
def test_nu_bounds_the_fraction_of_outliers(nu, rng):
    X = rng.normal(size=(300, 5))
    model = OneClassSVM(nu=nu, tol=1e-6).fit(X)
    assert np.mean(model.predict(X) == -1) <= nu <= len(model.support_) / len(X) + 1e-12
    assert np.isfinite(model.offset_)


def test_certificate_is_that_of_the_fitted_function(rng):
    X = rng.normal(size=(200, 3))
    model = OneClassSVM(nu=0.2, kernel=RBF(1.0), tol=1e-2).fit(X)
    c, f = model.dual_coef_[0], model.score_samples(X)
    norm = c @ f[model.support_]
    primal = 0.5 * norm - 0.2 * 200 * model.offset_ + np.maximum(model.offset_ - f, 0.0).sum()
    assert model.certificate_.primal == pytest.approx(primal, rel=1e-12)
    assert model.certificate_.dual == pytest.approx(-0.5 * norm, rel=1e-9)
    assert c.sum() == pytest.approx(0.2 * 200, rel=1e-12)
