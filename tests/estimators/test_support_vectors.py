from concurrent.futures import ThreadPoolExecutor
from threading import current_thread, main_thread

import numpy as np
import pandas as pd
import pytest
import sklearn.svm
from each_case import each
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning

from representer import SVC, SVR, KernelRidge, NuSVC, NuSVR, OneClassSVM
from representer.estimators.support_vectors import filled, in_order, usual_scale
from representer.kernels import RBF, Linear, On, Precomputed, Sigmoid

ALL = [SVC(), NuSVC(nu=0.3), SVR(), NuSVR(), OneClassSVM()]
EACH = each("estimator", ALL)


def values(model, X):
    return model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X)


@EACH
def test_weights_are_repetition(estimator, rng):
    X, y = make_classification(80, 4, random_state=3)
    weights, estimator = rng.integers(0, 4, 80), clone(estimator).set_params(tol=1e-9)
    weighted = values(estimator.fit(X, y, sample_weight=weights), X)
    repeated = values(estimator.fit(np.repeat(X, weights, axis=0), np.repeat(y, weights)), X)
    assert weighted == pytest.approx(repeated, abs=1e-6)


@EACH
@each("dtype", [np.float32, np.float64])
def test_precomputed_matrices_are_cut_to_the_support_vectors(estimator, dtype):
    X, y = make_classification(90, 4, random_state=3)
    kernel, estimator = RBF(2.0), clone(estimator).set_params(tol=1e-6)
    K, K_new = (kernel(X[rows], X[:60]).astype(dtype) for rows in (slice(60), slice(60, 90)))
    direct = clone(estimator).set_params(kernel=kernel).fit(X[:60], y[:60])
    expected = values(direct, X[60:])
    if dtype == np.float32:  # rounded values have another solution
        rounded = clone(estimator).set_params(kernel="precomputed").fit(K.astype(np.float64), y[:60])
        expected = values(rounded, K_new.astype(np.float64))
    for given in ("precomputed", Precomputed()):
        model = clone(estimator).set_params(kernel=given).fit(K, y[:60])
        found = values(model, K_new)
        assert found == pytest.approx(expected, abs=1e-5 if dtype == np.float64 else 1e-4)
        assert found.dtype == dtype
    assert 0 < len(direct.support_) < 60


