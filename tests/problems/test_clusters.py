"""Judgements of clusters against Lloyd's steps on vectors."""

import numpy as np
import pytest

from representer import Gram
from representer.kernels import RBF, Linear
from representer.problems.clusters import ClusterProblem


def inertia(X, weights, labels, centers):
    return sum(w * np.sum((x - centers[c]) ** 2) for x, w, c in zip(X, weights, labels, strict=True))


def test_residual_is_what_a_step_gains(rng):
    """Both halves of a Lloyd step, for a linear kernel with centres that are vectors."""
    X, weights, labels = rng.normal(size=(25, 2)), rng.uniform(0.5, 2.0, 25), rng.integers(0, 3, 25)
    coef = rng.uniform(size=(25, 3)) / 25
    problem = ClusterProblem(Gram(Linear(1.0), X), weights)
    judgement = problem.judge(coef, labels)
    centers = coef.T @ X
    means = np.stack([np.average(X[labels == c], axis=0, weights=weights[labels == c]) for c in range(3)])
    before = inertia(X, weights, labels, centers)
    recentred = before - inertia(X, weights, labels, means)
    nearest = ((X[:, None] - centers) ** 2).sum(axis=2).argmin(axis=1)
    relabelled = before - inertia(X, weights, nearest, centers)
    assert recentred > 0.0 < relabelled
    assert judgement.primal == pytest.approx(before, rel=1e-12)
    assert judgement.residuals[0] == pytest.approx((recentred + relabelled) / before, rel=1e-10)


def test_a_local_minimum_has_no_residual(rng):
    """Means of clusters that lie apart; equal inputs, which have no distance to gain; and a cluster without members."""
    X = np.repeat(rng.normal(size=(6, 1)), 3, axis=0) + np.repeat([[0.0], [50.0]], 9, axis=0)
    labels, coef = np.repeat([0, 1], 9), np.zeros((18, 3))
    coef[np.arange(18), labels] = 1.0 / 9.0
    for kernel in (Linear(1.0), RBF(100.0)):
        judgement = ClusterProblem(Gram(kernel, X), np.ones(18)).judge(coef, labels)
        assert judgement.residuals.tolist() == [0.0]
    same = ClusterProblem(Gram(Linear(1.0), np.ones((18, 1))), np.ones(18)).judge(coef, labels)
    assert same.residuals.tolist() == [0.0]
    assert same.primal == pytest.approx(0.0, abs=1e-12)
