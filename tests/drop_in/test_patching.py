"""scikit-learn with these classes in the place of its own."""

import pickle

import numpy as np
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

    drop_in.unpatch()
    assert inside() is drop_in.SVR
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


# gamma="scale" does not weigh rows, as scikit-learn has it, so that a weight of two would not be a repeated sample
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@each(
    "estimator",
    [
        drop_in.SVC(gamma=0.5),
        drop_in.NuSVC(gamma=0.5, nu=0.1, break_ties=True),
        drop_in.SVR(gamma=0.5),
        drop_in.NuSVR(gamma=0.5),
        drop_in.OneClassSVM(gamma=0.5),
        drop_in.KernelRidge(),
        drop_in.KernelPCA(n_components=2),
        drop_in.GaussianProcessRegressor(),
        drop_in.GaussianProcessClassifier(),
        drop_in.Nystroem(n_components=5),
        drop_in.RBFSampler(n_components=5),
        drop_in.KernelDensity(),
    ],
)
def test_estimator_checks(estimator):
    assert faults(estimator) == []