@pytest.mark.parametrize("kind", ["vectors", "precomputed", "words", "frame"])
def test_no_support_vectors(kind):
    """Targets within the tube: a constant function, and no vector is said to support it."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 2))
    inputs, kernel = {
        "vectors": (X, RBF(1.0)),
        "precomputed": (RBF(1.0)(X), "precomputed"),
        "words": (["".join(rng.choice(list("ab"), 4)) for _ in range(20)], "words"),
        "frame": (pd.DataFrame(X, columns=["a", "b"]), On(RBF(1.0), ["a", "b"])),
    }[kind]
    if kernel == "words":
        from representer.kernels import Spectrum

        kernel = Spectrum(2)
    model = SVR(kernel=kernel, epsilon=1.0).fit(inputs, 5.0 + 0.5 * rng.uniform(size=20))
    assert len(model.support_) == len(model.support_vectors_) == 0
    assert model.dual_coef_.shape == (1, 0)
    np.testing.assert_allclose(model.predict(inputs), model.intercept_[0])
    assert 4.5 < model.intercept_[0] < 6.0


def test_a_fit_that_stops_early_warns():
    X, y = make_classification(300, 5, flip_y=0.3, random_state=0)
    with pytest.warns(ConvergenceWarning, match="KKT violation of .* gap of"):
        model = SVC(C=1e6, max_iter=20).fit(X, y)
    assert not model.certificate_.converged
    assert model.certificate_.gap > 0


@each(
    ("estimator", "message"),
    [
        (SVC(C=0.0), "C is 0.0; it must be a positive number"),
        (SVC(tol=-1.0), "tol is -1.0"),
        (SVC(decision_function_shape="one"), "use 'ovr' or 'ovo'"),
        (SVC(kernel="rbg"), "kernel is 'rbg'"),
        (NuSVC(nu=0.0), "nu is 0.0"),
        (SVR(epsilon=-0.1), "epsilon is -0.1"),
        (NuSVR(nu=2.0), "nu is 2.0"),
        (OneClassSVM(nu="half"), "nu is 'half'"),
    ],
)
def test_clear_errors(estimator, message):
    X, y = make_classification(40, 4, weights=[0.8], random_state=0)
    with pytest.raises((ValueError, TypeError), match=message):
        estimator.fit(X, y)


# ---- what scikit-learn's machines have ----


@EACH
def test_coefficients_of_linear_kernels(estimator):
    X, y = make_classification(60, 6, n_informative=4, n_classes=3, class_sep=3.0, random_state=0)
    model = clone(estimator).set_params(kernel=Linear(2.0)).fit(X, y)
    if hasattr(model, "decision_function_shape"):
        model.set_params(decision_function_shape="ovo")
    linear = (X @ model.coef_.T + model.intercept_).reshape(np.shape(values(model, X)))
    np.testing.assert_allclose(linear, values(model, X), atol=1e-10)
    assert model.n_support_.sum() == len(model.support_)
    assert np.shape(model.n_iter_) == ((3,) if hasattr(model, "classes_") else ())
    assert not hasattr(clone(estimator).fit(X, y), "coef_")
    assert not hasattr(clone(estimator), "coef_")


def test_kernels_that_are_not_positive_semidefinite_are_told():
    X, y = make_classification(60, 4, random_state=0)
    with pytest.warns(UserWarning, match="not positive semidefinite"):
        model = SVC(kernel=Sigmoid(0.1), probability=True).fit(X, y)
    theirs = sklearn.svm.SVC(kernel="sigmoid", gamma=0.1).fit(X, y)
    assert np.mean(model.predict(X) == theirs.predict(X)) > 0.95
    assert np.all(np.isinf(model.certificate_.error_bound))
    assert np.all(np.isfinite(model.predict_proba(X)))


# ---- memory ----


@EACH
def test_plan_says_what_fit_refuses(estimator):
    X, y = make_classification(100, 4, random_state=0)
    estimator = clone(estimator).set_params(memory=10**5)
    plan = estimator.plan(X, y)
    assert plan.bytes > 10**5
    with pytest.raises(MemoryError) as error:
        estimator.fit(X, y)
    assert str(error.value) == plan.refusal
    assert not estimator.set_params(memory=plan.bytes).plan(X, y).refusal
    assert estimator.fit(X, y).certificate_.converged


CASES = {
    "SVC": (SVC(), 2),
    "several classes": (SVC(), 10),
    "probability": (SVC(C=100.0, probability=True), 2),
    "several probabilities": (SVC(probability=True), 10),
    "NuSVC": (NuSVC(nu=0.2), 2),
    "SVR": (SVR(), 2),
    "NuSVR": (NuSVR(), 2),
    "OneClassSVM": (OneClassSVM(), 2),
}


@pytest.mark.parametrize(
    ("case", "n", "width"), [*((case, 1000, 150) for case in CASES), *((case, 2500, 20) for case in list(CASES)[:2])]
)
def test_plan_is_near_the_peak_of_the_memory(case, n, width, rng, peak_of):
    model, classes = CASES[case]
    model = clone(model).set_params(kernel=RBF(np.sqrt(width)))
    X = rng.normal(size=(n, width))
    y = np.argsort(np.argsort(X[:, 0] + 0.3 * rng.normal(size=n))) * classes // n
    model.fit(X, y)  # compiles, which takes memory, too
    plan = model.plan(X, y)
    peak, _ = peak_of(lambda: model.fit(X, y), 0.8 * plan.bytes)
    assert 0.8 < peak / plan.bytes < 1.2


# ---- certificates, progress ----


def test_functions_of_one_kernel_can_be_combined():
    X, y = make_classification(100, 4, random_state=0)
    svm, ridge = SVC(kernel=RBF(2.0)).fit(X, y), KernelRidge(kernel=RBF(2.0)).fit(X, y)
    assert 0.0 < (svm.function_ - ridge.function_).norm() < svm.function_.norm() + ridge.function_.norm()


def test_inputs_without_a_float32_form_are_checked_in_float64(rng):
    """Kernel values of a data frame are rounded for steps only, so that nothing but the steps has an error."""
    X = rng.normal(size=(1500, 2))
    y = np.sign(X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=1500))
    model = SVC(C=1e3, kernel=On(RBF(0.5), ["a", "b"])).fit(pd.DataFrame(X, columns=["a", "b"]), y)
    coef = np.zeros(1500)
    coef[model.support_] = model.dual_coef_[0]
    g, C = RBF(0.5)(X) @ coef - y, 1e3
    violation = g[coef > np.where(y > 0, 0.0, -C)].max() - g[coef < np.where(y > 0, C, 0.0)].min()
    assert model.certificate_.residual == pytest.approx(violation, abs=1e-6)
    assert violation <= 1e-3


@pytest.mark.parametrize(("classes", "text"), [(2, "SMO steps"), (5, "10 of 10")])
def test_progress_is_shown_when_asked_for(classes, text, capsys, rng):
    X, y = rng.normal(size=(200, 4)), np.arange(200) % classes
    SVC().fit(X, y)
    assert capsys.readouterr() == ("", "")
    SVC(verbose=1).fit(X, y)
    assert text in capsys.readouterr().err


# ---- helpers ----


@pytest.mark.parametrize("total", [0.0, 0.5, 3.5, 6.0])
def test_filled_sums_up(total):
    most = np.array([1.0, 0.0, 2.0, 3.0])
    found = filled(most, total)
    assert found.sum() == pytest.approx(total)
    assert np.all((found >= 0.0) & (found <= most))


@pytest.mark.parametrize(("quick", "here"), [(0.0, 0), (1e-9, 1), (60.0, 3)])
def test_quick_tasks_stay_in_the_caller(quick, here):
    """All of them if the first one is quick, otherwise at most that one; results are in order."""
    with ThreadPoolExecutor(2) as pool:
        found = list(in_order(lambda task: (task, current_thread() is main_thread()), [1, 2, 3], pool, quick))
    assert [task for task, _ in found] == [1, 2, 3]
    assert sum(mine for _, mine in found) == here


# ---- defaults ----


@pytest.mark.parametrize("sparse_rows", [False, True])
@pytest.mark.parametrize(
    ("ours", "theirs"),
    [(SVC(), sklearn.svm.SVC()), (SVR(), sklearn.svm.SVR()), (OneClassSVM(), sklearn.svm.OneClassSVM())],
    ids=["SVC", "SVR", "OneClassSVM"],
)
def test_defaults_are_those_of_scikit_learn(ours, theirs, sparse_rows):
    """gamma="scale", on columns that are neither centred nor scaled."""
    X, y = make_classification(150, 4, random_state=0)
    X = X * [1.0, 3.0, 0.5, 1.0] + [0.0, 2.0, 0.0, -1.0]
    X = sparse.csr_array(X) if sparse_rows else X
    ours, theirs = clone(ours).set_params(tol=1e-6), clone(theirs).set_params(tol=1e-8)
    name = "decision_function" if hasattr(theirs, "decision_function") else "predict"
    found, expected = (getattr(model.fit(X, y), name)(X) for model in (ours, theirs))
    np.testing.assert_allclose(found / np.abs(found).max(), expected / np.abs(expected).max(), atol=1e-4)


def test_constant_inputs_have_a_default_scale():
    assert usual_scale(np.ones((3, 2)), None) == np.sqrt(0.5)
