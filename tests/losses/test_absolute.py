import numpy as np

from representer.losses import Absolute, Pinball
from representer.testing import check_loss


def test_laws(rng):
    check_loss(Absolute(), rng.normal(size=20), rng.normal(size=20))


def test_twice_the_median_pinball(rng):
    y, f = rng.normal(size=(2, 20))
    np.testing.assert_allclose(Absolute().value(y, f), np.abs(y - f))
    np.testing.assert_allclose(Absolute().value(y, f), 2 * Pinball(0.5).value(y, f))
