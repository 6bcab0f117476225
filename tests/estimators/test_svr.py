import numpy as np
import pytest
from sklearn import svm as libsvm
from sklearn.datasets import load_diabetes
from sklearn.utils.estimator_checks import parametrize_with_checks

from representer import SVR, NuSVR
from representer.kernels import RBF

GAMMA = 0.05
KERNEL = RBF(length_scale=float(np.sqrt(1.0 / (2.0 * GAMMA))))


@parametrize_with_checks([SVR(), NuSVR()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def diabetes():
    X, y = load_diabetes(return_X_y=True)
    return X / X.std(axis=0), (y - y.mean()) / y.std()


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (SVR(C=2.0, epsilon=0.3), libsvm.SVR(C=2.0, epsilon=0.3)),
        (SVR(C=2.0, epsilon=0.0), libsvm.SVR(C=2.0, epsilon=0.0)),
        (NuSVR(nu=0.3, C=2.0), libsvm.NuSVR(nu=0.3, C=2.0)),
    ],
)
def test_regression_as_libsvm(diabetes, ours, theirs):
    X, y = diabetes
    ours.set_params(kernel=KERNEL, tol=1e-6).fit(X, y)
    theirs.set_params(gamma=GAMMA, tol=1e-6).fit(X, y)
    assert ours.predict(X) == pytest.approx(theirs.predict(X), abs=2e-5)
    assert np.array_equal(ours.support_, theirs.support_)
    assert ours.dual_coef_ == pytest.approx(theirs.dual_coef_, abs=2e-4)


def test_nu_svr_is_svr_with_the_width_that_it_found(diabetes):
    X, y = diabetes
    nu = NuSVR(nu=0.4, C=1.0, tol=1e-7).fit(X, y)
    assert SVR(C=1.0, epsilon=nu.epsilon_, tol=1e-7).fit(X, y).predict(X) == pytest.approx(nu.predict(X), abs=1e-5)


def test_constant_targets():
    X = np.random.default_rng(0).normal(size=(30, 2))
    assert SVR().fit(X, np.full(30, 5.0)).predict(X) == pytest.approx(5.0, abs=0.11)
