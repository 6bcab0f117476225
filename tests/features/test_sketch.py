"""Sketches: random combinations of representers."""

import numpy as np
import pytest

from representer import Sketch
from representer.kernels import RBF

X = np.random.default_rng(0).normal(size=(100, 2))


@pytest.mark.parametrize("method", ["accumulated", "gaussian", "hadamard"])
def test_sketches_are_projections(method):
    errors = []
    for m in (5, 20, 60):
        sketch = Sketch(RBF(1.0), m, method=method).with_default_scales(X)
        rest = RBF(1.0)(X) - sketch(X)
        assert np.linalg.eigvalsh(rest)[0] > -1e-10  # K^ is that of a subspace
        errors.append(np.trace(rest))
    assert errors[0] > 1.5 * errors[1] > 2.0 * errors[2]


def test_the_textbook_formula():
    sketch = Sketch(RBF(1.0), 12, method="gaussian").with_default_scales(X)
    S, K = sketch.combination.T, RBF(1.0)(X)
    expected = K @ S.T @ np.linalg.solve(S @ K @ S.T, S @ K)
    np.testing.assert_allclose(sketch(X), expected, atol=1e-9)


def test_hadamard_rows_are_orthogonal():
    S = Sketch(RBF(1.0), 8, method="hadamard").with_default_scales(X[:64]).combination
    np.testing.assert_allclose(S.T @ S, 8.0 * np.eye(8), atol=1e-12)


def test_accumulated_sketches_use_few_centres():
    sketch = Sketch(RBF(1.0), 10, terms=3).with_default_scales(X)
    assert len(sketch.centres) <= 30
    assert sketch.combination.shape == (len(sketch.centres), 10)
    np.testing.assert_allclose((sketch.combination**2).sum(), 10.0, atol=4.0)
    one = Sketch(RBF(1.0), 10, terms=1).with_default_scales(X)
    assert len(one.centres) == 10
    again = sketch.with_default_scales(X)
    assert np.array_equal(again.centres, sketch.centres)


def test_refusals():
    with pytest.raises(ValueError, match="method is 'nice'"):
        Sketch(RBF(), 5, method="nice").fit(X)
    with pytest.raises(ValueError, match="refused above"):
        Sketch(RBF(), 5, method="gaussian").fit(np.zeros((50_001, 1)))
    with pytest.raises(ValueError, match="no sketch yet"):
        Sketch(RBF(), 5)(X)
