import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn.decomposition
from each_case import each
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_circles
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn_contract import faults

from representer import Function, KernelPCA, preimage
from representer.kernels import RBF, Jaccard, Laplacian, Linear, Matern, On, Polynomial, Sigmoid, Spectrum

SOLVERS = each("solver", ["dense", "davidson"])
CENTER = each("center", [True, False])


def data(n=120, width=4, seed=0):
    return np.random.default_rng(seed).normal(size=(n, width)) * np.linspace(2.0, 0.5, width)


def words(n=120, seed=0):
    rng = np.random.default_rng(seed)
    return ["".join(rng.choice(list("ACGT"), 10)) for _ in range(n)]


def inner_products(functions):
    """<f_i, f_j> for all outputs of a Function."""
    K = functions.kernel(functions.X)
    return functions.coef.T @ K @ functions.coef


# ---- scikit-learn's contract ----


@pytest.mark.parametrize("estimator", [KernelPCA(), KernelPCA(n_components=2, kernel="precomputed")])
def test_estimator_checks(estimator):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The Gram matrix has negative")  # random data is no Gram matrix
        assert faults(estimator) == []


def test_clone_pickle_and_parameters_are_left_alone():
    kernel, X = RBF(), data()
    model = KernelPCA(3, kernel=kernel).fit(X)
    assert model.kernel is kernel
    assert kernel.length_scale is None
    assert model.kernel_.length_scale is not None
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).transform(X), model.transform(X))
    np.testing.assert_array_equal(clone(model).fit(X).transform(X), model.transform(X))


def test_later_changes_of_the_inputs_do_not_reach_the_fit():
    X, new = data(), data(seed=1)
    model = KernelPCA(3).fit(X)
    before = model.transform(new)
    X += 1.0
    np.testing.assert_array_equal(model.transform(new), before)


def test_not_fitted():
    for method in (KernelPCA().transform, KernelPCA().project):
        with pytest.raises(NotFittedError):
            method(np.ones((2, 2)))


def test_names_of_outputs():
    model = KernelPCA(2).fit(data())
    assert model.get_feature_names_out().tolist() == ["kernelpca0", "kernelpca1"]
    frame = pd.DataFrame(data(), columns=list("abcd"))
    assert list(model.set_output(transform="pandas").fit_transform(frame).columns) == ["kernelpca0", "kernelpca1"]


def test_in_a_pipeline_with_a_search():
    X, y = make_circles(150, factor=0.3, noise=0.05, random_state=0)
    search = GridSearchCV(
        make_pipeline(KernelPCA(4, kernel=RBF(1.0)), LogisticRegression()),
        {"kernelpca__kernel__length_scale": [0.3, 100.0]},
    ).fit(X, y)
    assert search.best_params_ == {"kernelpca__kernel__length_scale": 0.3}
    assert search.best_score_ > 0.98


# ---- against other libraries ----


@SOLVERS
@each(
    ("kernel", "name", "options"),
    [
        (RBF(1.7), "rbf", {"gamma": 0.5 / 1.7**2}),
        (Polynomial(degree=3, offset=1.0, length_scale=1.5), "poly", {"gamma": 1 / 1.5**2, "degree": 3, "coef0": 1.0}),
        (Laplacian(1.7), "laplacian", {"gamma": 1 / 1.7}),
    ],
)
def test_scores_are_those_of_scikit_learn(kernel, name, options, solver):
    if name == "laplacian":
        theirs = sklearn.decomposition.KernelPCA(6, kernel="precomputed", eigen_solver="dense")
        rows = lambda X: kernel(X, data())  # noqa: E731 their KernelPCA knows no Laplacian kernel
    else:
        theirs = sklearn.decomposition.KernelPCA(6, kernel=name, eigen_solver="dense", **options)
        rows = np.asarray
    theirs.fit(rows(data()))
    ours = KernelPCA(6, kernel=kernel, solver=solver, tol=1e-10).fit(data())
    np.testing.assert_allclose(ours.eigenvalues_, theirs.eigenvalues_, rtol=1e-10)
    np.testing.assert_allclose(ours.eigenvectors_, theirs.eigenvectors_, atol=1e-7)
    new = data(30, seed=1)
    scale = np.sqrt(theirs.eigenvalues_[0])
    np.testing.assert_allclose(ours.transform(new), theirs.transform(rows(new)), atol=1e-7 * scale)
    np.testing.assert_allclose(ours.fit_transform(data()), theirs.fit_transform(rows(data())), atol=1e-7 * scale)


