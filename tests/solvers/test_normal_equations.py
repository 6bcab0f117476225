"""Ridge from one pass: against dense algebra, its path against refits, and float32 never without float64 residuals."""

from dataclasses import replace

import numpy as np
import pytest

from representer import KernelRidge, Nystroem
from representer.gram.design import Design
from representer.kernels import RBF
from representer.problems.finite import FiniteRidge
from representer.result import Budget
from representer.rows.arrays import ArrayRows
from representer.solvers import finite_passes, normal_equations
from representer.solvers.normal_equations import Path

rng = np.random.default_rng(0)
X = rng.normal(size=(80, 2))
Y = np.column_stack([np.sin(X[:, 0]) + 3.0, X[:, 1] ** 2])
w = rng.random(80) + 0.1
KERNEL = Nystroem(RBF(1.0), landmarks=X[:12])
BUDGET = Budget(memory=10**9, tol=1e-9)


def problem(alpha, intercept=True, weights=w, basis=None):
    basis = KERNEL.basis(X) if basis is None else basis
    return FiniteRidge(Design(basis), ArrayRows(X, Y, weights), np.asarray(alpha, float), intercept)


def fitted(X, w):
    design = Design(KERNEL.basis(X))
    return design.values(X, design.to_features(w))


def naive(alpha, intercept, weights=w, Y=Y):
    phi = Design(KERNEL.basis(X)).features(X)
    A = np.column_stack([phi, np.ones(len(X))]) if intercept else phi
    D = np.diag(np.append(np.full(phi.shape[1], alpha), [0.0] * intercept))
    solution = np.linalg.solve((A.T * weights) @ A + D, (A.T * weights) @ Y)
    return A @ solution


@pytest.mark.parametrize("intercept", [True, False])
def test_against_dense_algebra(intercept):
    result = normal_equations.solve(problem([0.3, 0.3], intercept), BUDGET, "test")
    fit = fitted(X, result.coef) + result.intercept
    np.testing.assert_allclose(fit, naive(0.3, intercept), atol=1e-8)
    assert result.certificate.converged
    assert result.certificate.passes == 2


def test_an_alpha_for_each_target():
    result = normal_equations.solve(problem([0.1, 10.0], False), BUDGET, "test")
    fit = fitted(X, result.coef)
    for t, alpha in enumerate((0.1, 10.0)):
        np.testing.assert_allclose(fit[:, t], naive(alpha, False)[:, t], atol=1e-8)


def test_leave_one_out_and_gcv_against_refits():
    alphas = np.array([[0.1, 0.1], [2.0, 2.0]])
    path = Path(problem([0.1, 0.1]), BUDGET)
    predictions, gcv = path.leave_out(alphas), path.sums.gcv(alphas)
    phi = np.column_stack([Design(KERNEL.basis(X)).features(X), np.ones(80)])
    for a, alpha in enumerate((0.1, 2.0)):
        for i in (0, 17):
            without = w * (np.arange(80) != i)
            np.testing.assert_allclose(predictions[a, i], naive(alpha, True, without)[i], atol=1e-7)
        root = np.sqrt(w)[:, None] * phi
        H = root @ np.linalg.solve(root.T @ root + np.diag([alpha] * 12 + [0.0]), root.T)
        r = np.sqrt(w)[:, None] * (Y - naive(alpha, True))
        expected = 80 * (r**2).sum(axis=0) / np.trace(np.eye(80) - H) ** 2
        np.testing.assert_allclose(gcv[a], expected, rtol=1e-8)


