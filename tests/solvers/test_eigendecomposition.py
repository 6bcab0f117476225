from dataclasses import replace

import numpy as np
import pytest
from ridge_cases import CASES, WITH, leave_one_out, of, problem, solution, values

from representer.kernels import Linear, Sigmoid
from representer.solvers.eigendecomposition import Decomposition

KERNELS = pytest.mark.parametrize("kernel", [None, Sigmoid(2.0, -1.0)], ids=["definite", "indefinite"])


@CASES
@KERNELS
def test_equals_dense_solution(weighted, intercept, alpha, kernel):
    p = problem(weighted, intercept, alpha, kernel=kernel)
    coef, b, _ = p.finish(Decomposition(p).solve(p.ridges))
    expected, expected_b = solution(p)
    np.testing.assert_allclose(coef, expected, rtol=1e-9, atol=1e-10 * np.abs(expected).max())
    np.testing.assert_allclose(b, expected_b, rtol=1e-9)


@WITH
@KERNELS
@pytest.mark.parametrize("alphas", [[[0.01, 0.01], [1.0, 1.0], [30.0, 30.0]], [[0.1, 3.0]]], ids=["shared", "own"])
def test_leave_one_out_equals_n_fits(weighted, intercept, alphas, kernel):
    alphas = np.array(alphas)
    if intercept:
        alphas = np.repeat(alphas[:, :1], 2, axis=1)
    p = problem(weighted, intercept, [1.0, 1.0], n=25, kernel=kernel)
    K = values(p)
    path = Decomposition(p).path(alphas)
    assert path.predictions.shape == (len(alphas), 25, 2)
    for found, row in zip(path.predictions, alphas, strict=True):
        expected = [leave_one_out(K, y, a, p.weights, intercept) for y, a in zip(p.targets.T, row, strict=True)]
        counted = p.sqrt_weights.ravel() > 0
        np.testing.assert_allclose(found[counted], np.array(expected).T[counted], rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("intercept", [False, True])
def test_leave_one_out_at_weights_of_zero(intercept):
    """The fit without such an input is the fit itself, and its target is not used."""
    p = problem(True, intercept, [0.5], n=25)
    coef, b = solution(p)
    path, unused = Decomposition(p).path(np.array([[0.5]])), p.weights == 0
    np.testing.assert_allclose(path.predictions[0, unused], (values(p) @ coef + b)[unused], rtol=1e-9)


@WITH
def test_generalised_cross_validation_is_as_defined(weighted, intercept):
    """n |r|^2 / tr(I - H)^2 with the hat matrix H column by column: the fit to each unit vector."""
    alphas = np.array([[0.01, 0.01], [1.0, 1.0]])
    p = problem(weighted, intercept, [1.0, 1.0], n=25)
    K, d = values(p), p.sqrt_weights
    gcv = Decomposition(p).path(alphas).gcv
    for found, alpha in zip(gcv, alphas[:, 0], strict=True):
        units = replace(p, targets=np.diag(1.0 / np.maximum(d.ravel(), 1e-8)), alpha=np.full(25, alpha))
        coef, b = solution(units)
        H = d * (K @ coef + b)
        H[:, d.ravel() == 0] = 0.0
        r = d * p.targets - H @ (d * p.targets)
        n = max(np.count_nonzero(d), (d**2).sum())  # weights are repetitions, those of zero as if they were not there
        np.testing.assert_allclose(found, n * (r**2).sum(axis=0) / (n - H.trace()) ** 2, rtol=1e-8)


def test_no_ridge_leaves_out_what_is_zero_to_rounding(rng):
    X = rng.normal(size=(30, 2))
    p = of(Linear(), X, rng.normal(size=30), 0.0)
    Z = Decomposition(p).solve(p.ridges)
    np.testing.assert_allclose(X.T @ Z, np.linalg.lstsq(X, p.targets)[0], rtol=1e-9)
    np.testing.assert_allclose(Z, np.linalg.pinv(X @ X.T, rtol=1e-10) @ p.targets, rtol=1e-8, atol=1e-10)


def test_no_ridge_leave_one_out():
    p = problem(n=20)
    found = Decomposition(p).path(np.zeros((1, 1))).predictions[0, :, 0]
    np.testing.assert_allclose(found, leave_one_out(values(p), p.targets[:, 0], 0.0), rtol=1e-7, atol=1e-8)


def test_decomposition_is_that_of_the_weighted_matrix():
    p = problem(weighted=True)
    decomposition = Decomposition(p)
    rebuilt = (decomposition.U * decomposition.values) @ decomposition.U.T
    np.testing.assert_allclose(rebuilt, p.sqrt_weights * values(p) * p.sqrt_weights.T, atol=1e-12)
    assert np.all(decomposition.values >= 0)


@pytest.mark.parametrize("intercept", [False, True])
def test_one_row(intercept):
    """Nothing is left to predict from: zero without an intercept, and the error is finite with one."""
    p = problem(n=1, intercept=intercept)
    path = Decomposition(p).path(np.array([[0.5]]))
    assert np.all(np.isfinite(path.predictions))
    if not intercept:
        assert path.predictions[0, 0, 0] == pytest.approx(0.0, abs=1e-12)
