"""Ridge problems of many kinds with their solutions by dense algebra, to compare solvers with."""

import numpy as np
import pytest

from representer import Gram
from representer.kernels import Matern
from representer.problems.ridge import RidgeProblem
from representer.result import Budget

CASES = pytest.mark.parametrize(
    ("weighted", "intercept", "alpha"),
    [
        (False, False, [0.3]),
        (False, True, [0.3]),
        (True, False, [0.3, 2.0, 0.3]),
        (True, True, [0.1, 0.1, 0.1]),
    ],
)
WITH = pytest.mark.parametrize(("weighted", "intercept"), [(False, False), (False, True), (True, False), (True, True)])


def problem(weighted=False, intercept=False, alpha=(0.3,), n=60, kernel=None, seed=0, dtype=np.float64, threads=None):
    """One target for each alpha, with a mean that is not zero; one weight in five is zero."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2)).astype(dtype)
    targets = np.sin(X @ rng.normal(size=(2, len(alpha)))) + rng.normal(size=(n, len(alpha))) + 2.0
    weights = np.where(np.arange(n) % 5 == 3, 0.0, rng.uniform(0.2, 3.0, n)) if weighted else None
    return of(kernel or Matern(1.5), X, targets, alpha, weights, intercept, threads)


def of(kernel, X, targets, alpha, weights=None, intercept=False, threads=None):
    """The problem of these inputs; one target may be a vector."""
    targets = targets[:, None] if targets.ndim == 1 else targets
    gram = Gram(kernel, X, threads=threads)
    return RidgeProblem(gram, targets, np.array(np.atleast_1d(alpha), float), weights, intercept)


def budget(tol=1e-10, memory=4 * 10**9, **options):
    return Budget(memory, tol, **options)


def values(problem):
    """K in float64."""
    return problem.gram.astype(np.float64).dense()


def solution(problem):
    """Coefficients and intercepts from the conditions of optimality: alpha a = W (y - K a - b) and, with b, 1'a = 0."""
    K, pairs = values(problem), zip(problem.targets.T, problem.alpha, strict=True)
    solved = [ridge(K, y, a, problem.weights, problem.intercept) for y, a in pairs]
    return np.array([coef for coef, _ in solved]).T, np.array([b for _, b in solved])


def ridge(K, y, alpha, weights=None, intercept=False):
    """Coefficients and intercept for one target."""
    n = len(K)
    weights = np.ones(n) if weights is None else weights
    A = weights[:, None] * K + alpha * np.eye(n)
    if not intercept:
        return np.linalg.solve(A, weights * y), 0.0
    bordered = np.block([[A, weights[:, None]], [np.ones((1, n)), np.zeros((1, 1))]])
    solved = np.linalg.solve(bordered, np.append(weights * y, 0.0))
    return solved[:-1], solved[-1]


def residual(problem, coef, intercept):
    """D (y - b) - (D K D + alpha I) z, and its length relative to D y for each target."""
    root = np.ones((problem.n, 1)) if problem.weights is None else np.sqrt(problem.weights)[:, None]
    Z = np.divide(coef, root, out=np.zeros_like(coef), where=root > 0)
    R = root * (problem.targets - intercept - values(problem) @ coef) - problem.alpha * Z
    return R, np.linalg.norm(R, axis=0) / np.linalg.norm(root * problem.targets, axis=0)


def leave_one_out(K, y, alpha, weights=None, intercept=False):
    """The prediction of each y_i by the fit without i: n fits."""
    n = len(K)
    weights = np.ones(n) if weights is None else weights
    predictions = np.empty(n)
    for i in range(n):
        rest = np.delete(np.arange(n), i)
        coef, b = ridge(K[np.ix_(rest, rest)], y[rest], alpha, weights[rest], intercept)
        predictions[i] = K[i, rest] @ coef + b
    return predictions
