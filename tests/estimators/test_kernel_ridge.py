import pickle
import traceback
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn.kernel_ridge
from each_case import each
from ridge_cases import leave_one_out, ridge
from scipy import sparse, stats
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn_contract import faults

import representer
from representer import KernelRidge, KernelRidgeClassifier
from representer._loops import squared_distances
from representer.kernels import (
    RBF,
    Callable,
    Chi2,
    Jaccard,
    Laplacian,
    Linear,
    Matern,
    On,
    Polynomial,
    Sigmoid,
    Spectrum,
)
from representer.solvers import band_reduction, conjugate_gradient

WITH = each(("weighted", "intercept"), [(False, False), (False, True), (True, False), (True, True)])


def data(n=60, width=2, targets=None, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, width))
    Y = np.sin(2 * X[:, :1] * np.arange(1, (targets or 1) + 1))
    Y += 0.2 * rng.normal(size=Y.shape)
    return X, Y if targets else Y.ravel()


def uneven(n, seed=9):
    """Weights, one in five of which is zero."""
    return np.where(np.arange(n) % 5 == 3, 0.0, np.random.default_rng(seed).uniform(0.2, 3.0, n))


# ---- scikit-learn's contract ----


def test_estimator_checks():
    assert faults(KernelRidge()) == []


def test_clone_and_pickle():
    X, y = data()
    model = KernelRidge([0.1, 1.0], fit_intercept=True).fit(X, y)
    assert clone(model).get_params() == model.get_params()
    np.testing.assert_array_equal(clone(model).fit(X, y).predict(X), model.predict(X))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))


@pytest.mark.parametrize("solver", ["cholesky", "conjugate_gradient"])
def test_later_changes_of_the_inputs_do_not_reach_the_fit(solver):
    X, y = data()
    model = KernelRidge(0.1, solver=solver).fit(X, y)
    new = data(seed=1)[0]
    before = model.predict(new)
    X += 1.0
    np.testing.assert_array_equal(model.predict(new), before)


def test_parameters_are_left_alone():
    kernel, alpha = RBF(), [0.1, 1.0]
    model = KernelRidge(alpha, kernel=kernel).fit(*data())
    assert model.kernel is kernel
    assert kernel.length_scale is None
    assert model.alpha is alpha
    assert model.kernel_.length_scale is not None


def test_not_fitted():
    with pytest.raises(NotFittedError):
        KernelRidge().predict(np.ones((2, 2)))


# ---- against other libraries ----


@each(
    ("kernel", "name", "options"),
    [
        (RBF(0.7), "rbf", {"gamma": 0.5 / 0.7**2}),
        (Laplacian(0.7), "laplacian", {"gamma": 1 / 0.7}),
        (Polynomial(degree=3, offset=1.0, length_scale=1.5), "poly", {"gamma": 1 / 1.5**2, "degree": 3, "coef0": 1.0}),
        (Linear(), "linear", {}),
    ],
)
@each(("targets", "weighted", "solver"), [(None, True, "cholesky"), (3, False, "conjugate_gradient")])
def test_coefficients_are_those_of_scikit_learn(kernel, name, options, targets, weighted, solver):
    X, y = data(targets=targets)
    weights = np.random.default_rng(1).uniform(0.5, 2.0, len(y)) if weighted else None
    theirs = sklearn.kernel_ridge.KernelRidge(alpha=0.5, kernel=name, **options).fit(X, y, weights)
    ours = KernelRidge(0.5, kernel=kernel, solver=solver, tol=1e-10).fit(X, y, weights)
    assert ours.dual_coef_.shape == theirs.dual_coef_.shape
    np.testing.assert_allclose(ours.dual_coef_, theirs.dual_coef_, rtol=1e-6, atol=1e-6)
    new = data(20, seed=1)[0]
    np.testing.assert_allclose(ours.predict(new), theirs.predict(new), rtol=1e-6, atol=1e-6)


@WITH
@each("alpha", [0.5, [0.5]])
def test_primal_and_dual_ridge_agree(weighted, intercept, alpha):
    X, y = data(width=4, targets=2)
    weights = uneven(len(y)) if weighted else None
    primal = Ridge(0.5, fit_intercept=intercept).fit(X, y + 3.0, weights)
    dual = KernelRidge(alpha, kernel="linear", fit_intercept=intercept).fit(X, y + 3.0, weights)
    np.testing.assert_allclose(dual.predict(X), primal.predict(X), rtol=1e-9)
    np.testing.assert_allclose(X.T @ dual.dual_coef_, primal.coef_.T, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(dual.intercept_, primal.intercept_, rtol=1e-9)


@pytest.mark.parametrize("solver", ["cholesky", "conjugate_gradient"])
def test_a_weight_of_two_is_a_row_given_twice(solver):
    X, y = data(40)
    times = np.arange(40) % 3
    model = KernelRidge(0.3, fit_intercept=True, solver=solver, tol=1e-10)
    weighted = clone(model).fit(X, y, times)
    repeated = clone(model).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-7, atol=1e-8)


# ---- alpha ----


