import numpy as np
import pytest
from machine_cases import LOSSES, brute_force, problem

from representer.losses import Absolute, CustomLoss, Hinge, Logistic, Pinball, Poisson, Squared
from representer.regularizers import Ball, CustomRegularizer, Norm, Power, SquaredNorm
from representer.solvers import newton, regularized
from representer.solvers.matrix import Matrix

REGULARIZERS = [
    SquaredNorm(0.4),
    Norm(0.7),
    Power(0.2, 3.0),
    Ball(1.5),
    CustomRegularizer(lambda t: t + 0.1 * t**2, lambda t: 1 + 0.2 * t),
]
IDS = ["squared", "norm", "power", "ball", "custom"]


def solve(p, R, tol=1e-8, form="float64", **more):
    return regularized.solve(p, Matrix(p, form), R, tol=tol, **{"max_iter": 3000, **more})


@pytest.mark.parametrize("R", REGULARIZERS, ids=IDS)
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_gap_and_effective_strength(loss, R):
    """The gap closes, and the squared norm with the effective strength has the same solution."""
    p = problem(loss, n=20, weighted=True)
    found = solve(p, R, 1e-6)
    assert found.relative <= 1e-6
    assert found.dual <= found.primal + 1e-12 * abs(found.primal)
    t = np.sqrt(found.point.square)
    assert found.primal == pytest.approx(p.losses(found.point.values) + R.value(t), rel=1e-12)
    if np.isfinite(found.strength) and R.largest == np.inf:  # in a ball a shrunk solution may be better
        p.strength = found.strength
        same = newton.solve(p, Matrix(p, "float64"), tol=1e-10).point
        again = p.losses(same.values) + R.value(min(np.sqrt(same.square), R.largest))
        assert again == pytest.approx(found.primal, rel=1e-4)


@pytest.mark.parametrize("seed", range(200))
def test_gap_bounds_the_suboptimality(seed):
    """The bound from a rough solution is below, and its objective above, the least objective: 200 random problems."""
    rng = np.random.default_rng(seed)
    loss = LOSSES[rng.integers(len(LOSSES))]
    scale = 10.0 ** rng.uniform(-2, 1)
    R = [SquaredNorm(scale), Norm(scale), Power(scale, rng.uniform(1.2, 5)), Ball(scale)][rng.integers(4)]
    p = problem(loss, n=int(rng.integers(6, 15)), intercept=bool(rng.integers(2)), weighted=True, seed=seed)
    rough, fine = solve(p, R, 10.0 ** rng.uniform(-4, -1)), solve(p, R, 1e-6)
    assert fine.relative <= 1e-5
    rounding = 1e-10 * (1 + abs(fine.primal))
    assert rough.dual <= fine.primal + rounding
    assert rough.primal >= fine.dual - rounding
    assert rough.primal - rough.dual >= rough.primal - fine.primal - rounding


@pytest.mark.parametrize("loss", [Squared(), Logistic(), Absolute()], ids=repr)
@pytest.mark.parametrize("R", [Norm(0.7), Power(0.2, 3.0)], ids=["norm", "power"])
def test_as_brute_force(loss, R):
    p = problem(loss, n=12)
    assert solve(p, R).primal == pytest.approx(brute_force(p, R.value), abs=1e-4)


@pytest.mark.parametrize("loss", [*LOSSES, CustomLoss(Squared().value, Squared().gradient)], ids=repr)
def test_strong_norm_gives_zero(loss):
    """f = 0 solves the problem with the norm exactly if ||sum_i w_i l'(y_i, b) k(x_i, .)|| <= strength."""
    p = problem(loss, n=20)
    found = solve(p, Norm(1e3))
    assert found.point.square == 0.0
    assert found.strength == np.inf
    assert found.relative <= 1e-8
    if loss.smooth:
        slopes = p.loss.gradient(p.y, p.zero().values)
        kink = np.sqrt(np.sum(slopes * (p.kernel(p.X) @ slopes)))
        assert solve(p, Norm(1.01 * kink)).point.square == 0.0
        assert solve(p, Norm(0.99 * kink), 1e-9).point.square > 0.0


def test_kinked_loss_at_the_kink_of_the_norm():
    """Where the slope at the best constant is not unique, a larger strength finds the one that certifies f = 0."""
    p = problem(Absolute(), n=21)
    least = solve(p, Norm(1e-3))
    assert least.point.square > 0
    large = next(s for s in 4.0 ** np.arange(-1, 5) if solve(p, Norm(s)).point.square == 0)
    assert solve(p, Norm(large), 1e-8).relative <= 1e-8


