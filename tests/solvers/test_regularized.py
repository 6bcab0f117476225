from dataclasses import replace

import numpy as np
import pytest
from each_case import each
from machine_cases import CAUCHY, LOSSES, brute_force, budget, dense, only_gradient, problem

from representer.losses import (
    Absolute,
    Expectile,
    Hinge,
    Huber,
    Logistic,
    Loss,
    Pinball,
    Poisson,
    Squared,
    SquaredHinge,
)
from representer.regularizers import Ball, CustomRegularizer, Norm, Power, SquaredNorm
from representer.solvers import regularized

REGULARIZERS = [
    SquaredNorm(0.4),
    Norm(0.7),
    Power(0.2, 3.0),
    Ball(1.5),
    CustomRegularizer(lambda t: t + 0.1 * t**2, lambda t: 1 + 0.2 * t),
]
IDS = ["squared", "norm", "power", "ball", "custom"]
CONCAVE = CustomRegularizer(lambda t: np.log1p(t), lambda t: 1 / (1 + t), convex=False)


def solve(p, tol=1e-8, memory=10**10, max_iter=3000):
    limits = budget(tol, memory, max_iter)
    return regularized.solve(p, limits, regularized.cost(p, limits).reason)


def norm(p, found):
    return float(np.sqrt(max(np.sum(found.coef * (dense(p) @ found.coef)), 0.0)))


def check_laws(p, found, tol):
    """What a certificate says is so, with K coef computed anew.

    Sums of n products differ by n / 2^52 of the sum of absolute values, and losses by as much as such values make them.
    """
    certificate, t = found.certificate, min(norm(p, found), p.regularizer.largest * (1 + 1e-10))
    F, K = dense(p) @ found.coef + found.intercept, np.abs(dense(p))
    off = p.n * 2.0**-52 * (K @ np.abs(found.coef) + np.abs(found.intercept))
    losses, above, below = (p.weights * p.loss.value(p.y, F + side * off) for side in (0.0, 1.0, -1.0))
    rounding = np.sum(np.maximum(abs(above - losses), abs(below - losses)))
    primal, scale = losses.sum() + p.regularizer.value(t), np.abs(losses).sum() + p.regularizer.value(t)
    assert abs(certificate.primal - primal) <= rounding + 1e-11 * scale
    assert norm(p, found) <= p.regularizer.largest * (1 + 1e-9)
    assert certificate.converged == (certificate.residual <= tol)
    if p.convex:
        assert certificate.gap >= 0.0
        scale = max(scale, (1e-6 if np.isfinite(p.regularizer.largest) else 1e-12) * p.losses(p.zero().values))
        assert certificate.residual == pytest.approx(certificate.gap / scale, rel=1e-9 + rounding / scale)


@each("R", REGULARIZERS)
@each("loss", LOSSES)
def test_every_loss_with_every_regularizer(loss, R):
    """It converges, and the squared norm with the effective strength has the same solution."""
    p = problem(loss, n=20, weighted=True, regularizer=R)
    found = solve(p, 1e-6)
    assert found.certificate.converged
    check_laws(p, found, 1e-6)
    if np.isfinite(found.strength) and R.largest == np.inf:  # in a ball a shrunk solution may be better
        q = p.with_strength(found.strength)
        same = solve(q, 1e-10)
        again = p.losses(dense(p) @ same.coef + same.intercept) + R.value(norm(q, same))
        assert again == pytest.approx(found.certificate.primal, rel=1e-4)


@each("seed", range(12))
def test_gap_bounds_the_suboptimality(seed):
    """Random weights over ten decades, strengths, and rough solutions: their bounds are below a better objective."""
    rng = np.random.default_rng(seed)
    loss = LOSSES[rng.integers(len(LOSSES))]
    scale = 10.0 ** rng.uniform(-2, 1)
    R = [SquaredNorm(scale), Norm(scale), Power(scale, rng.uniform(1.2, 5)), Ball(scale)][rng.integers(4)]
    p = problem(
        loss, n=int(rng.integers(6, 15)), intercept=bool(rng.integers(2)), weighted=True, seed=seed, regularizer=R
    )
    if seed % 3 == 0:
        p = replace(p, weights=p.weights * 10.0 ** rng.uniform(-4, 6, (p.n, 1)))
    tol = 10.0 ** rng.uniform(-4, -1)
    rough, fine = solve(p, tol, max_iter=50), solve(p, 1e-7)
    check_laws(p, rough, tol)
    check_laws(p, fine, 1e-7)
    rounding = 1e-13 * p.scale(p.zero())
    assert max(rough.certificate.dual, fine.certificate.dual) <= fine.certificate.primal + rounding
    assert rough.certificate.gap >= rough.certificate.primal - fine.certificate.primal - rounding