def test_alphas_that_a_row_of_leverage_one_cannot_judge_are_not_chosen():
    apart = np.concatenate([X, [[50.0, 50.0]]])  # no other row knows of this one
    basis = Nystroem(RBF(1.0), landmarks=apart[-8:]).basis(apart)
    targets, alphas = rng.normal(size=(81, 1)), np.array([[1e-18], [1e-3]])
    path = Path(FiniteRidge(Design(basis), ArrayRows(apart, targets), alphas[0], True), BUDGET)
    predictions = path.leave_out(alphas)
    assert predictions[0, 80] == -np.copysign(np.inf, targets[80])  # of no class of its own, either
    assert np.isfinite(predictions[:, :80]).all()
    assert abs(predictions[1, 80]) < np.abs(targets).max()
    model = KernelRidge(alphas.ravel(), kernel=Nystroem(RBF(1.0), landmarks=apart[-8:]), fit_intercept=True)
    assert model.fit(apart, targets[:, 0]).alpha_ == 1e-3
    model.set_params(alpha=[1e-18, 1e-16]).fit(apart, targets[:, 0])  # then by generalised cross-validation
    np.testing.assert_array_equal(model.loo_scores_, -np.inf)
    assert model.alpha_ == model.alpha[model.gcv_.ravel().argmin()]
    assert "by generalised cross-validation" in model.certificate_.reason


def test_gcv_without_directions_that_have_no_values():
    basis = Nystroem(RBF(1.0), landmarks=X[:12]).basis(X)
    rows = ArrayRows(X[:5], Y[:5])  # the sums of five rows have seven zero eigenvalues
    path = Path(FiniteRidge(Design(basis), rows, np.zeros(2), False), BUDGET)
    gcv = path.sums.gcv(np.array([[0.0, 0.0], [0.1, 0.1]]))
    assert not np.isnan(gcv).any()
    assert np.isfinite(gcv[1]).all()


def test_float32_sums_are_refined_by_float64_residuals(monkeypatch):
    monkeypatch.setattr(finite_passes, "SMALL_WORK", 0.0)
    path = Path(problem([0.3, 0.3]), BUDGET)
    assert path.design.basis.dtype == np.float32
    result = path.solve(np.array([0.3, 0.3]), "test")
    fit = fitted(X, result.coef) + result.intercept
    np.testing.assert_allclose(fit, naive(0.3, True), atol=1e-7)
    assert result.certificate.converged
    assert result.certificate.passes > 2


def test_where_float32_sums_do_not_do_they_are_taken_in_float64(monkeypatch):
    monkeypatch.setattr(finite_passes, "SMALL_WORK", 0.0)
    everything = Nystroem(RBF(3.0), landmarks=X).basis(X)
    path = Path(problem([1e-7, 1e-7], basis=everything), BUDGET)
    result = path.solve(np.array([1e-7, 1e-7]), "test")
    assert result.certificate.precision == "float64"
    assert result.certificate.residual < 1e-3


def test_the_objective_after_conjugate_gradients_is_that_of_the_coefficients(monkeypatch):
    monkeypatch.setattr(finite_passes, "SMALL_WORK", 0.0)
    path = Path(problem([0.3, 0.3]), BUDGET)
    path.sums = replace(path.sums, S=1.3 * path.sums.S)  # a poor preconditioner
    result = path.solve(np.array([0.3, 0.3]), "test")
    assert result.certificate.converged
    assert result.certificate.iterations > 3
    assert result.certificate.precision.startswith("float32")
    left = Y - fitted(X, result.coef) - result.intercept
    objective = np.sum(w[:, None] * left**2) + 0.3 * np.sum(result.coef**2)
    np.testing.assert_allclose(result.certificate.primal, objective, rtol=1e-12)


def test_factors_and_eigenvectors_give_the_same():
    sums = Path(problem([0.3, 0.3]), BUDGET).sums
    by_factors = sums.inverse(np.array([0.3, 2.0]))(sums.sides)
    np.testing.assert_allclose(by_factors, sums.apply_inverse(sums.sides, np.array([0.3, 2.0])), rtol=1e-8)
    assert "spectrum" in vars(sums)
    assert sums.inverse(np.zeros(2)).func == sums.apply_inverse


def test_plans():
    plan = normal_equations.cost(problem([1.0, 1.0]), BUDGET, np.ones((5, 2)))
    assert plan.passes == 3
    assert plan.solver == "normal_equations"
    assert "GB" in normal_equations.cost(problem([1.0, 1.0]), Budget(memory=1000)).refusal
    assert not normal_equations.leaves_out(problem([1.0, 1.0]), np.ones((10**6, 2)))
