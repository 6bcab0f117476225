"""Support vector machines by scikit-learn's signature agree with scikit-learn's."""

from inspect import signature

import numpy as np
import pytest
from each_case import each
from scipy import sparse
from sklearn import svm
from sklearn.datasets import load_iris

from representer import drop_in

X, LABELS = load_iris(return_X_y=True)
X, LABELS = (X[::3] - X.mean(axis=0)) / X.std(axis=0), LABELS[::3]
Y = X[:, 3] + np.sin(X[:, 0])
MACHINES = ["SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM"]


def both(name, **options):
    return getattr(drop_in, name)(**options), getattr(svm, name)(**options)


def targets(name):
    return {"SVC": LABELS, "NuSVC": LABELS, "SVR": Y, "NuSVR": Y, "OneClassSVM": None}[name]


def values(model, rows=X):
    return model.predict(rows) if "SVR" in type(model).__name__ else model.decision_function(rows)


@pytest.mark.parametrize("name", MACHINES)
def test_signatures_are_those_of_scikit_learn(name):
    ours, theirs = both(name)
    assert ours.get_params() == theirs.get_params()
    assert list(signature(type(ours)).parameters) == list(signature(type(theirs)).parameters)


@each("name", MACHINES)
@each("options", [{}, {"kernel": "poly", "coef0": 1.0, "degree": 2}, {"kernel": "linear"}])
def test_values_are_those_of_scikit_learn(name, options):
    rows = X + 2.0 if name == "OneClassSVM" else X  # of centred rows LIBSVM takes half a minute by the linear kernel
    models = [model.fit(rows, targets(name)) for model in both(name, tol=1e-8, **options)]
    # a violation of 1e-8 bounds the gap, and values are as good as its root
    np.testing.assert_allclose(values(models[0], rows), values(models[1], rows), atol=1e-4)
    for attribute in ("intercept_", "shape_fit_", "offset_", "class_weight_"):
        if hasattr(models[1], attribute):
            found, known = (getattr(model, attribute) for model in models)
            assert np.shape(found) == np.shape(known)
            np.testing.assert_allclose(found, known, atol=1e-4)
    for attribute in ("n_iter_", "n_support_"):  # support vectors of a linear kernel are not unique
        assert np.shape(getattr(models[0], attribute)) == np.shape(getattr(models[1], attribute))
    assert len(models[0].dual_coef_) == len(models[1].dual_coef_)
    assert hasattr(models[0], "coef_") == hasattr(models[1], "coef_") == (options.get("kernel") == "linear")
    if hasattr(models[0], "coef_"):
        np.testing.assert_allclose(models[0].coef_, models[1].coef_, atol=1e-4)


def test_sparse_rows_functions_and_matrices():
    K = X @ X.T
    dense = drop_in.SVC(kernel="linear").fit(X, LABELS)
    rows = drop_in.SVC(kernel="linear").fit(sparse.csr_array(X), LABELS)
    assert sparse.issparse(rows.dual_coef_)
    assert sparse.issparse(rows.coef_)
    np.testing.assert_allclose(rows.decision_function(X), dense.decision_function(X), atol=1e-8)
    with pytest.raises(ValueError, match="trained on dense data"):
        dense.predict(sparse.csr_array(X))
    called = drop_in.SVC(kernel=lambda A, B: A @ B.T).fit(X, LABELS)
    matrix = drop_in.SVC(kernel="precomputed").fit(K, LABELS)
    np.testing.assert_allclose(called.decision_function(X[:5]), dense.decision_function(X[:5]), atol=1e-8)
    np.testing.assert_allclose(matrix.decision_function(K[:5]), dense.decision_function(X[:5]), atol=1e-8)
    assert matrix.support_vectors_.shape == called.support_vectors_.shape == (0, 0)
    with pytest.raises(TypeError, match="Sparse precomputed"):
        drop_in.SVC(kernel="precomputed").fit(sparse.csr_array(K), LABELS)


def test_weights_that_are_not_positive_leave_samples_out():
    weights = np.where(np.arange(len(X)) % 4, 1.0, -1.0)
    some = drop_in.SVC().fit(X[weights > 0], LABELS[weights > 0])
    every = drop_in.SVC().fit(X, LABELS, sample_weight=weights)
    assert every._gamma == pytest.approx(some._gamma, rel=1e-12)
    np.testing.assert_allclose(every.decision_function(X), some.decision_function(X), atol=1e-8)
    with pytest.raises(ValueError, match="same class"):
        drop_in.SVC().fit(X, LABELS, sample_weight=(LABELS == 0) * 1.0)


