import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.stats import expectile

from representer.losses import Expectile, Squared
from representer.testing import check_loss


@pytest.mark.parametrize("level", [0.1, 0.5, 0.95])
def test_laws(level, rng):
    check_loss(Expectile(level), rng.normal(size=30), rng.normal(size=30))


def test_half_is_squared(rng):
    y, f = rng.normal(size=(2, 20))
    np.testing.assert_allclose(Expectile(0.5).value(y, f), Squared().value(y, f), rtol=1e-12)


def test_the_best_constant_is_the_expectile(rng):
    y = rng.exponential(size=50)
    best = minimize_scalar(lambda b: Expectile(0.8).value(y, b + 0 * y).sum(), tol=1e-12).x
    assert best == pytest.approx(expectile(y, alpha=0.8), rel=1e-6)


@pytest.mark.parametrize("level", [0.0, 1.0])
def test_bad_level_is_refused(level):
    with pytest.raises(ValueError, match="level is"):
        Expectile(level).check()
