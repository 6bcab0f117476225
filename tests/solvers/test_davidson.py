from dataclasses import replace

import numpy as np
import pytest
from eigen_cases import CENTERED, budget, check_pairs, data, of, residuals_of, textbook

from representer.features.pivoted_cholesky import pivoted_cholesky
from representer.kernels import RBF, Linear, Matern, Spectrum
from representer.problems.eigen import EigenProblem
from representer.solvers import davidson


def solve(problem, wanted, tol=1e-6, **options):
    return davidson.solve(replace(problem, n_components=wanted), budget(tol, **options), "n is large")


@CENTERED
@pytest.mark.parametrize("tol", [1e-6, 1e-11])
def test_is_the_textbook(tol, weighted, center):
    problem = of(0.5 * RBF(1.5) * Matern(3.0, nu=1.5) + 0.1 * Linear(), data(), weighted, center)
    check_pairs(problem, solve(problem, 12, tol), tol)


def test_on_strings():
    rng = np.random.default_rng(0)
    problem = of(Spectrum(2), ["".join(rng.choice(list("ACGT"), 12)) for _ in range(150)])
    check_pairs(problem, solve(problem, 6), 1e-6)


@pytest.mark.parametrize("stored", [True, False])
def test_with_and_without_stored_tiles(stored, monkeypatch):
    monkeypatch.setattr(davidson, "stores_tiles", lambda n, memory: stored)
    problem = of(Matern(2.0, nu=0.5), data())
    found = solve(problem, 12)
    check_pairs(problem, found, 1e-6)
    certificate, plan = found.certificate, davidson.cost(replace(problem, n_components=12), budget())
    assert ("with room for float32 tiles" in plan.reason) == stored
    assert certificate.bytes <= 1.2 * plan.bytes
    passes = certificate.kernel_evaluations // (200 * 201 // 2) - 1  # one is that of the factor
    assert (passes <= certificate.iterations) == stored


def test_single_precision_inputs():
    single = data().astype(np.float32)
    found = solve(of(RBF(2.0), single), 12)
    check_pairs(of(RBF(2.0), single.astype(np.float64)), found, 1e-6)


def test_a_span_that_is_cut_back_converges_too(monkeypatch):
    monkeypatch.setattr(davidson, "BLOCKS", 2)
    problem = of(Matern(1.0, nu=0.5), data(400, 8))
    found = solve(problem, 10, 1e-8)
    assert found.certificate.iterations > 4
    check_pairs(problem, found, 1e-8)


def test_clustered_eigenvalues():
    """Ten equal groups far apart: ten (nearly) equal eigenvalues, of which a cut through the middle is asked for."""
    X = 100.0 * np.repeat(np.eye(10), 20, axis=0) + data(200, 10)
    problem = of(RBF(3.0), X)
    check_pairs(problem, solve(problem, 5), 1e-6)


def test_no_more_than_the_rank():
    result = solve(of(Linear(), data(300, 3)), 10)
    assert len(result.eigenvalues) == 3
    assert result.certificate.converged


def test_nothing_varies():
    problem = of(RBF(1.0), np.ones((200, 2)))
    result = solve(problem, 5)
    assert result.eigenvalues.shape == (0,)
    assert result.coef.shape == (200, 0)
    assert abs(result.trace) < 1e-10


def test_eigenvalues_below_the_tolerance_are_left_out():
    """Eigenvalues of this kernel fall by a factor of about 100 each; those within their residual of 0 are not kept."""
    problem = of(RBF(3.0), data(200, 1))
    exact = textbook(problem)[1]
    few, more = (solve(problem, 12, tol) for tol in (1e-6, 1e-12))
    assert 6 <= len(few.eigenvalues) <= len(more.eigenvalues)
    for result in (few, more):
        values, residuals = result.eigenvalues, result.certificate.residuals * exact[0]
        assert np.all(values > residuals)
        assert np.all(np.abs(values - exact[: len(values)]) <= residuals + 1e-13 * exact[0])


@pytest.mark.parametrize("seed", range(4))
def test_a_mean_that_outweighs_what_varies_is_taken_off_to_the_last_digit(seed):
    certificate = solve(of(RBF(3.0), data(200, 1)), 12, 1e-12, random_state=seed).certificate
    assert certificate.converged
    assert certificate.iterations <= 3


def test_stopping_early():
    problem = of(Matern(0.5, nu=0.5), data(400, 8))
    result = solve(problem, 10, max_iter=1)
    assert not result.certificate.converged
    assert "NOT converged" in str(result.certificate)
    scale = textbook(problem)[1][0] / result.eigenvalues[0]  # the certificate knows only what was found
    np.testing.assert_allclose(scale * residuals_of(problem, result), result.certificate.residuals, rtol=1e-10)


