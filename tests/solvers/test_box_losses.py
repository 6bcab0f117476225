import numpy as np
import pytest
from each_case import each
from machine_cases import KINKED, budget, dense, problem

from representer.losses import Absolute, EpsilonInsensitive, Hinge, Logistic, Pinball
from representer.solvers import box_losses

SINGLE = [loss for loss in KINKED if len(loss.parts()) == 1]


def solve(p, tol=1e-9, max_iter=10**7, start=None):
    return box_losses.solve(p, budget(tol, max_iter=max_iter), start)


def test_which_duals_are_boxes():
    assert all(box_losses.applies(problem(loss)) for loss in KINKED)
    assert not box_losses.applies(problem(Hinge(), intercept=False))
    assert not box_losses.applies(problem(Logistic()))


@pytest.mark.parametrize("loss", SINGLE, ids=repr)
def test_dual_is_that_of_the_problem(loss, rng):
    """At coefficients c = -w v / strength the box's dual value times the strength is D(v)."""
    p = problem(loss, weighted=True)
    dual, K = box_losses.dual_of(p), dense(p)
    v = p.feasible(rng.normal(size=(p.n, 1)))
    c = -(p.weights * v / p.strength).ravel()
    assert dual.infeasibility(c) < 1e-14
    primal, _, gap = dual.values(c, K @ c - dual.targets, np.zeros(1))
    value = primal - gap
    expected = -p.conjugates(v) - 0.5 * p.strength * c @ K @ c
    assert p.strength * value == pytest.approx(expected, rel=1e-12)


@each("loss", SINGLE)
@each("tol", [1e-3, 1e-9])
def test_gap_is_within_the_tolerance(loss, tol):
    p = problem(loss, n=250, strength=0.1, weighted=True)
    found = solve(p, tol)
    assert found.primal - found.dual.value + 1e-13 * found.primal >= 0.0
    assert found.primal - found.dual.value <= tol * p.scale(found.point)
    assert found.smo_steps > 0 == found.steps
    np.testing.assert_allclose(found.point.applied, dense(p) @ found.point.coef, atol=1e-10)


@pytest.mark.parametrize("loss", [EpsilonInsensitive(0.1), Absolute()], ids=repr)
def test_warm_start(loss):
    """A dual point is feasible at every strength; where it is the solution, hardly a step is left."""
    first = solve(problem(loss, n=250, strength=0.1))
    again, other = (solve(problem(loss, n=250, strength=s), start=first.dual.v) for s in (0.1, 1.0))
    assert again.smo_steps < 0.1 * first.smo_steps
    assert other.primal == pytest.approx(solve(problem(loss, n=250, strength=1.0)).primal, rel=1e-8)


def test_steps_are_kept_to():
    p = problem(Pinball(0.3), n=250, strength=1e-3)
    found = solve(p, 1e-12, max_iter=300)
    assert found.smo_steps <= 300
    assert found.primal - found.dual.value > 1e-12 * p.scale(found.point)