@WITH
def test_chosen_alpha_is_that_of_n_fits(weighted, intercept):
    X, y = data(30)
    weights = uneven(30) if weighted else None
    alphas = np.logspace(-3, 2, 6)
    model = KernelRidge(alphas, fit_intercept=intercept).fit(X, y, weights)
    K = model.kernel_(X)
    predictions = np.array([leave_one_out(K, y, a, weights, intercept) for a in alphas])
    scores = -np.average((predictions - y) ** 2, axis=1, weights=weights)
    np.testing.assert_allclose(model.loo_scores_, scores, rtol=1e-8)
    best = scores.argmax()
    assert 0 < best < 5
    assert model.alpha_ == alphas[best]
    counted = slice(None) if weights is None else weights > 0
    np.testing.assert_allclose(model.loo_predictions_[counted, 0], predictions[best][counted], rtol=1e-8)
    np.testing.assert_array_equal(model.loo_residuals_, y[:, None] - model.loo_predictions_)
    assert model.gcv_.shape == (6, 1)
    same = KernelRidge(alphas[best], kernel=model.kernel_, fit_intercept=intercept).fit(X, y, weights)
    np.testing.assert_allclose(model.predict(X), same.predict(X), rtol=1e-8)


def test_one_alpha_for_each_target():
    X, Y = data(targets=3)
    alphas = np.array([0.01, 1.0, 30.0])
    model = KernelRidge(alphas[None]).fit(X, Y)
    np.testing.assert_array_equal(model.alpha_, alphas)
    for j, alpha in enumerate(alphas):
        alone = KernelRidge(alpha).fit(X, Y[:, j])
        np.testing.assert_allclose(model.predict(X)[:, j], alone.predict(X), rtol=1e-9, atol=1e-11)


def test_alpha_chosen_for_each_target():
    X, Y = data(targets=2)
    Y[:, 1] = np.random.default_rng(3).normal(size=60)  # nothing but noise
    alphas = np.logspace(-3, 3, 13)
    each = KernelRidge(alphas, alpha_per_target=True).fit(X, Y)
    alone = [KernelRidge(alphas).fit(X, y) for y in Y.T]
    assert each.alpha_.tolist() == [model.alpha_ for model in alone]
    assert each.alpha_[0] < each.alpha_[1]
    np.testing.assert_allclose(each.predict(X), np.array([model.predict(X) for model in alone]).T, rtol=1e-9)
    np.testing.assert_allclose(each.loo_scores_, np.array([model.loo_scores_ for model in alone]).T, rtol=1e-9)
    joint = KernelRidge(alphas).fit(X, Y)
    assert joint.alpha_ == alphas[each.loo_scores_.mean(axis=1).argmax()]


def test_a_grid_of_alphas():
    """Shape (n_alphas, n_targets): a path with a column for each target."""
    X, Y = data(targets=2)
    grid = np.array([[0.01, 1.0], [0.1, 10.0], [1.0, 100.0]])
    model = KernelRidge(grid, alpha_per_target=True).fit(X, Y)
    alone = [KernelRidge(column).fit(X, y).alpha_ for column, y in zip(grid.T, Y.T, strict=True)]
    assert model.alpha_.tolist() == alone


@pytest.mark.parametrize(
    ("alpha", "message"),
    [
        ([0.1, 1.0], r"2 entries and there are 2 targets, which can mean two things; pass alpha\[None, :\]"),
        ([[0.1, 1.0, 2.0]], r"shape \(1, 3\), but there are 2 targets"),
        (-1.0, "must be a number that is zero or positive"),
        (np.nan, "must be a number that is zero or positive"),
        ([], "must be a number that is zero or positive"),
        ([[[1.0]]], "must be a number that is zero or positive"),
        ([None], "must be a number that is zero or positive"),
    ],
    ids=str,
)
def test_bad_alphas(alpha, message):
    with pytest.raises(ValueError, match=message):
        KernelRidge(alpha).fit(*data(targets=2))


def test_intercepts_share_an_alpha():
    with pytest.raises(ValueError, match="With fit_intercept all targets share one alpha"):
        KernelRidge([[0.1, 1.0]], fit_intercept=True).fit(*data(targets=2))


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"alpha": [0.1, 1.0], "solver": "conjugate_gradient"}, ValueError, "a path of alphas needs a decomposition"),
        ({"alpha": [0.1], "solver": "cholesky"}, ValueError, "a path of alphas needs a decomposition"),
        ({"alpha": [0.1, 1.0], "solver": "magic"}, ValueError, "solver is 'magic'"),
        ({"tune": "loo", "alpha_per_target": True}, ValueError, "finds one alpha for all targets"),
        ({"alpha": "0.1"}, TypeError, "alpha is '0.1', with text in it"),
        ({"alpha": ["0.1", 1.0]}, TypeError, "with text in it"),
        ({"alpha": np.array([0.1, "1"], object)}, TypeError, "with text in it"),
    ],
)
def test_what_would_be_ignored_is_refused_before_any_work(options, error, match, monkeypatch):
    X, Y = np.random.default_rng(0).normal(size=(30, 2)), np.ones((30, 3))
    monkeypatch.setattr(RBF, "with_default_scales", None)  # the first work of a fit
    with pytest.raises(error, match=match):
        KernelRidge(**options).fit(X, Y)
    with pytest.raises(error, match=match):
        KernelRidge(**options).plan(X, Y)


def test_alpha_per_target_is_not_ignored_with_an_intercept():
    X, Y = data(targets=2)
    Y[:, 1] = np.random.default_rng(3).normal(size=60)
    with pytest.raises(ValueError, match="fit_intercept"):
        KernelRidge(np.logspace(-3, 3, 13), alpha_per_target=True, fit_intercept=True).fit(X, Y)


