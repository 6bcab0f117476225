import numpy as np
import pytest
from scipy.special import expit
from sklearn.metrics import log_loss

from representer.losses import Logistic
from representer.testing import check_loss


def test_laws(rng):
    check_loss(Logistic(), np.sign(rng.normal(size=30)), 3 * rng.normal(size=30))


def test_as_scikit_learn(rng):
    y, f = np.sign(rng.normal(size=20)), rng.normal(size=20)
    assert Logistic().value(y, f).mean() == pytest.approx(log_loss(y, expit(f)), rel=1e-12)


def test_far_values_neither_overflow_nor_vanish():
    y, f = np.array([1.0, 1.0, -1.0]), np.array([-1000.0, 1000.0, 1000.0])
    np.testing.assert_array_equal(Logistic().value(y, f), [1000.0, 0.0, 1000.0])
    np.testing.assert_array_equal(Logistic().gradient(y, f), [-1.0, 0.0, 1.0])


def test_conjugate_keeps_its_digits_near_zero():
    """p log p + (1 - p) log(1 - p) = p (log p - 1) + p^2 / 2 + ..."""
    p = np.array([1e-15, 1e-10])
    np.testing.assert_allclose(Logistic().conjugate(np.ones(2), -p), p * (np.log(p) - 1.0) + 0.5 * p**2, rtol=1e-15)
