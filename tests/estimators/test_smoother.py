import pickle
import warnings

import numpy as np
import pytest
from each_case import each
from scipy import sparse
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsRegressor
from sklearn_contract import faults

from representer import NadarayaWatson
from representer.kernels import (
    RBF,
    Jaccard,
    Laplacian,
    Linear,
    Matern,
    Precomputed,
    RationalQuadratic,
    Spectrum,
)
from representer.kernels.windows import WINDOWS

NAMES = each("name", WINDOWS)
BOTH = each("degree", [0, 1])


def data(n=80, d=2, targets=None, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, d))
    Y = np.sin(2 * X[:, :1] * np.arange(1, (targets or 1) + 1)) + 5.0
    Y += 0.1 * rng.normal(size=Y.shape)
    return X, Y if targets else Y.ravel()


def local(X, Y, x, h, name, degree, weights):
    """The definition: weighted least squares around one x."""
    w = weights * WINDOWS[name].values(np.linalg.norm(X - x, axis=1) / h)
    design = np.column_stack([np.ones(len(X)), X - x]) if degree else np.ones((len(X), 1))
    root = np.sqrt(w)[:, None]
    return np.linalg.lstsq(root * design, root * Y.reshape(len(Y), -1), rcond=1e-10)[0][0]


def test_estimator_checks():
    assert faults(NadarayaWatson()) == []


# ---- the definition ----


@NAMES
@BOTH
@each("weighted", [False, True])
@each("targets", [None, 2])
def test_prediction_is_weighted_least_squares(name, degree, weighted, targets):
    X, y = data(targets=targets)
    weights = 0.5 + np.arange(80) % 3 if weighted else np.ones(80)
    new = data(20, seed=1)[0]
    model = NadarayaWatson(0.9, window=name, degree=degree).fit(X, y, weights if weighted else None)
    expected = np.array([local(X, y, x, 0.9, name, degree, weights) for x in new])
    np.testing.assert_allclose(model.predict(new), expected if targets else expected[:, 0], rtol=1e-9)


@NAMES
@BOTH
@each("weighted", [False, True])
def test_leave_one_out_is_that_of_n_fits(name, degree, weighted):
    X, y = data(40)
    weights = np.where(np.arange(40) % 5 == 3, 0.0, 1.0 + np.arange(40) % 3) if weighted else np.ones(40)
    bandwidths = [1.2, 1.8, 3.0]
    model = NadarayaWatson(bandwidths, window=name, degree=degree).fit(X, y, weights if weighted else None)
    rest = [np.delete(np.arange(40), i) for i in range(40)]
    predictions = np.array(
        [[local(X[r], y[r], X[i], h, name, degree, weights[r])[0] for i, r in enumerate(rest)] for h in bandwidths]
    )
    scores = -np.average((predictions - y) ** 2, axis=1, weights=weights)
    np.testing.assert_allclose(model.loo_scores_, scores, rtol=1e-8)
    assert model.bandwidth_ == bandwidths[np.argmax(scores)]
    np.testing.assert_allclose(model.loo_predictions_, predictions[np.argmax(scores)], rtol=1e-8)


@each("bandwidth", [0.3, "loo"])
@NAMES
def test_lines_are_reproduced(bandwidth, name):
    X, _ = data(200)
    X[:, 1] *= 1e-4  # columns of very different size
    y = 3.0 + X @ [1.0, -2e4]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # no bandwidth is better than another
        model = NadarayaWatson(bandwidth, window=name, degree=1).fit(X, y)
    np.testing.assert_allclose(model.predict(X), y, atol=1e-7)


def test_wide_windows_are_global_fits():
    X, y = data()
    mean = NadarayaWatson(1e5).fit(X, y)
    np.testing.assert_allclose(mean.predict(X), y.mean(), rtol=1e-8)
    line = NadarayaWatson(1e5, degree=1).fit(X, y)
    np.testing.assert_allclose(line.predict(X), LinearRegression().fit(X, y).predict(X), rtol=1e-7)


@BOTH
def test_narrow_windows_are_nearest_neighbours(degree):
    X, y = data()
    model = NadarayaWatson(1e-6, degree=degree).fit(X, y)
    new = data(20, seed=1)[0]
    nearest = np.linalg.norm(new[:, None] - X, axis=2).argmin(axis=1)
    np.testing.assert_allclose(model.predict(new), y[nearest], rtol=1e-10)


def test_leave_one_out_finds_a_good_bandwidth():
    X, y = data(400, 1)
    model = NadarayaWatson("loo").fit(X, y)
    new = np.linspace(-0.9, 0.9, 200)[:, None]
    error = np.mean((model.predict(new) - np.sin(2 * new.ravel()) - 5.0) ** 2)
    assert error < 0.001  # the noise has variance 0.01
    assert model.bandwidths_[0] < model.bandwidth_ < model.bandwidths_[-1]