# ---- tuning ----


@WITH
def test_tuning_lowers_the_error_and_finds_the_relevant_column(weighted, intercept):
    X, y = data(80, width=3)
    weights = uneven(80) if weighted else None
    start = KernelRidge([1.0], kernel=RBF(np.ones(3)), fit_intercept=intercept).fit(X, y, weights)
    tuned = KernelRidge(1.0, kernel=RBF(np.ones(3)), fit_intercept=intercept, tune="loo").fit(X, y, weights)
    assert tuned.loo_error_ < -0.7 * start.loo_scores_[0]
    scales = tuned.kernel_.length_scale
    assert scales[0] < 0.2 * scales[1:].min()
    check = KernelRidge([tuned.alpha_], kernel=tuned.kernel_, fit_intercept=intercept).fit(X, y, weights)
    assert -check.loo_scores_[0] == pytest.approx(tuned.loo_error_, rel=1e-5)


def test_tuned_alpha_and_kernel_are_stationary():
    X, y = data(60)
    tuned = KernelRidge(tune="loo", kernel="matern").fit(X, y)
    for factor in (0.8, 1.25):
        near = KernelRidge([factor * tuned.alpha_], kernel=tuned.kernel_).fit(X, y)
        assert -near.loo_scores_[0] > tuned.loo_error_
        kernel = clone(tuned.kernel_).set_params(length_scale=factor * tuned.kernel_.length_scale)
        assert -KernelRidge([tuned.alpha_], kernel=kernel).fit(X, y).loo_scores_[0] > tuned.loo_error_


def test_tuning_with_more_rows_than_it_looks_at(monkeypatch):
    X, y = data(120)
    monkeypatch.setattr("representer.estimators.tuning.FIRST_SUBSET", 20)
    monkeypatch.setattr("representer.estimators.tuning.LAST_SUBSET", 40)
    monkeypatch.setattr("representer.estimators.tuning.BLOCK_ROWS", 30)
    model = KernelRidge(tune="loo").fit(X, y)
    assert len(model.dual_coef_) == 120
    assert model.score(X, y) > 0.8


@pytest.mark.parametrize("what", ["rows", "weights"])
def test_tuning_of_a_precomputed_kernel(monkeypatch, what):
    """Both sides of the matrix are cut where some rows are left out."""
    X, y = data(60)
    kernel = RBF(0.7)
    weights = uneven(60) if what == "weights" else None
    if what == "rows":
        monkeypatch.setattr("representer.estimators.tuning.FIRST_SUBSET", 20)
        monkeypatch.setattr("representer.estimators.tuning.LAST_SUBSET", 40)
    by_kernel = KernelRidge(tune="loo", kernel=Callable(kernel)).fit(X, y, weights)
    by_matrix = KernelRidge(tune="loo", kernel="precomputed").fit(kernel(X), y, weights)
    assert by_matrix.alpha_ == pytest.approx(by_kernel.alpha_, rel=1e-4)


@pytest.mark.parametrize("intercept", [False, True])
def test_tuning_with_nothing_to_learn(intercept):
    X, _ = data(20)
    model = KernelRidge(tune="loo", fit_intercept=intercept).fit(X, np.zeros(20))
    np.testing.assert_array_equal(model.predict(X), np.zeros(20))


def test_tuning_of_strings():
    words = ["abc", "bcd", "cde", "abcd", "bcde", "aaa"]
    y = np.array([1.0, 2.0, 3.0, 1.5, 2.5, 0.0])
    model = KernelRidge(tune="loo", kernel=Spectrum(1)).fit(words, y)
    K = Spectrum(1)(words)
    error = np.mean((leave_one_out(K, y, model.alpha_) - y) ** 2)
    assert error == pytest.approx(model.loo_error_)
    assert error <= min(np.mean((leave_one_out(K, y, a) - y) ** 2) for a in np.logspace(-3, 3, 13)) * (1 + 1e-6)


# ---- inputs of all types ----


def exact(kernel, X, y, alpha=0.5):
    """Predictions at X by dense algebra."""
    K = kernel(X)
    return K @ ridge(K, y, alpha)[0]


@pytest.mark.parametrize(("solver", "alpha"), [("cholesky", 0.5), ("conjugate_gradient", 0.5), ("auto", [0.5])])
@pytest.mark.parametrize("many", [list, np.array], ids=["list", "array"])
def test_strings(solver, alpha, many):
    words = ["abcab", "bcd", "cdeab", "abcd", "bcde", "aaa", ""]
    y, new = np.arange(7.0), ["abab", "zzz", ""]
    model = KernelRidge(alpha, kernel=Spectrum(2), solver=solver, tol=1e-10).fit(many(words), y)
    np.testing.assert_allclose(model.predict(many(words)), exact(Spectrum(2), words, y), atol=1e-8)
    expected = Spectrum(2)(new, words) @ model.dual_coef_
    np.testing.assert_allclose(model.predict(new), expected, atol=1e-10)
    assert model.predict(new)[1:].tolist() == [0.0, 0.0]


