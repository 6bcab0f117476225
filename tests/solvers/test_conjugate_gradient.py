import numpy as np
import pytest
from ridge_cases import CASES, problem, residual, solution

from representer.features.pivoted_cholesky import LowRank, pivoted_cholesky
from representer.kernels import RBF, Linear, Matern, Spectrum
from representer.problem import RidgeProblem
from representer.solvers import conjugate_gradient
from representer.solvers.conjugate_gradient import Preconditioner

SMALL = 4 * 300 * 300  # bytes: the float32 matrix of 300 rows would take more than a quarter


def solve(p, tol=1e-11, **options):
    return conjugate_gradient.solve(p, tol=tol, reason="it was asked for", **options)


def check(p, result, tol):
    assert result.certificate.converged
    assert residual(p, result) <= tol
    assert result.certificate.residual == pytest.approx(residual(p, result), rel=1e-2, abs=1e-12)
    coef, b = solution(p)
    np.testing.assert_allclose(result.coef, coef, rtol=1e-6, atol=1e-6 * np.abs(coef).max())
    np.testing.assert_allclose(result.intercept, b, rtol=1e-7)


@CASES
@pytest.mark.parametrize("memory", [2 * 10**9, SMALL], ids=["stored", "not stored"])
def test_equals_dense_solution(weighted, intercept, alpha, memory):
    p = problem(weighted, intercept, alpha, n=300, kernel=Matern(0.6, nu=0.5))
    result = solve(p, memory=memory)
    check(p, result, 2e-11 if intercept else 1e-11)
    assert (result.certificate.bytes > 4 * p.n**2) == (memory > SMALL)
    assert result.certificate.solver.endswith("rank 100" if memory > SMALL else "rank 60")


@pytest.mark.parametrize("tol", [1e-3, 1e-6, 1e-9])
def test_certificate_is_true(tol):
    p = problem(n=300, alpha=[0.01], kernel=Matern(0.6, nu=0.5))
    result = solve(p, tol)
    coef, _ = solution(p)
    assert tol / 1e4 < residual(p, result) <= tol
    assert result.certificate.residual == pytest.approx(residual(p, result), rel=1e-3)
    X = np.random.default_rng(1).normal(size=(300, 2))
    error = np.abs(p.kernel(X, p.X) @ (result.coef - coef))
    assert error.max() <= result.certificate.error_bound[0]


@pytest.mark.parametrize("memory", [2 * 10**9, SMALL], ids=["stored", "not stored"])
@pytest.mark.parametrize("alpha", [1e-7, 1e-9])
@pytest.mark.parametrize("given", [True, False], ids=["float64 factor", "own factor"])
def test_switches_to_float64_for_a_tiny_ridge(alpha, memory, given):
    """A direct solver gets there, so conjugate gradients have to; with a float64 factor they take few iterations."""
    p = problem(n=300, alpha=[alpha], kernel=RBF(2.0))
    low_rank = pivoted_cholesky(p.kernel, p.exact, 100, stop=alpha) if given else None
    result = solve(p, 2e-6, memory=memory, low_rank=low_rank)
    assert result.certificate.precision == "float64 products"
    assert residual(p, result) <= 3e-6
    assert result.certificate.converged


def test_float32_does_not_use_up_the_iterations():
    p = problem(n=300, alpha=[1e-6], kernel=RBF(2.0))
    result = solve(p, 1e-6, low_rank=pivoted_cholesky(p.kernel, p.exact, 100, stop=1e-6))
    assert result.certificate.converged


@pytest.mark.parametrize("alpha", [1e-7, 1e-12])
def test_hopeless_problem_is_told(alpha):
    p = problem(n=300, alpha=[alpha], kernel=Matern(1.0))
    result = solve(p, 1e-12)
    assert not result.certificate.converged
    assert np.all(np.isfinite(result.coef))
    assert result.certificate.residual <= 1.0
    # sums of large coefficients round, in the solver and here
    rounding = np.finfo(np.float64).eps * np.linalg.norm(p.gram @ np.abs(result.coef)) / np.linalg.norm(p.targets)
    assert rounding < 1e-9
    assert result.certificate.residual == pytest.approx(residual(p, result), rel=0.05, abs=rounding)


def test_stops_where_residuals_do_not_fall(rng):
    """Ten columns leave thousands of eigenvalues between 1e-12 and 1, far more than there are iterations."""
    X = rng.uniform(size=(1500, 10))
    p = RidgeProblem(RBF(1.0), X, rng.normal(size=(1500, 1)), np.array([1e-12]))
    result = solve(p, 1e-6)
    assert not result.certificate.converged
    assert result.certificate.iterations == 100 + 250
    assert 0.5 < result.certificate.residual <= 1.0
    assert result.certificate.residual == pytest.approx(residual(p, result), rel=1e-6)


def test_stays_in_float32_for_a_fair_ridge():
    result = solve(problem(n=300), 1e-10)
    assert result.certificate.precision == "float32 products, float64 residuals"


@pytest.mark.parametrize("max_iter", [1, 3])
def test_out_of_iterations(max_iter):
    p = problem(n=300, alpha=[1e-4, 1.0], kernel=Matern(0.3, nu=0.5))
    result = solve(p, max_iter=max_iter)
    assert not result.certificate.converged
    assert result.certificate.iterations == max_iter
    assert 1e-11 < result.certificate.residual < 1.0
    assert result.certificate.residual == pytest.approx(residual(p, result), rel=1e-6)


