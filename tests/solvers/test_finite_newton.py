"""Newton's method in a span: the objectives of exact solvers on the same kernel, for every loss."""

import numpy as np
import pytest
from each_case import each

from representer import KernelMachine, Nystroem
from representer.gram.design import Design
from representer.kernels import RBF
from representer.losses import Hinge, Huber, Logistic, Multinomial, Pinball, Poisson, Squared
from representer.losses.custom import CustomLoss
from representer.problems.finite import FiniteProblem
from representer.regularizers import SquaredNorm
from representer.result import Budget
from representer.rows.arrays import ArrayRows
from representer.solvers import finite_newton, finite_passes

rng = np.random.default_rng(0)
X = rng.normal(size=(150, 2))
F = np.sin(2.0 * X[:, 0]) + 0.3 * rng.normal(size=150)
weights = rng.random(150)
KERNEL = Nystroem(RBF(1.0), landmarks=X[:12])
CASES = [
    (Squared(), F, 1e-8),
    (Huber(0.1), F, 1e-8),
    (Logistic(), np.where(F > 0, 1.0, -1.0), 1e-8),
    (Poisson(), rng.poisson(np.exp(F)).astype(float), 1e-8),
    (Multinomial(), np.digitize(F, [-0.5, 0.5]).astype(float), 1e-6),
    (Hinge(), np.where(F > 0, 1.0, -1.0), 1e-4),
    (Pinball(0.3), F, 1e-4),
]


def problem(loss, y, **options):
    outputs = loss.outputs(y[:, None])
    return FiniteProblem(Design(KERNEL.basis(X)), ArrayRows(X, y, weights), loss, 0.5, outputs=outputs, **options)


@each("intercept", [True, False])
@each(("loss", "y", "tol"), CASES)
def test_objectives_of_exact_solvers(loss, y, tol, intercept):
    found = finite_newton.solve(problem(loss, y, intercept=intercept), Budget(memory=10**9, tol=tol), "test")
    assert found.certificate.converged
    exact = KernelMachine(KERNEL, loss, SquaredNorm(0.5), fit_intercept=intercept, tol=1e-9)
    best = exact._problem(X, y, loss, SquaredNorm(0.5), weights)
    phi = Design(KERNEL.basis(X)).features(X)
    values = phi @ found.coef + found.intercept
    primal = best.losses(values) + 0.25 * np.sum(found.coef**2)
    np.testing.assert_allclose(found.certificate.primal, primal, rtol=1e-10)
    assert found.certificate.dual <= primal
    assert primal - found.certificate.dual <= 2 * tol * (abs(primal) + 1.0)


def test_intercepts_of_relative_losses_are_centred_before_they_are_judged():
    p = problem(Multinomial(), CASES[4][1])
    start = finite_newton.State(np.zeros((12, 3)), np.full(3, 1e6))
    found = finite_newton.solve(p, Budget(memory=10**9, tol=1e-6), "test", start)
    assert abs(found.intercept.sum()) < 1e-9
    judged = p.judge(found.coef, found.intercept)
    np.testing.assert_allclose(found.certificate.primal, judged.primal, rtol=1e-13)
    np.testing.assert_allclose(found.certificate.gap, judged.primal - judged.dual, rtol=1e-6)


@each("loss", [Hinge(), Logistic()])
def test_progress_stops_it(loss):
    seen = []
    budget = Budget(memory=10**9, tol=1e-9, progress=lambda what, gap: seen.append(what) or True)
    found = finite_newton.solve(problem(loss, CASES[2][1]), budget, "test")
    assert seen == ["Newton steps"]
    assert not found.certificate.converged


def test_first_steps_are_taken_on_a_sample_of_rows():
    Z = rng.normal(size=(2000, 2))
    y = np.where(np.sin(2.0 * Z[:, 0]) + 0.3 * rng.normal(size=2000) > 0, 1.0, -1.0)
    kernel = Nystroem(RBF(1.0), landmarks=Z[:12])
    large = FiniteProblem(Design(kernel.basis(Z)), ArrayRows(Z, y), Logistic(), 0.5)
    found = finite_newton.solve(large, Budget(memory=10**9, tol=1e-8), "test")
    assert found.certificate.converged
    assert found.certificate.passes <= 6


def test_float32_steps_end_in_a_float64_gap(monkeypatch):
    monkeypatch.setattr(finite_passes, "SMALL_WORK", 0.0)
    found = finite_newton.solve(problem(Logistic(), CASES[2][1]), Budget(memory=10**9, tol=1e-6), "test")
    assert found.certificate.converged
    assert found.certificate.precision.startswith("float32")


def test_refusals():
    loss = CustomLoss(lambda y, f: (y - f) ** 2, lambda y, f: 2.0 * (f - y))
    with pytest.raises(TypeError, match="no solver in the span"):
        finite_newton.cost(problem(loss, F), Budget(memory=10**9)).require()


@pytest.mark.parametrize("together", [3000, 0])
def test_many_rows_of_several_classes_take_few_passes(monkeypatch, together):
    monkeypatch.setattr(finite_newton, "MOST_TOGETHER", together)
    X = rng.normal(size=(4000, 3)).astype(np.float32)
    y = np.argmax(np.sin(2.0 * X) + 0.3 * rng.normal(size=X.shape), axis=1).astype(float)
    design = Design(Nystroem(RBF(2.0), landmarks=X[:40]).basis(X))
    problem = FiniteProblem(design, ArrayRows(X, y), Multinomial(), 1.0, outputs=3)
    certificate = finite_newton.solve(problem, Budget(memory=10**9, tol=1e-6), "").certificate
    assert certificate.converged
    assert certificate.passes <= (30 if together else 150)