def test_ball():
    """The norm is the radius, or the constraint does not matter."""
    p = problem(Squared(), n=20)
    assert np.sqrt(solve(p, Ball(1.5)).point.square) == pytest.approx(1.5, rel=1e-6)
    free = problem(Hinge(), n=20)
    free.y = np.where(free.X[:, :1] > 0, 1.0, -1.0)
    found = solve(free, Ball(1e3), 1e-6)
    assert np.sqrt(found.point.square) < 1e3
    assert found.relative <= 1e-6 or found.primal <= 1e-5


def test_regularizer_that_is_not_convex():
    """No bound, but a stationary point: strength ||f|| = R'(||f||)."""
    R = CustomRegularizer(lambda t: np.log1p(t), lambda t: 1 / (1 + t), convex=False)
    p = problem(Squared(), n=30)
    found = solve(p, R, 1e-7)
    t = np.sqrt(found.point.square)
    assert found.dual is None
    assert found.strength * t == pytest.approx(R.derivative(t), rel=1e-6)
    assert found.relative <= 1e-7


CAUCHY = CustomLoss(lambda y, f: np.log1p((f - y) ** 2), lambda y, f: 2 * (f - y) / (1 + (f - y) ** 2), convex=False)


def test_strong_norm_gives_zero_without_convexity():
    """f = 0 is a local minimum exactly if ||sum_i w_i l'(y_i, b) k(x_i, .)|| <= strength."""
    p = problem(CAUCHY, n=30, weighted=True)
    slopes = p.weights * CAUCHY.gradient(p.y, p.zero().values)
    kink = np.sqrt(np.sum(slopes * (p.kernel(p.X) @ slopes)))
    for strength in (1.01 * kink, 2 * kink, 1e3 * kink):
        found = solve(p, Norm(strength))
        assert (found.point.square, found.strength, found.relative, found.dual) == (0.0, np.inf, 0.0, None)
        assert found.steps < 100
    found = solve(p, Norm(0.9 * kink))
    assert found.point.square > 0.0
    assert found.relative <= 1e-8
    assert solve(p, Ball(1.0)).point.square > 0.0


@pytest.mark.parametrize("form", ["float32", "operator"])
@pytest.mark.parametrize("loss", [Logistic(), Pinball([0.2, 0.7]), CustomLoss(Squared().value, Squared().gradient)])
def test_float32_products_with_a_float64_gap(loss, form):
    p = problem(loss, n=300, strength=0.3)
    exact, found = solve(p, SquaredNorm(0.3), 1e-9), solve(p, SquaredNorm(0.3), 1e-5, form)
    assert found.precision == "float32 products, float64 gap"
    assert found.relative <= 1e-5
    assert found.dual <= exact.primal + 1e-9 * abs(exact.primal)
    assert found.primal >= exact.primal - 1e-9 * abs(exact.primal)
    np.testing.assert_allclose(found.point.applied, p.kernel(p.X) @ found.point.coef, atol=1e-9)
    assert solve(p, SquaredNorm(0.3), 1e-3, form).precision == "float32 products"


@pytest.mark.parametrize("R", [Norm(0.7), Ball(0.3), Power(0.2, 3.0)], ids=["norm", "ball", "power"])
@pytest.mark.parametrize("loss", [Poisson(), Hinge(), CustomLoss(Squared().value, Squared().gradient)], ids=repr)
def test_every_regularizer_converges_in_both_precisions(loss, R):
    """Where float32 norms are too rough for the tolerance, float64 ones take over."""
    p = problem(loss, n=300)
    single, double = (solve(p, R, 1e-6, form) for form in ("float32", "float64"))
    assert max(single.relative, double.relative) <= 1e-6
    assert single.primal == pytest.approx(double.primal, rel=2e-6)
    assert single.dual <= double.primal * (1 + 1e-10)
    assert np.sqrt(single.point.square) <= R.largest * (1 + 1e-9)
    np.testing.assert_allclose(single.point.applied, p.kernel(p.X) @ single.point.coef, atol=1e-8)


@pytest.mark.parametrize("loss", [Logistic(), Squared(), Hinge()], ids=repr)
def test_error_bound(loss):
    """|f - f*| <= error_bound sqrt(k(x, x)) at all x."""
    p = problem(loss, n=60, strength=0.05)
    fine, rough = (solve(p, SquaredNorm(0.05), tol, max_iter=m) for tol, m in ((1e-12, 1000), (1e-12, 2)))
    K = p.kernel(np.random.default_rng(5).normal(size=(50, 2)), p.X)
    error = np.abs(K @ (rough.point.coef - fine.point.coef)).max()
    assert error <= rough.error_bound
    assert rough.error_bound < 1e3


def test_few_steps_are_kept_to():
    p = problem(Logistic(), n=40)
    assert solve(p, Norm(0.3), 1e-12, max_iter=4).steps <= 5
