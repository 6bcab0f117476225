"""Rows far from all training rows are unfamiliar, others are not."""

import numpy as np

from representer.kernels import RBF, Linear
from representer.tables.familiarity import Familiarity

RNG = np.random.default_rng(0)
X = RNG.normal(size=(150, 2))


def test_variances_are_those_of_the_process():
    familiarity = Familiarity.of(RBF(1.0), X, 0.1)
    new = RNG.normal(size=(5, 2))
    K, k = RBF(1.0)(X), RBF(1.0)(X, new)
    expected = 1.0 - np.sum(k * np.linalg.solve(K + 0.1 * np.eye(150), k), axis=0)
    np.testing.assert_allclose(familiarity.variances(new), expected, rtol=1e-8)


def test_far_rows_are_unfamiliar_also_with_a_linear_part():
    for kernel in (RBF(1.0), RBF(1.0) + 0.1 * Linear(1.0)):
        familiarity = Familiarity.of(kernel, X, 0.01)
        assert familiarity.unfamiliar(X).mean() < 0.01
        assert familiarity.unfamiliar(RNG.normal(size=(200, 2))).mean() < 0.05
        assert familiarity.unfamiliar(np.array([[30.0, 0.0], [0.0, -30.0]])).all()


def test_a_tiny_alpha_is_kept_from_rounding():
    assert np.isfinite(Familiarity.of(RBF(100.0), X, 0.0).threshold)