def test_lines_have_less_bias_at_the_border():
    """The mean is off by the slope times about half a bandwidth."""
    X, y = data(1000, 1)
    y = y + 3 * X.ravel()
    truth = np.sin(2.0) + 8.0
    mean, line = (NadarayaWatson(0.1, degree=d).fit(X, y).predict([[1.0]])[0] - truth for d in (0, 1))
    assert mean < -0.1
    assert abs(line) < 0.05


# ---- kernels and inputs ----


@pytest.mark.parametrize("kernel", [RBF(0.5), Matern(0.4) * RBF(1.0) + 0.1], ids=repr)
def test_kernel_objects(kernel):
    X, y = data()
    weights = 0.5 + np.arange(80) % 3
    new = data(20, seed=1)[0]
    W = kernel(new, X) * weights
    model = NadarayaWatson(window=kernel).fit(X, y, weights)
    np.testing.assert_allclose(model.predict(new), W @ y / W.sum(axis=1), rtol=1e-10)
    assert model.bandwidth_ is None
    matrix = NadarayaWatson(window=Precomputed()).fit(kernel(X), y, weights)
    np.testing.assert_allclose(matrix.predict(kernel(new, X)), model.predict(new), rtol=1e-10)


def test_gaussian_window_is_the_rbf_kernel():
    X, y = data()
    np.testing.assert_allclose(
        NadarayaWatson(0.4).fit(X, y).predict(X), NadarayaWatson(window=RBF(0.4)).fit(X, y).predict(X), rtol=1e-9
    )


FAR = [
    RBF(0.5),
    0.1 * (2.0 * RBF([0.3, 0.2])),
    Matern(0.5, nu=0.5),
    Matern(0.5, nu=1.5),
    Matern(0.5, nu=2.5),
    Matern(0.5, nu=0.8),
    Matern(0.5, nu=np.inf),
    RationalQuadratic(0.1, mixture=30.0),
    Laplacian(0.3),
]


@each("dtype", [np.float32, np.float64])
@each("kernel", FAR)
def test_weights_far_from_the_data_are_compared_by_their_logarithms(kernel, dtype):
    X, y = (part.astype(dtype) for part in data())
    weights = np.arange(80) % 3  # the nearest inputs with weight zero must not count
    new = np.array([[500.0, 300.0], [-1e4, 0.0], [0.1, -30.0], [0.2, 0.1]], dtype)
    s = np.empty((4, 80), dtype)
    B = kernel.prepare(X)
    kernel.radial.fill(kernel.prepare(new, like=B), B, s)
    logs = kernel.radial.log(s.astype(float))[:, weights > 0]
    shares = weights[weights > 0] * np.exp(logs - logs.max(axis=1, keepdims=True))
    expected = shares @ y[weights > 0] / shares.sum(axis=1)
    found = NadarayaWatson(window=kernel).fit(X, y, weights).predict(new)
    np.testing.assert_allclose(found, expected, rtol=1e-5 if dtype == np.float32 else 1e-10)
    assert np.ptp(found[:3]) > 1e-3  # and not the mean of all


def test_a_kernel_is_its_window_also_far_from_the_data():
    X, y = data()
    new = 100.0 * data(20, seed=1)[0]
    for kernel, name in ((RBF(0.4), "gaussian"), (Matern(0.4, nu=0.5), "exponential")):
        ours = NadarayaWatson(window=kernel).fit(X, y).predict(new)
        np.testing.assert_allclose(ours, NadarayaWatson(0.4, window=name).fit(X, y).predict(new), rtol=1e-9)


@pytest.mark.parametrize("window", ["gaussian", RBF(0.4)], ids=repr)
def test_infinitely_far_inputs_have_no_prediction(window):
    model = NadarayaWatson(window=window).fit(*data())
    with pytest.warns(UserWarning, match="1 inputs have no training input"):
        assert np.isnan(model.predict([[1e200, 0.0]]))[0]


def test_a_kernel_without_logarithms_says_where_its_weights_vanish():
    X, y = data()
    model = NadarayaWatson(window=RBF(0.4) * Matern(0.3)).fit(X, y)
    with pytest.warns(UserWarning, match=r"1 inputs have no training input.*larger length scale in RBF"):
        assert np.isnan(model.predict([[0.0, 0.0], [90.0, 9.0]])).tolist() == [False, True]