@SOLVERS
def test_the_linear_kernel_is_principal_component_analysis(solver):
    X = data(200, 5) + 10.0
    theirs = sklearn.decomposition.PCA(3).fit(X)
    ours = KernelPCA(3, kernel="linear", solver=solver, tol=1e-10).fit(X)
    np.testing.assert_allclose(ours.eigenvalues_ / (len(X) - 1), theirs.explained_variance_, rtol=1e-9)
    np.testing.assert_allclose(ours.explained_variance_ratio_, theirs.explained_variance_ratio_, rtol=1e-9)
    new = data(20, 5, seed=1)
    signs = np.sign((ours.transform(X) * theirs.transform(X)).sum(axis=0))
    np.testing.assert_allclose(ours.transform(new) * signs, theirs.transform(new), atol=1e-8)
    directions = X.T @ ours.eigenfunctions_.coef * signs
    np.testing.assert_allclose(directions.T, theirs.components_, atol=1e-9)


def test_without_centring_the_linear_kernel_gives_singular_values():
    X = data(50, 4) + 3.0
    model = KernelPCA(kernel="linear", center=False).fit(X)
    np.testing.assert_allclose(model.eigenvalues_, np.linalg.svd(X, compute_uv=False) ** 2, rtol=1e-10)
    np.testing.assert_allclose(model.explained_variance_ratio_.sum(), 1.0, rtol=1e-12)
    assert model.mean_.norm() == 0.0


# ---- laws ----


@SOLVERS
@CENTER
@each("weighted", [False, True])
def test_eigenfunctions_are_orthonormal_in_the_space(center, solver, weighted):
    kernel = 0.3 * Linear() + RBF(2.0) * Matern(1.0, nu=1.5)
    weights = np.arange(120) % 4 if weighted else None
    model = KernelPCA(8, kernel=kernel, center=center, solver=solver).fit(data(), sample_weight=weights)
    np.testing.assert_allclose(inner_products(model.eigenfunctions_), np.eye(8), atol=1e-10)
    np.testing.assert_allclose(model.eigenfunctions_[2].norm(), 1.0, rtol=1e-10)


@SOLVERS
@CENTER
@each("weighted", [False, True])
def test_scores_of_the_data(center, solver, weighted):
    """Scores have mean 0 (if centred) and squares that sum to the eigenvalues; `fit_transform` gives the same."""
    X, weights = data(), np.arange(120) % 4 if weighted else np.ones(120)
    model = KernelPCA(6, kernel=RBF(1.5), center=center, solver=solver)
    scores = model.fit_transform(X, sample_weight=weights)
    np.testing.assert_allclose(scores, model.transform(X), atol=1e-10)
    np.testing.assert_allclose(scores, model.eigenfunctions_(X), atol=1e-10)
    np.testing.assert_allclose(weights @ scores**2, model.eigenvalues_, rtol=1e-7)
    assert (np.abs(weights @ scores).max() < 1e-9) == center
    others = (scores.T * weights) @ scores - np.diag(model.eigenvalues_)
    assert np.abs(others).max() < 1e-5 * model.eigenvalues_[0]


@SOLVERS
@CENTER
def test_a_weight_of_two_is_an_input_given_twice(center, solver):
    X, times = data(), np.arange(120) % 3
    model = KernelPCA(5, center=center, solver=solver, tol=1e-9)
    weighted = clone(model).fit(X, sample_weight=times)
    repeated = clone(model).fit(np.repeat(X, times, axis=0))
    np.testing.assert_allclose(weighted.kernel_.length_scale, repeated.kernel_.length_scale, rtol=1e-14)
    np.testing.assert_allclose(weighted.eigenvalues_, repeated.eigenvalues_, rtol=1e-9)
    np.testing.assert_allclose(weighted.explained_variance_ratio_, repeated.explained_variance_ratio_, rtol=1e-9)
    np.testing.assert_allclose(weighted.transform(X), repeated.transform(X), atol=1e-6)
    np.testing.assert_allclose(weighted.project(X[:3])(X), repeated.project(X[:3])(X), atol=1e-6)


