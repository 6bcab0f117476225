import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn_contract import faults

from representer import KernelRidge, KernelRidgeClassifier
from representer.kernels import RBF


def test_estimator_checks():
    assert faults(KernelRidgeClassifier([0.1, 1.0], fit_intercept=True)) == []


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("intercept", [False, True])
def test_leave_one_out_accuracy_is_that_of_n_fits(classes, intercept):
    X, y = load_iris(return_X_y=True)
    X, y = X[y < classes][::6, :2], y[y < classes][::6]
    alphas = np.logspace(-4, 2, 4)
    model = KernelRidgeClassifier(alphas, kernel=RBF(0.8), fit_intercept=intercept).fit(X, y)
    accuracy = []
    for alpha in alphas:
        hits = [
            KernelRidgeClassifier(alpha, kernel=RBF(0.8), fit_intercept=intercept)
            .fit(np.delete(X, i, axis=0), np.delete(y, i))
            .predict(X[[i]])[0]
            == y[i]
            for i in range(len(y))
        ]
        accuracy.append(np.mean(hits))
    np.testing.assert_allclose(model.loo_scores_, accuracy)
    assert len(set(accuracy)) > 1
    assert model.alpha_ == alphas[np.argmax(accuracy)]


def test_classes_by_name():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    model = KernelRidgeClassifier(0.1).fit(X, names)
    assert model.classes_.tolist() == ["setosa", "versicolor", "virginica"]
    assert model.decision_function(X).shape == (150, 3)
    assert np.array_equal(model.predict(X), model.classes_[model.decision_function(X).argmax(axis=1)])
    assert model.score(X, names) > 0.95
    two = KernelRidgeClassifier(0.1).fit(X[:100], names[:100])
    assert two.decision_function(X).shape == (150,)
    assert np.array_equal(two.predict(X) == "versicolor", two.decision_function(X) > 0)


def test_classifier_is_regression_on_signs():
    X = np.random.default_rng(0).normal(size=(60, 3))
    y = np.sin(X[:, 0])
    signs = np.where(y > 0, 1.0, -1.0)
    np.testing.assert_allclose(
        KernelRidgeClassifier(0.1, fit_intercept=True).fit(X, y > 0).decision_function(X),
        KernelRidge(0.1, fit_intercept=True).fit(X, signs).predict(X),
    )


def test_a_path_of_as_many_alphas_as_classes_is_no_question():
    X, y = load_iris(return_X_y=True)
    assert KernelRidgeClassifier([0.01, 0.1, 1.0]).fit(X, y).alpha_ in (0.01, 0.1, 1.0)


def test_one_class():
    with pytest.raises(ValueError, match="y has only one class, 'a'"):
        KernelRidgeClassifier().fit(np.ones((3, 1)), ["a", "a", "a"])
