"""Landmarks: the trace that they leave, against dense algebra, by every rule."""

import numpy as np
import pytest

from representer import landmarks
from representer.kernels import RBF, Spectrum

X = np.random.default_rng(0).normal(size=(200, 3))
KERNEL = RBF(1.5)
RULES = ["rpcholesky", "uniform", "leverage", "kmeans", "greedy"]


def naive_trace_error(Z):
    K, C = KERNEL(X), KERNEL(X, Z)
    return np.trace(K - C @ np.linalg.pinv(KERNEL(Z), rcond=1e-13) @ C.T) / np.trace(K)


@pytest.mark.parametrize("rule", RULES)
def test_trace_error(rule):
    found = landmarks(KERNEL, X, 25, rule)
    assert len(found.inputs) == 25
    np.testing.assert_allclose(found.trace_error, naive_trace_error(found.inputs), rtol=1e-6)
    if found.indices is not None:
        assert len(set(found.indices)) == 25
        assert np.array_equal(X[found.indices], found.inputs)


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule != "kmeans"])
def test_error_falls_with_their_number(rule):
    errors = [landmarks(KERNEL, X, n, rule).trace_error for n in (5, 20, 80)]
    assert errors[0] > 1.5 * errors[1] > 2.0 * errors[2]


def test_greedy_has_an_error_curve_below_that_of_a_uniform_sample():
    found = landmarks(KERNEL, X, 25, "greedy")
    assert len(found.errors) == 25
    assert np.all(np.diff(found.errors) < 0)
    assert found.errors[-1] == found.trace_error < landmarks(KERNEL, X, 25, "uniform").trace_error


def test_greedy_for_targets_goes_where_they_are_left():
    y = np.zeros(200)
    y[7], y[9] = 2.0, -1.0
    assert list(landmarks(RBF(0.05), X, 2, "greedy", y).indices) == [7, 9]


def test_duplicates_are_chosen_once():
    X = np.repeat(np.arange(4.0), 5)[:, None]
    for rule in ("rpcholesky", "greedy"):
        found = landmarks(RBF(1.0), X, 10, rule)
        assert len(found.inputs) == 4
        assert found.trace_error < 1e-10


def test_strings():
    words = ["ACGT", "ACGA", "TTTT", "GACG"]
    assert set(landmarks(Spectrum(2), words, 2).inputs) <= set(words)
    with pytest.raises(TypeError, match="rows of numbers"):
        landmarks(Spectrum(2), words, 2, "kmeans")


def test_refusals():
    with pytest.raises(ValueError, match="The rule for landmarks is 'best'"):
        landmarks(KERNEL, X, 5, "best")
    with pytest.raises(ValueError, match="by the rule 'greedy' alone"):
        landmarks(KERNEL, X, 5, "uniform", X[:, 0])
    with pytest.raises(ValueError, match="n is 0"):
        landmarks(KERNEL, X, 0)
    with pytest.raises(ValueError, match="too many for 10,001"):
        landmarks(KERNEL, np.zeros((10_001, 1)), 5, "greedy")