@pytest.mark.parametrize("R", [Norm(0.7), Power(0.2, 3.0)], ids=["norm", "power"])
@pytest.mark.parametrize("loss", [Logistic(), Absolute()], ids=repr)
def test_as_brute_force(loss, R):
    p = problem(loss, n=8, regularizer=R)
    assert solve(p).certificate.primal == pytest.approx(brute_force(p), abs=1e-4)


@pytest.mark.parametrize("loss", [Huber(0.3), Pinball([0.2, 0.7]), only_gradient(Squared())], ids=repr)
def test_strong_norm_gives_zero(loss):
    """f = 0 solves the problem with the norm exactly if ||sum_i w_i l'(y_i, b) k(x_i, .)|| <= strength."""
    p = problem(loss, n=20, regularizer=Norm(1e3))
    found = solve(p)
    assert (norm(p, found), found.strength, found.certificate.converged) == (0.0, np.inf, True)
    if loss.smooth:
        slopes = p.loss.gradient(p.y, p.zero().values)
        kink = np.sqrt(np.sum(slopes * (dense(p) @ slopes)))
        assert norm(p, solve(replace(p, regularizer=Norm(1.01 * kink)))) == 0.0
        assert norm(p, solve(replace(p, regularizer=Norm(0.99 * kink)), 1e-9)) > 0.0


def test_kinked_loss_at_the_kink_of_the_norm():
    """Where the slope at the best constant is not unique, a larger strength finds the one that certifies f = 0."""
    zeros = [norm(p, solve(p)) == 0.0 for p in (problem(Absolute(), 21, regularizer=Norm(s)) for s in (1e-3, 16.0))]
    assert zeros == [False, True]


def test_ball_that_matters_and_one_that_does_not():
    p = problem(Squared(), n=20, regularizer=Ball(1.5))
    assert norm(p, solve(p)) == pytest.approx(1.5, rel=1e-6)
    free = problem(Hinge(), n=20, regularizer=Ball(1e3))
    free = replace(free, y=np.where(dense(free)[:, :1] > 0.3, 1.0, -1.0))
    found = solve(free, 1e-6)
    assert norm(free, found) < 1e3
    assert found.certificate.converged


@pytest.mark.parametrize("loss", [Huber(0.1), Poisson(), Logistic()], ids=repr)
def test_shrunk_solutions_have_their_own_intercept(loss):
    """A rough solution in a ball is one of a larger norm, shrunk; its best intercept is another one."""
    p = problem(loss, n=30, regularizer=Ball(0.5))
    p = replace(p, y=np.where(np.arange(30)[:, None] % 4, p.y, np.abs(p.y) + (loss.targets == "counts")))
    found = solve(p, 0.05)
    check_laws(p, found, 0.05)
    assert norm(p, found) == pytest.approx(0.5, rel=1e-9)
    slopes = p.loss.gradient(p.y, dense(p) @ found.coef + found.intercept)
    assert abs(slopes.sum()) <= 1e-12 * np.abs(slopes).sum()
    larger = solve(p.with_strength(found.strength))
    assert norm(p, larger) > 1.1 * 0.5
    assert abs(found.intercept[0] - larger.intercept[0]) > 1e-3


@pytest.mark.parametrize("loss", [Squared(), Absolute(), Logistic()], ids=repr)
def test_regularizer_that_is_not_convex(loss):
    """No bound, but a local minimum: strength ||f|| = R'(||f||), and the squared norm has no better solution there."""
    p = problem(loss, n=30, regularizer=CONCAVE)
    found = solve(p, 1e-7)
    t = norm(p, found)
    assert (found.certificate.dual, found.certificate.measure) == (None, "local gap")
    assert found.strength * t == pytest.approx(1 / (1 + t), rel=1e-6)
    assert found.certificate.converged
    assert "local minimum" in found.certificate.reason


