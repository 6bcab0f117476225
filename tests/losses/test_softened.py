import numpy as np
import pytest

from representer.losses import EpsilonInsensitive, Hinge, Pinball
from representer.losses.softened import Softened
from representer.testing import check_loss

LOSSES = [Pinball(0.2), EpsilonInsensitive(0.3), Hinge()]


def targets(loss, rng):
    return np.sign(rng.normal(size=(30, 1))) if loss.targets == "signs" else rng.normal(size=(30, 1))


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("width", [0.03, 0.5])
def test_laws(loss, width, rng):
    check_loss(Softened(loss, width), targets(loss, rng), rng.normal(size=30))


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_third_derivative(loss, rng):
    y, f, soft, step = targets(loss, rng), rng.normal(size=(30, 1)), Softened(loss, 0.2), 1e-5
    expected = (soft.curvature(y, f + step) - soft.curvature(y, f - step)) / (2 * step)
    np.testing.assert_allclose(soft.third(y, f), expected, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_it_becomes_the_loss(loss, rng):
    """From above, and by no more than log 2 widths for each corner."""
    y, f = targets(loss, rng), rng.normal(size=(30, 1))
    for width in (0.5, 1e-3):
        off = Softened(loss, width).value(y, f) - loss.value(y, f)
        assert np.all(off >= -1e-12)
        assert np.all(off <= 2 * np.log(2.0) * width)


def test_a_value_by_hand():
    """A hinge with corners of width 1 is log(1 + e^(1 - y f))."""
    y = np.array([[1.0], [-1.0]])
    np.testing.assert_allclose(
        Softened(Hinge(), 1.0).value(y, np.array([[2.0], [2.0]])), np.log1p(np.exp([[-1.0], [3.0]]))
    )
