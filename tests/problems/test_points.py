import numpy as np
import pytest
from each_case import each
from machine_cases import LOSSES, dense, problem

from representer.problems.points import DualPoint, Point, Solution


def some_point(rng, n=4, outputs=2):
    return Point(rng.normal(size=(n, outputs)), rng.normal(size=outputs), rng.normal(size=(n, outputs)))


def test_points_of_a_line_and_of_columns(rng):
    a, b = some_point(rng), some_point(rng)
    np.testing.assert_allclose(a.towards(b, 0.25).values, 0.75 * a.values + 0.25 * b.values)
    np.testing.assert_allclose(np.concatenate([c.values for c in a.columns()], axis=1), a.values)
    assert a.squared_norm == max(float(np.sum(a.coef * a.applied)), 0.0)


@each("loss", LOSSES)
def test_dual_points_are_bounds(loss, rng):
    """No value of a dual point is above any objective, and the one without a product is not above the exact one."""
    p = problem(loss, weighted=True)
    K = dense(p)
    coef = 0.1 * rng.normal(size=(p.n, p.loss.outputs(p.y))) * (p.weights > 0)
    point = p.centred(Point(coef, np.zeros(coef.shape[1]), K @ coef))
    near = DualPoint.near(p, point)
    exact = DualPoint.at(p, near.v, lambda V: K @ V)
    assert near.value <= exact.value + 1e-12 * abs(exact.value)
    assert (near | exact) is (exact if exact.value > near.value else near)
    duals = [near, exact]
    if loss.smooth:
        stationary = p.stationary_coef(point)
        duals.append(DualPoint.of_slopes(p, point, stationary, K @ stationary))
        # the gap of slopes is half the squared norm of the gradient over the strength
        d = point.coef - stationary
        gap = 0.5 * p.strength * float(np.vdot(d, K @ d))
        assert p.objective(point) - duals[-1].value == pytest.approx(gap, rel=1e-6)
    assert max(dual.value for dual in duals) <= p.objective(point)


def test_solutions_side_by_side(rng):
    parts = []
    for j in range(2):
        point = some_point(rng, outputs=1)
        parts.append(Solution(point, 1.0 + j, DualPoint(point.coef, 2.0 + j, 3.0 + j, 0.5), 4 + j, 5 + j))
    both = Solution.side_by_side(parts)
    assert (both.primal, both.steps, both.smo_steps) == (3.0, 9, 11)
    assert both.dual.value == sum(part.dual.value for part in parts)
    for part, column in zip(parts, both.columns(), strict=True):
        np.testing.assert_array_equal(column.point.values, part.point.values)
        np.testing.assert_array_equal(column.dual.v, part.dual.v)
