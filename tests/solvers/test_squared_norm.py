from dataclasses import replace

import numpy as np
import pytest
from each_case import each
from machine_cases import CAUCHY, LOSSES, budget, dense, only_gradient, problem

from representer.losses import Hinge, Logistic, Pinball, Squared
from representer.regularizers import Norm, SquaredNorm
from representer.solvers import newton, regularized, squared_norm
from representer.solvers.squared_norm import Solutions


@pytest.mark.parametrize(
    ("loss", "intercept", "name"),
    [
        (Hinge(), True, "SMO"),
        (Pinball([0.2, 0.7]), True, "SMO"),
        (Hinge(), False, "smoothed newton"),
        (Logistic(), True, "newton"),
        (only_gradient(Squared()), True, "lbfgs"),
        (CAUCHY, True, "lbfgs"),
    ],
)
def test_solver_of_each_loss(loss, intercept, name):
    p = problem(loss, intercept=intercept)
    plan = squared_norm.cost(p, budget())
    solutions = Solutions(p, budget())
    solutions.find(p, 1e-6)
    work = solutions.work(plan)
    assert plan.solver == work.solver == name
    assert (work.reason, work.bytes, work.precision) == (plan.reason, plan.bytes, "float64")
    assert work.iterations == max(solutions.steps, solutions.smo_steps) > 0
    assert bool(solutions.smo_steps) == (name == "SMO")


@each("loss", LOSSES)
def test_warm_starts_along_strengths(loss):
    p = problem(loss, n=40, weighted=True)
    solutions, start = Solutions(p, budget()), None
    for strength in (3.0, 0.3, 0.1):
        q = p.with_strength(strength)
        start = solutions.find(q, 1e-8, start)
        assert start.primal - start.dual.value <= 1e-8 * q.scale(start.point)
        np.testing.assert_allclose(start.point.applied, dense(p) @ start.point.coef, atol=1e-9)
        assert start.primal == pytest.approx(Solutions(q, budget()).find(q, 1e-10).primal, rel=1e-7)


def test_outputs_that_do_not_depend_on_each_other():
    levels = [0.1, 0.5, 0.9]
    p = problem(Pinball(levels), n=50)
    found = Solutions(p, budget()).find(p, 1e-9)
    for j, level in enumerate(levels):
        q = problem(Pinball(level), n=50)
        alone = Solutions(q, budget()).find(q, 1e-9)
        np.testing.assert_allclose(found.point.values[:, j], alone.point.values[:, 0], atol=1e-10)


@each(
    ("loss", "R"),
    [(Hinge(), SquaredNorm(1e-3)), (Pinball([0.2, 0.7]), Norm(0.1)), (only_gradient(Squared()), Norm(0.1))],
)
def test_once_stopped_everything_stops(loss, R):
    """Later outputs, strengths and solvers take no step after the first that asked to stop."""
    seen = []
    p, limits = problem(loss, n=60, regularizer=R), budget(1e-9)
    limits = replace(limits, progress=lambda what, size: seen.append(what) or True)
    found = regularized.solve(p, limits, "")
    assert len(seen) == 1
    assert not found.certificate.converged
    assert found.n_iter == 1


def test_newton_takes_over_where_smo_falls_short():
    """With few SMO steps; unless its matrix does not fit the memory."""
    p = problem(Hinge(), n=60, strength=1e-3)
    plan = squared_norm.cost(p, budget())
    for memory, name in ((10**9, "SMO, then smoothed newton"), (20_000, "SMO")):
        solutions = Solutions(p, budget(memory=memory, max_iter=60))
        solutions.smo_limit = 40
        found = solutions.find(p, 1e-9)
        work = solutions.work(plan)
        assert work.solver == name
        assert (found.primal - found.dual.value <= 1e-9 * p.scale(found.point)) == (memory == 10**9)
        assert solutions.smo_steps <= 40
        assert work.iterations == solutions.steps + solutions.smo_steps
        assert solutions.n_iter == max(solutions.steps, 1)
    assert newton.cost(p, budget(memory=20_000)).bytes > 20_000


def test_refreshed_products_are_exact():
    p = problem(Logistic(), n=300)
    solutions = Solutions(p, budget(memory=2 * 10**6))
    found = solutions.find(p, 1e-3)
    assert not solutions.matrix.exact
    fresh = solutions.refreshed(found)
    assert solutions.matrix.exact
    np.testing.assert_allclose(fresh.point.applied, dense(p) @ found.point.coef, atol=1e-11)
    assert np.abs(found.point.applied - fresh.point.applied).max() > 1e-9


@pytest.mark.parametrize(("tol", "word"), [(1e-3, "gap with their measured error"), (1e-9, "float64 gap")])
def test_many_inputs_are_judged_by_float32_values_in_memory(tol, word, monkeypatch):
    """Where their error leaves the gap small enough; what is claimed holds for values in float64."""
    monkeypatch.setattr(squared_norm, "ROUGH_GAP_FROM", 100)
    monkeypatch.setattr("representer.solvers.workspace.stored_bytes", lambda n, memory: 2 * n * n)
    p = problem(Logistic(), n=120, weighted=True)
    solutions = Solutions(p, budget(tol=tol))
    found = solutions.find(p, 0.5 * tol)
    judgement = solutions.judge(found.point, found.dual.v)
    assert solutions.work(squared_norm.cost(p, budget())).precision == f"float32 products, {word}"
    exact = p.judge(found.point.coef, found.point.intercept)
    assert abs(judgement.primal - exact.primal) <= judgement.primal - judgement.dual
    assert judgement.dual <= exact.primal
    assert judgement.residuals[0] <= max(tol, 1e-6)
