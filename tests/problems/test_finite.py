"""Problems in a span: sums over rows against plain algebra, and gaps that bound the distance to the least objective."""

import numpy as np
from each_case import each

from representer.gram.design import Design
from representer.kernels import Linear
from representer.losses import Hinge, Logistic, Multinomial, Pinball, Squared
from representer.losses.smoothed import Smoothed
from representer.problems.finite import (
    FiniteEigen,
    FiniteProblem,
    FiniteRidge,
    FiniteSystem,
    HessianProduct,
    Line,
    Slopes,
    rows_at,
)
from representer.rows.arrays import ArrayRows

rng = np.random.default_rng(0)
X = rng.normal(size=(40, 3))
signs = np.where(X[:, 0] + 0.3 * rng.normal(size=40) > 0, 1.0, -1.0)
weights = rng.random(40)
DESIGN = Design(Linear().basis(X))


def problem(loss, y=signs, strength=0.7, **options):
    return FiniteProblem(DESIGN, ArrayRows(X, y, weights), loss, strength, **options)


def objective(loss, w, b, y=signs):
    F = X @ w + b
    return float((weights[:, None] * loss.value(y[:, None], F)).sum() + 0.35 * np.sum(w**2))


def test_slopes_are_the_gradient_and_curvatures_its_derivative():
    w, b, p = rng.normal(size=(3, 1)), np.array([0.2]), problem(Logistic())
    g, g_b, value, H, h, total = p.rows.total(Slopes(*DESIGN.at(w), Logistic(), b, True))
    F = X @ w + b
    v, d = (weights[:, None] * part(signs[:, None], F) for part in (Logistic().gradient, Logistic().curvature))
    np.testing.assert_allclose(g, X.T @ v)
    np.testing.assert_allclose([g_b[0], value], [v.sum(), objective(Logistic(), w, b) - 0.35 * np.sum(w**2)])
    np.testing.assert_allclose(H, (X.T * d.ravel()) @ X)
    np.testing.assert_allclose(h, X.T @ d.ravel())
    np.testing.assert_allclose(total, d.sum())


def test_rows_without_curvature_are_left_out():
    _, _, _, H, h, total = problem(Hinge()).rows.total(Slopes(DESIGN, np.zeros((3, 1)), Hinge(), np.zeros(1), True))
    assert not H.any()
    assert not h.any()
    assert total == 0.0


def test_products_with_the_hessian_of_several_outputs():
    y, w, b = rng.integers(3, size=40).astype(float), rng.normal(size=(3, 3)), rng.normal(size=3)
    d, e, step = rng.normal(size=(3, 3)), rng.normal(size=3), 1e-5
    rows, loss = ArrayRows(X, y, weights), Multinomial()
    found, total = rows.total(HessianProduct(*DESIGN.at(w), loss, b, DESIGN.to_features(d), e))
    up, down = (rows.total(Slopes(*DESIGN.at(w + s * d), loss, b + s * e)) for s in (step, -step))
    np.testing.assert_allclose(found, (up[0] - down[0]) / (2 * step), atol=1e-7)
    np.testing.assert_allclose(total, (up[1] - down[1]) / (2 * step), atol=1e-7)


def test_values_on_a_line():
    w, d, b = rng.normal(size=(3, 1)), rng.normal(size=(3, 1)), np.array([0.1])
    steps = np.array([0.0, 0.5, 1.0])
    (values,) = problem(Logistic()).rows.total(Line(*DESIGN.at(w), Logistic(), b, d, np.array([1.0]), steps))
    expected = [objective(Logistic(), w + s * d, b + s) - 0.35 * np.sum((w + s * d) ** 2) for s in steps]
    np.testing.assert_allclose(values, expected)


