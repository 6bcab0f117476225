import numpy as np
import pytest

from representer.features.pivoted_cholesky import pivoted_cholesky
from representer.kernels import RBF, Linear, Matern, Spectrum
from representer.problem import EigenProblem
from representer.solvers import eigen
from representer.solvers.eigen import davidson, dense

WITH = pytest.mark.parametrize(("weighted", "center"), [(False, False), (False, True), (True, False), (True, True)])


def data(n=300, width=4, seed=0):
    return np.random.default_rng(seed).normal(size=(n, width))


def uneven(n, seed=9):
    """Weights, one in five of which is zero."""
    return np.where(np.arange(n) % 5 == 3, 0.0, np.random.default_rng(seed).uniform(0.2, 3.0, n))


def textbook(problem):
    """A = P D K D P, every matrix written out, and its eigenvalues."""
    d = np.ones(problem.n) if problem.weights is None else np.sqrt(problem.weights)
    P = np.eye(len(d)) - np.outer(d, d) / (d @ d) if problem.center else np.eye(len(d))
    A = P @ np.diag(d) @ problem.kernel(problem.X).astype(np.float64) @ np.diag(d) @ P
    return A, np.linalg.eigvalsh((A + A.T) / 2)[::-1]


def check_pairs(problem, pairs, tol):
    """Eigenpairs are orthonormal, have the residuals that are claimed, and are those of the textbook."""
    A, values = textbook(problem)
    q = len(pairs.values)
    np.testing.assert_allclose(pairs.vectors.T @ pairs.vectors, np.eye(q), atol=1e-12)
    residuals = np.linalg.norm(A @ pairs.vectors - pairs.vectors * pairs.values, axis=0) / values[0]
    np.testing.assert_allclose(residuals, pairs.certificate.residuals, atol=1e-14)
    assert residuals.max() <= tol
    assert pairs.certificate.converged
    np.testing.assert_allclose(pairs.values, values[:q], rtol=1e-8, atol=tol**2 * values[0])
    np.testing.assert_allclose(pairs.trace, A.trace(), rtol=1e-12)
    images = problem.kernel(problem.X) @ (problem.root * pairs.vectors)
    np.testing.assert_allclose(pairs.images, images, atol=1e-11 * np.abs(images).max())


@WITH
@pytest.mark.parametrize("tol", [1e-6, 1e-11])
@pytest.mark.parametrize("kernel", [RBF(2.0), 0.5 * RBF(1.5) * Matern(3.0, nu=1.5) + 0.1 * Linear()], ids=repr)
def test_davidson_is_the_textbook(kernel, tol, weighted, center):
    problem = EigenProblem(kernel, data(), uneven(300) if weighted else None, center)
    check_pairs(problem, davidson(problem, 12, tol=tol, reason=""), tol)


@WITH
@pytest.mark.parametrize("wanted", [5, 60])
def test_dense_is_the_textbook(wanted, weighted, center):
    problem = EigenProblem(RBF(1.0), data(60), uneven(60) if weighted else None, center)
    pairs = dense(problem, wanted, tol=1e-12, reason="")
    assert len(pairs.values) == (5 if wanted == 5 else (48 if weighted else 60) - center)
    check_pairs(problem, pairs, 1e-12)


def test_all_components_are_those_above_rounding():
    pairs = dense(EigenProblem(Linear(), data(40, 3)), None, tol=1e-12, reason="")
    assert len(pairs.values) == 3


def test_on_strings():
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(list("ACGT"), 12)) for _ in range(200)]
    problem = EigenProblem(Spectrum(2), words)
    check_pairs(problem, davidson(problem, 6, tol=1e-6, reason=""), 1e-6)


@pytest.mark.parametrize("memory", [10**9, 10**5])
def test_with_and_without_a_stored_matrix(memory):
    problem = EigenProblem(Matern(2.0, nu=0.5), data())
    pairs = davidson(problem, 12, tol=1e-6, reason="", memory=memory)
    check_pairs(problem, pairs, 1e-6)
    half = 300 * 301 // 2
    passes = (pairs.certificate.kernel_evaluations - 100 * 300) // half
    assert (passes == 2) == (memory == 10**9)


def test_single_precision_inputs():
    problem = EigenProblem(RBF(2.0), data().astype(np.float32))
    pairs = davidson(problem, 12, tol=1e-6, reason="")
    wide = EigenProblem(RBF(2.0), data().astype(np.float32).astype(np.float64))
    check_pairs(wide, pairs, 1e-6)


