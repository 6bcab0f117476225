import numpy as np
from scipy.stats import poisson

from representer.losses import Poisson
from representer.testing import check_loss


def test_laws(rng):
    check_loss(Poisson(), rng.poisson(2.0, 30), rng.normal(size=30))


def test_minus_log_probability(rng):
    y = rng.poisson(3.0, 20).astype(float)
    f, g = rng.normal(size=(2, 20))
    expected = poisson.logpmf(y, np.exp(g)) - poisson.logpmf(y, np.exp(f))
    np.testing.assert_allclose(Poisson().value(y, f) - Poisson().value(y, g), expected, rtol=1e-10, atol=1e-12)


def test_too_far_is_infinite_without_a_warning():
    assert Poisson().value(np.array([1.0]), np.array([1e4])) == np.inf
    assert Poisson().gradient(np.array([1.0]), np.array([1e4])) == np.inf
