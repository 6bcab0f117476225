from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from each_case import each
from machine_cases import KINKED, SMOOTH, brute_force, budget, dense, problem
from ridge_cases import ridge
from sklearn.svm import SVC, SVR

from representer.gram.tiled import Gram
from representer.kernels import Linear
from representer.losses import (
    EpsilonInsensitive,
    Hinge,
    Huber,
    Logistic,
    Multinomial,
    Pinball,
    Poisson,
    Squared,
    SquaredHinge,
)
from representer.problems.loss import LossProblem
from representer.problems.points import Point
from representer.regularizers import SquaredNorm
from representer.solvers import newton
from representer.solvers.workspace import Workspace

LOSSES = SMOOTH + [loss for loss in KINKED if len(loss.parts()) == 1]
MEMORY = {"float64": 10**10, "float32": 2 * 10**6, "products": 10**5}
"""Bytes for which some hundred inputs have K in this form."""


def solve(p, tol=1e-9, form="float64", start=None, **limits):
    return newton.solve(p, Workspace(p.gram, MEMORY[form]), budget(tol, MEMORY[form], **limits), start)


def relative(p, found):
    return (found.primal - found.dual.value) / p.scale(found.point)


@each("loss", LOSSES)
@each(("strength", "intercept"), [(1e-3, True), (0.3, False), (30.0, True)])
def test_gap_closes(loss, strength, intercept):
    p = problem(loss, intercept=intercept, weighted=True, strength=strength)
    found = solve(p)
    assert -1e-12 <= relative(p, found) <= 1e-9
    np.testing.assert_allclose(found.point.applied, dense(p) @ found.point.coef, atol=1e-9)
    assert found.primal == pytest.approx(p.objective(found.point), rel=1e-12)
    if intercept:
        assert np.abs(found.point.coef.sum(axis=0)).max() <= 1e-8 * np.abs(found.point.coef).sum()


@pytest.mark.parametrize("loss", [Huber(0.3), Poisson(), Multinomial(), Pinball(0.1), Hinge()], ids=repr)
def test_as_brute_force(loss):
    """Another optimiser finds no lower value, and nearly the same one."""
    p = problem(loss, n=8)
    value, found = brute_force(p), solve(p)
    assert found.primal <= value + 1e-5 * abs(value) + 1e-5
    assert found.dual.value <= value + 1e-4 * (1 + abs(value))


@pytest.mark.parametrize("loss", [Huber(0.3), Logistic(), Multinomial(), Pinball(0.1)], ids=repr)
def test_gap_bounds_the_suboptimality_at_every_step(loss):
    """Stopped anywhere, the objective is at most the gap above the least one."""
    p = problem(loss, n=30, strength=0.01)
    least = solve(p, 1e-11).primal
    scale = 1e-9 * (1 + abs(least))
    for steps in (0, 1, 2, 4):
        found = solve(p, 1e-11, max_iter=steps)
        assert found.dual.value <= least + scale
        assert found.primal >= least - scale
        assert found.steps <= steps


@each("strength", [1e-4, 1e-2])
@each("seed", range(4))
def test_digits_where_coefficients_are_large(strength, seed):
    """K of low rank and large weights: coefficients of a million leave the values right, step by step.

    Some problems end at the tolerance, others where what is left to gain is below the rounding of the objective.
    """
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 3))
    y, w = np.sin(X[:, :1]) + 0.3 * rng.normal(size=(60, 1)), 10.0 ** rng.uniform(-2, 4, (60, 1))
    p = LossProblem(Gram(1e3 * Linear(), X), y, Huber(0.3), SquaredNorm(strength), w)
    found = solve(p, 1e-10)
    fresh = replace(found.point, applied=dense(p) @ found.point.coef)
    assert np.abs(found.point.coef).max() > 1e4
    assert relative(p, found) <= max(1e-10, p.rounding(fresh) / p.scale(fresh))
    assert abs(p.objective(fresh) - found.primal) <= p.rounding(fresh)


def test_coefficients_follow_the_strength_where_the_function_stays(rng):
    """In a kernel of low rank a weaker strength leaves f, but not the coefficients; a step still mends the bound.

    Coefficients of thousands leave the objective fewer digits than the tolerance asks for; how many depends on the CPU.
    """
    X = rng.normal(size=(40, 2))
    p = LossProblem(
        Gram(1e4 * Linear(), X), X[:, :1] + rng.normal(size=(40, 1)), Huber(0.5), SquaredNorm(1.0), np.ones((40, 1))
    )
    found = solve(p, 1e-12)
    for _ in range(3):
        p = p.with_strength(p.strength / 16.0)
        found = solve(p, 1e-9, start=found.point)
        assert relative(p, found) <= max(1e-9, p.rounding(found.point) / p.scale(found.point))


