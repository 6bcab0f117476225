import numpy as np
import pytest
from scipy.special import huber

from representer.losses import Huber, Squared
from representer.testing import check_loss


@pytest.mark.parametrize("delta", [0.1, 1.0, 10.0])
def test_laws(delta, rng):
    check_loss(Huber(delta), rng.normal(size=30), 3 * rng.normal(size=30))


def test_as_scipy(rng):
    y, f = rng.normal(size=(2, 20))
    np.testing.assert_allclose(Huber(0.7).value(y, f), huber(0.7, y - f), rtol=1e-12)
    np.testing.assert_allclose(Huber(100.0).value(y, f), Squared().value(y, f), rtol=1e-12)


@pytest.mark.parametrize("delta", [0.0, -1.0, np.nan, "1"])
def test_bad_delta_is_refused(delta):
    with pytest.raises(ValueError, match="delta is"):
        Huber(delta).check()
