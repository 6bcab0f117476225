import numpy as np
import pytest
from ridge_cases import CASES, problem, residual, solution

from representer.kernels import RBF, Linear, Matern, Precomputed, Spectrum
from representer.problem import RidgeProblem
from representer.solvers import cholesky

MIXED, DOUBLE, EIGEN = "float32 factor, float64 residuals", "float64", "eigenvectors, float64"
RAISED = "float64 factor with the ridge raised above rounding"


def solve(p, tol=1e-10):
    return cholesky.solve(p, tol=tol, reason="it was asked for")


@pytest.fixture
def mixed(monkeypatch):
    """Float32 factors for small matrices, too."""
    monkeypatch.setattr(cholesky, "MIXED_FROM", 10)


def check(p, result, rtol=1e-9):
    coef, b = solution(p)
    np.testing.assert_allclose(result.coef, coef, rtol=rtol, atol=rtol * np.abs(coef).max())
    np.testing.assert_allclose(result.intercept, b, rtol=rtol)


@CASES
def test_equals_dense_solution(weighted, intercept, alpha):
    p = problem(weighted, intercept, alpha)
    result = solve(p)
    check(p, result)
    assert result.certificate.converged
    assert result.certificate.precision == DOUBLE
    assert result.certificate.residual == pytest.approx(residual(p, result), abs=1e-14)


@CASES
def test_mixed_precision(weighted, intercept, alpha, mixed):
    p = problem(weighted, intercept, alpha)
    result = solve(p, tol=1e-12)
    check(p, result)
    assert result.certificate.precision == MIXED
    assert result.certificate.iterations >= 2  # float32 alone does not reach this tolerance
    assert residual(p, result) <= 1e-12
    assert result.certificate.residual == pytest.approx(residual(p, result), abs=1e-14)
    assert result.certificate.bytes == 4 * p.n**2


def test_large_matrices_are_mixed():
    p = problem(n=1500)
    result = solve(p)
    assert result.certificate.precision == MIXED
    assert residual(p, result) <= 1e-10


@pytest.mark.parametrize("alpha", [1e-6, 1e-7])
def test_tiny_ridge_falls_back_to_float64(alpha, mixed):
    p = problem(alpha=[alpha], kernel=RBF(3.0), n=80)
    result = solve(p, tol=1e-6)
    assert result.certificate.precision == DOUBLE
    assert result.certificate.converged
    assert residual(p, result) <= 1e-6


@pytest.mark.parametrize("alpha", [1e-9, 1e-12])
def test_ridge_too_small_for_float64(alpha, mixed):
    p = problem(alpha=[alpha], kernel=RBF(3.0), n=80)
    result = solve(p, tol=1e-12)
    assert result.certificate.precision == EIGEN
    assert not result.certificate.converged
    assert result.certificate.residual == pytest.approx(residual(p, result), rel=0.5)


@pytest.fixture
def large(monkeypatch):
    """Matrices too large for eigenvectors."""
    monkeypatch.setattr(cholesky, "EIGENVECTORS_UP_TO", 10)
    monkeypatch.setattr(cholesky, "_least_coefficients", None)


def test_singular_and_large(large):
    """Duplicates have a singular matrix; a ridge raised to rounding gives the same function."""
    X, y = np.repeat(np.linspace(0.0, 3.0, 20), 3)[:, None], np.repeat(np.sin(np.arange(20.0)), 3)
    result = solve(singular(X, y), tol=1e-6)
    assert result.certificate.precision == RAISED
    assert result.certificate.converged
    np.testing.assert_allclose(Matern(1.0)(X) @ result.coef[:, 0], y, atol=1e-5)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("alpha", [1e-9, 1e-12, 1e-17])
def test_singular_and_large_without_exact_answer(alpha, weighted, large):
    p = problem(weighted, alpha=[alpha], kernel=RBF(3.0), n=80)
    result = solve(p, tol=1e-14)
    assert result.certificate.precision == (RAISED if alpha < 1e-15 else DOUBLE)
    assert not result.certificate.converged
    assert np.all(np.isfinite(result.coef))
    assert result.certificate.residual < 1.0
    assert result.certificate.residual == pytest.approx(residual(p, result), rel=0.5)