def test_the_same_seed_gives_the_same_bits():
    problem = of(RBF(2.0), data())
    one, two, other = (solve(problem, 5, random_state=seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(one.coef, two.coef)
    np.testing.assert_allclose(other.eigenvalues, one.eigenvalues, rtol=1e-9)
    np.testing.assert_allclose(other.coef, one.coef, atol=1e-4)  # signs as well


def test_progress():
    sizes = []
    solve(of(RBF(2.0), data()), 5, progress=lambda what, size: sizes.append(size))
    assert len(sizes) > 1
    assert sizes[-1] <= 1e-6


@pytest.mark.parametrize("tol", [1e-4, 1e-6])
def test_progress_stops_it(tol):
    """After one block product, and one in float64 where the tolerance asks for it, with the residual reached."""
    problem = of(Matern(2.0, nu=0.5), data())
    found = solve(problem, 5, tol, progress=lambda what, size: True)
    assert not found.certificate.converged
    assert found.certificate.iterations == (2 if tol < 1e-5 else 1)
    np.testing.assert_allclose(found.certificate.residuals, residuals_of(problem, found), rtol=1e-2)


def test_certificate_in_words():
    text = str(solve(of(RBF(2.0), data()), 5).certificate)
    assert text.startswith("converged: residual |A u - lambda u| / lambda_1")
    assert "Davidson's method from a factor of rank 100" in text
    assert "Chosen because n is large." in text


@CENTERED
def test_coarse_tolerance_needs_float32_only(weighted, center):
    """Its rounding counts as a residual, which is at least the true one."""
    problem = of(RBF(2.0), data(), weighted, center)
    result = solve(problem, 5, 1e-5)
    A, values = textbook(problem)
    assert result.certificate.precision == "float32 products"
    assert result.certificate.converged
    residuals = residuals_of(problem, result)
    assert np.all(residuals <= result.certificate.residuals)
    np.testing.assert_allclose(residuals, result.certificate.residuals, atol=2e-6)
    np.testing.assert_allclose(result.eigenvalues, values[:5], rtol=1e-6)
    np.testing.assert_allclose(result.trace, A.trace(), rtol=1e-6)


@CENTERED
def test_the_start_is_inverted(weighted, center):
    problem = of(RBF(1.0), data(80), weighted, center)
    low_rank = pivoted_cholesky(problem.gram, 20, weights=problem.sqrt_weights.ravel())
    start = davidson._Start(problem, low_rank)
    F = problem.project(low_rank.factor.T)
    np.testing.assert_allclose(start.values, np.linalg.eigvalsh(F @ F.T)[::-1][: len(start.values)], rtol=1e-9)
    R = problem.project(np.random.default_rng(1).normal(size=(80, 2)))
    shifts = np.array([1.3 * start.values[0], start.values[5:7].mean()])
    assert np.abs(start.values[:, None] / shifts - 1).min() > 0.01
    wanted = [np.linalg.solve(shift * np.eye(80) - F @ F.T, r) for shift, r in zip(shifts, R.T, strict=True)]
    np.testing.assert_allclose(start.solve(R, shifts).T, wanted, rtol=1e-7, atol=1e-9)


@CENTERED
def test_new_directions_are_orthonormal_to_the_last_digit(weighted, center):
    """Also for directions that are nearly in the span, of which only rounding is left if they are in it altogether."""
    rng, n = np.random.default_rng(0), 200
    problem = of(RBF(), data(n), weighted, center)
    Q = np.linalg.qr(problem.project(rng.normal(size=(n, 30))))[0]
    inside = Q @ rng.normal(size=(30, 8))
    new = inside + 1e-7 * rng.normal(size=inside.shape) * np.logspace(0, -7, 8)
    T = davidson._new_directions(problem, Q, new / np.linalg.norm(new, axis=0))
    span = np.hstack([Q, T])
    assert 0 < T.shape[1] <= 8
    np.testing.assert_allclose(span.T @ span, np.eye(span.shape[1]), atol=1e-13)
    np.testing.assert_allclose(problem.project(T), T, atol=1e-13)
    alone = davidson._new_directions(problem, Q, Q[:, :8])
    np.testing.assert_allclose(Q.T @ alone, 0.0, atol=1e-13)


@pytest.mark.parametrize("tol", [1e-11, 1e-12])
def test_span_stays_orthonormal_with_a_tight_tolerance(tol):
    """Duplicates and weights of zero, on which a span that is not orthonormal soon loses all components."""
    rng = np.random.default_rng(1)
    gram = of(RBF(0.2), np.repeat(rng.normal(size=(150, 3)), 2, axis=0)).gram
    problem = EigenProblem(gram, rng.integers(0, 3, 300).astype(float))
    result = solve(problem, 4, tol)
    assert result.certificate.converged
    assert result.certificate.iterations < 20
    np.testing.assert_allclose(result.eigenvalues, textbook(problem)[1][:4], rtol=1e-11)


@pytest.mark.parametrize("n", [10, 40])
@pytest.mark.parametrize("center", [False, True])
def test_tolerance_that_cannot_be_reached_ends(center, n):
    """Where the span is the whole space, nothing is left to add."""
    problem = of(RBF(1.0), data(n), False, center)
    result = solve(problem, 5, 1e-16)
    assert result.certificate.iterations < 50
    np.testing.assert_allclose(result.eigenvalues, textbook(problem)[1][:5], rtol=1e-12)
