"""Eigenproblems of Gram matrices, written out."""

import numpy as np
import pytest

from representer import Gram
from representer.problems.eigen import EigenProblem
from representer.result import Budget

CENTERED = pytest.mark.parametrize(("weighted", "center"), [(False, False), (False, True), (True, False), (True, True)])


def data(n=200, width=4, seed=0):
    return np.random.default_rng(seed).normal(size=(n, width))


def uneven(n, seed=9):
    """Weights, one in five of which is zero."""
    return np.where(np.arange(n) % 5 == 3, 0.0, np.random.default_rng(seed).uniform(0.2, 3.0, n))


def of(kernel, X, weighted=False, center=True):
    gram = Gram(kernel, X)
    return EigenProblem(gram, uneven(len(gram)) if weighted else None, center)


def budget(tol=1e-6, memory=4 * 10**9, max_iter=100, **options):
    return Budget(memory, tol, max_iter, **options)


def textbook(problem):
    """A = P D K D P, every matrix written out, and its eigenvalues."""
    d = np.ones(problem.n) if problem.weights is None else np.sqrt(problem.weights)
    P = np.eye(len(d)) - np.outer(d, d) / (d @ d) if problem.center else np.eye(len(d))
    A = P @ np.diag(d) @ problem.gram.astype(np.float64).dense() @ np.diag(d) @ P
    return A, np.linalg.eigvalsh((A + A.T) / 2)[::-1]


def residuals_of(problem, result):
    """|A u - lambda u| / lambda_1."""
    A, values = textbook(problem)
    return np.linalg.norm(A @ result.coef - result.coef * result.eigenvalues, axis=0) / values[0]


def check_pairs(problem, result, tol):
    """Eigenpairs are orthonormal, have the residuals that are claimed, and are those of the textbook."""
    A, values = textbook(problem)
    q, K = len(result.eigenvalues), problem.gram.astype(np.float64).dense()
    np.testing.assert_allclose(result.coef.T @ result.coef, np.eye(q), atol=1e-12)
    residuals = residuals_of(problem, result)
    np.testing.assert_allclose(residuals, result.certificate.residuals, atol=1e-14)
    assert residuals.max() <= tol
    assert result.certificate.converged
    np.testing.assert_allclose(result.eigenvalues, values[:q], rtol=1e-8, atol=tol**2 * values[0])
    np.testing.assert_allclose(result.trace, A.trace(), rtol=1e-12)
    images = K @ (problem.sqrt_weights * result.coef)
    np.testing.assert_allclose(result.applied, images, atol=1e-11 * np.abs(images).max())
