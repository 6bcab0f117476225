"""The iterative posterior against dense algebra."""

import numpy as np
import pytest

from representer.kernels import RBF, Spectrum
from representer.solvers.posterior import IterativePosterior, _lanczos_log


def dense(kernel, X, noise):
    return kernel(X) + np.diag(noise)


def problem(rng, n=300, constant=False):
    X = rng.normal(size=(n, 3))
    noise = np.full(n, 0.05) if constant else rng.uniform(0.02, 0.2, n)
    return 1.3 * RBF(1.5), X, noise


@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize("memory", [2 * 10**9, 10**5])
def test_solves(rng, constant, memory):
    kernel, X, noise = problem(rng, constant=constant)
    Y = rng.normal(size=(300, 2))
    result = IterativePosterior(kernel, X, noise, tol=1e-10, memory=memory).solve(Y)
    np.testing.assert_allclose(result.coef, np.linalg.solve(dense(kernel, X, noise), Y), rtol=1e-6, atol=1e-7)
    assert result.certificate.converged


@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize("tol", [1e-2, 1e-6])
def test_explained_variance_is_too_small_by_at_most_its_bound(rng, constant, tol):
    kernel, X, noise = problem(rng, constant=constant)
    columns = kernel(X, rng.normal(size=(7, 3)))
    value, bound = IterativePosterior(kernel, X, noise, tol=tol).explained(columns)
    exact = np.einsum("ij,ij->j", columns, np.linalg.solve(dense(kernel, X, noise), columns))
    rounding = 1e-12 * exact
    assert np.all(exact - value >= -rounding)
    assert np.all(exact - value <= bound + rounding)


@pytest.mark.parametrize("constant", [True, False])
def test_log_determinant_is_within_four_standard_errors(rng, constant):
    kernel, X, noise = problem(rng, 1000, constant)
    value, error = IterativePosterior(kernel, X, noise).log_determinant()
    exact = np.linalg.slogdet(dense(kernel, X, noise))[1]
    assert abs(value - exact) < 4 * error  # about one in 10,000 for a normal error; the seed is fixed
    assert error < 0.01 * abs(exact)


def test_lanczos_quadrature_is_exact_with_all_steps(rng):
    A = rng.normal(size=(6, 6))
    A = A @ A.T + np.eye(6)
    V = rng.choice([-1.0, 1.0], size=(6, 3))
    values, vectors = np.linalg.eigh(A)
    log = vectors * np.log(values) @ vectors.T
    expected = np.einsum("ij,ij->j", V, log @ V) / 6
    np.testing.assert_allclose(_lanczos_log(lambda W: A @ W, V, 50), expected, rtol=1e-9)
    # a probe in an invariant subspace ends its recurrence early
    np.testing.assert_allclose(_lanczos_log(lambda W: 3.0 * W, V, 4), np.log(3.0), rtol=1e-12)


def test_strings(rng):
    X = ["".join(rng.choice(list("ACGT"), 12)) for _ in range(60)]
    noise = np.full(60, 0.3)
    y = rng.normal(size=(60, 1))
    found = IterativePosterior(Spectrum(3), X, noise, tol=1e-9).solve(y).coef
    np.testing.assert_allclose(found, np.linalg.solve(dense(Spectrum(3), X, noise), y), rtol=1e-6, atol=1e-8)


def test_noise_must_be_positive(rng):
    with pytest.raises(ValueError, match="positive noise"):
        IterativePosterior(RBF(), rng.normal(size=(5, 2)), np.zeros(5))
