from dataclasses import replace

import numpy as np
import pytest
from ridge_cases import CASES, budget, of, problem, residual, solution

from representer.features.pivoted_cholesky import pivoted_cholesky
from representer.kernels import RBF, Linear, Matern, Spectrum
from representer.solvers import conjugate_gradient
from representer.testing import check_solver

STORED = pytest.mark.parametrize("stored", [True, False], indirect=True, ids=["stored", "not stored"])


@pytest.fixture
def stored(request, monkeypatch):
    """Whether there is memory for a float32 matrix."""
    monkeypatch.setattr(conjugate_gradient, "stores_tiles", lambda n, memory: request.param)
    return request.param


def solve(p, tol=1e-11, low_rank=None, start=None, **options):
    return conjugate_gradient.solve(p, budget(tol, **options), "it was asked for", start, low_rank)


def factor(p, rank, stop=0.0):
    return pivoted_cholesky(p.gram, rank, stop=stop)


@CASES
@STORED
def test_equals_dense_solution(weighted, intercept, alpha, stored):
    p = problem(weighted, intercept, alpha, n=150, kernel=Matern(0.6, nu=0.5))
    result = check_solver(conjugate_gradient, p, budget(1e-11))
    assert result.certificate.converged
    products = result.certificate.kernel_evaluations / (150 * 151 / 2)
    assert (products < result.certificate.iterations) == stored
    coef, b = solution(p)
    np.testing.assert_allclose(result.coef, coef, rtol=1e-6, atol=1e-6 * np.abs(coef).max())
    np.testing.assert_allclose(result.intercept, b, rtol=1e-7)


@pytest.mark.parametrize("tol", [1e-3, 1e-9])
@pytest.mark.parametrize("intercept", [False, True])
def test_certificate_is_true(tol, intercept):
    """And no more is done than the tolerance asks for."""
    p = problem(True, intercept, [0.01, 0.01], n=150, kernel=Matern(0.6, nu=0.5))
    certificate = check_solver(conjugate_gradient, p, budget(tol)).certificate
    assert tol / 1e4 < certificate.residual <= tol


@pytest.mark.parametrize("scale", [1e-6, 1e6])
@pytest.mark.parametrize("intercept", [False, True])
def test_extreme_scales_of_the_kernel(scale, intercept):
    p = problem(True, intercept, [0.3], n=120, kernel=scale * Matern(1.5, nu=0.5))
    assert check_solver(conjugate_gradient, p, budget(1e-5)).certificate.converged


def test_residuals_of_targets_and_of_the_intercept_add_up(rng):
    """Each is well below the tolerance, so that all targets converge, whatever their residuals and intercepts."""
    X, Y = rng.normal(size=(150, 2)), rng.normal(size=(150, 40)) + rng.uniform(-3.0, 3.0, 40)
    certificate = solve(of(RBF(0.15), X, Y, np.full(40, 0.1), intercept=True), 1e-4).certificate
    assert certificate.residuals.shape == (40,)
    assert certificate.residuals.max() <= 1e-4 / 3  # what each of both aims at, and their sums reach here


@STORED
@pytest.mark.parametrize("given", [True, False], ids=["float64 factor", "own factor"])
def test_switches_to_float64_for_a_tiny_ridge(stored, given):
    """A direct solver gets there, so conjugate gradients have to; float32 does not use up the iterations."""
    p = problem(n=200, alpha=[1e-8], kernel=RBF(2.0))
    result = solve(p, 2e-6, factor(p, 100, 1e-8) if given else None)
    assert result.certificate.precision == "float64 products"
    assert residual(p, result.coef, 0.0)[1] <= 3e-6
    assert result.certificate.converged


def test_stays_in_float32_for_a_fair_ridge():
    result = solve(problem(n=300), 1e-10)
    assert result.certificate.precision == "float32 products, float64 residuals"


def test_hopeless_problem_does_not_converge():
    p = problem(n=200, alpha=[1e-12], kernel=Matern(1.0))
    result = solve(p, 1e-12, max_iter=200)
    assert not result.certificate.converged
    assert np.all(np.isfinite(result.coef))
    # sums of large coefficients round, in the solver and here
    rounding = np.finfo(np.float64).eps * np.linalg.norm(p.gram @ np.abs(result.coef)) / np.linalg.norm(p.targets)
    true = residual(p, result.coef, 0.0)[1]
    assert result.certificate.residual == pytest.approx(true[0], rel=0.05, abs=rounding)
    assert true <= 1.0


def test_stops_where_residuals_do_not_fall(rng):
    """Ten columns leave thousands of eigenvalues between 1e-12 and 1, far more than there are iterations."""
    p = of(RBF(1.0), rng.uniform(size=(500, 10)), rng.normal(size=500), 1e-12)
    result = solve(p, 1e-6, max_iter=400)
    assert not result.certificate.converged
    assert result.certificate.iterations == 100 + 100
    assert 0.5 < result.certificate.residual <= 1.0
    assert result.certificate.residual == pytest.approx(residual(p, result.coef, 0.0)[1][0], rel=1e-6)