@each("loss", [Logistic(), Hinge(), Pinball(0.3), Squared()])
@each("intercept", [True, False])
def test_dual_values_bound_all_objectives(loss, intercept):
    """Weak duality: no point has an objective below the dual value of another."""
    p = problem(loss, intercept=intercept)
    points = [(s * rng.normal(size=(3, 1)), np.array([rng.normal()]) * intercept) for s in (0.1, 0.3, 1.0) * 3]
    below = loss if loss.smooth else Smoothed(loss, 0.1)
    judged = [p.judge(w, b, below) for w, b in points]
    for judgement, (w, b) in zip(judged, points, strict=True):
        np.testing.assert_allclose(judgement.primal, objective(loss, w, b))
    assert max(j.dual for j in judged) <= min(j.primal for j in judged)


def test_a_tilt_moves_the_sum_of_slopes():
    zeros = np.zeros(40)
    p = problem(Pinball(1.0 - 1e-12), zeros, tilt=0.3 * weights.sum())
    points = [(0.3 * rng.normal(size=(3, 1)), np.array([-0.3 * rng.random()])) for _ in range(10)]
    judged = [p.judge(w, b, Smoothed(p.loss, 0.05)) for w, b in points]
    for judgement, (w, b) in zip(judged, points, strict=True):
        np.testing.assert_allclose(judgement.primal, objective(p.loss, w, b, zeros) + p.tilt * b[0])
    assert max(j.dual for j in judged) <= min(j.primal for j in judged)
    assert max(j.dual for j in judged) > -np.inf


def test_a_dual_value_above_the_objective_is_no_bound():
    """It contradicts weak duality, so the conjugate is wrong and nothing has converged."""

    class TooLow(Logistic):
        def conjugate(self, y, v):
            return super().conjugate(y, v) - 1.0

    here = np.array([[1.0], [0.0], [0.0]]), np.array([0.1])
    assert problem(Logistic()).judge(*here).residuals[0] < np.inf
    judgement = problem(TooLow()).judge(*here)
    assert judgement.residuals[0] == np.inf
    assert judgement.dual == -np.inf


def test_ridge_bounds_its_distance():
    y, alpha = X @ np.ones((3, 1)) + rng.normal(size=(40, 1)), np.array([0.5])
    ridge = FiniteRidge(DESIGN, ArrayRows(X, y), alpha)
    best = np.linalg.solve(X.T @ X + 0.5 * np.eye(3), X.T @ y)
    w = best + 0.1
    r = y - X @ w
    judgement = ridge.judge(w, np.zeros(1), (X.T @ r - 0.5 * w, (r**2).sum(axis=0), np.ones(1)))
    assert judgement.error_bound[0] >= np.linalg.norm(w - best)
    least = np.sum((y - X @ best) ** 2) + 0.5 * np.sum(best**2)
    assert judgement.dual <= least <= judgement.primal


def test_eigenpairs_of_centred_moments():
    Z = X - X.mean(axis=0)
    values, vectors = np.linalg.eigh(Z.T @ Z)
    values, vectors = values[::-1], vectors[:, ::-1] @ np.array([[1.0, 0.0, 0.0], [0.0, 0.6, -0.8], [0.0, 0.8, 0.6]])
    found = FiniteEigen(DESIGN, ArrayRows(X, np.zeros(40)), X.mean(axis=0)).judge(vectors, values)
    off = np.linalg.norm(Z.T @ Z @ vectors - vectors * values, axis=0) / values[0]
    np.testing.assert_allclose(found.residuals, off, atol=1e-14)
    assert found.residuals[0] < 1e-14 < 1e-3 < found.residuals[1]


def test_small_system_of_a_large_one():
    phi, Z = rng.normal(size=(3, 2)), rng.normal(size=(3, 2))
    found = FiniteSystem(X.T @ X, 0.3).judge(Z, phi)
    left = (X @ X.T + 0.3 * np.eye(40)) @ X @ Z - X @ phi
    np.testing.assert_allclose(found.residuals, np.linalg.norm(left, axis=0) / np.linalg.norm(X @ phi, axis=0))


def test_rows_of_any_type():
    assert rows_at(["a", "b", "c"], np.array([2, 0])) == ["c", "a"]