def test_scaled_weights_scale_eigenvalues_only():
    X, w = data(), np.random.default_rng(1).uniform(size=120)
    one, three, huge, tiny = (KernelPCA(4).fit(X, sample_weight=c * w) for c in (1.0, 3.0, 1e300, 1e-300))
    for model, factor in ((huge, 1e300), (tiny, 1e-300)):
        np.testing.assert_allclose(model.eigenvalues_, factor * one.eigenvalues_, rtol=1e-9)
        np.testing.assert_allclose(model.transform(X), one.transform(X), atol=1e-7)
    np.testing.assert_allclose(three.eigenvalues_, 3.0 * one.eigenvalues_, rtol=1e-10)
    np.testing.assert_allclose(three.transform(X), one.transform(X), atol=1e-9)


@CENTER
def test_centring_is_that_of_the_features(center):
    """(x, y) + (x, y)^2 has the features x, and products of two entries of x."""
    X = data(80, 2) + 1.0
    features = np.column_stack([X, X[:, 0] ** 2, X[:, 1] ** 2, np.sqrt(2.0) * X[:, 0] * X[:, 1]])
    kernel = Linear() + Linear() ** 2
    model, primal = (
        KernelPCA(5, kernel=kernel, center=center).fit(X),
        KernelPCA(5, kernel="linear", center=center).fit(features),
    )
    np.testing.assert_allclose(model.eigenvalues_, primal.eigenvalues_, rtol=1e-9)
    np.testing.assert_allclose(model.transform(X), primal.transform(features), atol=1e-8)


@CENTER
def test_projection_is_the_nearest_point(center):
    """P phi(x) - m is a combination of components, and phi(x) - P phi(x) is orthogonal to all of them."""
    X, new = data(), data(5, seed=1)
    model = KernelPCA(6, kernel=RBF(1.5), center=center).fit(X)
    P, phi = model.project(new), [Function(model.kernel_, new[i : i + 1], np.ones(1)) for i in range(5)]
    for i in range(5):
        rest = phi[i] - P[i]
        along = [rest.inner(model.eigenfunctions_[j]) for j in range(6)]
        np.testing.assert_allclose(along, 0.0, atol=1e-10)
        # Pythagoras: the distance from the mean, the length of the scores, and the rest
        scores = model.transform(new[i : i + 1])
        np.testing.assert_allclose((phi[i] - model.mean_).norm() ** 2, (scores**2).sum() + rest.norm() ** 2, rtol=1e-9)


def test_all_components_project_inputs_onto_themselves():
    X = data(40)
    model = KernelPCA(kernel=RBF(0.8)).fit(X)
    assert len(model.eigenvalues_) == 39
    np.testing.assert_allclose(model.explained_variance_ratio_.sum(), 1.0, rtol=1e-10)
    np.testing.assert_allclose(model.project(X[:4])(X), model.kernel_(X, X[:4]), atol=1e-9)


def test_signs_do_not_depend_on_the_solver_or_the_order_of_inputs():
    X = data(300)
    model = KernelPCA(5, kernel=RBF(1.5), tol=1e-9)
    dense, davidson = (clone(model).set_params(solver=s).fit(X) for s in ("dense", "davidson"))
    turned = clone(model).fit(X[::-1])
    np.testing.assert_allclose(davidson.transform(X), dense.transform(X), atol=1e-6)
    np.testing.assert_allclose(turned.transform(X), dense.transform(X), atol=1e-6)


# ---- rank ----


@SOLVERS
def test_more_components_than_the_rank_are_said_and_left_out(solver):
    X = data(300, 3)
    with pytest.warns(UserWarning, match="Only 3 of the 10 components have an eigenvalue distinguishable from zero"):
        model = KernelPCA(10, kernel="linear", solver=solver).fit(X)
    assert model.transform(X).shape == (300, 3)
    assert model.get_feature_names_out().shape == (3,)
    np.testing.assert_allclose(model.explained_variance_ratio_.sum(), 1.0, rtol=1e-8)


def test_repeated_inputs_do_not_add_components():
    X = np.repeat(data(10), 5, axis=0)
    assert len(KernelPCA(kernel=RBF(1.0)).fit(X).eigenvalues_) == 9
    assert len(KernelPCA(kernel=RBF(1.0), center=False).fit(X).eigenvalues_) == 10


