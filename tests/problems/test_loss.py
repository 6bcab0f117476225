import numpy as np
import pytest
from each_case import each
from machine_cases import CAUCHY, LOSSES, brute_force, dense, only_gradient, problem
from ridge_cases import ridge

from representer.gram.stored import Packed
from representer.gram.tiled import Gram
from representer.kernels import RBF, Precomputed
from representer.losses import Absolute, Hinge, Logistic, Multinomial, Pinball, Poisson, Squared
from representer.problems.loss import LossProblem
from representer.problems.points import Point
from representer.regularizers import Ball, CustomRegularizer, Norm, Power, SquaredNorm

REGULARIZERS = [SquaredNorm(0.3), Norm(0.7), Power(0.2, 3.0), Ball(1.5)]


def random_point(p, rng, size):
    """A function with coefficients of this size, in the ball if there is one, and the best intercept."""
    coef = size * rng.normal(size=(p.n, p.loss.outputs(p.y))) * (p.weights > 0)
    coef /= max(np.sqrt(np.sum(coef * (dense(p) @ coef))) / (0.999 * min(p.regularizer.largest, 1e6)), 1.0)
    return p.centred(Point(coef, np.zeros(coef.shape[1]), dense(p) @ coef))


def objective(p, point):
    """Sum and scale by the textbook."""
    F, t = dense(p) @ point.coef + point.intercept, np.sqrt(max(np.sum(point.coef * (dense(p) @ point.coef)), 0.0))
    losses = p.weights * p.loss.value(p.y, F)
    return float(losses.sum()) + p.regularizer.value(t), float(np.abs(losses).sum()) + p.regularizer.value(t)


@each("loss", LOSSES)
@each("R", REGULARIZERS)
def test_judgement_of_any_point(loss, R, rng):
    """primal and scale are those of the textbook, and no lower bound is above any objective."""
    for intercept in (True, False):
        p = problem(loss, n=15, regularizer=R, intercept=intercept, weighted=True)
        points = [p.zero(), *(random_point(p, rng, size) for size in (1e-3, 0.1, 1.0))]
        judged = [p.judge(point.coef, point.intercept) for point in points]
        for point, found in zip(points, judged, strict=True):
            primal, scale = objective(p, point)
            assert found.primal == pytest.approx(primal, rel=1e-13)
            assert found.residuals[0] == pytest.approx((found.primal - found.dual) / scale, rel=1e-12)
        assert max(found.dual for found in judged) <= min(found.primal for found in judged)


@pytest.mark.parametrize("loss", [Squared(), Logistic(), Absolute()], ids=repr)
def test_bound_is_the_least_objective_at_the_solution(loss):
    """By brute force; the dual point is that of the coefficients, or the slopes if nothing else is known."""
    p = problem(loss, n=8, strength=2.0)
    least = brute_force(p)
    K, y, strength = dense(p), p.y.ravel(), 2.0
    if loss != Squared():
        for start in (None, np.zeros((8, 1))):
            zero = p.zero()
            assert p.judge(zero.coef, zero.intercept, start).dual <= least + 1e-4
        return
    coef, b = ridge(K, y, strength, None, True)
    for q in (p, LossProblem(p.gram, p.y, only_gradient(loss), p.regularizer, p.weights)):
        found = q.judge(coef[:, None], np.array([b]))
        assert found.primal == pytest.approx(least, rel=1e-6)
        assert 0.0 <= found.primal - found.dual <= 1e-12 * found.primal


@pytest.mark.parametrize("size", [1e-3, 1.0])
def test_error_bound_is_sharp(size):
    """Along a direction that the losses hardly see, ||f - f*|| is the bound itself: sqrt(2 gap / strength)."""
    p = problem(Squared(), n=30, strength=1.0, intercept=False)
    K = dense(p)
    values, vectors = np.linalg.eigh(K)
    best, _ = ridge(K, p.y.ravel(), 1.0, None, False)
    index = int(np.searchsorted(values, 1e-3))
    change = size * vectors[:, index] / np.sqrt(values[index])  # a function of this norm
    (bound,) = p.judge((best + change)[:, None], np.zeros(1)).error_bound
    assert size <= bound <= 1.01 * size


def test_hostile_scales_leave_room_for_rounding(rng):
    """The lower bound is below the value in longer arithmetic by what roundings are said to be, and no more."""
    X = rng.normal(size=(40, 2))
    for scale in (1e-6, 1.0, 1e6):
        p = LossProblem(
            Gram(scale * RBF(2.0), X), rng.normal(size=(40, 1)), Absolute(), SquaredNorm(1e-3), np.ones((40, 1))
        )
        K, coef = dense(p).astype(np.longdouble), 1e3 * rng.normal(size=(40, 1))
        point = Point(coef, np.zeros(1), dense(p) @ coef)
        exact = float(np.sum(np.abs(p.y - K @ coef)) + 5e-4 * np.sum(coef * (K @ coef)))
        assert abs(p.objective(point) - exact) <= p.rounding(point) <= 1e-10 * exact


def test_nothing_to_lose_and_perfect_fits():
    """All losses at their minima: the bound is that sum, whatever the dual point, so that the gap is rounding."""
    p = problem(Hinge(), n=20, regularizer=Ball(1e6))
    coef = np.linalg.solve(dense(p) + 1e-9 * np.eye(20), 2.0 * p.y)
    found = p.judge(coef, np.zeros(1), np.full((20, 1), 0.3) * p.y)
    assert (found.primal, found.dual) == (0.0, pytest.approx(0.0, abs=1e-6))
    assert p.least == 0.0
    counts = problem(Poisson())
    y = counts.y[counts.y > 0]
    assert counts.least == pytest.approx(np.sum(y - y * np.log(y)))
    assert problem(only_gradient(Squared())).least == -np.inf


