import numpy as np
import pytest
from sklearn.base import clone

from representer.losses import CustomLoss
from representer.testing import check_loss


def value(y, f):
    return np.logaddexp(f - y, y - f) - np.log(2)


def gradient(y, f):
    return np.tanh(f - y)


def test_laws(rng):
    loss = CustomLoss(value, gradient)
    check_loss(loss, rng.normal(size=20), rng.normal(size=20))
    assert clone(loss) == loss
    check_loss(loss, np.array([-1e5, 1e5]), np.array([1e5, 1e5]))
    np.testing.assert_allclose(
        value(np.array([0.0, 0.5]), np.array([2e3, 0.0])), [2e3 - np.log(2), np.log(np.cosh(0.5))]
    )
    assert not loss.complete


def test_wrong_gradient_is_found(rng):
    with pytest.raises(AssertionError, match=r"derivative|subgradient"):
        check_loss(CustomLoss(value, lambda y, f: 2 * np.tanh(f - y)), rng.normal(size=20), rng.normal(size=20))


def test_loss_that_is_not_convex_is_found(rng):
    loss = CustomLoss(lambda y, f: np.log1p((f - y) ** 2), lambda y, f: 2 * (f - y) / (1 + (f - y) ** 2))
    with pytest.raises(AssertionError, match="not convex"):
        check_loss(loss, np.zeros(20), 5 * rng.normal(size=20))
    check_loss(clone(loss).set_params(convex=False), np.zeros(20), 5 * rng.normal(size=20))


def test_bad_parts_are_refused():
    with pytest.raises(TypeError, match="gradient is None"):
        CustomLoss(value, None).check()
    with pytest.raises(ValueError, match="targets is 'colours'"):
        CustomLoss(value, gradient, targets="colours").check()
