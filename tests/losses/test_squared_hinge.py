import numpy as np

from representer.losses import Hinge, SquaredHinge
from representer.testing import check_loss


def test_laws(rng):
    check_loss(SquaredHinge(), np.sign(rng.normal(size=30)), 2 * rng.normal(size=30))


def test_half_the_square_of_the_hinge(rng):
    y, f = np.sign(rng.normal(size=20)), rng.normal(size=20)
    np.testing.assert_allclose(SquaredHinge().value(y, f), Hinge().value(y, f) ** 2 / 2, rtol=1e-12)
