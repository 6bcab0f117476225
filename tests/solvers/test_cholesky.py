import numpy as np
import pytest
from ridge_cases import CASES, budget, of, problem, residual, solution, values

from representer.kernels import RBF, Linear, Matern, Precomputed, Sigmoid, Spectrum
from representer.solvers import cholesky
from representer.testing import check_solver

MIXED, DOUBLE, EIGEN = "float32 factor, float64 residuals", "float64", "eigenvectors, float64"
RAISED = "float64 factor with the ridge raised above rounding"


def solve(p, tol=1e-10, **options):
    return cholesky.solve(p, budget(tol, **options), "it was asked for")


@pytest.fixture
def mixed(monkeypatch):
    """Float32 factors for small matrices, too."""
    monkeypatch.setattr(cholesky, "MIXED_FROM", 10)


def check(p, result, rtol=1e-9):
    coef, b = solution(p)
    np.testing.assert_allclose(result.coef, coef, rtol=rtol, atol=rtol * np.abs(coef).max())
    np.testing.assert_allclose(result.intercept, b, rtol=rtol)
    assert result.certificate.converged


@CASES
def test_equals_dense_solution(weighted, intercept, alpha):
    p = problem(weighted, intercept, alpha)
    result = check_solver(cholesky, p, budget())
    check(p, result)
    assert result.certificate.precision == DOUBLE


@CASES
def test_mixed_precision(weighted, intercept, alpha, mixed):
    p = problem(weighted, intercept, alpha)
    result = check_solver(cholesky, p, budget(1e-12))
    check(p, result)
    assert result.certificate.precision == MIXED
    assert result.certificate.iterations >= 2  # float32 alone does not reach this tolerance


@pytest.mark.parametrize("scale", [1e-6, 1e6])
@pytest.mark.parametrize("intercept", [False, True])
def test_extreme_scales_of_the_kernel(scale, intercept, mixed):
    check_solver(cholesky, problem(True, intercept, kernel=scale * Matern(1.5)), budget(1e-8))


def test_large_matrices_are_mixed():
    certificate = solve(problem(n=1500)).certificate
    assert certificate.precision == MIXED
    assert certificate.converged


def test_tiny_ridge_falls_back_to_float64(mixed):
    """One of two alphas is too small for float32; the precision is that of the worst."""
    p = problem(alpha=[1e-7, 1.0], kernel=RBF(3.0), n=80)
    result = solve(p, tol=1e-6)
    assert result.certificate.precision == DOUBLE
    assert residual(p, result.coef, result.intercept)[1].max() <= 1e-6
    assert result.certificate.converged


def test_a_fallback_beyond_the_budget_is_refused(mixed):
    """The plan was for float32, and nothing larger is made."""
    p = problem(alpha=[1e-6], kernel=RBF(3.0), n=400)
    plan = cholesky.cost(p, budget(1e-6))
    assert plan.bytes < 8 * 400**2 + 2 * 10**6
    with pytest.raises(MemoryError, match="use a larger alpha, fewer rows, or a larger memory="):
        solve(p, tol=1e-6, memory=plan.bytes)


def test_ridge_too_small_for_float64():
    p = problem(alpha=[1e-12], kernel=RBF(3.0), n=80)
    result = solve(p, tol=1e-12)
    assert result.certificate.precision == EIGEN
    assert not result.certificate.converged
    true = residual(p, result.coef, result.intercept)[1]
    assert result.certificate.residual == pytest.approx(true.max(), rel=0.5)


@pytest.fixture
def large(monkeypatch):
    """Matrices too large for eigenvectors."""
    monkeypatch.setattr(cholesky, "EIGENVECTORS_UP_TO", 10)
    monkeypatch.setattr(cholesky, "_least_coefficients", None)


def test_singular_and_large(large):
    """Duplicates have a singular matrix; a ridge raised to rounding gives the same function."""
    X, y = np.repeat(np.linspace(0.0, 3.0, 20), 3)[:, None], np.repeat(np.sin(np.arange(20.0)), 3)
    result = solve(of(Matern(1.0), X, y, 0.0), tol=1e-6)
    assert result.certificate.precision == RAISED
    assert result.certificate.converged
    np.testing.assert_allclose(Matern(1.0)(X) @ result.coef[:, 0], y, atol=1e-5)


