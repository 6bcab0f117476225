import warnings

import numpy as np
import pytest
from quick_tables import try_one_family
from sklearn.datasets import make_classification
from sklearn.metrics import log_loss
from sklearn_contract import faults

from representer import KernelClassifier
from representer.estimators.kernel_classifier import _calibrated


def test_estimator_checks():
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The search stopped at its time_limit")
        assert faults(KernelClassifier(time_limit=1e-9)) == []


def test_probabilities_are_calibrated(monkeypatch):
    try_one_family(monkeypatch)
    X, y = make_classification(450, 6, n_informative=5, n_redundant=1, n_classes=3, flip_y=0.1, random_state=0)
    y = np.array(["a", "b", "c"])[y]
    model = KernelClassifier().fit(X[:250], y[:250])
    P = model.predict_proba(X[250:])
    assert P.shape == (200, 3)
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    np.testing.assert_allclose(np.log(P), model.predict_log_proba(X[250:]))
    np.testing.assert_array_equal(model.predict(X[250:]), model.classes_[P.argmax(axis=1)])
    score = model.score(X[250:], y[250:])
    assert score > 0.75
    assert model.loo_score_ == pytest.approx(score, abs=0.1)
    assert log_loss(y[250:], P) < 0.65
    assert P.max(axis=1).mean() == pytest.approx(score, abs=0.1)  # as sure as it is right
    assert model.decision_function(X[:3]).shape == (3, 3)


def test_calibration_has_the_greatest_likelihood(rng):
    """Of a softmax with scale 2 and a shift, from many values."""
    values = rng.normal(size=(20_000, 2))
    p = 1.0 / (1.0 + np.exp(-(2.0 * (values[:, 1] - values[:, 0]) + 0.5)))
    found = _calibrated(values, (rng.random(20_000) < p).astype(int), np.ones(20_000))
    assert found[0] == pytest.approx(2.0, rel=0.1)
    assert found[2] - found[1] == pytest.approx(0.5, abs=0.1)


def test_small_noisy_tables_keep_one_length_scale(monkeypatch):
    """Twenty columns that matter alike: length scales of their own would follow noise."""
    try_one_family(monkeypatch)
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 1200)
    X = rng.normal(size=(1200, 20)) + np.where(y, 1.0, -1.0)[:, None] * 2.0 / np.sqrt(20.0)
    model = KernelClassifier().fit(X[:200], y[:200])
    assert model.score(X[200:], y[200:]) > 0.95  # the best possible is 0.977
    P = model.predict_proba(X[200:])
    assert P.max(axis=1).mean() == pytest.approx(model.score(X[200:], y[200:]), abs=0.1)  # as sure as it is right
    assert log_loss(y[200:], P) < 0.2
    assert model.decision_function(X[:3]).shape == (3,)