@pytest.mark.parametrize("X", [np.ones((1, 2)), np.ones((8, 2))])
def test_nothing_varies(X):
    with pytest.raises(ValueError, match=rf"nothing varies: n_samples = {len(X)}"):
        KernelPCA(2).fit(X)
    assert KernelPCA(1, center=False).fit(X).eigenvalues_.round(12).tolist() == [len(X)]


# ---- inputs ----


@SOLVERS
def test_single_precision_is_kept(solver):
    X = data(300)
    model = KernelPCA(5, kernel=RBF(1.5), solver=solver)
    wide, single = clone(model).fit(X), clone(model).fit(X.astype(np.float32))
    for values in (single.transform(X.astype(np.float32)), single.fit_transform(X.astype(np.float32))):
        assert values.dtype == np.float32
        np.testing.assert_allclose(values, wide.transform(X), atol=2e-5)
    np.testing.assert_allclose(single.eigenvalues_, wide.eigenvalues_, rtol=1e-6)


@pytest.mark.parametrize("solver", ["dense", "davidson"])
def test_precomputed_is_the_same_model(solver):
    X, new = data(), data(20, seed=1)
    direct = KernelPCA(5, kernel=RBF(1.5), solver=solver).fit(X)
    model = KernelPCA(5, kernel="precomputed", solver=solver).fit(RBF(1.5)(X))
    np.testing.assert_allclose(model.eigenvalues_, direct.eigenvalues_, rtol=1e-9)
    np.testing.assert_allclose(model.transform(RBF(1.5)(new, X)), direct.transform(new), atol=1e-5)
    np.testing.assert_allclose(model.project(RBF(1.5)(new, X))(RBF(1.5)(X)), direct.project(new)(X), atol=1e-5)


def test_sparse_inputs():
    X = np.where(np.random.default_rng(0).uniform(size=(80, 6)) < 0.6, 0.0, data(80, 6))
    dense, thin = (KernelPCA(4).fit(Z) for Z in (X, sparse.csr_array(X)))
    np.testing.assert_allclose(thin.transform(sparse.csr_array(X)), dense.transform(X), atol=1e-9)


@SOLVERS
def test_strings(solver):
    model = KernelPCA(5, kernel=Spectrum(2), solver=solver).fit(words())
    counts = np.array([[w[i : i + 2] for i in range(9)] for w in words()])
    pairs = sorted({*counts.ravel()})
    features = (counts[:, :, None] == pairs).sum(axis=1).astype(float)
    theirs = sklearn.decomposition.PCA(5).fit_transform(features)
    np.testing.assert_allclose(np.abs(model.transform(words())), np.abs(theirs), atol=1e-4)
    assert model.project(["ACGTACGT"])(["AAAA"]).shape == (1, 1)


def test_sets_and_frames():
    sets = [set(w) | {i % 7} for i, w in enumerate(words(40))]
    assert KernelPCA(2, kernel=Jaccard()).fit_transform(sets).shape == (40, 2)
    columns = {"a": data(40)[:, 0], "s": words(40)}
    kernel = On(RBF(1.0), ["a"]) * On(Spectrum(2), "s")
    one, two = (KernelPCA(2, kernel=kernel).fit_transform(frame(columns)) for frame in (pd.DataFrame, pl.DataFrame))
    np.testing.assert_allclose(one, two, atol=1e-12)


# ---- kindness ----


@each(
    ("options", "error", "message"),
    [
        ({"kernel": "rfb"}, ValueError, "kernel is 'rfb'; pass a kernel object"),
        ({"kernel": Sigmoid()}, ValueError, "a principal component in its space does not exist"),
        ({"solver": "arpack"}, ValueError, "solver is 'arpack'; use 'auto', 'dense'"),
        ({"n_components": 0}, ValueError, "n_components"),
        ({"n_components": 2.5}, (TypeError, ValueError), "n_components"),
        ({"tol": -1.0}, ValueError, "tol"),
        ({"memory": 1000}, MemoryError, "above the budget"),
        ({"n_components": 50, "solver": "davidson"}, ValueError, "at most a tenth"),
    ],
)
def test_wrong_options(options, error, message):
    with pytest.raises(error, match=message):
        KernelPCA(**options).fit(data())


