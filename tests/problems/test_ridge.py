"""Ridge problems against matrices written out."""

from dataclasses import replace

import numpy as np
import pytest
from ridge_cases import CASES, WITH, of, problem, residual, solution, values

from representer.kernels import RBF, Sigmoid, Spectrum


def roots(p):
    """The column of roots of weights."""
    return np.ones((p.n, 1)) if p.weights is None else np.sqrt(p.weights)[:, None]


@WITH
def test_matrix_and_right_hand_sides(weighted, intercept):
    p = problem(weighted, intercept, [0.5, 0.5], kernel=3.0 * RBF(0.7))
    K, d = values(p), roots(p)
    A = d * K * d.T
    Z, ridges = np.random.default_rng(1).normal(size=(p.n, 3)), np.array([0.5, 3.0, 0.0])
    np.testing.assert_allclose(p.apply(Z, ridges, p.gram), A @ Z + Z * ridges, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(p.matrix(2.0), A + 2.0 * np.eye(p.n), rtol=1e-14)
    np.testing.assert_allclose(p.matrix(2.0, np.float32), A + 2.0 * np.eye(p.n), rtol=1e-5)
    assert p.matrix(2.0, np.float32).dtype == np.float32
    np.testing.assert_allclose(p.diagonal, A.diagonal(), rtol=1e-14)
    np.testing.assert_array_equal(p.right_hand_sides, np.column_stack([d * p.targets, d][: 1 + intercept]))
    assert p.ridges.tolist() == [0.5] * (2 + intercept)


@CASES
def test_finish(weighted, intercept, alpha):
    """Any solutions Z with residuals R become coefficients with a residual; exact ones become the solution."""
    p = problem(weighted, intercept, alpha)
    A = roots(p) * values(p) * roots(p).T
    Z = np.array([np.linalg.solve(A + a * np.eye(p.n), b) for a, b in zip(p.ridges, p.right_hand_sides.T, strict=True)])
    coef, b, _ = p.finish(Z.T)
    for found, expected in zip((coef, b), solution(p), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-11)
    judged = p.judge(coef, b)
    assert judged.residuals.max() < 1e-12
    assert judged.error_bound.max() < 1e-10
    Z = Z.T + 0.01 * np.random.default_rng(0).normal(size=Z.T.shape) * (roots(p) > 0)
    coef, b, R = p.finish(Z, p.right_hand_sides - A @ Z - p.ridges * Z)
    np.testing.assert_allclose(R, residual(p, coef, b)[0], atol=1e-12)
    assert np.abs(R).max() > 1e-3
    if intercept:
        np.testing.assert_allclose(coef.sum(axis=0), 0.0, atol=1e-12)


def test_intercept_where_constants_are_outside_the_range():
    """Then b is the mean, and the residual that of it."""
    p = problem(intercept=True, alpha=[0.3, 0.3])
    Z = np.random.default_rng(0).normal(size=(p.n, 3))
    Z[:, -1] -= Z[:, -1].mean()
    coef, b, R = p.finish(Z, p.right_hand_sides - p.apply(Z, p.ridges, p.gram))
    np.testing.assert_allclose(b, p.targets.mean(axis=0))
    np.testing.assert_allclose(R, residual(p, coef, b)[0], atol=1e-12)


@CASES
def test_residuals(weighted, intercept, alpha):
    """|r| / |D y| for any coefficients and intercepts; with an intercept their sum counts, too."""
    p, rng = problem(weighted, intercept, alpha), np.random.default_rng(2)
    coef, b = rng.normal(size=p.targets.shape) * (roots(p) > 0), rng.normal(size=len(p.alpha))
    R, relative = residual(p, coef, b)
    np.testing.assert_allclose(p.residual(coef, b), R, rtol=1e-12, atol=1e-12)
    judged = p.judge(coef, b)
    assert judged.measure == "relative residual"
    np.testing.assert_allclose(judged.residuals, relative, rtol=1e-12)
    np.testing.assert_allclose(p.judge(coef, b, 2.0 * R).residuals, 2.0 * relative, rtol=1e-12)
    if intercept:
        shifted, (best, _) = 1e3 * np.ones_like(coef), solution(p)
        assert p.judge(best + shifted, b, np.zeros_like(R)).residuals.min() > 1.0


@CASES
@pytest.mark.parametrize("size", [1e-6, 10.0])
def test_bound_holds(weighted, intercept, alpha, size):
    """||f - f*|| <= bound for any coefficients and intercepts, including coefficients whose sum is not zero."""
    p = problem(weighted, intercept, alpha, kernel=2.5 * RBF(0.7))
    K, (best, b), tightest = values(p), solution(p), 0.0
    for seed in range(6):
        change = size * np.random.default_rng(seed).normal(size=best.shape) * (roots(p) > 0)
        change -= change.mean(axis=0) if seed % 2 and not weighted else 0.0
        bound = p.judge(best + change, b + seed).error_bound
        error = np.sqrt(np.einsum("ij,ij->j", change, K @ change))
        assert np.all(error <= bound * (1 + 1e-9))
        tightest = max(tightest, (error / bound).max())
    assert tightest > 0.01  # the bound says something


def test_bound_is_reached():
    """An error along an eigenvector with eigenvalue alpha has exactly the norm of the bound."""
    p = problem()
    eigenvalues, vectors = np.linalg.eigh(values(p))
    p = replace(p, alpha=eigenvalues[[40]])
    best, b = solution(p)
    assert p.judge(best + vectors[:, [40]], b).error_bound == pytest.approx(np.sqrt(eigenvalues[40]), rel=1e-9)


def test_no_bound_without_a_ridge_or_a_space():
    p, ones = problem(alpha=[0.0, 1.0]), np.ones((60, 2))
    assert p.judge(ones, np.zeros(2), ones).error_bound.tolist() == [np.inf, pytest.approx(np.sqrt(60) / 2)]
    indefinite = of(Sigmoid(), np.ones((3, 1)), np.ones(3), 1.0)
    assert indefinite.judge(np.ones((3, 1)), np.zeros(1)).error_bound == np.inf


def test_target_of_zeros():
    p = of(RBF(), np.ones((3, 1)), np.zeros(3), 1.0)
    judged = p.judge(np.zeros((3, 1)), np.zeros(1))
    assert judged.residuals == judged.error_bound == 0.0
    assert p.judge(np.zeros((3, 1)), np.zeros(1), np.full((3, 1), 2.0)).residuals == pytest.approx(np.sqrt(12.0))


def test_strings():
    p = of(Spectrum(1), ["ab", "b", ""], np.ones(3), 2.0)
    np.testing.assert_array_equal(p.matrix(2.0), [[4.0, 1.0, 0.0], [1.0, 3.0, 0.0], [0, 0, 2.0]])
