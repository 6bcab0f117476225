import math

import numpy as np
import pytest
from each_case import each
from scipy.optimize import minimize_scalar
from sklearn.base import clone

from representer.regularizers import Ball, CustomRegularizer, Norm, Power, Regularizer, SquaredNorm

ALL = [
    SquaredNorm(0.7),
    Norm(0.7),
    Power(0.7, 1.5),
    Power(2.0, 4.0),
    CustomRegularizer(np.expm1, np.exp),
    CustomRegularizer(lambda t: np.sqrt(1 + t**2), lambda t: t / np.sqrt(1 + t**2)),
]
IDS = ["squared", "norm", "power 1.5", "power 4", "exponential", "pseudo-Huber"]


@pytest.mark.parametrize("R", ALL, ids=IDS)
def test_laws(R):
    """Derivative by differences, the inequality of Fenchel and Young, with equality at the derivative."""
    R.check()
    assert R.convex
    for t in (0.1, 1.0, 3.0):
        slope = (R.value(t + 1e-6) - R.value(t - 1e-6)) / 2e-6
        assert R.derivative(t) == pytest.approx(slope, rel=1e-7)
        s = R.derivative(t)
        assert R.value(t) + R.conjugate(s) == pytest.approx(s * t, rel=1e-9, abs=1e-12)
        for other in (0.0, 0.5, 2.0):
            assert R.value(other) + R.conjugate(s) >= s * other - 1e-9
    assert clone(R) == R


@each("R", [*ALL, Ball(1.3)])
@each("s", [0.2, 0.6])
def test_conjugate_by_search(R, s):
    def negative(t):
        return R.value(t) - s * t if t <= R.largest else 1e3

    best = min(
        minimize_scalar(negative, bounds=(0, top), method="bounded", options={"xatol": 1e-12}).fun
        for top in (0.5, min(R.largest, 5.0))
    )
    assert R.conjugate(s) == pytest.approx(-min(best, R.value(0.0)), abs=1e-6)


def test_effective_strength():
    """excess is zero where strength t = R'(t), positive above."""
    assert SquaredNorm(0.3).fixed_strength == 0.3
    assert Norm().fixed_strength is None
    assert Norm(2.0).excess(4.0, 0.5) == pytest.approx(0.0, abs=1e-15)
    assert Norm(2.0).excess(8.0, 0.5) > 0 > Norm(2.0).excess(1.0, 0.5)
    assert Power(3.0, 3.0).excess(6.0, 2.0) == pytest.approx(0.0, abs=1e-15)
    assert Ball(2.0).excess(1.0, 1.0) > 0 > Ball(2.0).excess(1.0, 3.0)
    assert Norm(2.0).excess(1.0, 0.0) == -np.inf
    assert Ball(2.0).excess(1.0, 0.0) == np.inf


def test_shrinking_into_the_domain_of_the_conjugate():
    assert Norm(2.0).within(4.0) == 0.5
    assert Norm(2.0).within(1.0) == Norm(2.0).within(0.0) == SquaredNorm().within(1e9) == 1.0
    assert Norm(2.0).conjugate(2.1) == np.inf
    huber = CustomRegularizer(lambda t: np.sqrt(1 + t**2), lambda t: t / np.sqrt(1 + t**2))
    assert huber.within(2.0) == pytest.approx(0.5, rel=1e-6)
    assert huber.conjugate(1.5) == np.inf


def test_ball():
    assert Ball(2.0).value(1.9) == 0.0
    assert Ball(2.0).value(2.1) == np.inf
    assert Ball(2.0).largest == 2.0


def test_decreasing_regularizer_is_refused():
    with pytest.raises(ValueError, match="decreases"):
        CustomRegularizer(lambda t: -t, lambda t: -1.0).check()
    with pytest.raises(ValueError, match="decreases"):
        CustomRegularizer(lambda t: (t - 1) ** 2, lambda t: 2 * (t - 1)).check()
    with pytest.raises(ValueError, match="decreases"):  # the derivative lies, the value does not
        CustomRegularizer(lambda t: -t, lambda t: 1.0).check()
    with pytest.raises(ValueError, match="near t = 1"):
        CustomRegularizer(lambda t: t if t < 150 else 300 - t, lambda t: 1.0 if t < 150 else -1.0).check()


def test_far_off_a_regulariser_may_be_too_large_for_a_float():
    CustomRegularizer(lambda t: math.exp(t) - 1.0, math.exp).check()
    CustomRegularizer(lambda t: np.logaddexp(0.0, t), lambda t: np.exp(t) / (1.0 + np.exp(t))).check()


def test_regularizer_that_is_not_convex_must_say_so():
    root = CustomRegularizer(lambda t: np.sqrt(t), lambda t: 0.5 / np.sqrt(t) if t > 0 else np.inf)
    with pytest.raises(ValueError, match="convex=False"):
        root.check()
    clone(root).set_params(convex=False).check()


@pytest.mark.parametrize(
    ("R", "words"),
    [
        (SquaredNorm(0.0), "strength is 0.0"),
        (Norm(-1.0), "strength is -1.0"),
        (Power(1.0, 1.0), "exponent is 1.0"),
        (Ball(np.inf), "radius is inf"),
    ],
)
def test_bad_parameters_are_refused(R, words):
    with pytest.raises(ValueError, match=words):
        R.check()


def test_functions_are_asked_for():
    with pytest.raises(TypeError, match="derivative is 3"):
        CustomRegularizer(np.exp, 3).check()


def test_base_class_gives_nothing():
    for method in ("value", "derivative", "conjugate"):
        with pytest.raises(NotImplementedError):
            getattr(Regularizer(), method)(1.0)