@BOTH
@each("dtype", [np.float32, np.float64])
@each("bandwidth", [1e-30, 1e-160, 1e-200, 1e-308])
def test_a_tiny_bandwidth_finds_the_nearest(bandwidth, dtype, degree):
    X, y = (part.astype(dtype) for part in data())
    new = data(20, seed=1)[0].astype(dtype)
    nearest = KNeighborsRegressor(1).fit(X, y).predict(new)
    for name in ("gaussian", "exponential"):
        model = NadarayaWatson(bandwidth, window=name, degree=degree).fit(X, y)
        np.testing.assert_allclose(model.predict(new), nearest, rtol=1e-5)
    ending = NadarayaWatson(bandwidth, window="biweight", degree=degree).fit(X, y)
    np.testing.assert_allclose(ending.predict(X), y, rtol=1e-6)
    with pytest.warns(UserWarning, match="20 inputs have no training input"):
        assert np.isnan(ending.predict(new)).all()


def test_tiny_bandwidths_take_part_in_the_choice():
    X, y = data()
    model = NadarayaWatson([1e-200, 0.3]).fit(X, y)
    assert model.bandwidth_ == 0.3
    assert np.all(np.isfinite(model.loo_scores_))


def test_strings_and_sets():
    words = ["abab", "baba", "cdcd", "dcdc"]
    model = NadarayaWatson(window=Spectrum(2)).fit(words, [1.0, 1.0, 3.0, 3.0])
    np.testing.assert_allclose(model.predict(["ab", "cd"]), [1.0, 3.0])
    sets = [{1, 2}, {2, 3}, {7}]
    assert NadarayaWatson(window=Jaccard()).fit(sets, [1.0, 2.0, 5.0]).predict([{7, 9}])[0] == pytest.approx(5.0)
    with pytest.warns(UserWarning, match="1 inputs have no training input within the window"):
        assert np.isnan(model.predict(["xyz", "ab"])).tolist() == [True, False]


def test_inputs_out_of_reach():
    X, y = data(80)
    model = NadarayaWatson(0.5, window="epanechnikov").fit(X, y)
    with pytest.warns(UserWarning, match="1 inputs have no training input"):
        assert np.isnan(model.predict([[0.0, 0.0], [9.0, 9.0]])).tolist() == [False, True]
    chosen = NadarayaWatson([1e-3, 0.7], window="epanechnikov", degree=1).fit(X, y)
    assert chosen.loo_scores_[0] == -np.inf
    assert chosen.bandwidth_ == 0.7
    assert np.isfinite(NadarayaWatson(0.01).fit(X, y).predict([[9.0, 9.0]]))


@BOTH
def test_a_weight_of_two_is_a_row_given_twice(degree):
    X, y = data()
    times = np.arange(80) % 4
    weighted = NadarayaWatson(degree=degree).fit(X, y, times)
    repeated = NadarayaWatson(degree=degree).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-9)


@BOTH
def test_float32_and_pickle(degree):
    X, y = data()
    model = NadarayaWatson(0.4, degree=degree).fit(X, y)
    small = NadarayaWatson(0.4, degree=degree).fit(X.astype(np.float32), y)
    assert small.predict(X.astype(np.float32)).dtype == np.float32
    np.testing.assert_allclose(small.predict(X.astype(np.float32)), model.predict(X), rtol=1e-4)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))


def test_sparse():
    X, y = data()
    thin = NadarayaWatson(0.4).fit(sparse.csr_array(X), y)
    np.testing.assert_allclose(thin.predict(sparse.csr_array(X)), NadarayaWatson(0.4).fit(X, y).predict(X), rtol=1e-9)
    with pytest.raises(TypeError, match="Local lines do not take sparse input"):
        NadarayaWatson(degree=1).fit(sparse.csr_array(X), y)


def test_search():
    X, y = data(200)
    search = GridSearchCV(NadarayaWatson(0.7), {"window": ["gaussian", "tricube"], "degree": [0, 1]}, cv=3).fit(X, y)
    assert search.best_params_["degree"] == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bandwidth": -1.0}, "bandwidth is -1.0"),
        ({"degree": 2}, "degree is 2; use 0 for local means or 1"),
        ({"window": "tophat"}, "window is 'tophat'; use one of"),
        ({"window": RBF(), "bandwidth": 0.3}, "has length scales of its own"),
        ({"window": RBF(), "degree": 1}, "Local lines need a window by name"),
        ({"window": Linear()}, "negative sum"),
        ({"threads": 0}, "threads is 0"),
    ],
    ids=str,
)
def test_bad_arguments(options, message):
    X, y = data()
    with pytest.raises(ValueError, match=message):
        NadarayaWatson(**options).fit(X, y).predict(X)


@pytest.mark.parametrize("degree", [0, 1])
def test_rows_of_weight_zero_are_not_there(degree):
    Z, y, w = np.array([[0.0], [10.0], [20.0], [30.0]]), [9.0, 1.0, 2.0, 3.0], [0, 1, 1, 1]
    model = NadarayaWatson(0.1, degree=degree)
    weighted = model.fit(Z, y, sample_weight=w).predict([[0.0]])
    assert weighted == pytest.approx(model.fit(Z[1:], y[1:]).predict([[0.0]]))