@pytest.mark.parametrize(("R", "floor"), [(SquaredNorm(1e-9), 1e-12), (Ball(1e9), 1e-6)], ids=repr)
def test_objectives_that_vanish_have_a_floor(R, floor):
    """Far below the objective of f = 0, gaps are relative to a small part of that."""
    p = problem(Squared(), regularizer=R)
    perfect = Point(np.zeros((p.n, 1)), np.zeros(1), p.y)
    assert p.scale(perfect) == pytest.approx(floor * objective(p, p.zero())[0], rel=1e-12)
    assert p.scale(p.zero()) == pytest.approx(objective(p, p.zero())[1], rel=1e-12)


def test_balanced_up_to_rounding_only(rng):
    """With an intercept a dual point whose sum is not zero bounds nothing."""
    p = problem(Squared())
    point, v = p.zero(), p.feasible(rng.normal(size=(p.n, 1)))
    product = dense(p) @ -v
    assert p.lower_bound(v, product, point) > -np.inf
    assert p.lower_bound(v + 1e-3, product, point) == -np.inf
    free = problem(Squared(), intercept=False)
    assert free.lower_bound(v + 1e-3, product, point) > -np.inf


def test_stationary_coefficients_are_those_of_the_solution():
    p = problem(Squared(), strength=0.7)
    coef, b = ridge(dense(p), p.y.ravel(), 0.7, None, True)
    point = Point(coef[:, None], np.array([b]), dense(p) @ coef[:, None])
    np.testing.assert_allclose(p.stationary_coef(point), point.coef, atol=1e-10)
    np.testing.assert_allclose(p.dual_variable(point.coef, 0.7), p.loss.gradient(p.y, point.values), atol=1e-10)
    with pytest.raises(TypeError, match="has no fixed strength"):
        problem(Squared(), regularizer=Norm(1.0)).strength  # noqa: B018


@pytest.mark.parametrize("loss", [Squared(), CAUCHY, Pinball(0.3), Multinomial()], ids=lambda loss: type(loss).__name__)
def test_local_minima_have_no_bound(loss, rng):
    """With R(t) = log(1 + t), or a loss that is not convex, there is a residual but neither dual nor error bound."""
    R = CustomRegularizer(lambda t: np.log1p(t), lambda t: 1 / (1 + t), convex=False)
    p = problem(loss, regularizer=R)
    for point in (p.zero(), random_point(p, rng, 0.1)):
        found = p.judge(point.coef, point.intercept)
        assert found.dual is None
        assert np.isinf(found.error_bound).all()
        assert found.measure == ("local gap" if loss.convex else "gradient")
        assert found.residuals[0] > 1e-3
        assert found.primal == pytest.approx(objective(p, point)[0], rel=1e-13)


def test_local_minimum_is_the_solution_of_the_same_slope():
    """The minimiser with SquaredNorm(R'(t) / t) is stationary for R, whether it is convex or not."""
    p = problem(Squared(), strength=0.3)
    coef, b = ridge(dense(p), p.y.ravel(), 0.3, None, True)
    t = np.sqrt(coef @ dense(p) @ coef)
    concave = CustomRegularizer(lambda s: 0.6 * t**1.5 * s**0.5, lambda s: 0.3 * t**1.5 / s**0.5, convex=False)
    scaled = CustomRegularizer(concave.value, lambda s: 0.5 * concave.derivative(s), convex=False)
    for R, residual in ((concave, 0.0), (scaled, 1.0)):
        q = LossProblem(p.gram, p.y, p.loss, R, p.weights)
        found = q.judge(coef[:, None], np.array([b])).residuals[0]
        assert (found < 1e-12) == (residual == 0.0)


class Off(Packed):
    """A matrix whose products are too large."""

    factor = 1.0

    def __matmul__(self, V):
        return self.factor * super().__matmul__(V)


@each("loss", [Logistic(), Absolute(), Pinball([0.2, 0.7])])
@each("R", [SquaredNorm(0.3), Power(0.2, 3.0)])
@each("factor", [1.0, 1.0 + 1e-4, 0.9])
def test_the_error_of_rough_products_widens_the_gap(loss, R, factor, rng):
    """However wrong they are, primal and dual value are within the gap, and the bound holds for every function."""
    p = problem(loss, n=40, regularizer=R, weighted=True)
    rough = Off(p.gram.astype(np.float32))
    rough.factor = factor
    for size in (1e-3, 0.3):
        point = random_point(p, rng, size)
        exact, found = p.judge(point.coef, point.intercept), p.judge(point.coef, point.intercept, rough=rough)
        off = abs(found.primal - exact.primal)
        assert off <= found.primal - found.dual
        assert found.dual <= exact.primal
        assert found.error_bound[0] >= exact.error_bound[0] * (1.0 - 1e-9)
        if factor == 1.0:
            assert found.residuals[0] <= exact.residuals[0] + 1e-4


def test_matrices_with_negative_eigenvalues_are_not_converged(rng):
    """There is no weak duality then, so that f = 0 may have the least objective in sight, and not of all."""
    A, y = rng.normal(size=(40, 40)), rng.normal(size=(40, 1))
    p = LossProblem(Gram(Precomputed(), A + A.T), y, Squared(), SquaredNorm(1.0), np.ones((40, 1)))
    assert p.judge(np.zeros((40, 1)), np.zeros(1)).residuals[0] > 0.1
    negative = np.linalg.eigh(A + A.T)[1][:, :1]
    assert p.norm_bound(negative, (A + A.T) @ negative) == np.inf