@pytest.mark.parametrize("loss", [Huber(0.5), SquaredHinge()], ids=repr)
def test_weak_regularisers_where_many_inputs_have_no_curvature(loss, monkeypatch):
    """Conjugate gradients find steps that are as good as those by Cholesky, and as few of them."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 5))
    y = np.sin(2.0 * X[:, :1]) + X[:, 1:2] * X[:, 2:3] + 0.3 * rng.standard_t(2, size=(300, 1))
    y = np.where(y > 0.0, 1.0, -1.0) if isinstance(loss, SquaredHinge) else y
    p = replace(problem(loss, n=300, strength=1e-3), gram=Gram(problem(loss).gram.kernel, X / 2.0), y=y)
    direct = solve(p, 1e-6)
    monkeypatch.setattr(newton, "CHOLESKY_STEPS_UP_TO", 10)
    found = solve(p, 1e-6)
    assert relative(p, found) <= 1e-6
    assert found.primal == pytest.approx(direct.primal, rel=1e-5)
    assert found.steps <= 2 * direct.steps


@pytest.mark.parametrize(("loss", "share"), [(SquaredHinge(), 0.5), (Logistic(), 0.7)], ids=repr)
def test_stronger_regularisation_first_saves_products(loss, share, rng, monkeypatch):
    """Fewer inputs have curvature near the solution, so that steps there are by Cholesky."""
    X = rng.normal(size=(300, 3))
    y = np.where(np.sin(2.0 * X[:, :1]) + X[:, 1:2] > 0.0, 1.0, -1.0)
    p = replace(problem(loss, n=300, strength=1e-4), gram=Gram(problem(loss).gram.kernel, X), y=y)
    monkeypatch.setattr(newton, "CHOLESKY_STEPS_UP_TO", 150)
    products, product = [], Workspace.__matmul__
    monkeypatch.setattr(Workspace, "__matmul__", lambda *given: products.append(1) or product(*given))
    found, spent = solve(p, 1e-6), len(products)
    assert relative(p, found) <= 1e-6
    monkeypatch.setattr(newton, "STRONG_ENOUGH", 0.0)
    straight = solve(p, 1e-6)
    assert found.primal == pytest.approx(straight.primal, rel=2e-6)
    assert spent < share * (len(products) - spent)


@pytest.mark.parametrize(
    ("loss", "form"), [(Logistic(), "float64"), (Poisson(), "float32"), (Multinomial(), "float32")]
)
def test_subsample_is_the_warm_start_of_many_inputs(loss, form, monkeypatch):
    """Nearer to the solution than f = 0, which is the same then."""
    p = problem(loss, n=600, weighted=True, strength=10.0)
    direct, starts, subsample = solve(p, 1e-6), [], newton._on_subsample
    monkeypatch.setattr(newton, "CHOLESKY_STEPS_UP_TO", 40)
    monkeypatch.setattr(newton, "SUBSAMPLE_FROM", 350)
    monkeypatch.setattr(newton, "_on_subsample", lambda *given: starts.append(subsample(*given)) or starts[-1])
    found = solve(p, 1e-6, form)
    above, at_zero = (p.objective(point) - direct.primal for point in (starts[0], p.zero()))
    assert above < 0.7 * at_zero
    assert len(starts) == 1
    assert relative(p, found) <= 1e-6
    assert found.primal == pytest.approx(direct.primal, rel=1e-5)


def test_subsample_that_lacks_a_class_is_not_used(monkeypatch):
    monkeypatch.setattr(newton, "SUBSAMPLE_FROM", 350)
    p = replace(problem(Logistic(), n=400), y=np.where(np.arange(400) < 2, 1.0, -1.0)[:, None])
    start = newton._on_subsample(p, Workspace(p.gram, 10**9), budget())
    assert np.all(start.coef == 0.0)
    assert relative(p, solve(p)) <= 1e-9


def test_steps_near_the_goal_are_no_more_precise_than_it(monkeypatch):
    monkeypatch.setattr(newton, "CHOLESKY_STEPS_UP_TO", 10)
    precise, step = [], newton._Newton._step
    monkeypatch.setattr(newton._Newton, "_step", lambda *given: (precise.append(given[-1]), step(*given))[1])
    p = problem(Logistic(), n=200, strength=0.1)
    gaps = [relative(p, solve(p, 1e-10, max_iter=steps)) for steps in range(solve(p, 1e-10).steps)]
    last = next(s for s, gap in enumerate(gaps) if gap < 1e-4)
    precise.clear()
    assert solve(p, 0.5 * gaps[last]).steps == last + 1
    assert precise[-1] == 0.1 > 0.3 * np.sqrt(gaps[last])


@pytest.mark.parametrize(("intercept", "weighted"), [(True, True), (False, False)])
def test_squared_is_ridge_in_one_step(intercept, weighted):
    p = problem(Squared(), intercept=intercept, weighted=weighted)
    found = solve(p, 1e-12)
    coef, b = ridge(dense(p), p.y.ravel(), p.strength, p.weights.ravel(), intercept)
    np.testing.assert_allclose(found.point.coef.ravel(), coef, atol=1e-9)
    np.testing.assert_allclose(found.point.intercept, b, atol=1e-9)
    assert found.steps == 1


def test_smoothing_finds_support_vector_machines():
    """As LIBSVM, for labels and for numbers."""
    p = problem(Hinge(), n=80, strength=0.5)
    K, found = dense(p), solve(p, 1e-11)
    other = SVC(C=2.0, kernel="precomputed", tol=1e-10).fit(K, p.y.ravel())
    np.testing.assert_allclose(found.point.values.ravel(), other.decision_function(K), atol=1e-4)
    p = problem(EpsilonInsensitive(0.1), n=80, strength=0.5)
    other = SVR(C=2.0, epsilon=0.1, kernel="precomputed", tol=1e-10).fit(K, p.y.ravel())
    np.testing.assert_allclose(solve(p, 1e-11).point.values.ravel(), other.predict(K), atol=1e-4)


@pytest.mark.parametrize("loss", [Logistic(), Multinomial(), Pinball(0.3)], ids=repr)
@pytest.mark.parametrize(("form", "intercept"), [("float64", True), ("float32", False), ("products", True)])
def test_conjugate_gradients_find_the_same(loss, form, intercept, monkeypatch):
    """Steps by conjugate gradients and by Cholesky end at the same objective, in any form of the matrix."""
    p = problem(loss, n=100, strength=0.1, intercept=intercept, weighted=True)
    expected = solve(p, 1e-10)
    monkeypatch.setattr(newton, "CHOLESKY_STEPS_UP_TO", 0)
    found = solve(p, 1e-6, form)
    assert found.primal == pytest.approx(expected.primal, rel=1e-5)
    assert relative(p, found) <= 1e-6


@pytest.mark.parametrize("loss", [Logistic(), Multinomial(), Hinge()], ids=repr)
def test_start_from_the_solution(loss):
    """Warm starts save steps."""
    p = problem(loss, n=60)
    first = solve(p, 1e-6)
    assert solve(p, 1e-6, start=first.point).steps <= max(first.steps // 2, 1)


def test_separable_data():
    """Without noise the losses vanish as the strength does, and nothing overflows."""
    p = problem(Logistic(), n=40, strength=1e-8)
    p = replace(p, y=np.where(dense(p)[:, :1] > 0.5, 1.0, -1.0))
    found = solve(p, 1e-6, max_iter=200)
    assert relative(p, found) <= 1e-6
    assert np.all(p.y * found.point.values > 0)


def test_it_ends_where_rounding_does_not_let_it_on():
    found = solve(problem(Logistic(), n=60, strength=1e-3), 1e-30, max_iter=50)
    assert found.steps < 50
    assert found.primal - found.dual.value <= 1e-9


def test_line_that_goes_up_is_not_followed():
    p = problem(Squared())
    point = solve(p, 1e-12).point
    far, farther = (Point(t * point.coef, point.intercept, t * point.applied) for t in (1.5, 2.0))
    assert newton._line_search(p, far, farther) is None
    assert p.objective(newton._line_search(p, farther, p.zero())) < p.objective(far)


def test_progress_is_reported():
    seen = []
    solve(problem(Logistic(), n=40), progress=lambda what, gap: seen.append((what, gap)))
    assert {what for what, _ in seen} == {"Newton steps"}
    assert seen[-1][1] < seen[0][1]


@each("loss", [Logistic(), Hinge()])
def test_progress_stops_it(loss):
    seen = []
    p = problem(loss, n=40)
    found = solve(p, progress=lambda what, gap: seen.append(gap) or len(seen) == 2)
    assert len(seen) == 2
    assert relative(p, found) > 1e-9


def test_indefinite_matrix_is_refused(rng):
    K = rng.normal(size=(5, 5)) - 10 * np.eye(5)
    matrix = SimpleNamespace(block=lambda rows: K.copy())
    with pytest.raises(np.linalg.LinAlgError, match="far from positive semidefinite"):
        newton._factor(matrix, np.arange(5), np.ones((5, 1)), 0.1)


@pytest.mark.parametrize(
    ("loss", "n", "memory"), [(Logistic(), 1000, 10**9), (Poisson(), 1000, 4 * 10**7), (Multinomial(), 500, 10**9)]
)
def test_bytes_of_a_plan_are_those_of_the_fit(loss, n, memory, peak_of):
    p, limits = problem(loss, n=n), budget(1e-4, memory)
    solve(problem(loss, n=30))
    plan = newton.cost(p, limits)
    peak, _ = peak_of(lambda: newton.solve(p, Workspace(p.gram, memory), limits), 0.8 * plan.bytes)
    assert 0.8 * plan.bytes < peak < 1.2 * plan.bytes


def test_steps_by_cholesky_only_where_they_fit_the_memory(monkeypatch):
    """Half of the memory holds a matrix with a row for each input and output; otherwise conjugate gradients do."""
    used, direct = [], newton._Newton._direct
    monkeypatch.setattr(newton._Newton, "_direct", lambda *given: used.append(given) or direct(*given))
    p = problem(Multinomial(), n=100)
    for memory, by_cholesky in ((16 * 300**2, True), (16 * 300**2 - 1, False)):
        used.clear()
        assert relative(p, newton.solve(p, Workspace(p.gram, memory), budget(1e-6, memory))) <= 1e-6
        assert bool(used) == by_cholesky