@pytest.mark.parametrize(("alpha", "precision"), [(1e-9, DOUBLE), (1e-17, RAISED)])
def test_singular_and_large_without_exact_answer(alpha, precision, large):
    p = problem(True, alpha=[alpha], kernel=RBF(3.0), n=80)
    result = solve(p, tol=1e-14)
    assert result.certificate.precision == precision
    assert not result.certificate.converged
    assert np.all(np.isfinite(result.coef))
    true = residual(p, result.coef, result.intercept)[1].max()
    assert result.certificate.residual == pytest.approx(true, rel=0.5)
    assert true < 1.0


def test_indefinite_and_large(large, rng):
    K = rng.normal(size=(80, 80))
    with pytest.raises(np.linalg.LinAlgError, match=r"of 80 rows plus alpha = 0\.1 is not positive definite; use a"):
        solve(of(Precomputed(), K + K.T, rng.normal(size=80), 0.1))


@CASES
def test_indefinite(weighted, intercept, alpha):
    """Negative eigenvalues stay; there is no space with a norm to bound an error in."""
    p = problem(weighted, intercept, alpha, kernel=Sigmoid(2.0, -1.0))
    assert np.linalg.eigvalsh(values(p))[0] < -1.0
    result = solve(p)
    check(p, result, 1e-8)
    assert result.certificate.precision == EIGEN
    assert np.isinf(result.certificate.error_bound).all()


def test_float32_inputs_are_solved_in_float64():
    p = problem(dtype=np.float32)
    check(p, solve(p))


@pytest.mark.parametrize("n", [1, 2])
@pytest.mark.parametrize("intercept", [False, True])
def test_few_rows(n, intercept):
    p = problem(n=n, intercept=intercept, alpha=[0.3, 0.3])
    check(p, check_solver(cholesky, p, budget()))


def test_duplicates_that_agree():
    X, y = np.repeat(np.arange(4.0), 3)[:, None], np.repeat([1.0, -1.0, 2.0, 0.5], 3)
    result = solve(of(Matern(1.0), X, y, 0.0))
    np.testing.assert_allclose(Matern(1.0)(X) @ result.coef[:, 0], y, atol=1e-12)
    np.testing.assert_allclose(result.coef.reshape(4, 3), np.repeat(result.coef[::3], 3, axis=1), atol=1e-12)
    assert result.certificate.converged


def test_duplicates_that_disagree():
    X, y = np.repeat(np.arange(4.0), 2)[:, None], np.arange(8.0)
    result = solve(of(Matern(1.0), X, y, 0.0))
    np.testing.assert_allclose(Matern(1.0)(X) @ result.coef[:, 0], np.repeat(y.reshape(4, 2).mean(axis=1), 2))
    assert not result.certificate.converged


@pytest.mark.parametrize("alpha", [0.0, 1e-14])
def test_rank_one(alpha, rng):
    """With targets in the range of K it converges; without, it is least squares."""
    X, y = rng.normal(size=(30, 1)), rng.normal(size=30)
    result = solve(of(Linear(), X, 3.0 * X.ravel(), alpha))
    assert result.certificate.converged
    np.testing.assert_allclose(X.T @ result.coef, 3.0, rtol=1e-10)
    result = solve(of(Linear(), X, y, alpha))
    np.testing.assert_allclose(X.T @ result.coef, X.T @ y[:, None] / (X * X).sum(), rtol=1e-8)


def test_no_ridge_and_weights_of_zero():
    p = problem(weighted=True, alpha=[0.0], n=40)
    result = solve(p)
    kept = p.weights > 0
    np.testing.assert_allclose((values(p) @ result.coef)[kept], p.targets[kept], rtol=1e-9)
    assert np.all(result.coef[~kept] == 0)
    assert result.certificate.error_bound == np.inf


def test_kernel_of_zeros():
    result = solve(of(Linear(), np.zeros((5, 1)), np.arange(5.0), 0.0))
    assert np.all(result.coef == 0)
    assert not result.certificate.converged


def test_strings():
    p = of(Spectrum(2), ["abc", "bcd", "cde", "abcd", "zz"], np.arange(5.0), 0.5)
    check(p, check_solver(cholesky, p, budget()))
