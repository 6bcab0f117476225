"""Laws of random features: draws are what they claim to be."""

import numpy as np
import pytest

from representer.kernels import RBF, Linear, Matern, Polynomial, Spectrum
from representer.kernels.laws import SAMPLINGS, Source, factors_of, law_of


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_vectors_are_normal_and_numbers_uniform(sampling):
    Z, U = Source(sampling, 0).draw(4096, 3, 2)
    assert Z.shape == (4096, 3)
    assert U.shape == (4096, 2)
    np.testing.assert_allclose(Z.mean(axis=0), 0.0, atol=0.06)  # four standard errors
    np.testing.assert_allclose(np.cov(Z.T), np.eye(3), atol=0.1)
    np.testing.assert_allclose((Z**4).mean(axis=0), 3.0, atol=0.7)
    np.testing.assert_allclose(U.mean(axis=0), 0.5, atol=0.02)


def test_orthogonal_directions():
    Z = Source("orthogonal", 0).draw(8, 4)[0]
    for block in (Z[:4], Z[4:]):
        G = block @ block.T
        np.testing.assert_allclose(G - np.diag(G.diagonal()), 0.0, atol=1e-12)


def test_two_draws_of_a_sequence_are_not_in_step():
    source = Source("qmc", 0)
    a, b = (source.draw(1024, 1)[0].ravel() for _ in range(2))
    assert abs(np.corrcoef(a, b)[0, 1]) < 0.13


def test_products_are_sums_of_frequencies():
    kernel = RBF(0.5) * RBF(1.0)
    W = law_of(kernel).features(kernel, 2, 8000, Source("gaussian", 0)).frequencies
    np.testing.assert_allclose(np.cov(W.T), 5.0 * np.eye(2), atol=0.5)
    power = RBF(1.0) ** 3
    W = law_of(power).features(power, 1, 8000, Source("gaussian", 0)).frequencies
    np.testing.assert_allclose(W.var(), 3.0, atol=0.3)


def test_factors_of_products_without_their_numbers():
    a, b, c = RBF(1.0), Polynomial(2), Matern(2.0)
    assert factors_of(2.0 * a * (3.0 * b) ** 2 * c) == ([a, b, b, c], 18.0)
    stretched = law_of(2.0 * a * c).features(2.0 * a * c, 2, 10, Source("gaussian", 0))
    assert stretched.part.frequencies.shape == (5, 2)


def test_student_frequencies():
    kernel = Matern(1.0, nu=2.5)
    W = law_of(kernel).frequencies(kernel, 1, 20_000, Source("gaussian", 0))
    np.testing.assert_allclose(W.var(), 5.0 / 3.0, rtol=0.1)  # Student's t with 5 degrees of freedom


def test_kernels_without_a_law_are_refused():
    for kernel in (Spectrum(3), Linear() * RBF(), 1.0 * Spectrum(2)):
        with pytest.raises(TypeError, match="se Nystroem"):
            law_of(kernel).features(kernel, 2, 4, Source("gaussian", 0))
    with pytest.raises(ValueError, match="positive factor"):
        law_of(-1.0 * RBF()).features(-1.0 * RBF(), 2, 4, Source("gaussian", 0))
    assert law_of(Polynomial(2)).features(Polynomial(2), 2, 5, Source("gaussian", 0)).size == 5
