import numpy as np
import pytest
from each_case import each
from scipy.optimize import minimize_scalar

from representer.losses import BoxLoss, EpsilonInsensitive, Hinge, Pinball
from representer.testing import check_loss


class Lopsided(BoxLoss):
    """Slopes -2 and 0.5 outside a tube."""

    def box(self, y):
        return -2.0, 0.5, 0.3


def test_laws(rng):
    check_loss(Lopsided(), rng.normal(size=30), 2 * rng.normal(size=30))


def test_by_hand():
    y = np.zeros(4)
    np.testing.assert_allclose(Lopsided().value(y, np.array([-1.3, -0.2, 0.3, 2.3])), [2.0, 0.0, 0.0, 1.0])
    np.testing.assert_allclose(Lopsided().gradient(y, np.array([-1.3, -0.2, 0.3, 2.3])), [-2.0, 0.0, 0.0, 0.5])


@each("loss", [Lopsided(), EpsilonInsensitive(0.2), Pinball(0.8), Hinge()])
@each("mu", [0.1, 2.0])
def test_envelope_is_the_least_of_loss_and_distance(loss, mu):
    """Moreau: the maximum over v equals the minimum over g of l(g) + (f - g)^2 / (2 mu)."""
    y = np.array([1.0])
    for f in np.linspace(-3, 3, 13):
        by_search = minimize_scalar(
            lambda g, f=f: float(loss.value(y, np.array([g]))[0]) + (f - g) ** 2 / (2 * mu),
            bounds=(f - 10, f + 10),
            method="bounded",
            options={"xatol": 1e-10},
        ).fun
        assert loss.envelope(y, np.array([f]), mu)[0][0] == pytest.approx(
            by_search, abs=1e-7
        )  # the search rounds at kinks