def test_sets():
    baskets, y = [{1, 2}, {2, 3}, {1}, set(), {1, 2, 3}], np.arange(5.0)
    model = KernelRidge(0.5, kernel=Jaccard()).fit(baskets, y)
    np.testing.assert_allclose(model.predict(baskets), exact(Jaccard(), baskets, y), rtol=1e-10)
    labels = KernelRidgeClassifier(0.01, kernel=Jaccard()).fit(baskets, ["a", "b", "a", "b", "b"])
    assert labels.predict(baskets).tolist() == ["a", "b", "a", "b", "b"]


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize("tune", [None, "loo"])
def test_data_frames(frame, tune):
    rng = np.random.default_rng(0)
    words = np.array(["abc", "bcd", "cab"])[rng.integers(0, 3, 40)]
    age = rng.normal(size=40)
    table = frame({"age": age, "word": list(words)})
    kernel = On(RBF(), ["age"]) + On(Spectrum(1), "word")
    y = np.sin(age) + np.array(["a" in word for word in words])
    model = KernelRidge(0.1, kernel=kernel, tune=tune).fit(table, y)
    assert model.score(table, y) > 0.9
    np.testing.assert_allclose(model.predict(table), exact(model.kernel_, table, y, model.alpha_), rtol=1e-6)
    if tune is None:
        assert model.kernel_.left.kernel.length_scale == pytest.approx(age.std())


def test_frames_in_cross_validation():
    X, y = data()
    table = pd.DataFrame(X, columns=["a", "b"])
    by_name = cross_val_score(KernelRidge(0.1, kernel=On(RBF(1.0), ["a", "b"])), table, y)
    np.testing.assert_allclose(by_name, cross_val_score(KernelRidge(0.1, kernel=RBF(1.0)), X, y), rtol=1e-10)


