"""Bounds, priors, starts and minima of the search for hyper-parameters."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from sklearn.exceptions import ConvergenceWarning

from representer import GaussianProcessRegressor, KernelRidge
from representer.estimators import hyperparameter_search as search
from representer.estimators.hyperparameters import LogParameters
from representer.kernels import Brownian, Normalized, RandomWalk, Subsequence
from representer.testing.kernel_laws import derivative

NAMES = ["factor", "kernel__length_scale[0]", "kernel__length_scale[1]", "left__hurst", "noise"]
START = np.log([1.0, 2.0, 3.0, 0.5, 0.1])


def test_bounds_by_default():
    low, high = np.exp(search.log_bounds(NAMES, START, 1e6, None).T)
    np.testing.assert_allclose(low, [1e-3, 2e-3, 3e-3, 5e-4, 1.0])
    np.testing.assert_allclose(high, [1e9, 2e3, 3e3, 500.0, 1e7])


def test_bounds_as_given():
    given = {"kernel__length_scale": (1.0, 5.0), "kernel__length_scale[1]": (2.0, 2.0), "noise": [0.01, 0.2]}
    low, high = np.exp(search.log_bounds(NAMES, START, 1.0, given).T)
    np.testing.assert_allclose(low[[1, 2, 4]], [1.0, 2.0, 0.01])
    np.testing.assert_allclose(high[[1, 2, 4]], [5.0, 2.0, 0.2])


def test_bounds_that_a_kernel_refuses():
    """hurst is below 1, and decay below one over the squared spectral radius, 1 for a path of two nodes."""
    for kernel, X, limit in [
        (2.0 * Brownian(0.5), np.ones((3, 1)), 1.0),
        (3.0 * RandomWalk(0.01), [np.array([[0.0, 1.0], [1.0, 0.0]])] * 2, 1.0),
    ]:
        parameters = LogParameters(kernel, kernel.prepare(X))
        wide = search.log_bounds(parameters.names, parameters.start, 1.0, None)
        bounds = search.accepted(wide, parameters.start, parameters.kernel_at, X)
        assert limit * 0.99 < np.exp(bounds[1, 1]) < limit < np.exp(wide[1, 1])
        np.testing.assert_array_equal(bounds[0], wide[0])  # those of the factor
        np.testing.assert_array_equal(bounds[:, 0], wide[:, 0])


def test_searches_stay_where_a_kernel_has_values(rng):
    """Counts of A twice, however far apart: the larger the decay the better, and the largest is 1."""
    X = ["".join(rng.choice(list("ACGT"), 12)) for _ in range(30)]
    y = np.array([float(x.count("A") ** 2) for x in X]) + rng.normal(size=30)
    kernel = Normalized(Subsequence(2, 0.7))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The search for hyper-parameters ended at a bound")
        ridge = KernelRidge(kernel=kernel, tune="loo").fit(X, y)
        process = GaussianProcessRegressor(kernel=1.0 * kernel).fit(X, y)
    assert all(0.7 < each.kernel.decay <= 1.0 for each in (ridge.kernel_, process.kernel_.kernel))


@pytest.mark.parametrize("value", [(1.0, 2.0, 3.0), (2.0, 1.0), (0.0, 1.0), (1.0, np.inf), "ab", 3.0, [(1, 2), (3, 4)]])
def test_bad_bounds(value):
    with pytest.raises(ValueError, match=r"bounds of noise are .*two positive numbers"):
        search.log_bounds(NAMES, START, 1.0, {"noise": value})
    with pytest.raises(ValueError, match="no hyper-parameter 'nois' to bound"):
        search.log_bounds(NAMES, START, 1.0, {"nois": (1.0, 2.0)})


def test_log_prior_and_its_gradient():
    priors = {"noise": stats.lognorm(0.5), "kernel__length_scale": stats.gamma(3.0)}
    value, gradient = search.log_prior(NAMES, priors, START)
    logs = [priors["kernel__length_scale"].logpdf(2.0), priors["kernel__length_scale"].logpdf(3.0)]
    assert value == pytest.approx(sum(logs) + priors["noise"].logpdf(0.1))
    for i in range(len(NAMES)):
        step = np.eye(len(NAMES))[i]
        expected = derivative(lambda t, step=step: search.log_prior(NAMES, priors, START + t * step)[0], 1e-3)
        assert gradient[i] == pytest.approx(expected, abs=1e-6)


def test_bad_priors():
    with pytest.raises(ValueError, match="no hyper-parameter 'scale' for a prior"):
        search.check_priors(NAMES, {"scale": stats.norm()}, START)
    with pytest.raises(TypeError, match="logpdf"):
        search.check_priors(NAMES, {"noise": 3.0}, START)
    with pytest.raises(ValueError, match="zero density where the search starts"):
        search.check_priors(NAMES, {"noise": stats.uniform(5.0, 1.0)}, START)


@pytest.mark.parametrize("value", [-1, "zzz", [("noise", (0.1, 1.0))]])
def test_options_that_are_no_dictionaries(value):
    with pytest.raises(TypeError, match=r"bounds is .*give a dictionary from names of .* to pairs"):
        search.log_bounds(NAMES, START, 1.0, value)
    with pytest.raises(TypeError, match=r"priors is .*give a dictionary from names of .* to distributions"):
        search.check_priors(NAMES, value, START)


def test_negative_of_a_function_without_a_value():
    def of(value, slope=1.0, error=None):
        def function(theta):
            if error:
                raise error
            return value, np.full(2, slope)

        return search.negative(function)(np.zeros(2))

    assert of(3.0)[0] == -3.0
    np.testing.assert_array_equal(of(3.0, 2.0)[1], [-2.0, -2.0])
    for bad in (of(np.nan), of(np.inf), of(1.0, np.nan), of(1.0, error=np.linalg.LinAlgError())):
        assert bad[0] == search.IMPOSSIBLE
        np.testing.assert_array_equal(bad[1], 0.0)


def test_maximum_is_the_highest_from_all_starts():
    """-(x^2 - 1)^2 - 0.3 x is highest at -1.0355 and has a lower maximum at 0.96."""
    bounds = np.array([[-2.0, 2.0]])

    def function(theta):
        x = theta[0]
        return -float((x**2 - 1) ** 2 + 0.3 * x), -np.array([4 * x * (x**2 - 1) + 0.3])

    near = search.maximum(function, ["a"], np.array([1.0]), bounds)
    far = search.maximum(function, ["a"], np.array([1.0]), bounds, search.Guide(n_restarts=4, random_state=1))
    assert near.theta[0] == pytest.approx(0.9604, abs=1e-3)
    assert far.theta[0] == pytest.approx(-1.0355, abs=1e-3)
    assert len(far.values) == 5
    far.warn()  # nothing to say
    with pytest.warns(ConvergenceWarning, match=r"stopped early \(so\).*bounds="):
        replace(far, success=False, message="so").warn()
    assert any("bounds=" in advice for advice in replace(far, success=False).advice())


def test_starts():
    bounds = search.log_bounds(NAMES, START, 100.0, None)
    goal = START + np.log(100.0) * np.array([1, 0, 0, 0, 0])
    rng = np.random.RandomState(0)
    found = search.starts(
        lambda t: (float(((t - goal) ** 2).sum()), 2 * (t - goal)), NAMES, START, bounds, 100.0, 2, rng
    )
    np.testing.assert_allclose(found[0], goal)  # amplitudes in the units of y, because that is better here
    assert len(found) == 3
    assert all(np.all((bounds[:, 0] <= t) & (t <= bounds[:, 1])) for t in found)


def test_minimum_takes_the_best_start_and_names_active_bounds():
    bounds = np.array([[-2.0, 2.0], [0.5, 0.5]])

    def objective(theta):
        x = theta[0]
        return float((x**2 - 1) ** 2 + 0.3 * x), np.array([4 * x * (x**2 - 1) + 0.3, 0.0])

    found = search.minimum(objective, ["a", "b"], [np.array([1.0, 0.5]), np.array([-1.0, 0.5])], bounds)
    assert found.theta[0] == pytest.approx(-1.0355, abs=1e-3)
    assert found.values[1] > found.values[0]
    assert found.at_bounds == []  # b is fixed on purpose
    down = search.minimum(lambda t: (float(t[0]), np.array([1.0, 0.0])), ["a", "b"], [np.array([1.0, 0.5])], bounds)
    assert down.at_bounds == ["a (lower)"]
    with pytest.raises(np.linalg.LinAlgError, match="use more noise"):
        search.minimum(lambda t: (search.IMPOSSIBLE, np.zeros(2)), ["a", "b"], [np.array([1.0, 0.5])], bounds)


def test_what_is_fixed_does_not_slow_the_search():
    """A quadratic bowl whose fixed direction is steep: the search does not see it, and takes as many evaluations."""

    def function(theta):
        return -float((theta[:2] ** 2).sum() + 1e6 * theta[2] ** 2), -np.array([2.0, 2.0, 2e6]) * theta

    start, bounds = np.array([1.0, -1.0, 1.0]), np.array([[-2.0, 2.0]] * 2 + [[1.0, 1.0]])
    found = search.maximum(function, ["a", "b", "c"], start, bounds)
    alone = search.maximum(lambda t: (-float((t**2).sum()), -2.0 * t), ["a", "b"], start[:2], bounds[:2])
    np.testing.assert_allclose(found.theta, [0.0, 0.0, 1.0], atol=1e-6)
    assert found.evaluations == alone.evaluations
    nothing = search.maximum(function, ["a", "b", "c"], start, np.stack([start, start], axis=1))
    assert nothing.evaluations == 1
    np.testing.assert_array_equal(nothing.theta, start)


def test_units_make_directions_alike():
    def function(theta):
        return -float(((np.array([1.0, 300.0]) * theta) ** 4).sum()), -4.0 * np.array([1.0, 300.0**4]) * theta**3

    start, bounds = np.array([1.0, 0.003]), np.array([[-2.0, 2.0]] * 2)
    plain = search.maximum(function, ["a", "b"], start, bounds)
    scaled = search.maximum(function, ["a", "b"], start, bounds, search.Guide(units=np.array([1.0, 300.0])))
    assert scaled.evaluations < plain.evaluations
    assert scaled.values[0] > -1e-6


def test_other_candidates_are_tried_and_all_evaluations_are_counted():
    calls, steps = [], []

    def function(theta):
        calls.append(theta)
        return -float((theta[0] ** 2 - 1) ** 2 + 0.3 * theta[0]), -np.array([4 * theta[0] * (theta[0] ** 2 - 1) + 0.3])

    guide = search.Guide(others=(np.array([-0.9]), np.array([1.5])), step=lambda value: steps.append(value))
    found = search.maximum(function, ["a"], np.array([1.0]), np.array([[-2.0, 2.0]]), guide)
    assert found.theta[0] == pytest.approx(-1.0355, abs=1e-3)
    assert found.evaluations == len(calls)
    assert steps == sorted(steps)
    assert steps[-1] == pytest.approx(found.values[0])


def test_iterations_are_bounded():
    def function(theta):
        return -float(theta[0] ** 4), -np.array([4 * theta[0] ** 3])

    found = search.maximum(function, ["a"], np.array([1.0]), np.array([[-2.0, 2.0]]), search.Guide(max_iter=1))
    assert not found.success
    with pytest.warns(ConvergenceWarning, match="larger max_iter="):
        found.warn()


@pytest.mark.parametrize(
    ("name", "end", "given", "warns"),
    [
        ("factor", 1, {}, True),
        ("kernel__length_scale[1]", 1, {}, False),  # the column does not matter
        ("kernel__length_scale[1]", 0, {}, True),
        ("kernel__length_scale[1]", 1, {"kernel__length_scale": (0.1, 3000.0)}, True),
        ("noise", 0, {}, False),  # there is none
        ("noise", 1, {}, True),
        ("noise", 0, {"noise": (1e-6, 10.0)}, True),
    ],
)
def test_a_bound_is_named_in_one_sentence(name, end, given, warns):
    bounds = search.log_bounds(NAMES, START, 1.0, given)
    theta = START.copy()
    theta[NAMES.index(name)] = bounds[NAMES.index(name), end]
    found = search.Search(NAMES, theta, bounds, [0.0], "so", True, 9)
    side = "lower" if end == 0 else "upper"
    if not warns:
        found.warn(given)
        return
    with pytest.warns(ConvergenceWarning) as told:
        found.warn(given)
    (message,) = {str(each.message) for each in told}
    assert message == (
        f"The search for hyper-parameters ended at a bound of {name} ({side}); widen bounds=, or fix it."
    )


def test_differences_by_slopes_are_those_of_a_quadratic_without_its_rounding():
    H, start = np.array([[2.0, 0.5], [0.5, 1.0]]), np.array([0.3, -0.2])
    x = start + np.array([1e-4, 3e-4])
    near = search.by_slopes(lambda x: (round(0.5 * x @ H @ x, 2), H @ x), start)
    value, slopes = near(x)
    assert value - near(start)[0] == pytest.approx(0.5 * x @ H @ x - 0.5 * start @ H @ start, rel=1e-9)
    assert np.array_equal(slopes, H @ x)
