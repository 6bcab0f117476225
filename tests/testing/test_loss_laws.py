import numpy as np
import pytest

from representer.losses import Absolute, Squared
from representer.testing import (
    check_loss,
)


class Shifted(Squared):
    """A conjugate that is wrong by a constant."""

    def conjugate(self, y, v):
        return super().conjugate(y, v) + 0.1


class Steep(Squared):
    """A curvature that is wrong."""

    def curvature(self, y, f):
        return 2.0 * np.ones_like(f)


class Kinked(Absolute):
    """An envelope that is above the loss."""

    def envelope(self, y, f, mu):
        value, v, h = super().envelope(y, f, mu)
        return value + mu, v, h


@pytest.mark.parametrize(
    ("loss", "law"), [(Shifted(), "not v f"), (Steep(), "curvature"), (Kinked(), "envelope is above")]
)
def test_broken_losses_are_found(loss, law, rng):
    with pytest.raises(AssertionError, match=law):
        check_loss(loss, rng.normal(size=20), rng.normal(size=20))


# ---- solvers ----