def test_zero_is_a_local_minimum_of_a_strong_norm():
    """f = 0 is one exactly if ||sum_i w_i l'(y_i, b) k(x_i, .)|| <= strength, for losses that are not convex, too."""
    p = problem(CAUCHY, n=30, weighted=True)
    slopes = p.weights * CAUCHY.gradient(p.y, p.zero().values)
    kink = np.sqrt(np.sum(slopes * (dense(p) @ slopes)))
    for strength in (1.01 * kink, 1e3 * kink):
        found = solve(replace(p, regularizer=Norm(strength)))
        assert (norm(p, found), found.strength, found.certificate.residual) == (0.0, np.inf, 0.0)
        assert found.n_iter < 100
    found = solve(replace(p, regularizer=Norm(0.9 * kink)))
    assert norm(p, found) > 0.0
    assert found.certificate.converged
    assert norm(p, solve(replace(p, regularizer=Ball(1.0)))) > 0.0


@pytest.mark.parametrize("loss", [Logistic(), only_gradient(Squared()), Expectile(0.8)], ids=repr)
@pytest.mark.parametrize("memory", [2 * 10**6, 10**5], ids=["float32", "products"])
def test_float32_products_and_a_float64_certificate(loss, memory):
    p = problem(loss, n=300, strength=0.3)
    exact = solve(p, 1e-9)
    for tol in (1e-3, 1e-6):
        found = regularized.solve(p, budget(tol, memory), "")
        check_laws(p, found, tol)
        assert found.certificate.converged
        assert found.certificate.dual <= exact.certificate.primal <= found.certificate.primal * (1 + 1e-12)
        if tol == 1e-3:  # L-BFGS works with a float64 factor of K
            words = "float32 products, float64 gap" if loss.complete else "float64"
            assert found.certificate.precision == words


@pytest.mark.parametrize("R", [Norm(0.7), Ball(0.3)], ids=["norm", "ball"])
@pytest.mark.parametrize("loss", [Poisson(), Hinge(), only_gradient(Squared())], ids=repr)
def test_float64_takes_over_where_float32_norms_are_too_rough(loss, R):
    p = problem(loss, n=300, regularizer=R)
    single, double = (regularized.solve(p, budget(1e-6, memory), "") for memory in (2 * 10**6, 10**10))
    for found in (single, double):
        check_laws(p, found, 1e-6)
        assert found.certificate.converged
    assert single.certificate.primal == pytest.approx(double.certificate.primal, rel=2e-6)


def test_large_weights_of_few():
    """Ten decades of weights: Newton's own products drift, and the certificate is not theirs."""
    rng = np.random.default_rng(2)
    p = problem(SquaredHinge(), n=30, strength=1e-5)
    p = replace(p, weights=10.0 ** rng.uniform(-4, 6, (30, 1)))
    found = solve(p, 1e-4)
    assert found.certificate.converged
    check_laws(p, found, 1e-4)


def test_small_norms_are_relative_to_the_objective():
    """A nearly vanishing objective does not count as converged by the size of f = 0."""
    p = problem(Squared(), n=30, regularizer=Norm(1e-8))
    found = solve(p, 1e-6)
    assert found.certificate.primal < 1e-5 * p.objective(p.zero())
    assert found.certificate.converged
    assert found.certificate.gap <= 1e-6 * found.certificate.primal


@pytest.mark.parametrize("loss", [Logistic(), Hinge()], ids=repr)
def test_few_iterations_are_kept_to(loss):
    p = problem(loss, n=40, regularizer=Norm(0.3))
    found = solve(p, 1e-12, max_iter=2)
    assert found.n_iter <= 3
    assert not found.certificate.converged
    check_laws(p, found, 1e-12)


def test_kinks_without_a_conjugate_are_refused():
    class Kinked(Loss):
        smooth = False

    refusal = regularized.cost(problem(Kinked()), budget()).refusal
    assert "has kinks and gives only value and gradient" in refusal


def test_too_little_memory_is_refused():
    p = problem(Logistic(), n=100)
    assert "fewer rows" in regularized.cost(p, budget(memory=10**3)).refusal
    assert not regularized.cost(p, budget()).refusal