@pytest.mark.parametrize("K", [np.array([[1.0, 2.0], [2.0, 1.0]]), np.diag([2.0, 1.0, -1.0])], ids=["wide", "diagonal"])
def test_a_matrix_that_is_no_gram_matrix(K):
    with pytest.warns(UserWarning, match="negative eigenvalues"):
        KernelPCA(kernel="precomputed", center=False).fit(K)


def test_wrong_weights():
    with pytest.raises(ValueError, match="at least one non-zero"):
        KernelPCA(2).fit(data(), sample_weight=np.zeros(120))


def test_stopping_early_warns():
    X = np.random.default_rng(0).normal(size=(300, 8))
    match = r"a residual \|A u - lambda u\| / lambda_1 of .*, above the tolerance 1e-06; use a larger tol"
    with pytest.warns(ConvergenceWarning, match=match):
        KernelPCA(8, kernel=Matern(0.5, nu=0.5), solver="davidson", max_iter=1).fit(X)


def test_plan_without_work():
    assert KernelPCA(5).plan(data()).solver == "dense"
    plan = KernelPCA(20, memory=10**10).plan(np.zeros((50_000, 2)))
    assert plan.solver == "davidson"
    assert "without an n x n matrix" in str(plan)
    assert "needs 60.3 GB" in KernelPCA(memory=10**10).plan(np.zeros((50_000, 2))).refusal
    with pytest.raises(ValueError, match="solver is 'arpack'"):
        KernelPCA(solver="arpack").plan(data())


def test_progress(capsys):
    KernelPCA(5, solver="davidson", verbose=1).fit(data(200))
    assert "block products: [" in capsys.readouterr().err


# ---- back to inputs ----


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_inverse_transform_of_a_linear_kernel_is_that_of_pca(dtype):
    X = np.random.default_rng(0).normal(size=(60, 5)).astype(dtype)
    ours = KernelPCA(2, kernel="linear").fit(X)
    theirs = sklearn.decomposition.PCA(2).fit(X.astype(np.float64))
    back = ours.inverse_transform(ours.transform(X))
    assert back == pytest.approx(theirs.inverse_transform(theirs.transform(X.astype(np.float64))), abs=2e-3)


def test_inverse_transform_removes_noise():
    rng = np.random.default_rng(0)
    angle = rng.uniform(0.0, 2.0 * np.pi, 300)
    noisy = np.stack([np.cos(angle), np.sin(angle)], axis=1) + 0.15 * rng.normal(size=(300, 2))
    model = KernelPCA(5, kernel=RBF(1.0)).fit(noisy)
    back = model.inverse_transform(model.transform(noisy))
    off = [np.abs(np.linalg.norm(points, axis=1) - 1.0).mean() for points in (back, noisy)]
    assert off[0] < 0.75 * off[1]  # only noise across the circle can be told from the signal
    assert np.array_equal(back, preimage(model.project(noisy)).x)


@pytest.mark.parametrize("method", ["fixed_point", "gradient", "distances", "learned", "nearest", "auto"])
def test_inverse_transform_is_the_preimage_by_each_method(method):
    X = np.random.default_rng(0).normal(size=(60, 4))
    model = KernelPCA(6, kernel=RBF(2.0)).fit(X[:50])
    back = model.inverse_transform(model.transform(X[50:]), method)
    np.testing.assert_allclose(back, preimage(model.project(X[50:]), method).x, atol=1e-9)


def test_inverse_transform_wants_the_scores():
    model = KernelPCA(2).fit(np.random.default_rng(0).normal(size=(20, 3)))
    with pytest.raises(ValueError, match="3 columns, but there are 2 components"):
        model.inverse_transform(np.zeros((1, 3)))


def test_components_far_from_zero():
    X = np.random.default_rng(0).normal(size=(400, 3)) + 1000.0
    near, far = (
        KernelPCA(3, kernel="linear", solver="dense").fit(X),
        KernelPCA(3, kernel="linear", solver="davidson").fit(X),
    )
    assert far.eigenvalues_ == pytest.approx(near.eigenvalues_, rel=1e-6)


def test_center_is_true_or_false():
    with pytest.raises(ValueError, match="center is 2"):
        KernelPCA(2, center=2).fit(np.zeros((5, 2)))
