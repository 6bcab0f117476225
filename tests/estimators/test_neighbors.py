import pickle

import numpy as np
import pytest
from each_case import each
from scipy import sparse
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn_contract import faults

from representer import Gram, KernelNeighborsClassifier, KernelNeighborsRegressor
from representer.estimators.neighbors import nearest
from representer.kernels import (
    RBF,
    Jaccard,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    RationalQuadratic,
    Sigmoid,
    Spectrum,
    Stationary,
)


def data(n=600, width=3, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, width))
    return X, (X[:, 0] > 0).astype(int) + (X[:, 1] > 0.5)


@pytest.mark.parametrize(
    "estimator", [KernelNeighborsClassifier(weights="distance", kernel="linear"), KernelNeighborsRegressor()]
)
def test_estimator_checks(estimator):
    assert faults(estimator) == []


@each("k", [1, 4, 300])
@each("same", [False, True])
@each("dtype", [np.float32, np.float64])
@each("kernel", [Linear(), RBF(1.5), Polynomial(degree=2) * Matern(2.0) + Linear()])
def test_nearest_is_that_of_the_whole_matrix(kernel, dtype, same, k):
    """More inputs than one tile has rows and columns."""
    X = data()[0].astype(dtype)
    values, indices = nearest(Gram(kernel, X, None if same else X.copy()), k)
    D = kernel.diag(X) - 2 * kernel(X, X)
    if kernel.radial is not None:
        values = kernel.radial.squared(values) - kernel.diag(X)[:, None]
    if same:
        np.fill_diagonal(D, np.inf)
    close = {"rtol": 1e-5, "atol": 3e-5} if dtype == np.float32 else {"rtol": 1e-12, "atol": 1e-12}
    np.testing.assert_allclose(values, np.sort(D, axis=1)[:, :k], **close)
    np.testing.assert_allclose(np.take_along_axis(D, indices, axis=1), values, **close)
    assert all(len(set(row)) == k for row in indices.tolist())


# ---- scikit-learn's neighbours ----