def test_indefinite_and_large(large, rng):
    p = RidgeProblem(Precomputed(), rng.normal(size=(80, 80)), rng.normal(size=(80, 1)), np.array([0.1]))
    p.X = p.X + p.X.T
    with pytest.raises(np.linalg.LinAlgError, match=r"of 80 rows plus alpha = 0\.1 is not positive definite; use a"):
        solve(p)


def test_one_tiny_ridge_of_several(mixed):
    p = problem(alpha=[1e-7, 1.0], kernel=RBF(3.0), n=80)
    result = solve(p, tol=1e-6)
    assert result.certificate.precision == DOUBLE
    assert residual(p, result) <= 1e-6


def test_float32_inputs_are_solved_in_float64():
    p = problem(dtype=np.float32)
    check(p, solve(p))


@pytest.mark.parametrize("n", [1, 2])
@pytest.mark.parametrize("intercept", [False, True])
def test_few_rows(n, intercept):
    p = problem(n=n, intercept=intercept, alpha=[0.3, 0.3])
    check(p, solve(p))


def singular(X, y, alpha=0.0, kernel=None, weights=None):
    return RidgeProblem(kernel or Matern(1.0), X, y[:, None], np.array([alpha]), weights)


def test_duplicates_that_agree():
    X, y = np.repeat(np.arange(4.0), 3)[:, None], np.repeat([1.0, -1.0, 2.0, 0.5], 3)
    result = solve(singular(X, y))
    np.testing.assert_allclose(Matern(1.0)(X) @ result.coef[:, 0], y, atol=1e-12)
    np.testing.assert_allclose(result.coef.reshape(4, 3), np.repeat(result.coef[::3], 3, axis=1), atol=1e-12)
    assert result.certificate.converged


def test_duplicates_that_disagree():
    X, y = np.repeat(np.arange(4.0), 2)[:, None], np.arange(8.0)
    result = solve(singular(X, y))
    np.testing.assert_allclose(Matern(1.0)(X) @ result.coef[:, 0], np.repeat(y.reshape(4, 2).mean(axis=1), 2))
    assert not result.certificate.converged


@pytest.mark.parametrize("alpha", [0.0, 1e-14])
def test_rank_one(alpha, rng):
    X = rng.normal(size=(30, 1))
    result = solve(singular(X, 3.0 * X.ravel(), alpha, Linear()))
    assert result.certificate.converged
    np.testing.assert_allclose(X.T @ result.coef, 3.0, rtol=1e-10)


@pytest.mark.parametrize("alpha", [0.0, 1e-14])
def test_rank_one_without_exact_answer(alpha, rng):
    X, y = rng.normal(size=(30, 1)), rng.normal(size=30)
    result = solve(singular(X, y, alpha, Linear()))
    assert not result.certificate.converged or residual(singular(X, y, alpha, Linear()), result) <= 1e-10
    np.testing.assert_allclose(X.T @ result.coef, X.T @ y[:, None] / (X * X).sum(), rtol=1e-8)


def test_no_ridge_and_weights_of_zero():
    p = problem(weighted=True, alpha=[0.0], n=40)
    result = solve(p)
    kept = p.weights > 0
    np.testing.assert_allclose((p.kernel(p.X) @ result.coef)[kept], p.targets[kept], rtol=1e-9)
    assert np.all(result.coef[~kept] == 0)
    assert result.certificate.error_bound == np.inf


def test_kernel_of_zeros():
    p = singular(np.zeros((5, 1)), np.arange(5.0), 0.0, Linear())
    assert np.all(solve(p).coef == 0)
    assert not solve(p).certificate.converged


def test_strings():
    words = ["abc", "bcd", "cde", "abcd", "zz"]
    p = RidgeProblem(Spectrum(2), words, np.arange(5.0)[:, None], np.array([0.5]))
    check(p, solve(p))
