"""Mercer's expansion: its laws, and the eigenvalues of Brownian motion."""

import numpy as np
import pytest

from representer.features import mercer
from representer.kernels import RBF, Brownian, Polynomial, Sigmoid, Spectrum

GRID = (np.arange(150) + 0.5)[:, None] / 150


def test_brownian_motion_has_the_eigenvalues_of_the_textbook():
    expansion = mercer(Brownian(), GRID, 4)
    half_odd = np.arange(4) + 0.5
    np.testing.assert_allclose(expansion.eigenvalues, 1 / (half_odd * np.pi) ** 2, rtol=1e-3)
    textbook = np.sqrt(2) * np.sin(np.outer(GRID, half_odd * np.pi))
    signs = np.sign((expansion.eigenfunctions(GRID) * textbook).sum(axis=0))
    np.testing.assert_allclose(expansion.eigenfunctions(GRID) * signs, textbook, atol=5e-3)


@pytest.mark.parametrize("kernel", [RBF(0.3), Brownian(), RBF() * Polynomial(2)])
def test_eigenfunctions_are_orthogonal_over_the_data_and_in_h(kernel):
    expansion = mercer(kernel, GRID, 5)
    psi = expansion.eigenfunctions(GRID)
    np.testing.assert_allclose(psi.T @ psi / len(GRID), np.eye(5), atol=1e-9)
    np.testing.assert_allclose(expansion.eigenfunctions.norm() ** 2, 1 / expansion.eigenvalues, rtol=1e-7)
    assert abs(expansion.eigenfunctions[0].inner(expansion.eigenfunctions[1])) < 1e-6 / expansion.eigenvalues[1]


def test_all_components_give_the_kernel_back():
    X = np.random.default_rng(0).normal(size=(30, 2))
    phi = mercer(Polynomial(2), X).features(X)
    assert phi.shape[1] == 6  # monomials up to degree two of two columns
    np.testing.assert_allclose(phi @ phi.T, Polynomial(2)(X), atol=1e-12 * Polynomial(2)(X).max())


def test_truncation_error_is_the_tail_of_the_eigenvalues():
    expansion = mercer(RBF(0.1), GRID)
    assert expansion.truncation_error() < 1e-12
    np.testing.assert_allclose(expansion.truncation_error(3), expansion.eigenvalues[3:].sum(), rtol=1e-9)
    assert expansion.trace == pytest.approx(1.0)


def test_the_norm_of_draws_grows_with_the_number_of_components():
    """||f_M||^2 is chi-squared with M degrees of freedom; the mean of 2,000 is within 4 standard errors (6e-5)."""
    for m in (2, 10):
        draws = mercer(RBF(0.1), GRID, m).draw(2000, random_state=1)
        squares = draws.norm() ** 2
        assert abs(squares.mean() - m) < 4 * np.sqrt(2 * m / 2000)


def test_draws_have_the_kernel_as_covariance():
    draws = mercer(RBF(0.3), GRID).draw(20_000, random_state=0)
    points = GRID[[4, 56, 146]]
    # the standard error of a covariance of 20,000 draws is at most sqrt(2 / 20,000) = 0.01; 4.5 of them
    np.testing.assert_allclose(np.cov(draws(points)), RBF(0.3)(points), atol=0.045)


def test_strings():
    expansion = mercer(Spectrum(2), ["ACGT", "ACGA", "TTTT"])
    phi = expansion.features(["ACGT", "TTTT"])
    np.testing.assert_allclose(phi @ phi.T, Spectrum(2)(["ACGT", "TTTT"]), atol=1e-12)


def test_refusals():
    with pytest.raises(ValueError, match="not positive semidefinite"):
        mercer(Sigmoid(), GRID)
    with pytest.raises(MemoryError, match="GB"):
        mercer(RBF(), GRID, memory=1000)
    with pytest.raises(ValueError, match="n_components"):
        mercer(RBF(), GRID, 0)
