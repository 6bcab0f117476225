from dataclasses import replace

import pytest
from machine_cases import CAUCHY, budget, only_gradient, problem

from representer.gram.tiled import Gram
from representer.kernels import Laplacian
from representer.losses import Huber, Logistic, Squared
from representer.regularizers import Norm, SquaredNorm
from representer.solvers import lbfgs, newton, regularized
from representer.solvers.workspace import Workspace


def solve(solver, p, tol=1e-8, start=None, **limits):
    return solver.solve(p, Workspace(p.gram, 10**10), budget(tol, **limits), start)


@pytest.mark.parametrize("loss", [Squared(), Huber(0.3), Logistic()], ids=repr)
@pytest.mark.parametrize(("strength", "intercept"), [(0.01, True), (3.0, False)])
def test_as_newton(loss, strength, intercept):
    p = problem(loss, n=60, strength=strength, intercept=intercept, weighted=True)
    expected, found = solve(newton, p, 1e-12), solve(lbfgs, replace(p, loss=only_gradient(loss)))
    scale = p.scale(expected.point)
    assert found.primal == pytest.approx(expected.primal, abs=1e-7 * scale)
    assert found.dual.value - 1e-10 * scale <= expected.primal <= found.primal + 1e-10 * scale
    assert found.primal - found.dual.value <= 1e-7 * scale


def test_stopped_early_the_bound_holds():
    p = problem(Squared(), n=60, strength=0.1)
    least = solve(newton, p, 1e-12).primal
    for steps in (1, 3, 10):
        found = solve(lbfgs, replace(p, loss=only_gradient(Squared())), 1e-12, max_iter=steps)
        assert found.dual.value - 1e-9 <= least <= found.primal + 1e-9


def test_start_from_the_solution():
    p = problem(only_gradient(Logistic()), n=60)
    first = solve(lbfgs, p, 1e-6)
    assert solve(lbfgs, p, 1e-6, first.point).steps < first.steps / 2


def test_loss_that_is_not_convex():
    """A redescending loss ignores an outlier."""
    p, seen = problem(CAUCHY, n=60, strength=0.1), []
    p.y[7] = 50.0
    found = solve(lbfgs, p, 1e-6, progress=lambda what, gap: seen.append(what))
    assert abs(found.point.values[7, 0]) < 3.0
    assert set(seen) == {"L-BFGS"}
    assert p.judge(found.point.coef, found.point.intercept).residuals[0] <= 1e-6


def test_progress_stops_it():
    p = problem(only_gradient(Logistic()), n=60, strength=0.1)
    assert solve(lbfgs, p, 1e-9, progress=lambda what, gap: True).steps == 1


@pytest.mark.parametrize("R", [SquaredNorm(0.3), Norm(0.7)], ids=["squared", "norm"])
def test_bytes_of_a_plan_are_those_of_the_fit(R, peak_of):
    p, limits = problem(only_gradient(Huber(0.3)), n=1000, regularizer=R), budget(1e-4, max_iter=40)
    p = replace(p, gram=Gram(Laplacian(1.0), p.gram.X))  # of full rank
    plan = regularized.cost(p, limits)
    peak, _ = peak_of(lambda: regularized.solve(p, limits, plan.reason), 0.8 * plan.bytes)
    assert 0.8 * plan.bytes < peak < 1.2 * plan.bytes
