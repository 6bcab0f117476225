import numpy as np
import pytest

from representer.losses import EpsilonInsensitive, Hinge, Pinball
from representer.losses.smoothed import Smoothed
from representer.testing import check_loss

LOSSES = [Pinball(0.2), EpsilonInsensitive(0.3), Hinge()]


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("mu", [1e-2, 1.0])
def test_laws(loss, mu, rng):
    y = np.sign(rng.normal(size=30)) if loss.targets == "signs" else rng.normal(size=30)
    center = loss.project(y[:, None], rng.normal(size=(30, 1)))
    check_loss(Smoothed(loss, mu, center), y, rng.normal(size=30))


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_it_touches_the_loss_where_the_center_is_a_slope(loss, rng):
    """So the right center needs no small mu."""
    y = np.sign(rng.normal(size=(30, 1))) if loss.targets == "signs" else rng.normal(size=(30, 1))
    f = rng.normal(size=(30, 1))
    smooth = Smoothed(loss, 5.0, loss.gradient(y, f))
    np.testing.assert_allclose(smooth.value(y, f), loss.value(y, f), atol=1e-12)
    elsewhere = rng.normal(size=(30, 1))
    assert np.all(smooth.value(y, elsewhere) <= loss.value(y, elsewhere) + 1e-12)
