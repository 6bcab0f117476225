import numpy as np

from representer.losses import Squared
from representer.testing import check_loss


def test_laws(rng):
    check_loss(Squared(), rng.normal(size=20), rng.normal(size=20))


def test_by_hand():
    assert Squared().value(np.array([3.0]), np.array([1.0])) == 2.0
    assert Squared().conjugate(np.array([3.0]), np.array([-2.0])) == -4.0
