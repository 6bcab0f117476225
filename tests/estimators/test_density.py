import pickle

import numpy as np
import pytest
from each_case import each
from scipy import sparse, stats
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KernelDensity
from sklearn_contract import faults

from representer import ParzenDensity
from representer.kernels.windows import WINDOWS

NAMES = each("name", WINDOWS)
THEIRS = {
    "gaussian": "gaussian",
    "exponential": "exponential",
    "uniform": "tophat",
    "triangular": "linear",
    "epanechnikov": "epanechnikov",
    "cosine": "cosine",
}


def data(n=300, d=2, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) + 2.0 * (rng.uniform(size=(n, 1)) < 0.4)


def test_estimator_checks():
    assert faults(ParzenDensity()) == []


@each("name", THEIRS)
@each("d", [1, 11])
@each("weighted", [False, True])
def test_density_is_that_of_scikit_learn(name, d, weighted):
    X, new = data(300, d), data(50, d, seed=1)
    weights = np.random.default_rng(2).uniform(0.5, 2.0, 300) if weighted else None
    h = 2.0 * np.sqrt(d)  # all points within reach: else rounding in its trees makes some zeros tiny numbers
    ours = ParzenDensity(h, window=name).fit(X, sample_weight=weights)
    theirs = KernelDensity(bandwidth=h, kernel=THEIRS[name]).fit(X, sample_weight=weights)
    np.testing.assert_allclose(ours.score_samples(new), theirs.score_samples(new), rtol=1e-8, atol=1e-8)
    assert ours.score(X) == pytest.approx(theirs.score(X), rel=1e-9)


@NAMES
def test_density_integrates_to_one(name):
    model = ParzenDensity(window=name).fit(data(50, 1))
    grid = np.linspace(-30, 30, 200_001)
    assert np.exp(model.score_samples(grid[:, None])).sum() * (grid[1] - grid[0]) == pytest.approx(1.0, abs=2e-3)


@NAMES
@each("weighted", [False, True])
def test_leave_one_out_is_that_of_n_fits(name, weighted):
    X = data(16)
    weights = np.where(np.arange(16) % 5 == 3, 0.0, 1.0 + np.arange(16) % 3) if weighted else np.ones(16)
    bandwidths = [2.5, 4.0, 6.0]
    model = ParzenDensity(bandwidths, window=name).fit(X, sample_weight=weights if weighted else None)
    scores = []
    for h in bandwidths:
        values = [
            ParzenDensity(h, window=name)
            .fit(np.delete(X, i, axis=0), sample_weight=np.delete(weights, i))
            .score_samples(X[[i]])[0]
            for i in np.flatnonzero(weights)
        ]
        scores.append(np.average(values, weights=weights[weights > 0]))
    np.testing.assert_allclose(model.loo_scores_, scores, rtol=1e-10)
    assert model.bandwidth_ == bandwidths[np.argmax(scores)]


def test_leave_one_out_finds_a_good_bandwidth():
    """The likelihood of fresh points is near that of the best bandwidth."""
    X, new = data(400, 1), data(20_000, 1, seed=5)
    model = ParzenDensity("loo").fit(X)
    fresh = [ParzenDensity(h).fit(X).score(new) / 20_000 for h in model.bandwidths_[::3]]
    assert model.score(new) / 20_000 > max(fresh) - 0.01
    assert min(fresh) < max(fresh) - 0.1


def test_far_points_do_not_underflow():
    X = data(20)
    far = np.full((1, 2), 1e4)
    value = ParzenDensity(1.0).fit(X).score_samples(far)[0]
    assert value == pytest.approx(KernelDensity(bandwidth=1.0).fit(X).score_samples(far)[0], rel=1e-9)
    assert ParzenDensity(1.0, window="cosine").fit(X).score_samples(far)[0] == -np.inf


@NAMES
@each("dtype", [np.float32, np.float64])
@each("bandwidth", [1e-30, 1e-160, 1e-308])
def test_a_tiny_bandwidth(name, dtype, bandwidth):
    """Of inputs themselves n windows of height w(0) / h^d; at others zero, where even its logarithm underflows."""
    X = data(50, d=1).astype(dtype)
    model = ParzenDensity(bandwidth, window=name).fit(X)
    expected = -np.log(50) - np.log(bandwidth) - WINDOWS[name].log_integral(1)
    np.testing.assert_allclose(model.score_samples(X), expected, rtol=1e-5)
    elsewhere = model.score_samples(X + dtype(0.1))
    assert np.all(elsewhere < -1e25)
    if name == "gaussian" and bandwidth == 1e-308:
        assert np.all(elsewhere == -np.inf)


