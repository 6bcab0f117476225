"""Conditional means in a span, against those of the n x n matrix of the same kernel."""

import numpy as np
import pytest

from representer import ConditionalMeanEmbedding, Nystroem, RandomFeatures
from representer.kernels import RBF

rng = np.random.default_rng(0)
X = rng.normal(size=(120, 2))
Y = np.sin(X[:, :1]) + 0.1 * rng.normal(size=(120, 1))


@pytest.mark.parametrize("kernel_x", [Nystroem(RBF(1.5), 20), RandomFeatures(RBF(1.5), 16)], ids=["nystroem", "random"])
@pytest.mark.parametrize("kernel_y", [RBF(1.0), Nystroem(RBF(1.0), 8)], ids=["exact", "nystroem"])
def test_means_are_those_of_the_whole_matrix(kernel_x, kernel_y):
    ours = ConditionalMeanEmbedding(kernel_x, kernel_y, alpha=0.1).fit(X, Y)
    whole = ConditionalMeanEmbedding(kernel_x, kernel_y, alpha=0.1, solver="cholesky").fit(X, Y)
    np.testing.assert_allclose(ours.embed(X[:5])(Y[:9]), whole.embed(X[:5])(Y[:9]), atol=1e-12)
    values = np.column_stack([Y, Y**2])
    np.testing.assert_allclose(ours.expect(values, X[:5]), whole.expect(values, X[:5]), atol=1e-12)
    np.testing.assert_allclose(ours.expect(lambda y: y[:, 0], X), whole.expect(lambda y: y[:, 0], X), atol=1e-12)
    assert ours.certificate_.converged
    assert ours.certificate_.approximation is not None
    assert ours.plan(X).solver == "cholesky in the span" == ours.certificate_.solver
    representers = len(ours.embed(X[:1]).X)
    assert representers == (120 if kernel_y == kernel_y.original else 8)


def test_the_residual_is_measured():
    model = ConditionalMeanEmbedding(Nystroem(RBF(1.5), 20), alpha=0.1).fit(X, Y)
    span = model._span
    span.factor[0][...] *= 1.01  # (S + alpha I) is 2 % too large
    np.testing.assert_allclose(span.judge(X[:4]).residuals, 1.0 - 1.01**-2, rtol=1e-6)
