import numpy as np
import pytest

from representer.losses import Absolute, EpsilonInsensitive
from representer.testing import check_loss


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 1.0])
def test_laws(epsilon, rng):
    check_loss(EpsilonInsensitive(epsilon), rng.normal(size=30), 2 * rng.normal(size=30))


def test_without_a_tube_it_is_absolute(rng):
    y, f = rng.normal(size=(2, 20))
    np.testing.assert_array_equal(EpsilonInsensitive(0.0).value(y, f), Absolute().value(y, f))
    np.testing.assert_allclose(EpsilonInsensitive(0.5).value(y, f), np.maximum(np.abs(y - f) - 0.5, 0))


def test_negative_epsilon_is_refused():
    with pytest.raises(ValueError, match="epsilon is -1"):
        EpsilonInsensitive(-1.0).check()
