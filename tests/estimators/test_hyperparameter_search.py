"""Bounds, priors, starts and minima of the search for hyper-parameters."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from sklearn.exceptions import ConvergenceWarning

from representer.estimators import hyperparameter_search as search
from representer.testing.kernel_laws import derivative

NAMES = ["factor", "kernel__length_scale[0]", "kernel__length_scale[1]", "left__hurst", "noise"]
START = np.log([1.0, 2.0, 3.0, 0.5, 0.1])


def test_bounds_by_default():
    low, high = np.exp(search.log_bounds(NAMES, START, 1e6, None).T)
    np.testing.assert_allclose(low, [1e-3, 2e-3, 3e-3, 5e-4, 1.0])
    np.testing.assert_allclose(high, [1e9, 2e3, 3e3, 0.999, 1e7])


def test_bounds_as_given():
    given = {"kernel__length_scale": (1.0, 5.0), "kernel__length_scale[1]": (2.0, 2.0), "noise": [0.01, 0.2]}
    low, high = np.exp(search.log_bounds(NAMES, START, 1.0, given).T)
    np.testing.assert_allclose(low[[1, 2, 4]], [1.0, 2.0, 0.01])
    np.testing.assert_allclose(high[[1, 2, 4]], [5.0, 2.0, 0.2])


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
    with pytest.raises(ValueError, match="no density where the search starts"):
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
    far = search.maximum(function, ["a"], np.array([1.0]), bounds, n_restarts=4, random_state=1)
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
