"""The posterior by a float32 factor against dense algebra in float64."""

import numpy as np
import pytest
from each_case import each

from representer import _parallel
from representer.kernels import RBF, Laplacian, Matern
from representer.processes import single_precision as module
from representer.processes.single_precision import SinglePosterior

NOISE = each("constant", [True, False])


@pytest.fixture(autouse=True)
def _one_blas_thread():
    with _parallel.one_blas_thread():
        yield


def problem(rng, constant, noise=0.05, n=300):
    X = rng.normal(size=(n, 3))
    return X, np.full(n, noise) if constant else noise * np.exp(rng.uniform(-1.0, 1.0, n))


def dense(kernel, X, noise):
    return kernel(X) + np.diag(noise)


@NOISE
def test_coefficients_and_likelihood_are_those_of_float64(rng, constant):
    X, noise = problem(rng, constant)
    kernel, Y = 1.3 * RBF(1.5), rng.normal(size=(300, 2))
    A = dense(kernel, X, noise)
    exact = -0.5 * (np.vdot(Y, np.linalg.solve(A, Y)) + 2 * np.linalg.slogdet(A)[1] + 600 * np.log(2 * np.pi))
    steps = []
    found = SinglePosterior(kernel, X, noise, tol=1e-9).condition(Y, lambda *step: steps.append(step))
    assert found.certificate.converged
    assert steps
    np.testing.assert_allclose(found.coef, np.linalg.solve(A, Y), rtol=1e-6, atol=1e-7)
    assert abs(found.log_likelihood - exact) <= 3 * found.error < 0.01


@NOISE
def test_variances_are_precise_and_within_their_bounds(rng, constant):
    X, noise = problem(rng, constant)
    kernel, new = 1.3 * RBF(1.5), rng.normal(size=(40, 3))
    columns = kernel(X, new)
    exact = np.einsum("ij,ij->j", columns, np.linalg.solve(dense(kernel, X, noise), columns))
    posterior = SinglePosterior(kernel, X, noise)
    left = 1.3 - exact
    assert posterior.precise
    np.testing.assert_allclose(1.3 - posterior.explained(columns), left, rtol=1e-3)
    low, high = posterior.explained_bounds(columns)
    assert np.all((low <= exact + 1e-12) & (exact <= high + 1e-12))
    np.testing.assert_allclose(high, low, atol=1e-9)


def test_where_float32_is_too_rough_solutions_are_refined(rng):
    X, noise = problem(rng, True, 3e-5)
    kernel = RBF(1.0)
    columns = kernel(X, X[:10])
    exact = np.einsum("ij,ij->j", columns, np.linalg.solve(dense(kernel, X, noise), columns))
    posterior = SinglePosterior(kernel, X, noise)
    assert posterior.usable
    assert not posterior.precise
    assert np.abs(posterior._by_factor(columns) - exact).max() > 2e-3 * (1.0 - exact).min()
    np.testing.assert_allclose(1.0 - posterior.explained(columns), 1.0 - exact, rtol=1e-3)


def test_no_factor_is_not_usable(rng):
    X = np.repeat(rng.normal(size=(150, 1)), 2, axis=0)
    posterior = SinglePosterior(RBF(5.0), X, np.full(300, 1e-12))
    assert not posterior.usable
    assert not posterior.precise


@pytest.mark.parametrize("kernel", [RBF(0.5), Laplacian(0.5), Matern(2.0)], ids=["smooth", "rough", "in between"])
def test_log_determinants_are_within_three_of_their_errors(rng, kernel):
    """The systematic rounding of k(x, x) + noise is corrected: without it the error would be far larger."""
    for noise in (1e-1, 1e-3, 3e-5):
        X, noise = problem(rng, True, noise)
        exact = np.linalg.slogdet(dense(kernel, X, noise))[1]
        value, error = SinglePosterior(kernel, X, noise).log_determinant()
        assert abs(value - exact) < 3 * error < 0.3


def test_cost_is_what_a_posterior_takes(rng, peak_of):
    X, Y = rng.normal(size=(2000, 3)), rng.normal(size=(2000, 2))
    SinglePosterior(RBF(1.0), X[:200], np.full(200, 0.3)).condition(Y[:200])  # compiles
    announced, _ = SinglePosterior.cost(2000, 2)
    peak, _ = peak_of(lambda: SinglePosterior(RBF(1.0), X, np.full(2000, 0.3)).condition(Y), 0.8 * announced)
    assert 0.8 < peak / announced < 1.2


def test_precision_is_measured_at_several_inputs(rng, monkeypatch):
    X, noise = problem(rng, True)
    monkeypatch.setattr(module, "CHECKED", 7)
    posterior, seen = SinglePosterior(RBF(1.0), X, noise), []
    monkeypatch.setattr(posterior, "_by_factor", lambda columns: seen.append(columns.shape) or np.zeros(7))
    assert not posterior.precise
    assert seen == [(300, 7)]