@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csr_array, sparse.coo_array])
@pytest.mark.parametrize("solver", ["cholesky", "conjugate_gradient"])
def test_sparse_equals_dense(kind, solver):
    X, y = data(width=4)
    X[np.abs(X) < 0.7] = 0.0
    dense, thin = (KernelRidge(0.1, solver=solver, tol=1e-10).fit(Z, y) for Z in (X, kind(X)))
    np.testing.assert_allclose(thin.kernel_.length_scale, dense.kernel_.length_scale)
    np.testing.assert_allclose(thin.dual_coef_, dense.dual_coef_, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(thin.predict(kind(X)), dense.predict(X), rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(thin.predict(X), dense.predict(X), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("model", [KernelRidge(0.1), KernelRidge([0.1, 1.0]), KernelRidge(0.1, fit_intercept=True)])
def test_float32_is_kept(model):
    X, y = data()
    low, high = (clone(model).fit(X.astype(dtype), y) for dtype in (np.float32, np.float64))
    assert low.predict(X.astype(np.float32)).dtype == np.float32
    assert high.predict(X).dtype == np.float64
    np.testing.assert_allclose(low.predict(X.astype(np.float32)), high.predict(X), atol=2e-4)


@pytest.mark.parametrize("alpha", [1e-1, 1e-5])
def test_certificate_of_float32_inputs_is_true(alpha):
    """It holds for the coefficients that are kept, or a warning says that it does not."""
    rng = np.random.default_rng(0)
    X, new = (rng.normal(size=(300, 2)).astype(np.float32) for _ in range(2))
    y = rng.normal(size=300)
    model, warned = fitted(KernelRidge(alpha, kernel=RBF(1.4)), X, y)
    K = RBF(1.4)(X.astype(float))
    error = np.abs(RBF(1.4)(new.astype(float), X.astype(float)) @ (model.dual_coef_ - ridge(K, y, alpha)[0]))
    assert warned or error.max() <= model.certificate_.error_bound.max() + 1e-9


def test_precomputed_in_cross_validation():
    X, y = data()
    K, folds = RBF(0.7)(X), KFold(4)
    by_kernel = cross_val_score(KernelRidge(0.1, kernel=RBF(0.7)), X, y, cv=folds)
    by_matrix = cross_val_score(KernelRidge(0.1, kernel="precomputed"), K, y, cv=folds)
    np.testing.assert_allclose(by_matrix, by_kernel, rtol=1e-10)


@pytest.mark.parametrize(
    ("kernel", "grid"),
    [
        (RBF(), {"kernel__length_scale": [0.01, 0.7, 50.0]}),
        (RBF() + Linear(), {"kernel__left__length_scale": [0.01, 0.7, 50.0], "alpha": [0.01, 0.1]}),
    ],
    ids=repr,
)
def test_grid_search(kernel, grid):
    X, y = data()
    search = GridSearchCV(KernelRidge(0.1, kernel=kernel), grid, cv=3).fit(X, y)
    name = next(name for name in grid if name != "alpha")
    assert search.best_params_[name] == 0.7
    assert search.best_estimator_.kernel_.get_params()[name.removeprefix("kernel__")] == 0.7


# ---- plan, certificate, progress ----


@pytest.mark.parametrize(
    ("model", "solver"),
    [
        (KernelRidge(), "cholesky"),
        (KernelRidge(solver="conjugate_gradient"), "conjugate_gradient"),
        (KernelRidge([0.1, 1.0]), "eigendecomposition"),
        (KernelRidge(0.1, tune="loo"), "cholesky"),
    ],
)
def test_plan_is_what_fit_does(model, solver):
    X, y = data()
    plan = model.plan(X, y)
    assert plan.solver == solver
    assert not hasattr(model, "certificate_")
    certificate = model.fit(X, y).certificate_
    assert certificate.solver.lower().replace(" ", "_").startswith(solver)
    assert certificate.reason == plan.reason


@pytest.fixture
def early_bands(monkeypatch):
    """Band reductions at any number of rows."""
    monkeypatch.setattr(band_reduction, "BAND_FROM", 1)
    monkeypatch.setattr(band_reduction, "ROWS_FOR_EACH_ALPHA", 1)


@pytest.mark.parametrize("Model", [KernelRidge, KernelRidgeClassifier])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_band_reduction_and_eigendecomposition_agree(Model, intercept, dtype, request):
    X, y = data(90)
    X, y = X.astype(dtype), y if Model is KernelRidge else y > 0
    weights, model = (
        np.arange(90) % 3,
        Model(np.logspace(-3, 2, 6), kernel=RBF(1.0) + Linear(), fit_intercept=intercept),
    )
    expected = clone(model).fit(X, y, sample_weight=weights)
    request.getfixturevalue("early_bands")
    found = model.fit(X, y, sample_weight=weights)
    assert expected.certificate_.solver == "eigendecomposition"
    assert found.certificate_.solver == "band reduction"
    assert found.plan(X, y).solver == "band_reduction"
    assert found.certificate_.converged
    assert found.alpha_ == expected.alpha_
    np.testing.assert_allclose(found.loo_scores_, expected.loo_scores_, rtol=1e-9)
    np.testing.assert_allclose(found.loo_predictions_, expected.loo_predictions_, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(found.gcv_, expected.gcv_, rtol=1e-9)
    np.testing.assert_allclose(found.dual_coef_, expected.dual_coef_, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize(
    "X", [np.ones((40, 2)), np.repeat(np.eye(4), 10, axis=0), np.zeros((40, 1))], ids=["one", "four", "zero"]
)
def test_band_reduction_of_few_different_inputs(X, early_bands, rng):
    """A Gram matrix of rank one, four or zero: right where alpha is not tiny, and an eigendecomposition where it is."""
    y = rng.normal(size=40)
    for alphas, solver in [([1e-6, 1.0], "band reduction"), ([1e-16, 1.0], "eigendecomposition")]:
        model = KernelRidge(alphas, kernel="linear").fit(X, y)
        if np.any(X):
            assert model.certificate_.solver == solver
            assert ("zero to rounding" in model.certificate_.reason) == (solver == "eigendecomposition")
        assert np.all(np.isfinite(model.loo_scores_))
        assert np.all(np.isfinite(model.gcv_))
    expected = [leave_one_out(X @ X.T, y, a) for a in [1e-3, 1.0]]
    scores = KernelRidge([1e-3, 1.0], kernel="linear").fit(X, y).loo_scores_
    np.testing.assert_allclose(scores, [-np.mean((p - y) ** 2) for p in expected], rtol=1e-8)


def test_plan_for_many_rows():
    rows = sparse.csr_array((100_000, 3))
    assert KernelRidge().plan(rows).solver == "conjugate_gradient"
    assert KernelRidge(kernel=Spectrum(1)).plan(["a"] * 10).solver == "cholesky"
    assert "above the budget" in KernelRidge([0.1, 1.0], memory=10**9).plan(rows).refusal


def test_memory_is_refused_before_work():
    X, y = data()
    with pytest.raises(MemoryError, match="larger memory="):
        KernelRidge(memory=1000).fit(X, y)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize(
    "options", [{}, {"solver": "conjugate_gradient", "tol": 1e-3}, {"alpha": [0.01]}], ids=["direct", "cg", "path"]
)
def test_certificate(options, intercept):
    X, y = data(300)
    model = KernelRidge(**{"alpha": 0.01} | options, kernel=Matern(0.7), fit_intercept=intercept).fit(X, y)
    certificate = model.certificate_
    assert certificate.converged
    assert certificate.residual <= certificate.tolerance == model.tol
    assert "converged" in str(certificate)
    new = data(100, seed=1)[0]
    K = model.kernel_(X)
    coef = ridge(K, y - model.intercept_, 0.01)[0]
    error = np.abs(model.predict(new) - model.intercept_ - model.kernel_(new, X) @ coef)
    assert error.max() <= certificate.error_bound[0] + 1e-12
    assert model.n_iter_ >= 1


def test_convergence_warning():
    X, y = data(300)
    model = KernelRidge(1e-3, kernel=RBF(0.2), solver="conjugate_gradient", max_iter=1)
    with pytest.warns(ConvergenceWarning, match=r"above the tolerance 1e-06; use a larger alpha.*max_iter"):
        model.fit(X, y)
    assert not model.certificate_.converged
    assert str(model.certificate_).startswith("NOT converged")
    assert np.all(np.isfinite(model.predict(X)))


@pytest.mark.parametrize(("verbose", "lines"), [(0, 0), (1, 1)])
def test_verbose(capsys, verbose, lines):
    X, y = data(300)
    KernelRidge(0.1, solver="conjugate_gradient", verbose=verbose).fit(X, y)
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == lines
    assert ("conjugate gradients: [" in err) == bool(verbose)


def test_same_seed_same_fit():
    X, y = data(300)
    models = [KernelRidge(0.01, solver="conjugate_gradient", random_state=seed).fit(X, y) for seed in (1, 1, 2)]
    assert np.array_equal(models[0].dual_coef_, models[1].dual_coef_)
    assert not np.array_equal(models[0].dual_coef_, models[2].dual_coef_)


@each(
    ("options", "message"),
    [
        ({"solver": "svd"}, "solver is 'svd'; use 'auto', 'cholesky'"),
        ({"tune": "gcv"}, "tune is 'gcv'; use None, 'loo', 'likelihood' or 'huber'"),
        ({"kernel": "gaussian"}, "kernel is 'gaussian'; pass a kernel object"),
        ({"kernel": RBF(-1.0)}, "length_scale is -1.0"),
        ({"tol": -1.0}, "tol is -1.0"),
        ({"tol": np.nan}, "tol is nan"),
        ({"max_iter": 0, "solver": "conjugate_gradient"}, "max_iter is 0"),
        ({"max_iter": 1.5, "solver": "conjugate_gradient"}, "max_iter is 1.5"),
        ({"threads": -1}, "threads is -1"),
        ({"memory": -1}, "memory is -1"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(ValueError, match=message):
        KernelRidge(**options).fit(*data())


# ---- edge cases ----


@pytest.mark.parametrize(("weighted", "fit_intercept"), [(False, True), (True, False)])
@pytest.mark.parametrize("alpha", [0.1, [0.1, 10.0]], ids=str)
def test_an_indefinite_kernel_is_solved_with_its_negative_eigenvalues(alpha, fit_intercept, weighted):
    """(K + alpha W^(-1)) a + b = y and, with an intercept, sum a = 0; there is no norm to bound an error in."""
    X, y = data(40)
    w, kernel = np.where(np.arange(40) % 2, 0.5, 2.0) if weighted else np.ones(40), Sigmoid(2.0, -1.0)
    assert np.linalg.eigvalsh(kernel(X))[0] < -1.0
    model = KernelRidge(alpha, kernel=kernel, fit_intercept=fit_intercept).fit(X, y, sample_weight=w)
    coef, b = ridge(kernel(X), y, model.alpha_, w, fit_intercept)
    np.testing.assert_allclose(model.dual_coef_, coef, rtol=1e-8, atol=1e-8 * np.abs(coef).max())
    assert model.intercept_ == pytest.approx(b, rel=1e-8)
    assert model.certificate_.converged
    assert np.isinf(model.certificate_.error_bound).all()
    if np.ndim(alpha):
        left_out = leave_one_out(kernel(X), y, model.alpha_, w, fit_intercept)
        np.testing.assert_allclose(model.loo_predictions_[:, 0], left_out, rtol=1e-6)


MODELS = each(
    "model",
    [
        KernelRidge(1e-6),
        KernelRidge([1e-6]),
        KernelRidge(1e-6, fit_intercept=True),
        KernelRidge(1e-6, solver="conjugate_gradient"),
    ],
)


def fitted(model, X, y, sample_weight=None):
    """The model, and whether it says that it is not exact; nothing but a ConvergenceWarning may be told."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model = clone(model).fit(X, y, sample_weight)
    assert {one.category for one in told} <= {ConvergenceWarning}
    assert np.all(np.isfinite(model.predict(X)))
    return model, bool(told)


@MODELS
def test_duplicates(model):
    X, y = data(20)
    repeated, warned = fitted(model, np.repeat(X, 3, axis=0), np.repeat(y, 3))
    once = KernelRidge(1e-6, kernel=repeated.kernel_, fit_intercept=model.fit_intercept).fit(X, y, np.full(20, 3.0))
    assert warned or np.abs(repeated.predict(X) - once.predict(X)).max() < 1e-6


@MODELS
def test_constant_columns(model):
    X, y = data(30)
    wide, warned = fitted(model, np.c_[X, np.full(30, 7.0), np.zeros(30)], y)
    narrow, _ = fitted(model, X, y)
    assert wide.kernel_.length_scale == pytest.approx(narrow.kernel_.length_scale)
    assert warned or np.abs(wide.predict(np.c_[X, np.full(30, 7.0), np.zeros(30)]) - narrow.predict(X)).max() < 1e-4


@MODELS
def test_nothing_but_constant_columns(model):
    model, warned = fitted(model, np.ones((20, 2)), np.arange(20.0))
    assert model.kernel_.length_scale == 1.0
    assert warned or np.abs(model.predict(np.ones((1, 2))) - 9.5).max() < 1e-3


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize(("solver", "alpha"), [("auto", 0.5), ("conjugate_gradient", 0.5)])
def test_one_row(solver, alpha, intercept):
    X, y = np.array([[2.0, 3.0]]), np.array([3.0])
    model, warned = fitted(KernelRidge(alpha, solver=solver, fit_intercept=intercept), X, y)
    assert not warned
    assert model.predict(X)[0] == pytest.approx(3.0 if intercept else 3.0 / (1.0 + model.alpha_))


@MODELS
def test_more_targets_than_rows(model):
    X = data(3)[0]
    Y = np.random.default_rng(0).normal(size=(3, 7))
    model, warned = fitted(model, X, Y)
    assert model.dual_coef_.shape == (3, 7)
    assert not warned
    np.testing.assert_allclose(model.predict(X), Y, atol=1e-4)


@pytest.mark.parametrize("alpha", [0.0, 1e-12, 1e-3])
@pytest.mark.parametrize("intercept", [False, True])
def test_rank_one(alpha, intercept):
    """Least squares on one column, whose kernel matrix has rank one."""
    X, y = data(40, width=1)
    model, warned = fitted(KernelRidge(alpha, kernel="linear", fit_intercept=intercept), X, y)
    line = Ridge(max(alpha, 1e-14), fit_intercept=intercept, solver="svd").fit(X, y)
    assert warned or np.abs(model.predict(X) - line.predict(X)).max() < 1e-4


@pytest.mark.parametrize("alpha", [0.0, [0.0]], ids=["direct", "path"])
def test_no_ridge_interpolates(alpha):
    X, y = data(40)
    model, warned = fitted(KernelRidge(alpha, kernel=Matern(1.0, nu=0.5)), X, y)
    assert not warned
    np.testing.assert_allclose(model.predict(X), y, rtol=1e-9)
    assert np.all(model.certificate_.error_bound == np.inf)


def test_no_ridge_by_conjugate_gradients():
    X, y = data(40)
    with pytest.raises(ValueError, match="need a positive alpha; use solver='cholesky'"):
        KernelRidge(0.0, kernel=Matern(1.0, nu=0.5), solver="conjugate_gradient").fit(X, y)


@pytest.mark.parametrize("alpha", [0.0, [0.0], 1e-12], ids=["direct", "path", "tiny"])
@pytest.mark.parametrize("centred", [True, False])
def test_least_squares_with_an_intercept(alpha, centred):
    """The vector of ones is in the null space of the kernel matrix of centred columns, or K is zero altogether."""
    X, y = data(40)
    X = X - X.mean(axis=0) if centred else np.zeros_like(X)
    model, warned = fitted(KernelRidge(alpha, kernel="linear", fit_intercept=True), X, y + 5.0)
    line = Ridge(1e-13, solver="svd").fit(X, y + 5.0)
    assert warned or np.abs(model.predict(X) - line.predict(X)).max() < 1e-4
    assert np.abs(model.predict(X)).max() < 100.0


@pytest.mark.parametrize("alpha", [1e-12, 1e-8])
def test_tiny_ridge_by_conjugate_gradients(alpha):
    X, y = data(300)
    model, warned = fitted(KernelRidge(alpha, solver="conjugate_gradient", max_iter=200), X, y)
    direct, unsure = fitted(KernelRidge(alpha), X, y)
    assert warned or unsure or np.abs(model.predict(X) - direct.predict(X)).max() < 1e-3


@pytest.mark.parametrize("size", [1e-150, 1e150])
@pytest.mark.parametrize("solver", ["cholesky", "conjugate_gradient"])
def test_size_of_the_targets_does_not_matter(size, solver):
    X, y = data()
    model = KernelRidge(0.1, solver=solver, tol=1e-9)
    expected = clone(model).fit(X, y).predict(X)
    np.testing.assert_allclose(clone(model).fit(X, size * y).predict(X) / size, expected, rtol=1e-6, atol=1e-8)


# ---- the rule for length scales ----


@pytest.mark.parametrize("kernel", [RBF(), Matern(), 2.0 * RBF(), Linear() + RBF(), Laplacian(), Chi2()], ids=repr)
def test_length_scale_of_weights_is_that_of_repetition(kernel):
    X = np.abs(data(12, width=3)[0])
    times = np.arange(12) % 4
    assert _close(
        kernel.with_default_scales(X, times.astype(float)), kernel.with_default_scales(np.repeat(X, times, axis=0))
    )
    assert not _close(kernel.with_default_scales(X, times.astype(float)), kernel.with_default_scales(X))


def _close(left, right):
    left, right = left.get_params(), right.get_params()
    names = [name for name, value in left.items() if name.endswith("length_scale") and value is not None]
    assert names
    return np.allclose([left[name] for name in names], [right[name] for name in names], rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_length_scale_is_the_root_of_the_total_variance(kind, dtype):
    X = data(50, width=3)[0] + [1.0, -2.0, 0.0]
    tolerance = 30 * float(np.finfo(dtype).eps)
    model = KernelRidge().fit(kind(X.astype(dtype)), X[:, 0])
    assert model.kernel_.length_scale == pytest.approx(np.sqrt(X.var(axis=0).sum()), rel=tolerance)
    distances = np.linalg.norm(X - X.mean(axis=0), axis=1)
    assert model.kernel_.length_scale == pytest.approx(np.sqrt(np.mean(distances**2)), rel=1e-4)


def test_given_length_scales_are_kept():
    assert RBF(3.0).with_default_scales(data()[0]).length_scale == 3.0
    assert RBF([1.0, 2.0]).with_default_scales(data()[0]).length_scale == [1.0, 2.0]


def test_leave_one_out_in_a_rank_deficient_space_without_a_ridge(rng):
    X = rng.normal(size=(40, 2))
    y = X @ [1.0, 2.0] + 0.5 * rng.normal(size=40)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # without a ridge the system has no solution
        scores = KernelRidge([0.0, 1e-13, 1e-10], kernel="linear").fit(X, y).loo_scores_
    refits = [y[i] - X[i] @ np.linalg.lstsq(np.delete(X, i, 0), np.delete(y, i), rcond=None)[0] for i in range(40)]
    assert scores == pytest.approx(-np.mean(np.square(refits)), rel=2e-2)


def test_attributes_of_an_earlier_fit_are_gone(rng):
    X = rng.normal(size=(20, 2))
    model = KernelRidge([0.1, 1.0]).fit(X, X[:, 0])
    assert not hasattr(model.set_params(alpha=1.0).fit(X, X[:, 0]), "loo_scores_")


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_warm_start_along_alphas(fit_intercept, rng):
    X = rng.normal(size=(300, 3))
    Y = np.sin(X[:, :2]) + 0.1 * rng.normal(size=(300, 2))
    options = {"solver": "conjugate_gradient", "tol": 1e-8, "fit_intercept": fit_intercept}
    warm = KernelRidge(alpha=1.0, kernel=RBF(1.0), warm_start=True, **options).fit(X, Y)
    steps = np.zeros(2, int)
    for alpha in (0.9, 0.8, 0.7):
        cold = KernelRidge(alpha=alpha, kernel=RBF(1.0), **options).fit(X, Y)
        warm.set_params(alpha=alpha).fit(X, Y)
        assert warm.certificate_.converged
        assert warm.dual_coef_ == pytest.approx(cold.dual_coef_, abs=1e-6)
        steps += warm.certificate_.iterations, cold.certificate_.iterations
    assert steps[0] < steps[1]
    assert warm.fit(X, Y).certificate_.iterations == 0  # the same problem again
    assert warm.fit(X[:200], Y[:200]).certificate_.converged  # a solution of another shape is no guess


def test_a_path_is_not_tuned(rng):
    with pytest.raises(ValueError, match="one alpha to start from"):
        KernelRidge([0.1, 1.0], tune="loo").fit(rng.normal(size=(10, 2)), rng.normal(size=10))


# ---- few steps from the user's call to the compiled loop ----


@pytest.fixture
def walks(monkeypatch):
    """The functions of this library above each call of the loop that fills a tile, from the outermost on."""
    found, loop, package = [], squared_distances.from_products, str(Path(representer.__file__).parent)

    def recorded(*arguments):
        stack = [frame for frame in traceback.walk_stack(None) if frame[0].f_code.co_filename.startswith(package)]
        found.append([frame.f_code.co_name for frame, _ in reversed(stack)])
        loop(*arguments)

    monkeypatch.setattr(squared_distances, "from_products", recorded)
    return found


def test_ten_frames_from_fit_to_the_compiled_loop(walks, monkeypatch):
    """Counted from the user's call, as for 20,000 rows, where no matrix is stored."""
    monkeypatch.setattr(conjugate_gradient, "stores_tiles", lambda n, memory: False)
    X, y = data(300, width=20)
    KernelRidge(0.1, solver="conjugate_gradient", threads=1).fit(X, y)
    products = [walk for walk in walks if "_inner" in walk]
    assert products
    assert max(map(len, products)) <= 10, products[0]


def test_seven_frames_from_a_function_to_the_compiled_loop(walks):
    X, y = data(300, width=20)
    f = KernelRidge(0.1, threads=1).fit(X, y).function_
    walks.clear()
    f(X)
    assert walks
    assert max(map(len, walks)) <= 7, walks[0]


@pytest.mark.parametrize("options", [{"alpha": [0.1, 1.0]}, {"tune": "loo"}], ids=str)
def test_one_row_cannot_be_left_out(options):
    with pytest.raises(ValueError, match="more than n_samples = 1 row; give a single alpha, and tune=None"):
        KernelRidge(**options).fit([[1.0, 2.0]], [3.0])


# ---- options of tuning ----


def test_search_keeps_bounds_priors_and_what_is_fixed():
    X, y = data(60, width=3)
    kernel = Matern(np.ones(3), nu=0.5)
    options = {"kernel": kernel, "tune": "loo", "bounds": {"length_scale": (0.5, 2.0)}, "fixed": ["nu", "alpha"]}
    with pytest.warns(UserWarning, match=r"ended at a bound of length_scale\[.\]"):
        model = KernelRidge(0.3, **options).fit(X, y)
    scales = model.kernel_.length_scale
    assert model.alpha_ == pytest.approx(0.3)
    assert np.all((scales > 0.49) & (scales < 2.01))
    near, far = (
        KernelRidge(tune="loo", kernel=RBF(1.0), priors={"length_scale": stats.norm(m, 1e-3)}).fit(X, y)
        for m in (1.0, 3.0)
    )
    assert abs(near.kernel_.length_scale - 1.0) < 0.1
    assert abs(far.kernel_.length_scale - 1.0) > abs(near.kernel_.length_scale - 1.0)


@pytest.mark.parametrize("option", [{"bounds": {"alpha": (1.0, 2.0)}}, {"fixed": ["alpha"]}, {"priors": {"alpha": 1}}])
def test_options_of_a_search_without_a_search(option):
    with pytest.raises(ValueError, match="bounds, fixed and priors are options of a search; use tune='loo'"):
        KernelRidge(**option).fit(*data())


def test_a_corrupt_row_does_not_spoil_a_robust_search():
    rng = np.random.default_rng(1)
    X = rng.uniform(-3.0, 3.0, (120, 1))
    y = np.sin(2.0 * X[:, 0]) + 0.1 * rng.normal(size=120)
    wrong = y.copy()
    wrong[5] = 1e4
    for tune, limit in (("huber", 0.2), ("loo", np.inf)):
        clean, spoilt = (fitted(KernelRidge(kernel=RBF(1.0), tune=tune), X, targets)[0] for targets in (y, wrong))
        off = abs(np.log(spoilt.kernel_.length_scale / clean.kernel_.length_scale))
        assert off < limit
    assert off > 1.0  # which squared errors are far from


def test_search_shows_its_steps(capsys):
    X, y = data(40)
    KernelRidge(tune="loo", verbose=1, max_iter=3).fit(X, y)
    assert "search for hyper-parameters: [" in capsys.readouterr().err
