from dataclasses import replace

import machine_cases
import numpy as np
import pytest
from machine_cases import LOSSES
from ridge_cases import CASES, problem, ridge, solution
from scipy import sparse

from representer.kernels import RBF, Linear, Spectrum
from representer.losses import Squared
from representer.problem import Certificate, EigenProblem, Point, RidgeProblem

WITH = pytest.mark.parametrize(("weighted", "intercept"), [(False, False), (False, True), (True, False), (True, True)])


def dense(p):
    """K, and the column of roots of weights."""
    return p.kernel(p.X), np.ones((p.n, 1)) if p.weights is None else np.sqrt(p.weights)[:, None]


@WITH
def test_apply(weighted, intercept):
    p = problem(weighted, intercept, [0.5, 0.5])
    K, d = dense(p)
    Z, ridges = np.random.default_rng(1).normal(size=(p.n, 3)), np.array([0.5, 3.0, 0.0])
    expected = (d * K * d.T) @ Z + Z * ridges
    np.testing.assert_allclose(p.apply(Z, ridges), expected, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(p.apply(Z, ridges, 2.0 * K), 2.0 * (expected - Z * ridges) + Z * ridges, rtol=1e-11)


@WITH
def test_diagonal(weighted, intercept):
    p = problem(weighted, intercept, [0.5], kernel=3.0 * RBF(0.7))
    K, d = dense(p)
    np.testing.assert_allclose(p.diagonal, (d * K * d.T).diagonal(), rtol=1e-14)


@WITH
def test_right_sides_and_ridges(weighted, intercept):
    p = problem(weighted, intercept, [0.5, 0.5])
    _, d = dense(p)
    assert p.right_sides.shape == (p.n, 2 + intercept)
    np.testing.assert_array_equal(p.right_sides[:, :2], d * p.targets)
    assert p.ridges.tolist() == [0.5] * (2 + intercept)
    if intercept:
        np.testing.assert_array_equal(p.right_sides[:, 2:], d)


@CASES
def test_finish(weighted, intercept, alpha):
    """Solutions of the linear systems become coefficients and intercepts that are optimal."""
    p = problem(weighted, intercept, alpha)
    K, d = dense(p)
    systems = [d * K * d.T + ridge * np.eye(p.n) for ridge in p.ridges]
    Z = np.array([np.linalg.solve(A, b) for A, b in zip(systems, p.right_sides.T, strict=True)]).T
    coef, b = p.finish(Z)
    expected, expected_b = solution(p)
    np.testing.assert_allclose(coef, expected, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(b, expected_b, rtol=1e-10)
    relative, bound = p.residuals(coef, b)
    assert relative.max() < 1e-12
    assert bound.max() < 1e-10


@CASES
def test_residuals_and_bound(weighted, intercept, alpha):
    p = problem(weighted, intercept, alpha)
    K, d = dense(p)
    rng = np.random.default_rng(2)
    Z, b = rng.normal(size=p.targets.shape), rng.normal(size=len(p.alpha))
    Z[d.ravel() == 0] = 0.0
    R = d * (p.targets - b) - (d * K * d.T) @ Z - p.alpha * Z
    relative, bound = p.residuals(d * Z, b)
    np.testing.assert_allclose(relative, np.linalg.norm(R, axis=0) / np.linalg.norm(d * p.targets, axis=0), rtol=1e-12)
    np.testing.assert_allclose(bound, np.linalg.norm(R, axis=0) / np.sqrt(4.0 * p.alpha), rtol=1e-12)
    for judged, found in zip(p.judge(R), (relative, bound), strict=True):
        np.testing.assert_allclose(judged, found, rtol=1e-12)


@CASES
@pytest.mark.parametrize("size", [1e-6, 1e-2, 10.0])
def test_bound_holds_everywhere(weighted, intercept, alpha, size):
    """|f - f*|(x) <= bound sqrt(k(x, x)), where f* is the minimiser for the same intercept, for any coefficients."""
    p = problem(weighted, intercept, alpha, kernel=2.5 * RBF(0.7))
    best, b = solution(p)
    X = 2.0 * np.random.default_rng(3).normal(size=(200, 2))
    tightest = 0.0
    for seed in range(5):
        coef = best + size * np.random.default_rng(seed).normal(size=best.shape) * (dense(p)[1] > 0)
        _, bound = p.residuals(coef, b)
        error = np.abs(p.kernel(X, p.X) @ (coef - best))
        assert np.all(error <= bound * np.sqrt(p.kernel.diag(X))[:, None])
        tightest = max(tightest, (error / bound).max())
    assert tightest > 0.01  # the bound says something


def test_bound_is_reached():
    """An error along an eigenvector with eigenvalue alpha has exactly the norm that is told."""
    p = problem(alpha=[1.0])
    values, vectors = np.linalg.eigh(p.kernel(p.X))
    p.alpha = values[[40]]
    p = replace(p)
    best, b = solution(p)
    _, (bound,) = p.residuals(best + vectors[:, [40]], b)
    assert bound == pytest.approx(np.sqrt(values[40]), rel=1e-9)


def test_no_ridge_has_no_bound():
    p = problem(alpha=[0.0, 1.0])
    _, bound = p.judge(np.ones((p.n, 2)))
    assert bound[0] == np.inf
    assert bound[1] == pytest.approx(np.sqrt(p.n) / 2)


def test_target_of_zeros():
    p = RidgeProblem(RBF(), np.ones((3, 1)), np.zeros((3, 1)), np.array([1.0]))
    relative, bound = p.judge(np.zeros((3, 1)))
    assert relative == bound == 0.0
    relative, _ = p.judge(np.full((3, 1), 2.0))
    assert relative == pytest.approx(np.sqrt(12.0))


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_precisions(kind, dtype, rng):
    X = kind(rng.normal(size=(5, 2)).astype(dtype))
    p = RidgeProblem(RBF(), X, np.ones((5, 1)), np.ones(1))
    assert p.exact.dtype == p.gram.dtype == np.float64
    assert p.fast.dtype == np.float32
    np.testing.assert_allclose(p.gram.dense(), RBF()(X.astype(np.float64)), rtol=1e-14)


def test_strings():
    p = RidgeProblem(Spectrum(1), ["ab", "b", ""], np.ones((3, 1)), np.array([2.0]))
    np.testing.assert_array_equal(p.apply(np.eye(3), np.full(3, 2.0)), [[4.0, 1.0, 0.0], [1.0, 3.0, 0.0], [0, 0, 2.0]])


def test_certificate_in_words():
    certificate = Certificate(
        "Cholesky", "n is small", True, 1.5e-9, 1e-6, np.array([1e-3, 2e-3]), 2, 10, 5, 0.25, "f64"
    )
    words = str(certificate)
    assert words.startswith("converged: relative residual 1.5e-09 (tolerance 1e-06) by Cholesky in 2 iterations")
    assert "Chosen because n is small. |f - f*|(x) <= 0.002 sqrt(k(x, x))." in words
    assert str(replace(certificate, converged=False)).startswith("NOT converged")


@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_covariance_seen_from_the_data(weighted, center):
    """With features phi of a kernel, A has the eigenvalues of the sum of w (phi - m) (phi - m)', m the mean."""
    rng = np.random.default_rng(0)
    X, w = rng.normal(size=(30, 4)), rng.uniform(size=30) if weighted else np.ones(30)
    p = EigenProblem(Linear(), X, w if weighted else None, center)
    features = X - np.average(X, axis=0, weights=w) if center else X
    covariance = (features.T * w) @ features
    U = p.project(np.eye(30))
    np.testing.assert_allclose(p.project(U), U, atol=1e-14)
    A = p.apply(p.gram @ (p.root * U))
    np.testing.assert_allclose(A, A.T, atol=1e-13)
    np.testing.assert_allclose(np.linalg.eigvalsh(A)[-4:], np.linalg.eigvalsh(covariance), rtol=1e-12)
    np.testing.assert_allclose(p.trace(X @ X.T @ w), covariance.trace(), rtol=1e-12)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("intercept", [True, False])
def test_no_dual_value_is_above_any_primal_value(loss, intercept, rng):
    """Weak duality at random points, with the bound that needs no product."""
    p = machine_cases.problem(loss, intercept=intercept, weighted=True)
    K, diagonal = p.kernel(p.X), p.kernel.diag(p.X)
    highest, lowest = -np.inf, np.inf
    for size in (1e-3, 0.1, 1.0):
        coef = size * rng.normal(size=(p.n, p.loss.outputs(p.y))) * (p.weights > 0)
        point = p.centred(Point(coef, np.zeros(coef.shape[1]), K @ coef))
        lowest = min(lowest, p.objective(point))
        v = p.dual_point(point)
        f = -p.weights * v / p.strength
        exact = float(np.vdot(f, K @ f))
        bound = p.square_of(v, point, diagonal)
        assert bound >= exact - 1e-9 * exact
        highest = max(highest, -p.conjugates(v) - 0.5 * p.strength * exact)
        if intercept:
            assert np.abs(np.sum(p.weights * v, axis=0)).max() <= 1e-9 * np.sum(p.weights * np.abs(v))
    assert highest <= lowest


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_best_intercept(loss, rng):
    """No other constant gives a lower loss."""
    p = machine_cases.problem(loss, weighted=True)
    applied = rng.normal(size=(p.n, p.loss.outputs(p.y)))
    point = p.centred(Point(0 * applied, np.zeros(applied.shape[1]), applied))
    best = p.losses(point.values)
    for step in (1e-4, 1e-2, 1.0):
        for sign in (-1, 1):
            for j in range(applied.shape[1]):
                other = point.values + sign * step * np.eye(applied.shape[1])[j]
                assert best <= p.losses(other) + 1e-9 * abs(best)


def test_image_is_the_coefficients_at_the_solution():
    p = machine_cases.problem(Squared(), strength=0.7)
    K = p.kernel(p.X)
    coef, b = ridge(K, p.y.ravel(), 0.7, None, True)
    point = Point(coef[:, None], np.array([b]), K @ coef[:, None])
    np.testing.assert_allclose(p.image(point), point.coef, atol=1e-10)
    assert p.objective(point) == pytest.approx(0.5 * np.sum((p.y - point.values) ** 2) + 0.35 * coef @ K @ coef)
    assert p.scale(point) == p.objective(point)


def test_points_of_a_line_and_of_columns(rng):
    a, b = (Point(rng.normal(size=(4, 2)), rng.normal(size=2), rng.normal(size=(4, 2))) for _ in range(2))
    middle = a.towards(b, 0.25)
    np.testing.assert_allclose(middle.values, 0.75 * a.values + 0.25 * b.values)
    columns = a.columns()
    np.testing.assert_allclose(np.concatenate([c.values for c in columns], axis=1), a.values)


def test_certificate_of_a_gap():
    certificate = Certificate(
        "newton", "n is small", True, 1.5e-9, 1e-6, 0.1, 2, 10, 5, 0.25, "float64", primal=3.0, dual=2.75
    )
    assert certificate.gap == 0.25
    assert str(certificate).startswith("converged: relative gap 1.5e-09")
    assert replace(certificate, dual=None).gap is None
