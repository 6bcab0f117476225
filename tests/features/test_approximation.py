"""How far k^ is from k, against dense algebra."""

import numpy as np

from representer import Nystroem, RandomFeatures
from representer.features.approximation import approximation, left_out
from representer.kernels import RBF, ArcCosine, Linear

X = np.random.default_rng(0).normal(size=(60, 3))


def test_against_matrices():
    kernel = Nystroem(RBF(1.0), landmarks=X[:10])
    found = approximation(kernel.basis(X), X)
    rest = RBF(1.0)(X) - kernel(X)
    np.testing.assert_allclose(found.mean, rest.diagonal().mean(), rtol=1e-10)
    np.testing.assert_allclose(found.standard_error, rest.diagonal().std(ddof=1) / np.sqrt(60), rtol=1e-10)
    np.testing.assert_allclose(found.pairs, np.linalg.norm(rest) / np.linalg.norm(RBF(1.0)(X)), rtol=1e-10)
    assert found.rows == 60
    assert "of k(x, x)" in str(found)


def test_waves_are_right_on_the_diagonal_and_wrong_beside_it():
    found = approximation((2.0 * RandomFeatures(RBF(1.0), 64)).basis(X), X)
    assert abs(found.mean) < 1e-12
    assert 0.05 < found.pairs < 1.0


def test_what_a_span_leaves_out():
    span = Nystroem(RBF(1.0), landmarks=X[:10])
    rest = 1.0 - span.diag(X)
    assert rest[10:].min() > 1e-3
    for kernel, factor in ((span, 1.0), (2.0 * span, 2.0), (span + Linear(), 1.0), (span + span, 2.0)):
        np.testing.assert_allclose(left_out(kernel, X), factor * rest, atol=1e-12)
    for other in (RBF(1.0), Linear() + RBF(1.0), RandomFeatures(ArcCosine(), 8), span + RandomFeatures(RBF(1.0), 8)):
        assert not left_out(other, X).any()  # features of a space of their own
