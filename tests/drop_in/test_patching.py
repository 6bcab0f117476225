"""scikit-learn with these classes in the place of its own."""

import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn.decomposition
import sklearn.kernel_ridge
import sklearn.svm
from each_case import each
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn_contract import faults

from representer import drop_in
from representer.drop_in.patching import PLACES, ROOMS


def test_classes_are_replaced_and_put_back():
    theirs = sklearn.svm.SVC
    drop_in.patch("SVC")
    assert sklearn.svm.SVC is drop_in.SVC
    assert sklearn.decomposition.KernelPCA is not drop_in.KernelPCA
    drop_in.patch()
    assert sklearn.decomposition.KernelPCA is drop_in.KernelPCA
    drop_in.unpatch()
    assert sklearn.svm.SVC is theirs
    drop_in.unpatch()


def test_context_and_decorator():
    with drop_in.patch():
        assert sklearn.svm.SVC is drop_in.SVC

    @drop_in.patch("SVR")
    def inside():
        return sklearn.svm.SVR

    assert sklearn.svm.SVR is not drop_in.SVR
    assert inside() is drop_in.SVR
    assert sklearn.svm.SVR is not drop_in.SVR


def test_decorated_functions_may_call_themselves():
    @drop_in.patch("SVR")
    def down(n):
        if n:
            down(n - 1)
        assert sklearn.svm.SVR is drop_in.SVR

    down(2)
    assert sklearn.svm.SVR is not drop_in.SVR


def test_contexts_put_back_what_they_replaced():
    with drop_in.patch("SVC"):
        with drop_in.patch():
            assert sklearn.svm.SVR is drop_in.SVR
        assert sklearn.svm.SVC is drop_in.SVC
        assert sklearn.svm.SVR is not drop_in.SVR
    assert sklearn.svm.SVC is not drop_in.SVC


def test_models_of_scikit_learn_can_be_pickled_and_loaded():
    X, y = np.random.default_rng(0).normal(size=(20, 2)), np.arange(20) % 2
    machine, ridge = sklearn.svm.SVC().fit(X, y), sklearn.kernel_ridge.KernelRidge(kernel="rbf").fit(X, y)
    stored = pickle.dumps(ridge)
    with drop_in.patch():
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(machine)).predict(X), machine.predict(X))
        np.testing.assert_allclose(pickle.loads(stored).predict(X), ridge.predict(X), rtol=1e-10)


def test_names_that_are_unknown():
    assert sorted(ROOMS) == sorted(PLACES) == sorted(set(dir(drop_in)) - {"patch", "unpatch"})
    with pytest.raises(ValueError, match="'LinearSVC'"):
        drop_in.patch("LinearSVC")
    with pytest.raises(AttributeError, match="LinearSVC"):
        _ = drop_in.LinearSVC


def test_objects_are_pickled_cloned_and_searched():
    X, y = np.random.default_rng(0).normal(size=(40, 2)), np.arange(40) % 2
    model = drop_in.SVC(gamma=2.0).fit(X, y)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))
    assert clone(model).gamma == 2.0
    search = GridSearchCV(drop_in.SVC(), {"gamma": [0.1, 1.0], "kernel": ["rbf", "poly"]}, cv=2).fit(X, y)
    assert search.best_params_["gamma"] in (0.1, 1.0)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:The specified nu is infeasible", "ignore:n_components > n_samples")
@each(
    "estimator",
    [
        *(getattr(drop_in, name)() for name in PLACES),
        drop_in.NuSVC(gamma=0.5, nu=0.1, break_ties=True),
        drop_in.KernelPCA(n_components=2),
    ],
)
def test_estimator_checks(estimator):
    assert faults(estimator) == []


FRAME = pd.DataFrame(np.abs(np.random.default_rng(0).normal(size=(40, 3))), columns=list("abc"))
OPTIONS = {"n_components": 3, "nu": 0.5, "alpha": 0.1}
HALVES = (FRAME["a"] > FRAME["a"].median()).to_numpy().astype(int)
PREDICTIONS = (
    "predict",
    "predict_proba",
    "decision_function",
    "transform",
    "score_samples",
    "latent_mean_and_variance",
)


def made(name, **options):
    model = getattr(drop_in, name)()
    return model.set_params(**{key: OPTIONS[key] for key in OPTIONS if key in model.get_params()}, **options)


@each("name", list(PLACES))
def test_columns_of_frames_keep_their_names(name):
    for options in [{}, {"kernel": "sigmoid"}] if name in ("KernelRidge", "KernelPCA", "Nystroem") else [{}]:
        model = made(name, **options).fit(FRAME, HALVES)  # warnings are errors
        assert list(model.feature_names_in_) == list("abc")
        methods = [method for method in PREDICTIONS if hasattr(model, method)]
        for method in methods:
            getattr(model, method)(FRAME)
        with pytest.raises(ValueError, match="feature names should match"):
            getattr(model, methods[0])(FRAME[["b", "a", "c"]])
        assert not hasattr(model.fit(FRAME.to_numpy(), HALVES), "feature_names_in_")


@each("name", list(PLACES))
def test_plans_and_reports_work_or_are_absent(name):
    X, y = FRAME.to_numpy(), HALVES
    function = {"kernel": lambda A, B: A @ B.T}
    for options in [{}, function] if "SV" in name or name == "KernelRidge" else [{}]:
        model = made(name, **options)
        if hasattr(model, "plan"):
            before = model.plan(X, y)
            assert before.bytes > 0
            assert "n_features_in_" not in vars(model)
        if not options:
            model.fit(FRAME, y)
            assert not hasattr(model, "report") or model.report()
            assert not hasattr(model, "plan") or model.plan(FRAME, y) == before


@each("name", list(PLACES))
def test_later_changes_of_inputs_have_no_effect(name):
    kernels = [{}]
    if "SV" in name:
        kernels.append({"kernel": lambda A, B: A @ B.T})
    if name in ("KernelRidge", "KernelPCA", "Nystroem"):
        kernels += [{"kernel": "sigmoid"}, {"kernel": lambda a, b: float(a @ b)}]
    for options in kernels:
        X, new = FRAME.to_numpy(copy=True) + 1.0, FRAME.to_numpy(copy=True)[:5]
        model = made(name, **options)
        if "random_state" in model.get_params():
            model.set_params(random_state=0)
        model.fit(X, HALVES)
        method = next(method for method in PREDICTIONS if hasattr(model, method))
        before = getattr(model, method)(new)
        X[:] = 7.0
        np.testing.assert_array_equal(getattr(model, method)(new), before)
