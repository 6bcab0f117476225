"""Peaks of spectra against waves whose periods are known."""

import numpy as np
import pandas as pd
import pytest

from representer import GaussianProcessRegressor
from representer.estimators.spectrum import Periods, periodic_columns, periods
from representer.kernels import RBF, Normalized, On, Periodic


@pytest.mark.parametrize("even", [True, False])
@pytest.mark.parametrize("period", [0.11, 0.7, 2.3])
def test_period_of_a_wave_with_a_trend(rng, even, period):
    x = np.linspace(3.0, 10.0, 300) if even else rng.uniform(3.0, 10.0, 300)
    y = np.sin(2 * np.pi * x / period + 1.0) + 3.0 * x**2 + 0.3 * rng.normal(size=300)
    assert periods(x, y[:, None])[0] == pytest.approx(period, rel=0.3 * period / 7.0)  # a third of a peak's width


def test_two_waves_have_two_peaks(rng):
    x = np.linspace(0.0, 10.0, 400)
    Y = np.column_stack([np.sin(2 * np.pi * x / 0.5), 1.5 * np.sin(2 * np.pi * x / 1.7)])
    np.testing.assert_allclose(periods(x, Y), [1.7, 0.5], rtol=0.03)


def test_nothing_to_find(rng):
    x = np.linspace(0.0, 1.0, 50)
    assert periods(x, np.column_stack([1.0 + x, x**2])) == []
    assert periods(x[:5], rng.normal(size=(5, 1))) == []
    assert periods(np.ones(50), rng.normal(size=(50, 1))) == []


def test_periods_are_found_by_name(rng):
    X = rng.normal(size=(20, 3))
    kernel = RBF() * Periodic() + 2.0 * On(Periodic(period=[1.0, 2.0]), [0, 2])
    found = dict(periodic_columns(kernel, X))
    assert list(found) == ["left__right__period", "right__kernel__kernel__period"]
    np.testing.assert_array_equal(found["left__right__period"], X)
    np.testing.assert_array_equal(found["right__kernel__kernel__period"], X[:, [0, 2]])
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    (found,) = periodic_columns(On(Normalized(Periodic()), ["b"]), frame)
    np.testing.assert_array_equal(found[1], X[:, [1]])
    assert list(periodic_columns(RBF(), ["no", "numbers"])) == []


def test_candidates_and_units():
    x = np.linspace(0.0, 10.0, 200)
    X = np.column_stack([x, x[::-1]])
    y = np.sin(2 * np.pi * x / 0.5)[:, None]
    names = ["length_scale", "period[0]", "period[1]"]
    known = Periods(Periodic(1.0, [1.0, 2.0]), X, y, names)
    start = np.log([1.0, 1.0, 2.0])
    bounds = np.log([[0.1, 10.0], [0.3, 10.0], [1.0, 10.0]])  # the second period may not be that short
    (other,) = [theta for theta in known.others(start, bounds) if abs(theta[1] - np.log(0.5)) < 0.05]
    np.testing.assert_array_equal(other[[0, 2]], start[[0, 2]])
    assert all(np.all((bounds[:, 0] <= theta) & (theta <= bounds[:, 1])) for theta in known.others(start, bounds))
    np.testing.assert_allclose(known.units(start), [1.0, 20 * np.pi, 10 * np.pi])


def test_a_fit_finds_the_period_from_a_start_that_is_far_off(rng):
    x = np.sort(rng.uniform(0.0, 10.0, 120))
    y = np.sin(2 * np.pi * x / 0.37) + 0.1 * rng.normal(size=120)
    gp = GaussianProcessRegressor(1.0 * Periodic(1.0, 3.0)).fit(x[:, None], y)
    assert gp.kernel_.kernel.period == pytest.approx(0.37, rel=1e-3)
    assert gp.search_.evaluations < 60
