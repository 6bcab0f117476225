import numpy as np
import pytest
from each_case import each
from machine_cases import LOSSES, problem

from representer.losses import Absolute, CustomLoss, Poisson, Squared
from representer.problems.intercepts import best_intercept
from representer.problems.points import Point


def flat(values, outputs=1):
    return Point(np.zeros((len(values), outputs)), np.zeros(outputs), values)


@each("loss", LOSSES)
@each("size", [1e-300, 1.0, 1e100])
def test_no_other_constant_gives_a_lower_loss(loss, size, rng):
    p = problem(loss, weighted=True)
    values = rng.normal(size=(p.n, loss.outputs(p.y)))
    b = best_intercept(loss, p.y, size * p.weights, flat(values, values.shape[1]))
    best = p.losses(values + b)
    for step in (1e-4, 1e-2, 1.0):
        for direction in np.vstack([np.eye(len(b)), -np.eye(len(b))]):
            assert best <= p.losses(values + b + step * direction) + 1e-12 * abs(best)


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_mean_and_median_in_any_unit(scale, rng):
    y, w = scale * (10.0 + rng.normal(size=(21, 1))), np.ones((21, 1))
    zero = flat(np.zeros((21, 1)))
    np.testing.assert_allclose(best_intercept(Squared(), y, w, zero), y.mean(), rtol=1e-14)
    np.testing.assert_allclose(best_intercept(Absolute(), y, w, zero), np.median(y), rtol=1e-14)


def test_far_values_overflow_nothing():
    y, w = np.array([[1.0], [3.0]]), np.ones((2, 1))
    b = best_intercept(Poisson(), y, w, flat(np.array([[800.0], [800.0]])))
    np.testing.assert_allclose(b, np.log(2.0) - 800.0, rtol=1e-14)


def test_without_a_best_constant_the_intercept_stays():
    falling = CustomLoss(lambda y, f: -f, lambda y, f: -np.ones_like(f))
    point = Point(np.zeros((3, 1)), np.array([0.7]), np.zeros((3, 1)))
    assert best_intercept(falling, np.ones((3, 1)), np.ones((3, 1)), point) == 0.7
