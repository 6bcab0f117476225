import numpy as np
from sklearn.metrics import hinge_loss

from representer.losses import Hinge
from representer.testing import check_loss


def test_laws(rng):
    check_loss(Hinge(), np.sign(rng.normal(size=30)), 2 * rng.normal(size=30))


def test_as_scikit_learn(rng):
    y, f = np.sign(rng.normal(size=20)), rng.normal(size=20)
    np.testing.assert_allclose(Hinge().value(y, f).mean(), hinge_loss(y, f), rtol=1e-12)
