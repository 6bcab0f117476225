import numpy as np
import pytest
from each_case import each
from ridge_cases import CASES, WITH, problem, solution

from representer.kernels import RBF
from representer.solvers import band_reduction
from representer.solvers.band_reduction import WIDTH, BandReduction, orthogonal, reduce
from representer.solvers.eigendecomposition import Decomposition

SIZES = each("n", [1, 2, WIDTH, WIDTH + 1, 2 * WIDTH + 1, 151])
"""One panel and less, panels that end with the matrix or do not, and several tiles."""


@pytest.fixture(autouse=True)
def small_tiles(monkeypatch):
    """So that small matrices have several."""
    monkeypatch.setattr(band_reduction, "GROUP", 2 * WIDTH)
    monkeypatch.setattr(band_reduction, "COLUMNS", 48)
    monkeypatch.setattr(band_reduction, "STRIP", 24)


def matrices(n, rng):
    """Symmetric matrices of many kinds, with their names."""
    X = rng.normal(size=(n, 3))
    distances = ((X[:, None] - X) ** 2).sum(axis=2)
    yield "indefinite", (lambda A: A + A.T)(rng.normal(size=(n, n)))
    yield "smooth kernel", np.exp(-0.1 * distances)
    yield "rank one", np.ones((n, n))
    yield "duplicates", np.exp(-np.tile(distances, (2, 2))[:n, :n])
    yield "zero", np.zeros((n, n))
    yield "diagonal", np.diag(rng.normal(size=n))
    yield "banded", np.triu(np.tril(np.ones((n, n)), 5), -5)
    yield "large and small", 10.0 ** rng.uniform(-8, 8, n)[:, None] * np.eye(n) + 1e-9


def dense(B):
    """The symmetric matrix with these diagonals."""
    n = B.shape[1]
    upper = sum(np.diag(B[WIDTH - d, d:], d) for d in range(1, min(n, WIDTH + 1))) if n > 1 else np.zeros((1, 1))
    return upper + upper.T + np.diag(B[WIDTH])


@SIZES
@each("threads", [1, 2])
def test_reduction_is_orthogonal_and_banded(n, threads, rng):
    """Q'Q = I and Q B Q' = A to rounding, with as many diagonals as stated, for any symmetric matrix."""
    for name, A in matrices(n, rng):
        block = np.arange(n) // (2 * WIDTH)  # of the lower triangle only blocks on the diagonal are read
        B, reflections = reduce(np.where(block[:, None] > block, np.nan, A), threads)
        Q = orthogonal(reflections, np.full((n, n), np.nan), threads).T
        assert B.shape == (WIDTH + 1, n), name
        np.testing.assert_allclose(Q.T @ Q, np.eye(n), atol=1e-13, err_msg=name)
        np.testing.assert_allclose(Q @ dense(B) @ Q.T, A, atol=1e-13 * max(np.linalg.norm(A), 1e-300), err_msg=name)


def test_the_result_is_the_same_on_every_call(rng):
    A = RBF(1.0)(rng.normal(size=(151, 2)))
    first, second, alone = reduce(A.copy()), reduce(A.copy()), reduce(A.copy(), 1)
    assert np.array_equal(first[0], second[0])
    assert np.array_equal(first[0], alone[0])


@CASES
def test_equals_dense_solution(weighted, intercept, alpha):
    p = problem(weighted, intercept, alpha, n=70)
    coef, b, _ = p.finish(BandReduction(p, min(alpha)).solve(p.ridges))
    expected, expected_b = solution(p)
    np.testing.assert_allclose(coef, expected, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(b, expected_b, rtol=1e-10)


@WITH
@pytest.mark.parametrize("n", [1, WIDTH, 67, 151])
def test_equals_eigendecomposition(weighted, intercept, n):
    """Leave-one-out predictions, at weights of zero, too, and generalised cross-validation, for several targets."""
    p = problem(weighted, intercept, [1.0, 1.0], n=n)
    alphas = np.repeat(np.logspace(-4, 2, 5)[:, None], 2, axis=1)
    if not intercept:
        alphas[:, 1] *= 3.0
    found, expected = BandReduction(p, alphas.min()).path(alphas), Decomposition(p).path(alphas)
    np.testing.assert_allclose(found.predictions, expected.predictions, rtol=1e-8, atol=1e-9)
    if n > 1:  # one row with an intercept leaves 0 / 0
        np.testing.assert_allclose(found.gcv, expected.gcv, rtol=1e-8)


def test_many_alphas_in_batches(monkeypatch):
    """Factors of an earlier batch leave nothing behind, also where the last batch is smaller."""
    p, alphas = problem(True, True, [1.0, 1.0], n=70), np.logspace(-3, 2, 11)[:, None] * np.ones(2)
    at_once = BandReduction(p, alphas.min()).path(alphas)
    monkeypatch.setattr(band_reduction, "FACTORS", 4)
    batches = BandReduction(p, alphas.min()).path(alphas)
    assert np.array_equal(batches.predictions, at_once.predictions)
