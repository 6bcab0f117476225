"""Small problems with every loss, and their solutions by brute force."""

import numpy as np
from scipy.optimize import minimize

from representer.gram.tiled import Gram
from representer.kernels import RBF
from representer.losses import (
    Absolute,
    CustomLoss,
    EpsilonInsensitive,
    Expectile,
    Exponential,
    Hinge,
    Huber,
    Logistic,
    Multinomial,
    Pinball,
    Poisson,
    Squared,
    SquaredHinge,
)
from representer.problems.loss import LossProblem
from representer.regularizers import SquaredNorm
from representer.result import Budget

SMOOTH = [Squared(), Huber(0.3), Expectile(0.8), SquaredHinge(), Logistic(), Multinomial(), Poisson(), Exponential()]
KINKED = [Absolute(), EpsilonInsensitive(0.1), Pinball(0.1), Pinball([0.2, 0.7]), Hinge()]
LOSSES = SMOOTH + KINKED
CAUCHY = CustomLoss(lambda y, f: np.log1p((f - y) ** 2), lambda y, f: 2 * (f - y) / (1 + (f - y) ** 2), convex=False)
"""A loss that is not convex."""


def only_gradient(loss):
    """The same loss, of which only value and gradient are known."""
    return CustomLoss(loss.value, loss.gradient, targets=loss.targets)


def budget(tol=1e-9, memory=10**10, max_iter=1000, progress=None):
    return Budget(memory, tol, max_iter, progress=progress)


def targets(loss, X, rng):
    """Targets of the kind that the loss is for, which depend on X with noise."""
    f = np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=len(X))
    if loss.targets == "real":
        return f
    if loss.targets == "counts":
        return rng.poisson(np.exp(f)).astype(float)
    edges = [0.0] if loss.targets == "signs" else [-0.5, 0.5]
    label = np.digitize(f, edges)
    label[: len(edges) + 1] = np.arange(len(edges) + 1)  # every class is there
    return 2.0 * label - 1.0 if loss.targets == "signs" else label.astype(float)


def problem(loss, n=25, strength=0.3, intercept=True, weighted=False, seed=0, regularizer=None):
    """A problem with two columns of inputs and an RBF kernel; with weights, some of which are zero, if wanted."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    y = targets(loss, X, rng)
    weights = rng.uniform(0.2, 2.0, (n, 1)) if weighted else np.ones((n, 1))
    if weighted:
        weights[5::7] = 0.0
    regularizer = SquaredNorm(strength) if regularizer is None else regularizer
    return LossProblem(Gram(RBF(1.0), X), y[:, None], loss, regularizer, weights, intercept)


def dense(p):
    """The kernel matrix of a problem."""
    return p.gram.dense()


def brute_force(p):
    """The least of sum_i w_i l(y_i, f_i + b) + R(||f||) over beta and b, f = L beta, by another library.

    Kinks are rounded off by an envelope so narrow that the value is right to about 1e-5.
    """
    L = np.linalg.cholesky(dense(p) + 1e-12 * np.eye(p.n))
    outputs = p.loss.outputs(p.y)

    def value(x, mu=1e-5):
        beta, b = x[: p.n * outputs].reshape(p.n, outputs), x[p.n * outputs :]
        F = L @ beta + b * p.intercept
        lost = p.loss.value(p.y, F) if p.loss.smooth else p.loss.envelope(p.y, F, mu)[0]
        return float(np.sum(p.weights * lost)) + p.regularizer.value(np.sqrt(np.sum(beta**2) + 1e-18))

    start = np.concatenate([np.full(p.n * outputs, 1e-3), p.zero().intercept])
    options = {"maxiter": 5000, "maxfun": 10**7, "ftol": 1e-15, "gtol": 1e-9, "maxcor": 50}
    return minimize(value, start, method="L-BFGS-B", options=options).fun
