"""Box-constrained duals, and textbook sums to compare their certificates with."""

from math import fsum

import numpy as np
from scipy.optimize import LinearConstraint, minimize
from sklearn.datasets import make_classification

from representer.gram.tiled import Gram
from representer.kernels import RBF, Matern
from representer.problems.box import BoxProblem
from representer.result import Budget


def budget(tol=1e-3, max_iter=10**7, memory=10**9, **options):
    return Budget(memory, tol, max_iter, **options)


def classification(n, C=1.0, kernel=None, seed=0, dtype=np.float64, offset=0.0):
    """A C-SVC on two noisy classes."""
    X, y = make_classification(n, 6, flip_y=0.1, random_state=seed)
    return hinge(Gram(kernel or RBF(2.0), (X + offset).astype(dtype)), np.where(y == 1, 1.0, -1.0), C)


def hinge(gram, signs, C=1.0):
    return BoxProblem(gram, signs, np.minimum(C * signs, 0.0), np.maximum(C * signs, 0.0))


def two_groups(n, share=0.2, seed=0):
    """A nu-SVC, whose groups are classes in any order, and feasible coefficients."""
    p = classification(n, seed=seed)
    groups = (p.upper > 0).astype(int)
    start = np.where(groups == 1, share, -share)
    totals = np.bincount(groups, start)
    return BoxProblem(p.gram, np.zeros(n), p.lower, p.upper, groups=groups, totals=totals), start


def random_problem(rng):
    """Hinge, epsilon-insensitive, pinball and absolute losses with weights, on some inputs."""
    n, kind = int(rng.integers(3, 15)), rng.integers(4)
    t, w = rng.normal(size=n), rng.uniform(0.1, 3.0, n)
    sign = np.where(np.arange(n) % 2, 1.0, -1.0)
    lower, upper, epsilon = [
        (np.minimum(sign * w, 0.0), np.maximum(sign * w, 0.0), 0.0),
        (-w, w, rng.uniform(0.0, 0.5)),
        (-0.2 * w, 0.8 * w, 0.0),
        (-w, w, 0.0),
    ][kind]
    kernel = RBF(1.0) if rng.uniform() < 0.5 else 2.0 * Matern(1.0, nu=0.5) + RBF(0.5)
    gram = Gram(kernel, rng.normal(size=(n, 2)))
    return BoxProblem(gram, sign if kind == 0 else t, lower, upper, epsilon)


def dense(problem):
    """K in float64, from the kernel itself."""
    return problem.gram.kernel(np.asarray(problem.gram.X, np.float64))


def values(problem, K, c, b):
    """Primal value of f = sum c k(x, .) with intercepts b, and dual value of c, term by term."""
    norm = fsum(c[i] * c[j] * K[i, j] for i in range(len(c)) for j in np.flatnonzero(c) if c[i])
    losses = []
    for i in range(len(c)):
        s = problem.group_of[i]
        r = problem.targets[i] - fsum(K[i, j] * c[j] for j in np.flatnonzero(c)) - b[s]
        losses.append(max(v * r - problem.epsilon * abs(v) for v in (problem.lower[i], 0.0, problem.upper[i])))
    primal = 0.5 * norm + fsum(losses) + fsum(b * problem.sums)
    return primal, fsum(problem.targets * c) - 0.5 * norm - problem.epsilon * fsum(np.abs(c))


def violation(problem, K, c):
    """By how much the KKT conditions of any two coefficients of a group contradict each other."""
    worst = 0.0
    for s in range(problem.n_groups):
        raising, lowering = [np.inf], [-np.inf]
        for i in np.flatnonzero(problem.group_of == s):
            g = fsum(K[i] * c) - problem.targets[i]
            if c[i] < problem.upper[i]:
                raising.append(g + (problem.epsilon if c[i] >= 0.0 else -problem.epsilon))
            if c[i] > problem.lower[i]:
                lowering.append(g + (problem.epsilon if c[i] > 0.0 else -problem.epsilon))
        worst = max(worst, max(lowering) - min(raising))
    return worst


def least_value(problem, K):
    """The best value of the dual by a general solver, over the positive and negative parts of c."""
    n = problem.n

    def value(z):
        c = z[:n] - z[n:]
        return 0.5 * c @ K @ c - problem.targets @ c + problem.epsilon * z.sum()

    def slope(z):
        g = K @ (z[:n] - z[n:]) - problem.targets
        return np.concatenate([g, -g]) + problem.epsilon

    return minimize(
        value,
        np.zeros(2 * n),
        jac=slope,
        method="SLSQP",
        bounds=[*zip(np.zeros(n), problem.upper, strict=True), *zip(np.zeros(n), -problem.lower, strict=True)],
        constraints=LinearConstraint(np.concatenate([np.ones(n), -np.ones(n)]), 0.0, 0.0),
        options={"maxiter": 1000, "ftol": 1e-12},
    ).fun