def test_a_span_that_is_cut_back_converges_too(monkeypatch):
    monkeypatch.setattr(eigen, "LIMIT", 2)
    problem = EigenProblem(Matern(1.0, nu=0.5), data(600, 8))
    pairs = davidson(problem, 10, tol=1e-8, reason="")
    assert pairs.certificate.iterations > 4
    check_pairs(problem, pairs, 1e-8)


def test_clustered_eigenvalues():
    """Ten equal groups far apart: ten (nearly) equal eigenvalues, of which a cut through the middle is asked for."""
    rng = np.random.default_rng(0)
    X = 100.0 * np.repeat(np.eye(10), 40, axis=0) + rng.normal(size=(400, 10))
    problem = EigenProblem(RBF(3.0), X)
    check_pairs(problem, davidson(problem, 5, tol=1e-6, reason=""), 1e-6)


@pytest.mark.parametrize("solve", [dense, davidson])
def test_no_more_than_the_rank(solve):
    pairs = solve(EigenProblem(Linear(), data(300, 3)), 10, tol=1e-6, reason="")
    assert len(pairs.values) == 3
    assert pairs.certificate.converged


@pytest.mark.parametrize("solve", [dense, davidson])
def test_nothing_varies(solve):
    pairs = solve(EigenProblem(RBF(1.0), np.ones((200, 2))), 5, tol=1e-6, reason="")
    assert pairs.values.shape == (0,)
    assert pairs.vectors.shape == (200, 0)
    assert abs(pairs.trace) < 1e-10


def test_eigenvalues_below_the_tolerance_are_left_out():
    """Eigenvalues of this kernel fall by a factor of about 100 each; those within their residual of 0 are not kept."""
    problem = EigenProblem(RBF(3.0), data(300, 1))
    values = textbook(problem)[1]
    few, more = (davidson(problem, 12, tol=tol, reason="") for tol in (1e-6, 1e-12))
    assert 6 <= len(few.values) <= len(more.values)
    for pairs in (few, more):
        assert np.all(pairs.values > pairs.certificate.residuals * values[0])
        q = len(pairs.values)
        assert np.all(np.abs(pairs.values - values[:q]) <= pairs.certificate.residuals * values[0] + 1e-13 * values[0])


@pytest.mark.parametrize("seed", range(4))
def test_a_mean_that_outweighs_what_varies_is_taken_off_to_the_last_digit(seed):
    problem = EigenProblem(RBF(3.0), data(300, 1))
    certificate = davidson(problem, 12, tol=1e-12, reason="", random_state=seed).certificate
    assert certificate.converged
    assert certificate.iterations <= 3


def test_stopping_early_is_said():
    problem = EigenProblem(Matern(0.5, nu=0.5), data(600, 8))
    pairs = davidson(problem, 10, tol=1e-6, reason="", max_iter=1)
    assert not pairs.certificate.converged
    assert "NOT converged" in str(pairs.certificate)
    A = textbook(problem)[0]
    residuals = np.linalg.norm(A @ pairs.vectors - pairs.vectors * pairs.values, axis=0)
    np.testing.assert_allclose(residuals / pairs.values[0], pairs.certificate.residuals, rtol=1e-10)


def test_the_same_seed_gives_the_same_bits():
    problem = EigenProblem(RBF(2.0), data())
    one, two, other = (davidson(problem, 5, tol=1e-6, reason="", random_state=s) for s in (0, 0, 1))
    np.testing.assert_array_equal(one.vectors, two.vectors)
    np.testing.assert_allclose(other.values, one.values, rtol=1e-9)
    np.testing.assert_allclose(other.vectors, one.vectors, atol=1e-4)  # signs as well