@each("weights", ["uniform", "distance", lambda d: np.exp(-d)])
@each("k", [1, 5, 20])
def test_linear_kernel_is_scikit_learn(k, weights):
    X, y = data()
    new = np.concatenate([data(100, seed=1)[0], X[:5]])
    ours = KernelNeighborsClassifier(k, kernel="linear", weights=weights).fit(X, y)
    theirs = KNeighborsClassifier(k, weights=weights).fit(X, y)
    np.testing.assert_array_equal(ours.kneighbors(new)[1], theirs.kneighbors(new)[1])
    np.testing.assert_allclose(ours.kneighbors(new)[0], theirs.kneighbors(new)[0], rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(ours.kneighbors()[0], theirs.kneighbors()[0], rtol=1e-7)
    np.testing.assert_allclose(ours.predict_proba(new), theirs.predict_proba(new), rtol=1e-6, atol=1e-9)
    np.testing.assert_array_equal(ours.predict(new), theirs.predict(new))
    ours = KernelNeighborsRegressor(k, kernel="linear", weights=weights).fit(X, X[:, :2])
    theirs = KNeighborsRegressor(k, weights=weights).fit(X, X[:, :2])
    np.testing.assert_allclose(ours.predict(new), theirs.predict(new), rtol=1e-6, atol=1e-9)


def test_falling_functions_of_the_distance_have_the_same_neighbours():
    X, y = data()
    linear = KernelNeighborsClassifier(7, kernel="linear").fit(X, y)
    radial = KernelNeighborsClassifier(7, kernel=RBF(2.0)).fit(X, y)
    np.testing.assert_array_equal(radial.kneighbors()[1], linear.kneighbors()[1])
    d = linear.kneighbors()[0]
    np.testing.assert_allclose(radial.kneighbors()[0], np.sqrt(2 - 2 * np.exp(-(d**2) / 8)), rtol=1e-9)


KERNELS = [RBF(), RBF(0.1), 3.0 * Matern(0.5, nu=1.5), RationalQuadratic(0.2), Linear()]


@each("width", [3, 12])
@each("kernel", KERNELS)
def test_neighbours_far_from_the_data_are_those_of_scikit_learn(kernel, width):
    """All kernel values are zero there, to the last digit."""
    X, y = data(300, width)
    new = 1e3 * data(50, width, seed=1)[0]
    ours = KernelNeighborsRegressor(7, kernel=kernel).fit(X, y)
    theirs = KNeighborsRegressor(7).fit(X, y)
    np.testing.assert_array_equal(ours.kneighbors(new)[1], theirs.kneighbors(new)[1])
    np.testing.assert_allclose(ours.predict(new), theirs.predict(new), rtol=1e-12)
    assert np.all(np.isfinite(ours.set_params(weights="distance").predict(new)))


@each("width", [3, 12])
@each("kernel", KERNELS)
def test_a_large_mean_does_not_change_the_neighbours(kernel, width):
    X, y = data(300, width)
    X, new = X + 1e6, data(50, width, seed=1)[0] + 1e6
    ours = KernelNeighborsClassifier(7, kernel=kernel).fit(X, y)
    theirs = KNeighborsClassifier(7, algorithm="kd_tree").fit(X, y)  # from differences, unlike "brute"
    np.testing.assert_array_equal(ours.kneighbors(new)[1], theirs.kneighbors(new)[1])
    np.testing.assert_array_equal(ours.kneighbors()[1], theirs.kneighbors()[1])
    np.testing.assert_array_equal(ours.predict(new), theirs.predict(new))


def test_city_block_neighbours_far_from_the_data():
    X, y = data(300)
    new = 1e3 * data(50, seed=1)[0] + 1e6
    ours = KernelNeighborsClassifier(7, kernel=Laplacian(0.1)).fit(X + 1e6, y)
    theirs = KNeighborsClassifier(7, metric="manhattan").fit(X + 1e6, y)
    np.testing.assert_array_equal(ours.kneighbors(new)[1], theirs.kneighbors(new)[1])


class Wave(Stationary):
    """sin(r) / r, r = |x - y|: positive definite in three dimensions, but it falls and rises again."""

    length_scale = 1.0

    def phi(self, s):
        s[...] = np.sinc(np.sqrt(s) / np.pi)


def test_a_kernel_that_does_not_fall_has_neighbours_of_its_own():
    X, y = data(300)
    X *= 5.0
    indices = KernelNeighborsClassifier(7, kernel=Wave()).fit(X, y).kneighbors(return_distance=False)
    expected = np.argsort(Wave().distance(X) + np.diag(np.full(300, np.inf)), axis=1)[:, :7]
    np.testing.assert_array_equal(indices, expected)


def test_an_input_at_distance_zero_decides_alone():
    X, y = data(50)
    for kernel in (Linear(), RBF(1.0), Polynomial(degree=3)):
        model = KernelNeighborsRegressor(5, kernel=kernel, weights="distance").fit(X, y)
        np.testing.assert_array_equal(model.predict(X), y)
        assert np.all(model.kneighbors(X)[0][:, 0] == 0)


def test_a_kernel_object_is_not_changed():
    kernel = RBF()
    model = KernelNeighborsRegressor(kernel=kernel).fit(*data(50))
    assert kernel.length_scale is None
    assert model.kernel_.length_scale > 0


# ---- inputs ----


def test_strings_and_sets():
    words, y = ["abab", "baba", "cdcd", "dcdc"], ["early", "early", "late", "late"]
    model = KernelNeighborsClassifier(2, kernel=Spectrum(2)).fit(words, y)
    assert model.predict(["aabb", "ccdd"]).tolist() == ["early", "late"]
    distances, indices = model.kneighbors(["abab"])
    assert indices.tolist() == [[0, 1]]
    np.testing.assert_allclose(distances, Spectrum(2).distance(["abab"], words[:2]))
    sets = [{1, 2}, {1, 3}, {7}, {7, 8}]
    assert KernelNeighborsClassifier(1, kernel=Jaccard()).fit(sets, y).predict([{1}, {8}]).tolist() == ["early", "late"]
    assert KernelNeighborsRegressor(2, kernel=Jaccard()).fit(sets, [1, 3, 5, 7.0]).predict([{1}]).tolist() == [2.0]


def test_precomputed():
    X, y = data(60)
    new = data(10, seed=1)[0]
    kernel = RBF(1.0)
    direct = KernelNeighborsClassifier(3, kernel=kernel).fit(X, y)
    model = KernelNeighborsClassifier(3, kernel="precomputed").fit(kernel(X), y)
    np.testing.assert_array_equal(model.predict_proba(kernel(new, X)), direct.predict_proba(new))
    np.testing.assert_allclose(model.kneighbors()[0], direct.kneighbors()[0])
    with pytest.raises(ValueError, match="k\\(x, x\\) of new inputs is not known"):
        model.kneighbors(kernel(new, X))


def test_sparse_and_float32():
    X, y = data(80)
    model = KernelNeighborsRegressor(3).fit(X, y)
    thin = KernelNeighborsRegressor(3).fit(sparse.csr_array(X), y)
    np.testing.assert_allclose(thin.predict(sparse.csr_array(X)), model.predict(X))
    small = KernelNeighborsRegressor(3).fit(X.astype(np.float32), y)
    assert small.predict(X.astype(np.float32)).dtype == np.float32
    assert small.kneighbors(X.astype(np.float32))[0].dtype == np.float32


def test_search_and_pickle():
    X, y = load_iris(return_X_y=True)
    search = GridSearchCV(KernelNeighborsClassifier(kernel=RBF()), {"n_neighbors": [1, 5]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.95
    again = pickle.loads(pickle.dumps(search.best_estimator_))
    np.testing.assert_array_equal(again.predict(X), search.predict(X))


def test_threads_do_not_matter():
    X, y = data(1500)
    one, two = (KernelNeighborsClassifier(threads=t).fit(X, y).kneighbors() for t in (1, 2))
    np.testing.assert_array_equal(one[0], two[0])
    np.testing.assert_array_equal(one[1], two[1])


@each(
    ("options", "message"),
    [
        ({"n_neighbors": 61}, "there are only n_samples = 60 inputs"),
        ({"n_neighbors": 0}, "n_neighbors is 0"),
        ({"weights": np.ones(60)}, "use 'uniform', 'distance' or a function"),
        ({"weights": "near"}, "weights is 'near'; use 'uniform', 'distance'"),
        ({"weights": lambda d: d[0], "n_neighbors": 3}, "weights returned shape"),
        ({"weights": np.zeros_like}, "have weight zero"),
        ({"kernel": Sigmoid()}, "not positive semidefinite"),
        ({"kernel": "rfb"}, "kernel is 'rfb'"),
        ({"threads": 0}, "threads is 0"),
    ],
)
def test_bad_arguments(options, message):
    X, y = data(60)
    with pytest.raises(ValueError, match=message):
        KernelNeighborsRegressor(**options).fit(X, y).predict(X)


def test_too_many_other_inputs():
    X, y = data(6)
    model = KernelNeighborsClassifier(6).fit(X, y)
    assert model.kneighbors(X)[1].shape == (6, 6)
    with pytest.raises(ValueError, match="only 5 other inputs"):
        model.kneighbors()