def test_rule_of_scott():
    X = data(500, 3)
    model = ParzenDensity().fit(X)
    assert model.bandwidth_ == pytest.approx(500 ** (-1 / 7) * np.sqrt(X.var(axis=0).mean()))
    flat = ParzenDensity(window="epanechnikov").fit(X)
    assert flat.bandwidth_ == pytest.approx(model.bandwidth_ * np.sqrt(3 + 4))  # 1 / (d + 4) is its variance
    assert ParzenDensity().fit(np.ones((4, 2))).bandwidth_ == 1.0


def test_a_weight_of_two_is_a_row_given_twice():
    X, times = data(60), np.arange(60) % 4
    weighted = ParzenDensity().fit(X, sample_weight=times)
    repeated = ParzenDensity().fit(np.repeat(X, times, axis=0))
    assert weighted.bandwidth_ == pytest.approx(repeated.bandwidth_, rel=1e-12)
    np.testing.assert_allclose(weighted.score_samples(X), repeated.score_samples(X), rtol=1e-10)


@NAMES
def test_samples_follow_the_density(name):
    """A Kolmogorov-Smirnov test that a right sampler fails once in a million seeds."""
    model = ParzenDensity(0.7, window=name).fit(data(30, 1), sample_weight=1.0 + np.arange(30) % 3)
    draws = model.sample(4000, random_state=0)
    grid = np.linspace(-25, 25, 20_001)
    mass = np.cumsum(np.exp(model.score_samples(grid[:, None])))
    assert stats.kstest(draws[:, 0], lambda x: np.interp(x, grid, mass / mass[-1])).pvalue > 1e-6
    np.testing.assert_array_equal(model.sample(5, random_state=3), model.sample(5, random_state=3))


def test_samples_in_several_dimensions():
    X = np.array([[0.0, 0.0], [10.0, 0.0]])
    draws = ParzenDensity(1.0, window="uniform").fit(X).sample(2000, random_state=0)
    r = np.linalg.norm(draws[:, None] - X, axis=2).min(axis=1)
    assert r.max() < 1
    assert np.mean(r**2) == pytest.approx(0.5, abs=0.05)  # uniform in the disc; 0.05 is 7 standard errors


def test_sparse_float32_and_pickle():
    X = data()
    model = ParzenDensity(0.5).fit(X)
    thin = ParzenDensity(0.5).fit(sparse.csr_array(X))
    np.testing.assert_allclose(thin.score_samples(sparse.csr_array(X)), model.score_samples(X), rtol=1e-9)
    assert thin.sample(3, random_state=0).shape == (3, 2)
    small = ParzenDensity(0.5).fit(X.astype(np.float32))
    assert small.score_samples(X.astype(np.float32)).dtype == np.float32
    assert small.sample(3, random_state=0).dtype == np.float32
    np.testing.assert_allclose(small.score_samples(X.astype(np.float32)), model.score_samples(X), rtol=1e-4)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).score_samples(X), model.score_samples(X))


def test_search():
    search = GridSearchCV(ParzenDensity(), {"bandwidth": [0.05, 0.5], "window": ["gaussian"]}, cv=3).fit(data())
    assert search.best_params_["bandwidth"] == 0.5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bandwidth": 0.0}, "bandwidth is 0.0; it must be a positive number"),
        ({"bandwidth": []}, "must be a positive number"),
        ({"bandwidth": "silverman"}, "bandwidth is 'silverman'"),
        ({"window": "tophat"}, "window is 'tophat'; use one of"),
        ({"threads": 0}, "threads is 0"),
        ({"bandwidth": [1e-6, 1e-5], "window": "uniform"}, "No bandwidth reaches from every input"),
    ],
    ids=str,
)
def test_bad_arguments(options, message):
    with pytest.raises(ValueError, match=message):
        ParzenDensity(**options).fit(data())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("bandwidth", [None, 1.0, "loo"])
def test_distances_that_overflow(bandwidth, dtype):
    far = np.sqrt(np.finfo(dtype).max)
    with pytest.raises(ValueError, match=f"Squared distances between inputs overflow {dtype.__name__}.*divide X"):
        ParzenDensity(bandwidth).fit((far * data(20)).astype(dtype))


def test_large_inputs():
    X = data(20)
    np.testing.assert_allclose(
        ParzenDensity().fit(1e150 * X).score_samples(1e150 * X),
        ParzenDensity().fit(X).score_samples(X) - 2 * 150 * np.log(10),
        rtol=1e-12,
    )


def test_one_input():
    assert ParzenDensity(1.0).fit([[0.0]]).score_samples([[0.0]])[0] == pytest.approx(-0.5 * np.log(2 * np.pi))
    with pytest.raises(ValueError, match="Leave-one-out needs more than n_samples = 1 input"):
        ParzenDensity("loo").fit([[0.0]])


def test_repeated_inputs_want_no_bandwidth():
    with pytest.warns(UserWarning, match="the smallest of those"):
        ParzenDensity("loo").fit(np.repeat(data(30), 2, axis=0))