def test_progress_ends_at_the_residual():
    p, steps = problem(n=300, alpha=[1e-3], kernel=Matern(0.6, nu=0.5)), []
    result = solve(p, 1e-8, progress=lambda what, size: steps.append((what, size)))
    assert len(steps) == result.certificate.iterations
    assert {what for what, _ in steps} == {"conjugate gradients"}
    assert steps[0][1] > 1e-4
    assert steps[-1][1] <= 1e-8


def test_same_seed_same_coefficients():
    p = problem(n=300, alpha=[0.01], kernel=RBF(0.3))
    first, second, other = (solve(p, 1e-6, random_state=seed).coef for seed in (3, 3, 4))
    assert np.array_equal(first, second)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize("threads", [1, 2])
def test_targets_that_differ_in_difficulty(threads):
    """A column that is done is left out while the others go on."""
    p = problem(n=300, alpha=[1e-3, 1e3, 1.0], kernel=Matern(0.6, nu=0.5))
    p.threads, p.targets[:, 2] = threads, 0.0
    result = solve(p)
    assert result.certificate.converged
    coef, _ = solution(p)
    np.testing.assert_allclose(result.coef, coef, rtol=1e-6, atol=1e-8)
    assert np.all(result.coef[:, 2] == 0)


@pytest.mark.parametrize("alpha", [1e-12, 1e-3])
@pytest.mark.parametrize(
    ("kernel", "X"),
    [
        (RBF(1.0), np.repeat(np.linspace(0, 3, 10), 20)[:, None]),
        (Linear(), np.linspace(-1, 2, 200)[:, None]),
        (Linear(), np.zeros((200, 1))),
        (RBF(1.0), np.ones((200, 3))),
    ],
    ids=["duplicates", "rank one", "zero", "constant"],
)
def test_singular_matrices(kernel, X, alpha):
    y = np.sin(np.arange(200.0)) + X[:, :1].ravel()
    p = RidgeProblem(kernel, X, y[:, None], np.array([alpha]))
    result = solve(p, 1e-8)
    assert np.all(np.isfinite(result.coef))
    if alpha > 1e-9:
        check(p, result, 1e-8)
    elif result.certificate.converged:
        assert residual(p, result) <= 1e-7  # the sum of coefficients of 1e12 has such rounding


def test_no_rows_for_a_preconditioner():
    """A ridge above the trace of K leaves nothing to factor."""
    p = problem(n=50, alpha=[100.0])
    result = solve(p)
    assert "rank 0" in result.certificate.solver
    check(p, result, 1e-11)


def test_strings():
    words = ["".join(np.random.default_rng(i).choice(list("abc"), 8)) for i in range(60)]
    p = RidgeProblem(Spectrum(2), words, np.array([[len(set(w))] for w in words], float), np.array([0.5]))
    coef, _ = solution(p)
    np.testing.assert_allclose(solve(p).coef, coef, rtol=1e-7, atol=1e-9)


# ---- the preconditioner ----


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("ridges", [[0.5], [2.0, 0.5, 2.0], [1e-4]])
def test_preconditioner_is_the_inverse(dtype, ridges, rng):
    F, ridges = rng.normal(size=(7, 40)).astype(dtype), np.array(ridges)
    R = rng.normal(size=(40, len(ridges)))
    low_rank = LowRank(F, np.arange(7), np.zeros(40))
    found = Preconditioner(low_rank, ridges)(R, ridges)
    F = F.astype(np.float64)
    expected = [np.linalg.solve(F.T @ F + a * np.eye(40), r) for a, r in zip(ridges, R.T, strict=True)]
    rtol = 1e-10 if dtype == np.float64 and ridges.min() < 0.1 else 1e-5  # sums in float32 will do for fair ridges
    np.testing.assert_allclose(found, np.array(expected).T, rtol=rtol, atol=rtol * np.abs(expected).max())


def test_preconditioner_for_a_tiny_ridge(rng):
    """F F' is summed in float64 where float32 would not do."""
    F, ridge = rng.normal(size=(5, 3000)), np.array([1e-5])
    precondition = Preconditioner(LowRank(F, np.arange(5), np.zeros(3000)), ridge)
    R = rng.normal(size=(3000, 1))
    S = precondition(R, ridge)
    np.testing.assert_allclose(F.T @ (F @ S) + ridge * S, R, atol=1e-6)


def test_of_a_column_alone(rng):
    """As it is asked for columns that are still live."""
    F, ridges = rng.normal(size=(4, 30)), np.array([0.1, 5.0])
    precondition, R = Preconditioner(LowRank(F, np.arange(4), np.zeros(30)), ridges), rng.normal(size=(30, 2))
    both = precondition(R, ridges)
    np.testing.assert_allclose(precondition(R[:, 1:], ridges[1:]), both[:, 1:], rtol=1e-12)


def test_preconditioner_saves_iterations():
    p = problem(n=600, alpha=[1e-3], kernel=RBF(1.0))
    fewer = solve(p, 1e-8).certificate.iterations
    nothing = pivoted_cholesky(p.kernel, p.fast, 0)
    more = solve(p, 1e-8, low_rank=nothing).certificate.iterations
    assert fewer < 0.2 * more
