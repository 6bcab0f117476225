import numpy as np
import pytest
from machine_cases import KINKED, LOSSES, SMOOTH, brute_force, problem
from ridge_cases import ridge
from sklearn.svm import SVC, SVR

from representer.kernels import RBF
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
from representer.problem import Problem
from representer.solvers import newton
from representer.solvers.matrix import Matrix


def solve(p, tol=1e-9, form="float64", **more):
    return newton.solve(p, Matrix(p, form), tol=tol, **more)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize(("intercept", "weighted"), [(True, False), (False, False), (True, True)])
@pytest.mark.parametrize("strength", [1e-3, 0.3, 30.0])
def test_gap_closes(loss, intercept, weighted, strength):
    p = problem(loss, intercept=intercept, weighted=weighted, strength=strength)
    found = solve(p, max_iter=500)
    assert -1e-12 * p.scale(found.point) <= found.primal - found.dual.value <= 1e-9 * p.scale(found.point)
    np.testing.assert_allclose(found.point.applied, p.kernel(p.X) @ found.point.coef, atol=1e-9)
    assert found.primal == pytest.approx(p.objective(found.point), rel=1e-12)
    if intercept:
        assert np.abs(found.point.coef.sum(axis=0)).max() <= 1e-8 * np.abs(found.point.coef).sum()


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("intercept", [True, False])
def test_as_brute_force(loss, intercept):
    """Another optimiser finds no lower value, and nearly the same one."""
    p = problem(loss, n=12, intercept=intercept)
    value, found = brute_force(p), solve(p)
    assert found.primal <= value + 1e-5 * abs(value) + 1e-5
    assert found.dual.value <= value + 1e-4 * (1 + abs(value))


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_gap_bounds_the_suboptimality_at_every_step(loss):
    """Stopped anywhere, the objective is at most the gap above the least one."""
    p = problem(loss, n=40, strength=0.01)
    least = solve(p, 1e-11, max_iter=1000).primal
    scale = 1e-9 * (1 + abs(least))
    for steps in range(6):
        found = solve(p, 1e-11, max_iter=steps)
        assert found.dual.value <= least + scale
        assert found.primal >= least - scale
        assert found.primal - least <= found.primal - found.dual.value + scale