@pytest.mark.parametrize("max_iter", [1, 3])
def test_out_of_iterations(max_iter):
    p = problem(n=150, alpha=[1e-4, 1.0], kernel=Matern(0.3, nu=0.5))
    certificate = check_solver(conjugate_gradient, p, budget(1e-11, max_iter=max_iter)).certificate
    assert not certificate.converged
    assert certificate.iterations == max_iter
    assert 1e-11 < certificate.residual < 1.0


def test_starts_from_a_solution():
    p = problem(n=150, alpha=[1e-3], kernel=Matern(0.6, nu=0.5))
    first = solve(p, 1e-8)
    assert solve(p, 1e-8, start=first.warm_start).certificate.iterations == 0
    near = replace(p, alpha=np.array([1.1e-3]))
    cold, warm = solve(near, 1e-8), solve(near, 1e-8, start=first.warm_start)
    assert warm.certificate.iterations < cold.certificate.iterations
    worse = solve(p, 1e-8, start=1e6 * first.warm_start)  # further away than zero is
    np.testing.assert_array_equal(worse.coef, first.coef)
    assert solve(problem(n=50), 1e-8, start=first.warm_start).certificate.converged


def test_progress_ends_at_the_residual():
    p, steps = problem(n=150, alpha=[1e-3], kernel=Matern(0.6, nu=0.5)), []
    result = solve(p, 1e-8, progress=lambda what, size: steps.append((what, size)))
    assert len(steps) == result.certificate.iterations
    assert {what for what, _ in steps} == {"conjugate gradients"}
    assert steps[0][1] > 1e-4
    assert steps[-1][1] <= 1e-8
    assert solve(p, 1e-8, progress=lambda what, size: True).certificate.iterations == 1


def test_same_seed_same_coefficients():
    p = problem(n=150, alpha=[0.01], kernel=RBF(0.3))
    first, second, other = (solve(p, 1e-6, random_state=seed).coef for seed in (3, 3, 4))
    assert np.array_equal(first, second)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize("threads", [1, 2])
def test_targets_that_differ_in_difficulty(threads):
    """A column that is done is left out while the others go on."""
    p = problem(n=300, alpha=[1e-3, 1e3, 1.0], kernel=Matern(0.6, nu=0.5), threads=threads)
    p = replace(p, targets=p.targets * [1.0, 1.0, 0.0])
    result = solve(p, threads=threads)
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
    ],
    ids=["duplicates", "rank one", "zero"],
)
def test_singular_matrices(kernel, X, alpha):
    p = of(kernel, X, np.sin(np.arange(200.0)) + X[:, 0], alpha)
    result = check_solver(conjugate_gradient, p, budget(1e-8))
    assert np.all(np.isfinite(result.coef))
    assert result.certificate.converged or alpha < 1e-9


def test_no_rows_for_a_preconditioner():
    """A ridge above the trace of K leaves nothing to factor."""
    p = problem(n=50, alpha=[100.0])
    result = check_solver(conjugate_gradient, p, budget(1e-11))
    assert "rank 0" in result.certificate.solver
    np.testing.assert_allclose(result.coef, solution(p)[0], rtol=1e-9)


def test_strings():
    words = ["".join(np.random.default_rng(i).choice(list("abc"), 8)) for i in range(60)]
    p = of(Spectrum(2), words, np.array([float(len(set(w))) for w in words]), 0.5)
    coef, _ = solution(p)
    np.testing.assert_allclose(solve(p).coef, coef, rtol=1e-7, atol=1e-9)


# ---- the preconditioner ----


def test_preconditioner_saves_iterations():
    p = problem(n=400, alpha=[1e-3], kernel=RBF(1.0))
    fewer = solve(p, 1e-8).certificate.iterations
    more = solve(p, 1e-8, factor(p, 0)).certificate.iterations
    assert fewer < 0.2 * more


@pytest.mark.parametrize("weighted", [False, True])
def test_a_factor_that_leaves_nothing_needs_no_tiles(weighted, monkeypatch):
    """Corrections by it get there with float64 products."""
    monkeypatch.setattr(conjugate_gradient, "Packed", None)
    p = problem(weighted, True, [0.1], n=400, kernel=RBF(2.0))
    certificate = solve(p, 1e-3).certificate
    assert certificate.precision == "float64 products"
    assert certificate.iterations <= 2
    assert certificate.converged
    coef, intercept = solution(p)
    tight = solve(p, 1e-10)
    np.testing.assert_allclose(tight.coef, coef, atol=1e-8 * np.abs(coef).max())
    np.testing.assert_allclose(tight.intercept, intercept, rtol=1e-8)
    steps = []
    assert solve(p, 1e-10, progress=lambda what, size: steps.append(size)).certificate.iterations == len(steps) > 1
    for limit in ({"max_iter": 1}, {"progress": lambda what, size: True}):
        stopped = solve(p, 1e-10, **limit).certificate
        assert stopped.iterations == 1
        assert not stopped.converged
