import pickle

import numpy as np
import pytest
from each_case import each
from scipy import sparse
from scipy.linalg import eigh
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn_contract import faults

from representer import KernelFisherDiscriminant
from representer.kernels import RBF, Callable, Jaccard, Laplacian, Linear, Matern, Spectrum


def data(n=60, classes=3, width=3, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % classes
    return rng.normal(size=(n, width)) + 1.5 * rng.normal(size=(classes, width))[y], y


def wine(rows=slice(None), columns=slice(None)):
    X, y = load_wine(return_X_y=True)
    return ((X - X.mean(axis=0)) / X.std(axis=0))[rows, columns], y[rows]


def test_estimator_checks():
    assert faults(KernelFisherDiscriminant(alpha=[0.5])) == []
    assert faults(KernelFisherDiscriminant()) == []


# ---- linear discriminant analysis ----


def test_linear_kernel_is_linear_discriminant_analysis():
    X, y = wine()
    theirs = LinearDiscriminantAnalysis(solver="eigen").fit(X, y)
    ours = KernelFisherDiscriminant(1e-6, kernel="linear", tol=1e-4).fit(X, y)
    mine, other = ours.transform(X), theirs.transform(X)
    mine = mine * np.sign((mine * other).sum(axis=0))
    np.testing.assert_allclose(mine - mine.mean(axis=0), other - other.mean(axis=0), atol=1e-4)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    ours, theirs = ours.decision_function(X), theirs.decision_function(X)
    np.testing.assert_allclose(ours - ours[:, :1], theirs - theirs[:, :1], rtol=1e-4, atol=1e-3)


def test_fewer_columns_than_discriminants():
    X, y = wine(columns=[0])
    theirs = LinearDiscriminantAnalysis(solver="eigen").fit(X, y)
    ours = KernelFisherDiscriminant(1e-6, kernel="linear", tol=1e-4).fit(X, y)
    assert ours.transform(X).shape == (178, 1)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


# ---- the definition ----


def scatters(K, y, weights):
    """Scatter between and within classes as forms of the coefficients of the representers."""
    between, within = np.zeros_like(K), np.zeros_like(K)
    mean = np.average(K, axis=1, weights=weights)
    for c in np.unique(y):
        rows = np.flatnonzero(y == c)
        centre = np.average(K[:, rows], axis=1, weights=weights[rows])
        between += weights[rows].sum() * np.outer(centre - mean, centre - mean)
        for i in rows:
            within += weights[i] * np.outer(K[:, i] - centre, K[:, i] - centre)
    return between, within


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kernel", [RBF(1.5), Linear() * RBF(2.0) + Matern(1.0)], ids=repr)
def test_directions_are_those_of_the_eigenproblem(weighted, kernel):
    X, y = data(40)
    weights = np.random.default_rng(1).uniform(0.5, 2.0, 40) if weighted else np.ones(40)
    alpha = 0.3
    model = KernelFisherDiscriminant(alpha, kernel=kernel).fit(X, y, weights if weighted else None)
    K = kernel(X)
    between, within = scatters(K, y, weights)
    values = eigh(between, within + alpha * K + 1e-9 * np.eye(40), eigvals_only=True)[::-1][:2]
    np.testing.assert_allclose(model.eigenvalues_, values, rtol=1e-6)
    A = model.function_.coef
    np.testing.assert_allclose(A.T @ (within + alpha * K) @ A, weights.sum() * np.eye(2), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(A.T @ between @ A, weights.sum() * np.diag(values), rtol=1e-6, atol=1e-5)
    Z = model.transform(X)
    means = [np.average(Z[y == c], axis=0, weights=weights[y == c]) for c in range(3)]
    np.testing.assert_allclose(model.means_, means, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(np.average(Z, axis=0, weights=weights), 0.0, atol=1e-7)
    assert model.explained_variance_ratio_.sum() == pytest.approx(1.0)


def test_prediction_is_the_nearest_mean():
    X, y = data()
    model = KernelFisherDiscriminant(0.1, priors=np.full(3, 1 / 3)).fit(X, y)
    new = data(30, seed=5)[0]
    squares = ((model.transform(new)[:, None] - model.means_) ** 2).sum(axis=2)
    np.testing.assert_array_equal(model.predict(new), squares.argmin(axis=1))
    one = KernelFisherDiscriminant(0.1, priors=np.full(3, 1 / 3), n_components=1).fit(X, y)
    np.testing.assert_array_equal(one.transform(new), model.transform(new)[:, :1])
    np.testing.assert_array_equal(one.predict(new), model.predict(new))


def test_two_classes():
    X, y = data(classes=2)
    names = np.array(["no", "yes"])[y]
    model = KernelFisherDiscriminant(0.1).fit(X, names)
    values = model.decision_function(X)
    assert values.shape == (60,)
    np.testing.assert_array_equal(model.predict(X), np.where(values > 0, "yes", "no"))
    assert model.get_feature_names_out().tolist() == ["kernelfisherdiscriminant0"]


def test_priors_move_the_border():
    X, y = data(classes=2)
    models = [KernelFisherDiscriminant(1.0, priors=[1 - p, p]).fit(X, y) for p in (0.0, 0.4, 0.6, 1.0)]
    never, seldom, often, always = (model.decision_function(X) for model in models)
    assert np.all(never == -np.inf)
    assert np.all(always == np.inf)
    np.testing.assert_allclose(often - seldom, 2 * np.log(0.6 / 0.4), rtol=1e-9)


# ---- leave-one-out ----


@each("classes", [2, 3])
@each("weighted", [False, True])
@each("priors", [False, True])
def test_leave_one_out_is_that_of_n_fits(classes, weighted, priors):
    X, y = wine(slice(None, None, 10), slice(0, 3))
    X, y = X[y < classes], y[y < classes]
    weights = np.where(np.arange(len(y)) % 5 == 3, 0.0, 1.0 + np.arange(len(y)) % 3) if weighted else np.ones(len(y))
    share = np.arange(1.0, classes + 1) / np.arange(1.0, classes + 1).sum() if priors else None
    alphas = np.logspace(-3, 2, 3)
    model = KernelFisherDiscriminant(alphas, kernel=RBF(1.0), priors=share).fit(X, y, weights if weighted else None)
    accuracy = []
    for alpha in alphas:
        hits = []
        for i in range(len(y)):
            rest = np.delete(np.arange(len(y)), i)
            left = KernelFisherDiscriminant(alpha, kernel=RBF(1.0), priors=share).fit(X[rest], y[rest], weights[rest])
            hits.append(left.predict(X[[i]])[0] == y[i])
        accuracy.append(np.average(hits, weights=weights))
    np.testing.assert_allclose(model.loo_scores_, accuracy, rtol=1e-12)
    assert len(set(accuracy)) > 1
    assert model.alpha_ == max(alphas[np.isclose(accuracy, max(accuracy))])
    same = KernelFisherDiscriminant(model.alpha_, kernel=RBF(1.0), priors=share).fit(X, y, weights)
    np.testing.assert_allclose(model.transform(X), same.transform(X), rtol=1e-7, atol=1e-9)


def test_leave_one_out_in_pieces(monkeypatch):
    X, y = data()
    whole = KernelFisherDiscriminant([0.01, 1.0]).fit(X, y).loo_scores_
    monkeypatch.setattr("representer.estimators.discriminant.ENTRIES_LEFT_OUT", 7 * 9)
    np.testing.assert_array_equal(KernelFisherDiscriminant([0.01, 1.0]).fit(X, y).loo_scores_, whole)


def test_leaving_out_the_only_member_of_a_class():
    X, y = data(30, classes=2)
    y[7] = 2
    model = KernelFisherDiscriminant([0.1, 1.0]).fit(X, y)
    assert np.all(model.loo_scores_ <= 29 / 30)
    assert np.all(model.loo_scores_ > 0.5)


# ---- inputs, weights, solvers ----


@pytest.mark.parametrize("solver", ["cholesky", "conjugate_gradient"])
def test_a_weight_of_two_is_a_row_given_twice(solver):
    X, y = data(40)
    times = np.arange(40) % 4
    model = KernelFisherDiscriminant(0.3, solver=solver, tol=1e-10)
    weighted = clone(model).fit(X, y, times)
    repeated = clone(model).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    np.testing.assert_allclose(weighted.transform(X), repeated.transform(X), rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(weighted.decision_function(X), repeated.decision_function(X), rtol=1e-6, atol=1e-6)


def test_strings_sets_and_matrices():
    words = ["aab", "aba", "baa", "ccd", "cdc", "dcc"] * 2
    y = np.array([0, 0, 0, 1, 1, 1] * 2)
    model = KernelFisherDiscriminant(0.1, kernel=Spectrum(2)).fit(words, y)
    assert model.predict(["aabb", "ccdd"]).tolist() == [0, 1]
    sets = [set(word) for word in words]
    assert KernelFisherDiscriminant(0.1, kernel=Jaccard()).fit(sets, y).score(sets, y) == 1.0
    K = Spectrum(2)(words)
    same = KernelFisherDiscriminant(0.1, kernel="precomputed").fit(K, y)
    np.testing.assert_allclose(same.transform(K), model.transform(words), rtol=1e-9)
    own = KernelFisherDiscriminant(0.1, kernel=Callable(lambda a, b: Spectrum(2)(a, b))).fit(words, y)
    np.testing.assert_allclose(own.transform(words), model.transform(words), rtol=1e-9)


@pytest.mark.parametrize("kernel", ["rbf", Laplacian(2.0)])
def test_sparse_and_float32(kernel):
    X, y = data()
    model = KernelFisherDiscriminant(0.5, kernel=kernel).fit(X, y)
    thin = KernelFisherDiscriminant(0.5, kernel=kernel).fit(sparse.csr_array(X), y)
    np.testing.assert_allclose(thin.transform(sparse.csr_array(X)), model.transform(X), rtol=1e-6)
    small = KernelFisherDiscriminant(0.5, kernel=kernel).fit(X.astype(np.float32), y)
    assert small.transform(X.astype(np.float32)).dtype == np.float32
    assert small.decision_function(X.astype(np.float32)).dtype == np.float32
    np.testing.assert_allclose(small.transform(X.astype(np.float32)), model.transform(X), rtol=1e-3, atol=1e-3)


def test_search_and_pickle():
    X, y = load_iris(return_X_y=True)
    grid = {"kernel__length_scale": [0.5, 2.0], "alpha": [0.1, 1.0]}
    search = GridSearchCV(KernelFisherDiscriminant(kernel=RBF()), grid, cv=3).fit(X, y)
    assert search.best_score_ > 0.95
    assert cross_val_score(KernelFisherDiscriminant(0.1, kernel="precomputed"), RBF(1.0)(X), y, cv=3).min() > 0.9
    model = search.best_estimator_
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))


def test_nothing_to_tell_classes_apart():
    """Then the prior decides."""
    model = KernelFisherDiscriminant().fit(np.ones((5, 2)), [0, 1, 1, 1, 0])
    assert model.predict(np.ones((2, 2))).tolist() == [1, 1]
    assert np.all(np.isfinite(model.transform(np.ones((2, 2)))))


def test_strong_regularisation_is_the_nearest_mean_in_h():
    X, y = data()
    kernel = RBF(2.0)
    model = KernelFisherDiscriminant(1e9, kernel=kernel, priors=np.full(3, 1 / 3), tol=1e-12).fit(X, y)
    K = kernel(X)
    means = np.eye(3)[y] / 20
    squares = -2 * K @ means + np.einsum("ic,ij,jc->c", means, K, means)
    np.testing.assert_array_equal(model.predict(X), squares.argmin(axis=1))


@each(
    ("options", "message"),
    [
        ({"alpha": 0.0}, "alpha is 0.0; it must be a positive number"),
        ({"alpha": []}, "must be a positive number"),
        ({"alpha": "much"}, "alpha is 'much'"),
        ({"n_components": 3}, "3 classes have 2 discriminants"),
        ({"priors": [0.5, 0.5]}, "give 3 probabilities"),
        ({"priors": [0.5, 0.6, 0.1]}, "give 3 probabilities"),
        ({"priors": "balanced"}, "priors is 'balanced'; give 3 probabilities"),
        ({"solver": "magic"}, "solver is 'magic'"),
        ({"alpha": [0.1, 1.0], "solver": "cholesky"}, "a list of alphas needs a decomposition"),
        ({"kernel": "rfb"}, "kernel is 'rfb'"),
    ],
)
def test_bad_arguments(options, message):
    with pytest.raises(ValueError, match=message):
        KernelFisherDiscriminant(**options).fit(*data())
    if {"alpha", "solver", "kernel"} & {*options}:
        with pytest.raises(ValueError, match=message):
            KernelFisherDiscriminant(**options).plan(*data())


def test_a_fit_too_rough_for_discriminants_says_so():
    X, y = data(150)
    model = KernelFisherDiscriminant(1e-6, solver="conjugate_gradient", tol=1e-14, max_iter=1)
    match = "within-class scatter is not positive definite; use a larger alpha or max_iter"
    with pytest.raises(np.linalg.LinAlgError, match=match):
        model.fit(X, y)


def test_bad_labels_and_weights():
    X, y = data()
    with pytest.raises(ValueError, match="only one class"):
        KernelFisherDiscriminant().fit(X, np.zeros(60))
    with pytest.raises(ValueError, match=r"All weights of the classes \[2\] are zero"):
        KernelFisherDiscriminant().fit(X, y, y != 2)


@pytest.mark.parametrize(("alpha", "solver"), [(0.1, "cholesky"), ([0.1, 1.0], "eigendecomposition")])
def test_plan_is_what_fit_does(alpha, solver):
    X, y = data()
    plan = KernelFisherDiscriminant(alpha).plan(X, y)
    assert plan.solver == solver
    certificate = KernelFisherDiscriminant(alpha).fit(X, y).certificate_
    assert certificate.solver.lower() == solver
    assert certificate.reason == plan.reason


def test_memory():
    X, y = data()
    with pytest.raises(MemoryError, match="above the budget"):
        KernelFisherDiscriminant([0.1, 1.0], memory=1000).fit(X, y)
    with pytest.raises(MemoryError, match="above the budget"):
        KernelFisherDiscriminant(0.1, memory=1000).fit(X, y)
