import numpy as np
import pytest
from each_case import each

from representer.losses import Absolute, Hinge, Logistic, Loss, Pinball, Poisson, Squared


def test_value_and_gradient_are_all_that_is_asked():
    loss = Loss()
    assert loss.smooth
    assert loss.convex
    assert not loss.complete
    assert loss.targets == "real"
    assert loss.parts() == [loss]
    for method, arguments in [("value", 2), ("gradient", 2), ("curvature", 2), ("conjugate", 2), ("domain", 1)]:
        with pytest.raises(NotImplementedError):
            getattr(loss, method)(*[np.zeros(1)] * arguments)
    with pytest.raises(NotImplementedError):
        loss.envelope(np.zeros(1), np.zeros(1), 1.0)


def test_parameters_are_printed_and_compared():
    assert repr(Pinball(0.9)) == "Pinball(quantile=0.9)"
    assert Pinball(0.9) == Pinball(0.9)
    assert Pinball(0.9) != Pinball(0.8)


@each("loss", [Squared(), Absolute(), Pinball(0.1), Hinge(), Logistic(), Poisson()])
@each("size", [1e-8, 0.1, 100.0])
def test_balance(loss, size, rng):
    """The sum is zero to rounding, in the domain, however far away the point was."""
    y = np.where(np.arange(40) % 3 == 0, 1.0, -1.0)[:, None] if loss.targets == "signs" else np.arange(40.0)[:, None]
    weights = rng.uniform(0.5, 3.0, (40, 1))
    v = loss.balance(y, size * rng.normal(size=(40, 1)) + size, weights)
    lower, upper = loss.domain(y)
    assert np.all(v >= lower)
    assert np.all(v <= upper)
    assert abs(np.sum(weights * v)) <= 1e-12 * np.sum(weights * np.abs(v)) + 1e-300


def test_balanced_point_stays(rng):
    v = rng.normal(size=(30, 1))
    v -= v.mean()
    np.testing.assert_allclose(Squared().balance(np.zeros((30, 1)), v, np.ones((30, 1))), v, atol=1e-15)


def test_balance_without_an_answer():
    """All slopes of one class have one sign; the only balanced point is zero."""
    v = Hinge().balance(np.ones((5, 1)), np.full((5, 1), -0.5), np.ones((5, 1)))
    np.testing.assert_allclose(v, 0.0, atol=1e-12)
