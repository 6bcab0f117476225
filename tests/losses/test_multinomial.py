import numpy as np
import pytest
from scipy.special import softmax
from sklearn.metrics import log_loss

from representer.losses import Logistic, Multinomial
from representer.testing import check_loss


@pytest.mark.parametrize("classes", [2, 3, 7])
def test_laws(classes, rng):
    y = np.arange(40) % classes
    check_loss(Multinomial(), y, 2 * rng.normal(size=(40, classes)))


def test_as_scikit_learn(rng):
    y, f = np.arange(30) % 4, rng.normal(size=(30, 4))
    assert Multinomial().value(y[:, None], f).mean() == pytest.approx(log_loss(y, softmax(f, axis=1)), rel=1e-12)


def test_two_classes_are_logistic(rng):
    y, f = np.arange(20) % 2, rng.normal(size=20)
    both = Multinomial().value(y[:, None], np.stack([np.zeros(20), f], axis=1))
    np.testing.assert_allclose(both[:, 0], Logistic().value(2.0 * y - 1, f), rtol=1e-12)


def test_balance_of_far_points(rng):
    """Probabilities stay probabilities, and their weighted sums are those of the classes."""
    y, w = (np.arange(30) % 3)[:, None], rng.uniform(0.5, 2.0, (30, 1))
    indicator = (y == np.arange(3)).astype(float)
    v = Multinomial().balance(y, 5 * rng.normal(size=(30, 3)), w)
    p = v + indicator
    assert p.min() >= -1e-15
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose((w * p).sum(axis=0), (w * indicator).sum(axis=0), rtol=1e-12)


def test_classes_that_are_all_but_certain_keep_their_digits(rng):
    """1 - p of about 1e-9: slopes as those of `Logistic`, l*(v) = v f - l(f), and heavy weights balance."""
    y, f = np.arange(20) % 2, rng.normal(size=(20, 1)) + 20.0
    f, loss = np.where(y[:, None] == [0, 1], f, 0.0), Multinomial()
    v = loss.gradient(y[:, None], f)
    expected = Logistic().gradient(2.0 * y - 1, f[:, 1] - f[:, 0])
    np.testing.assert_allclose(v, np.stack([-expected, expected], axis=1), rtol=1e-14)
    conjugate = np.sum(v * f, axis=1, keepdims=True) - loss.value(y[:, None], f)
    np.testing.assert_allclose(loss.conjugate(y[:, None], v), conjugate, rtol=1e-12)
    w = np.where(y[:, None] == 0, 1.0, 1e-3)
    balanced = loss.balance(y[:, None], v, w)
    assert np.abs(np.sum(w * balanced, axis=0)).max() <= 1e-15 * np.sum(w * np.abs(balanced))


def test_a_common_constant_changes_nothing(rng):
    y, f = (np.arange(30) % 4)[:, None], rng.normal(size=(30, 4))
    assert Multinomial().relative
    np.testing.assert_allclose(Multinomial().value(y, f + 3.0), Multinomial().value(y, f), rtol=1e-12)
