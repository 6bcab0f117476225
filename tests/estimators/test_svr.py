import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn import svm as libsvm
from sklearn.datasets import load_diabetes
from sklearn_contract import faults

from representer import SVR, NuSVR
from representer.kernels import RBF, On, Spectrum

GAMMA = 0.05
KERNEL = RBF(length_scale=float(np.sqrt(1.0 / (2.0 * GAMMA))))


@pytest.mark.parametrize("estimator", [SVR(), NuSVR()])
def test_scikit_learn_checks(estimator):
    assert faults(estimator) == []


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


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("model", [SVR(C=2.0), NuSVR(nu=0.3, C=2.0)], ids=repr)
def test_certificate_is_that_of_the_fitted_function(model, scale, diabetes):
    """The objective of the estimator, term by term, for targets of any size."""
    X, y = diabetes[0], scale * diabetes[1]
    model.set_params(kernel=KERNEL, tol=1e-4 * scale)
    if isinstance(model, SVR):
        model.set_params(epsilon=0.3 * scale)
    model.fit(X, y)
    c, K, n = model.dual_coef_[0], KERNEL(X), len(y)
    norm = c @ K[np.ix_(model.support_, model.support_)] @ c
    values = K[:, model.support_] @ c + model.intercept_[0]
    width = model.epsilon if isinstance(model, SVR) else model.epsilon_
    primal = 0.5 * norm + 2.0 * np.maximum(np.abs(y - values) - width, 0.0).sum()
    dual = y[model.support_] @ c - 0.5 * norm - (width * np.abs(c).sum() if isinstance(model, SVR) else 0.0)
    if isinstance(model, NuSVR):
        primal += 2.0 * model.nu * width * n
    assert model.certificate_.primal == pytest.approx(primal, rel=1e-8)
    assert model.certificate_.dual == pytest.approx(dual, rel=1e-8)
    assert model.certificate_.error_bound[0] == pytest.approx(np.sqrt(2.0 * (primal - dual)), rel=1e-2)


def test_nu_svr_is_svr_with_the_width_that_it_found(diabetes):
    X, y = diabetes
    nu = NuSVR(nu=0.4, C=1.0, tol=1e-7).fit(X, y)
    assert SVR(C=1.0, epsilon=nu.epsilon_, tol=1e-7).fit(X, y).predict(X) == pytest.approx(nu.predict(X), abs=1e-5)


@pytest.mark.parametrize(
    ("kernel", "X"),
    [
        ("rbf", np.arange(8.0).reshape(4, 2)),
        ("rbf", sparse.csr_array(np.eye(4))),
        ("precomputed", np.eye(4)),
        (Spectrum(1), ["a", "b", "ab", "c"]),
        (On(RBF(), ["u"]), pd.DataFrame({"u": [1.0, 2.0, 3.0, 4.0]})),
    ],
    ids=["dense", "sparse", "precomputed", "strings", "frame"],
)
def test_a_constant_has_no_support_vectors(kernel, X):
    """All targets are within epsilon of one value."""
    model = SVR(epsilon=1.0, kernel=kernel).fit(X, [1.0, 1.2, 1.4, 1.6])
    assert model.support_.shape == (0,)
    assert model.dual_coef_.shape == (1, 0)
    assert (len(model.support_vectors_) if isinstance(X, list) else model.support_vectors_.shape[0]) == 0
    assert np.array_equal(model.predict(X), np.full(4, model.intercept_[0]))
    assert 0.6 <= model.intercept_[0] <= 2.0


@pytest.mark.parametrize("n", [300, 900])
def test_nu_svr_computes_each_kernel_value_once(n, rng):
    """Both coefficients of a sample share its row of the matrix; the check in float64 comes on top for many."""
    X = rng.normal(size=(n, 3))
    certificate = NuSVR(kernel=RBF(1.0)).fit(X, np.sin(X[:, 0])).certificate_
    assert certificate.converged
    assert certificate.bytes == (12 if n == 300 else 4) * n * n
    assert certificate.kernel_evaluations <= (1 if n == 300 else 6) * n * (n + 1) // 2


def test_nu_svr_of_many_samples_has_working_sets(rng, monkeypatch):
    from representer.solvers.smo import working_set

    X = rng.normal(size=(400, 3))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=400)
    whole = NuSVR(kernel=RBF(1.0), tol=1e-6).fit(X, y)
    for name, size in (("FLAT_UP_TO", 50), ("SET_SIZE", 200), ("SPARE", 50)):
        monkeypatch.setattr(working_set, name, size)
    sets = NuSVR(kernel=RBF(1.0), tol=1e-6).fit(X, y)
    assert sets.certificate_.converged
    assert sets.predict(X) == pytest.approx(whole.predict(X), abs=1e-5)
    assert sets.epsilon_ == pytest.approx(whole.epsilon_, abs=1e-5)
