import numpy as np

from representer.losses import Exponential, Logistic
from representer.testing import check_loss


def test_laws(rng):
    check_loss(Exponential(), np.sign(rng.normal(size=30)), rng.normal(size=30))


def test_above_the_logistic_loss_and_equal_far_out():
    y, f = np.ones(3), np.array([-1.0, 0.0, 30.0])
    assert np.all(Exponential().value(y, f) >= Logistic().value(y, f))
    np.testing.assert_allclose(Exponential().value(y, f)[2], Logistic().value(y, f)[2], rtol=1e-12)
