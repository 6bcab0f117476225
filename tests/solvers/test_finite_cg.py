"""Conjugate gradients in a span: the solution of the normal equations."""

from types import SimpleNamespace

import numpy as np
import pytest

from representer import Nystroem
from representer.gram.design import Design
from representer.kernels import RBF
from representer.problems.finite import FiniteRidge
from representer.result import Budget
from representer.rows.arrays import ArrayRows
from representer.solvers import finite_cg, normal_equations
from representer.solvers.finite_passes import RidgePoint

rng = np.random.default_rng(0)
X = rng.normal(size=(300, 2))
Y = np.column_stack([np.sin(X[:, 0]) + 3.0, X[:, 1] ** 2])
DESIGN = Design(Nystroem(RBF(1.0), landmarks=X[:20]).basis(X))


@pytest.mark.parametrize("intercept", [True, False])
def test_against_normal_equations(intercept):
    alpha = np.array([0.5, 0.5]) if intercept else np.array([0.5, 5.0])
    problem = FiniteRidge(DESIGN, ArrayRows(X, Y, rng.random(300)), alpha, intercept)
    found, expected = (
        solver.solve(problem, Budget(memory=10**9, tol=1e-8), "test") for solver in (finite_cg, normal_equations)
    )
    fits = [DESIGN.values(X, DESIGN.to_features(result.coef)) + result.intercept for result in (found, expected)]
    np.testing.assert_allclose(*fits, atol=1e-6)
    assert found.certificate.converged
    assert found.certificate.precision == "float32 products, float64 residuals"


def test_plans():
    problem = FiniteRidge(DESIGN, ArrayRows(X, Y), np.zeros(2))
    with pytest.raises(ValueError, match="need a positive alpha"):
        finite_cg.cost(problem, Budget(memory=10**9)).require()
    plan = finite_cg.cost(FiniteRidge(DESIGN, ArrayRows(X, Y), np.ones(2)), Budget(memory=1000))
    assert "GB" in plan.refusal


def test_more_rows_are_sampled_for_fewer_steps():
    assert finite_cg.expected_steps(4, 1e-6) > finite_cg.expected_steps(64, 1e-6) >= 7
    large = SimpleNamespace(n=10**7, size=500)
    assert finite_cg.rows_to_sample(large, 1e-6) == 64 * 500
    assert finite_cg.rows_to_sample(SimpleNamespace(n=10**5, size=10_000), 1e-6) == 4 * 10_000
    assert finite_cg.rows_to_sample(SimpleNamespace(n=300, size=200), 1e-6) == 300


def test_no_more_passes_than_planned():
    rows = np.random.default_rng(1).normal(size=(4000, 3))
    design = Design(Nystroem(RBF(1.0), landmarks=rows[:60]).basis(rows))
    problem = FiniteRidge(design, ArrayRows(rows, np.sin(rows[:, :1])), np.array([0.1]), True)
    budget = Budget(memory=10**9, tol=1e-6)
    certificate = finite_cg.solve(problem, budget, "test").certificate
    assert certificate.converged
    assert certificate.passes <= finite_cg.cost(problem, budget).passes


def test_rows_that_a_sample_misses_are_left_to_normal_equations():
    """Points far from all others, 1, 2, ..., 40 times each, span most of the space; few of them are sampled."""
    far = np.linspace(10.0, 1000.0, 40)[:, None] * np.ones(2)
    X = np.concatenate([np.random.default_rng(2).normal(size=(40_000, 2)), np.repeat(far, np.arange(1, 41), axis=0)])
    design = Design(Nystroem(RBF(1.0), landmarks=np.concatenate([X[:20], far])).basis(X))
    problem = FiniteRidge(design, ArrayRows(X, np.cos(X[:, :1])), np.array([1e-3]))
    certificate = finite_cg.solve(problem, Budget(memory=10**9, tol=1e-6), "test").certificate
    assert certificate.converged
    assert certificate.solver == "normal equations"
    assert certificate.reason == "test; conjugate gradients converged slowly"
    alone = normal_equations.solve(problem, Budget(memory=10**9, tol=1e-6), "test").certificate
    assert certificate.passes > alone.passes  # those of the attempt are counted
    assert (
        certificate.kernel_evaluations - alone.kernel_evaluations == (certificate.passes - alone.passes) * len(X) * 60
    )


def test_steps_of_all_rounds_are_bounded():
    rows = np.random.default_rng(1).normal(size=(4000, 3))
    design = Design(Nystroem(RBF(1.0), landmarks=rows[:60]).basis(rows))
    problem = FiniteRidge(design, ArrayRows(rows, np.sin(rows[:, :1])), np.array([0.1]))
    certificate = finite_cg.solve(problem, Budget(memory=10**9, tol=1e-12, max_iter=2), "test").certificate
    assert certificate.iterations == 2
    assert not certificate.converged


@pytest.mark.parametrize("intercept", [True, False])
def test_steps_start_from_the_solution_of_the_sampled_rows(intercept):
    """Whose residual for all rows is the noise of the sample; the solution itself where all rows are sampled."""
    n = 20_000
    X = np.random.default_rng(3).normal(size=(n, 3))
    Y = np.column_stack([np.sin(X[:, 0]), X[:, 1]]) + 5.0
    design = Design(Nystroem(RBF(1.0), landmarks=X[:30]).basis(X))
    problem = FiniteRidge(design, ArrayRows(X, Y), np.array([1e-2, 1.0]), intercept)
    for rows, most in ((2000, 0.05), (n, 1e-9)):
        start = finite_cg.Sampled(problem, rows).start()
        point = RidgePoint.at(problem, design, *start, float(n), sides=True)
        assert np.all(np.linalg.norm(point.g, axis=0) < most * np.linalg.norm(point.sides, axis=0))
    phi = design.features(X)
    centred = phi - phi.mean(axis=0) if intercept else phi
    np.testing.assert_allclose(point.sides, centred.T @ Y, rtol=1e-7, atol=1e-6)
