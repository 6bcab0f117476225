"""Judgements of networks against the optimality conditions, written out."""

import numpy as np
import pytest

from representer import Gram
from representer.kernels import Multiquadric, ThinPlate
from representer.problems.network import NetworkProblem
from representer.solvers.saddle import Restricted, Saddle

RNG = np.random.default_rng(0)
X, CENTERS = RNG.normal(size=(20, 2)), RNG.normal(size=(7, 2))
Y = RNG.normal(size=(20, 2))
WEIGHTS = RNG.uniform(0.3, 2.0, 20)


def plane(X):
    return np.column_stack([np.ones(len(X)), X])


def problem_of(kernel, at_data, alpha):
    K = Gram(kernel, X if at_data else CENTERS)
    P = plane(X)
    if at_data:
        return NetworkProblem(K, K, P, P, Y, WEIGHTS, alpha), Saddle(K, P, WEIGHTS)
    both, Q = Gram(kernel, X, CENTERS), plane(CENTERS)
    return NetworkProblem(both, K, P, Q, Y, WEIGHTS, alpha), Restricted(both, K, P, Q, WEIGHTS)


@pytest.mark.parametrize("at_data", [True, False])
@pytest.mark.parametrize("kernel", [ThinPlate(), Multiquadric(0.5)], ids=repr)
def test_residual_is_that_of_the_conditions(kernel, at_data):
    problem, solver = problem_of(kernel, at_data, 0.3)
    a, b = solver.solve(0.3, Y)
    assert problem.judge(a, b).residuals.max() < 1e-12

    a, b = a + 0.01 * RNG.normal(size=a.shape), b + 0.01 * RNG.normal(size=b.shape)
    K, W, P = kernel(X, X if at_data else CENTERS), np.diag(WEIGHTS), plane(X)
    Q = P if at_data else plane(CENTERS)
    rest = Y - K @ a - P @ b
    norm = np.linalg.norm
    off = [norm(Q.T @ a[:, j]) / (norm(Q) * norm(a[:, j])) for j in range(2)]
    if at_data:
        D = np.sqrt(W)
        parts = [norm((D @ rest - 0.3 * np.linalg.inv(D) @ a)[:, j]) / norm(D @ Y[:, j]) for j in range(2)]
        expected = np.maximum(off, parts)
    else:
        out_of_range = np.eye(7) - Q @ np.linalg.pinv(Q)
        by_a = out_of_range @ (K.T @ W @ rest - 0.3 * kernel(CENTERS) @ a)
        first = [norm(by_a[:, j]) / norm(K.T @ W @ Y[:, j]) for j in range(2)]
        second = [norm(P.T @ W @ rest[:, j]) / (norm(P) * norm(W @ Y[:, j])) for j in range(2)]
        expected = np.max([off, first, second], axis=0)
    np.testing.assert_allclose(problem.judge(a, b).residuals, expected, rtol=1e-10)


def test_each_condition_counts():
    """A change that one condition alone sees is a residual."""
    problem, solver = problem_of(ThinPlate(), False, 0.3)
    a, b = solver.solve(0.3, Y)
    in_range = plane(CENTERS) @ np.ones((3, 2))  # changes the sums P'a
    inside = np.linalg.svd(plane(CENTERS).T)[2][3:].T @ np.ones((4, 2))  # leaves them
    for change in ((1e-3 * in_range, 0.0), (1e-3 * inside, 0.0), (0.0, 1e-3)):
        assert problem.judge(a + change[0], b + change[1]).residuals.min() > 1e-6


def test_zero_targets_are_solved_by_zero():
    problem, _ = problem_of(ThinPlate(), True, 0.0)
    zero = NetworkProblem(problem.gram, problem.centers, problem.P, problem.P, 0.0 * Y, WEIGHTS, 0.0)
    assert zero.judge(np.zeros((20, 2)), np.zeros((3, 2))).residuals.tolist() == [0.0, 0.0]