@WITH
def test_the_start_is_inverted(weighted, center):
    problem = EigenProblem(RBF(1.0), data(80), uneven(80) if weighted else None, center)
    weights = None if problem.weights is None else problem.root.ravel()
    low_rank = pivoted_cholesky(problem.kernel, problem.exact, 20, weights=weights)
    start = eigen._Start(problem, low_rank)
    F = problem.project(low_rank.factor.T)
    np.testing.assert_allclose(start.values, np.linalg.eigvalsh(F @ F.T)[::-1][: len(start.values)], rtol=1e-9)
    R = problem.project(np.random.default_rng(1).normal(size=(80, 2)))
    shifts = np.array([1.3 * start.values[0], start.values[5:7].mean()])
    assert np.abs(start.values[:, None] / shifts - 1).min() > 0.01
    wanted = [np.linalg.solve(shift * np.eye(80) - F @ F.T, r) for shift, r in zip(shifts, R.T, strict=True)]
    np.testing.assert_allclose(start.solve(R, shifts).T, wanted, rtol=1e-7, atol=1e-9)


def test_progress_is_told():
    told = []
    davidson(EigenProblem(RBF(2.0), data()), 5, tol=1e-6, reason="", progress=lambda what, size: told.append(size))
    assert len(told) > 1
    assert told[-1] <= 1e-6


def test_certificate_in_words():
    pairs = davidson(EigenProblem(RBF(2.0), data()), 5, tol=1e-6, reason="n is large")
    text = str(pairs.certificate)
    assert text.startswith("converged: residuals |A u - lambda u| up to")
    assert "Davidson's method from a factor of rank 100" in text
    assert "Chosen because n is large." in text


@WITH
def test_coarse_tolerance_needs_float32_only(weighted, center):
    problem = EigenProblem(RBF(2.0), data(), uneven(300) if weighted else None, center)
    pairs = davidson(problem, 5, tol=1e-5, reason="it is a test")
    A, values = textbook(problem)
    assert pairs.certificate.precision == "float32 products"
    assert pairs.certificate.converged
    residuals = np.linalg.norm(A @ pairs.vectors - pairs.vectors * pairs.values, axis=0) / values[0]
    np.testing.assert_allclose(residuals, pairs.certificate.residuals, atol=3e-7)
    np.testing.assert_allclose(pairs.values, values[:5], rtol=1e-6)
    np.testing.assert_allclose(pairs.trace, A.trace(), rtol=1e-6)


@WITH
def test_new_directions_are_orthonormal_to_the_last_digit(weighted, center):
    """Also for directions that are nearly in the span, of which only rounding is left if they are in it altogether."""
    rng, n = np.random.default_rng(0), 200
    problem = EigenProblem(RBF(), data(n), uneven(n) if weighted else None, center)
    Q = np.linalg.qr(problem.project(rng.normal(size=(n, 30))))[0]
    inside = Q @ rng.normal(size=(30, 8))
    new = inside + 1e-7 * rng.normal(size=inside.shape) * np.logspace(0, -7, 8)
    T = eigen._new_directions(problem, Q, new / np.linalg.norm(new, axis=0))
    span = np.hstack([Q, T])
    assert 0 < T.shape[1] <= 8
    np.testing.assert_allclose(span.T @ span, np.eye(span.shape[1]), atol=1e-13)
    np.testing.assert_allclose(problem.project(T), T, atol=1e-13)
    alone = eigen._new_directions(problem, Q, Q[:, :8])
    np.testing.assert_allclose(Q.T @ alone, 0.0, atol=1e-13)


@pytest.mark.parametrize("tol", [1e-11, 1e-12])
@pytest.mark.parametrize("seed", [0, 1])
def test_span_stays_orthonormal_with_a_tight_tolerance(seed, tol):
    """Duplicates and weights of zero, on which a span that is not orthonormal soon loses all components."""
    rng = np.random.default_rng(seed)
    X = np.repeat(rng.normal(size=(150, 3)), 2, axis=0)
    problem = EigenProblem(RBF(0.2), X, rng.integers(0, 3, 300).astype(float))
    pairs = davidson(problem, 4, tol=tol, reason="")
    assert pairs.certificate.converged
    assert pairs.certificate.iterations < 20
    np.testing.assert_allclose(pairs.values, textbook(problem)[1][:4], rtol=1e-11)


@pytest.mark.parametrize("n", [10, 25, 40])
@pytest.mark.parametrize("center", [False, True])
def test_tolerance_that_cannot_be_reached_ends(center, n):
    """Where the span is the whole space, nothing is left to add."""
    problem = EigenProblem(RBF(1.0), data(n), None, center)
    pairs = davidson(problem, 5, tol=1e-16, reason="")
    assert pairs.certificate.iterations < 50
    np.testing.assert_allclose(pairs.values, textbook(problem)[1][:5], rtol=1e-12)