def test_balanced_classes_are_counted_without_weights():
    weights = np.linspace(0.1, 2.0, len(X))
    options = {"class_weight": "balanced", "gamma": 0.5, "tol": 1e-8}
    ours, theirs = (model.fit(X[5:], LABELS[5:], weights[5:]) for model in both("SVC", **options))
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-6)


@pytest.mark.parametrize("sample_weight", [None, np.linspace(0.5, 1.5, len(X))])
def test_class_weights_of_nu_are_factors_of_its_C(sample_weight):
    two = LABELS > 0
    weights = None if sample_weight is None else sample_weight[two]
    factors, options = {1: 3.0, 2: 0.5}, {"gamma": 0.5, "tol": 1e-8}
    plain = drop_in.NuSVC(nu=0.3, **options).fit(X[two], LABELS[two], weights)
    bounds = np.ones(two.sum()) if weights is None else weights
    C = np.max(np.abs(plain.dual_coef_[0]) / bounds[plain.support_])  # some are at their bound
    known = svm.SVC(C=C, class_weight=factors, **options).fit(X[two], LABELS[two], weights)
    found = drop_in.NuSVC(nu=0.3, class_weight=factors, **options).fit(X[two], LABELS[two], weights)
    np.testing.assert_allclose(found.decision_function(X), known.decision_function(X), atol=1e-4)
    same = drop_in.NuSVC(nu=0.3, class_weight={0: 1.0}, **options).fit(X, LABELS, sample_weight)
    every = drop_in.NuSVC(nu=0.3, **options).fit(X, LABELS, sample_weight)
    np.testing.assert_allclose(same.decision_function(X), every.decision_function(X), atol=1e-6)


def test_probabilities_are_deprecated_and_sigmoids_of_values():
    two = LABELS > 0
    with pytest.warns(FutureWarning, match="probability"):
        model = drop_in.SVC(probability=True).fit(X[two], LABELS[two])
    assert not hasattr(drop_in.SVC(), "predict_proba")
    with pytest.warns(FutureWarning, match="prob"):  # LIBSVM's values are those of the first class
        first = 1.0 / (1.0 + np.exp(-model.probA_ * model.decision_function(X) + model.probB_))
    np.testing.assert_allclose(model.predict_proba(X)[:, 0], first, rtol=1e-12)


def test_probabilities_of_an_earlier_fit_are_forgotten():
    two = LABELS > 0
    with pytest.warns(FutureWarning, match="probability"):
        model = drop_in.SVC(probability=True).fit(X[two], LABELS[two])
    model.set_params(probability="deprecated").fit(X[two], LABELS[two])
    with pytest.warns(FutureWarning, match="probA_"):
        assert model.probA_.size == 0


@pytest.mark.filterwarnings("ignore:Solver terminated early|The fit stopped")
def test_no_steps_and_columns_of_functions():
    ours, theirs = (model.fit(X, Y) for model in both("SVR", max_iter=0))
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X))
    assert ours.fit_status_ == theirs.fit_status_ == 1
    model = drop_in.SVC(kernel=lambda A, B: A @ B.T).fit(X, LABELS)
    assert not hasattr(model, "n_features_in_")


def test_hard_margin_and_indefinite_kernels():
    two = LABELS != 2
    assert drop_in.SVC(C=np.inf, kernel="linear").fit(X[two], LABELS[two]).score(X[two], LABELS[two]) == 1.0
    ours, theirs = (model.fit(X, LABELS) for model in both("SVC", kernel="poly", degree=2, coef0=-0.1, tol=1e-8))
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-4)
    ours, theirs = (model.fit(X, LABELS) for model in both("SVC", kernel="sigmoid", gamma=0.01))
    assert np.mean(ours.predict(X) == theirs.predict(X)) > 0.9


def test_mistakes_raise_scikit_learns_errors():
    with pytest.raises(AttributeError, match="only available when using a linear kernel"):
        _ = drop_in.SVC().fit(X, LABELS).coef_
    with pytest.raises(ValueError, match="'gamma' parameter of SVC"):
        drop_in.SVC(gamma="Scale").fit(X, LABELS)
    with pytest.raises(ValueError, match="incompatible shapes"):
        drop_in.SVR().fit(X, Y, sample_weight=[1.0])
    with pytest.raises(ValueError, match="returned shape"):
        drop_in.SVR(kernel=lambda A, B: np.ones((1, 1))).fit(X, Y)