@pytest.mark.parametrize("loss", [Huber(0.5), SquaredHinge()], ids=repr)
def test_weak_regularisers_where_many_inputs_have_no_curvature(loss, monkeypatch):
    """Conjugate gradients find steps that are as good as those by Cholesky, and as few of them."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(800, 5))
    y = np.sin(2.0 * X[:, :1]) + X[:, 1:2] * X[:, 2:3] + 0.3 * rng.standard_t(2, size=(800, 1))
    y = np.where(y > 0.0, 1.0, -1.0) if isinstance(loss, SquaredHinge) else y
    p = Problem(RBF(2.0), X, y, loss, 1e-3, np.ones((800, 1)))
    direct = solve(p, 1e-6)
    monkeypatch.setattr(newton, "DIRECT_UP_TO", 10)
    found = solve(p, 1e-6)
    assert found.primal - found.dual.value <= 1e-6 * p.scale(found.point)
    assert found.primal == pytest.approx(direct.primal, rel=1e-5)
    assert found.steps <= 2 * direct.steps


@pytest.mark.parametrize("loss", SMOOTH, ids=repr)
@pytest.mark.parametrize("form", ["float64", "float32"])
def test_some_of_many_inputs_tell_where_to_start(loss, form, monkeypatch):
    """Nearer to the solution than f = 0, which is the same then."""
    p = problem(loss, n=1200, weighted=True, strength=10.0)
    direct, starts, tell = solve(p, 1e-6), [], newton._by_a_part
    monkeypatch.setattr(newton, "DIRECT_UP_TO", 40)
    monkeypatch.setattr(newton, "PART_FROM", 350)
    monkeypatch.setattr(newton, "_by_a_part", lambda *given: starts.append(tell(*given)) or starts[-1])
    found = solve(p, 1e-6, form)
    above, at_zero = (p.objective(point) - direct.primal for point in (starts[0], p.zero()))
    assert above < 0.7 * at_zero
    assert len(starts) == 1
    assert found.primal - found.dual.value <= 1e-6 * p.scale(found.point)
    assert found.primal == pytest.approx(direct.primal, rel=1e-5)


def test_a_part_that_lacks_a_class_tells_nothing(monkeypatch):
    monkeypatch.setattr(newton, "PART_FROM", 350)
    p = problem(Logistic(), n=400)
    p.y = np.where(np.arange(400) < 2, 1.0, -1.0)[:, None]
    start = newton._by_a_part(p, Matrix(p, "float64"), 200)
    assert np.all(start.coef == 0.0)
    found = solve(p)
    assert found.primal - found.dual.value <= 1e-9 * p.scale(found.point)


def test_rough_goals_take_fewer_products(monkeypatch):
    """Near its goal a step is found no more precisely than that."""
    monkeypatch.setattr(newton, "DIRECT_UP_TO", 10)
    precise, step = [], newton._Newton._step
    monkeypatch.setattr(
        newton._Newton, "_step", lambda *arguments: (precise.append(arguments[-1]), step(*arguments))[1]
    )
    p = problem(Logistic(), n=200, strength=0.1)
    path = solve(p, 1e-10)
    gaps = [solve(p, 1e-10, max_iter=steps) for steps in range(path.steps)]
    gaps = [(found.primal - found.dual.value) / p.scale(found.point) for found in gaps]
    last = next(s for s, gap in enumerate(gaps) if gap < 1e-4)
    assert gaps[last] > 1e-10
    precise.clear()
    rough = solve(p, 0.5 * gaps[last])
    assert rough.steps == last + 1
    assert precise[-1] == 0.1 > 0.3 * np.sqrt(gaps[last])


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_squared_is_ridge_in_one_step(intercept, weighted):
    p = problem(Squared(), intercept=intercept, weighted=weighted)
    found = solve(p, 1e-12)
    weights = p.weights.ravel()
    coef, b = ridge(p.kernel(p.X), p.y.ravel(), p.strength, weights, intercept)
    np.testing.assert_allclose(found.point.coef.ravel(), coef, atol=1e-9)
    np.testing.assert_allclose(found.point.intercept, b, atol=1e-9)
    assert found.steps == 1


def test_hinge_is_svc():
    p = problem(Hinge(), n=80, strength=0.5)
    found, other = solve(p, 1e-11), SVC(C=2.0, kernel="precomputed", tol=1e-10).fit(p.kernel(p.X), p.y.ravel())
    expected = other.decision_function(p.kernel(p.X))
    np.testing.assert_allclose(found.point.values.ravel(), expected, atol=1e-4)
    square = other.dual_coef_ @ p.kernel(p.X)[np.ix_(other.support_, other.support_)] @ other.dual_coef_.T
    theirs = np.maximum(0, 1 - p.y.ravel() * expected).sum() + 0.25 * square.item()
    assert theirs - 1e-6 <= found.primal <= theirs + 1e-9


def test_epsilon_insensitive_is_svr():
    p = problem(EpsilonInsensitive(0.1), n=80, strength=0.5)
    found = solve(p, 1e-11)
    other = SVR(C=2.0, epsilon=0.1, kernel="precomputed", tol=1e-10).fit(p.kernel(p.X), p.y.ravel())
    np.testing.assert_allclose(found.point.values.ravel(), other.predict(p.kernel(p.X)), atol=1e-4)


@pytest.mark.parametrize("loss", [Logistic(), Poisson(), Multinomial(), Pinball(0.3)], ids=repr)
@pytest.mark.parametrize("form", ["float64", "float32", "operator"])
@pytest.mark.parametrize("intercept", [True, False])
def test_conjugate_gradients_find_the_same(loss, form, intercept, monkeypatch):
    """Steps by conjugate gradients and by Cholesky end at the same objective, in any form of the matrix."""
    p = problem(loss, n=200, strength=0.1, intercept=intercept, weighted=True)
    expected = solve(p, 1e-10)
    monkeypatch.setattr(newton, "DIRECT_UP_TO", 0)
    found = solve(p, 1e-6, form, max_iter=500)
    assert found.primal == pytest.approx(expected.primal, rel=1e-5)
    assert found.primal - found.dual.value <= 1e-6 * p.scale(found.point)


@pytest.mark.parametrize("loss", SMOOTH + KINKED, ids=repr)
def test_start_from_the_solution(loss):
    """Warm starts save steps."""
    p = problem(loss, n=60)
    first = solve(p, 1e-6)
    assert solve(p, 1e-6, start=first.point).steps <= max(first.steps // 2, 1)


def test_several_quantiles_are_solved_one_by_one():
    p = problem(Pinball([0.1, 0.5, 0.9]), n=50)
    found = solve(p)
    for j, level in enumerate([0.1, 0.5, 0.9]):
        alone = solve(problem(Pinball(level), n=50))
        np.testing.assert_allclose(found.point.values[:, j], alone.point.values[:, 0], atol=1e-10)


def test_separable_data():
    """Without noise the losses vanish as the strength does, and nothing overflows."""
    p = problem(Logistic(), n=40, strength=1e-8)
    p.y = np.where(p.X[:, :1] > 0, 1.0, -1.0)
    found = solve(p, 1e-6, max_iter=200)
    assert found.primal - found.dual.value <= 1e-6 * p.scale(found.point)
    assert np.all(p.y * found.point.values > 0)


def test_it_ends_where_rounding_does_not_let_it_on():
    p = problem(Logistic(), n=60, strength=1e-3)
    found = solve(p, 1e-30, max_iter=50)
    assert found.steps < 50
    assert found.primal - found.dual.value <= 1e-9


def test_few_steps_are_kept_to():
    p = problem(Hinge(), n=60, strength=1e-3)
    assert solve(p, 1e-12, max_iter=3).steps <= 3


def test_progress_is_told():
    seen = []
    solve(problem(Logistic(), n=40), progress=lambda what, gap: seen.append((what, gap)))
    assert {what for what, _ in seen} == {"Newton steps"}
    assert seen[-1][1] < seen[0][1]


def test_indefinite_matrix_is_told(rng):
    K = rng.normal(size=(5, 5)) - 10 * np.eye(5)
    with pytest.raises(np.linalg.LinAlgError, match="far from positive semidefinite"):
        newton._factor(K, np.ones((5, 1)), 1, 0.1)
