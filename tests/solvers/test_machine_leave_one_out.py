import numpy as np
import pytest
from each_case import each

from representer import Gram
from representer.kernels import Matern
from representer.losses import Hinge, Huber, Logistic, Pinball, Poisson, Squared
from representer.losses.softened import Softened
from representer.problems.loss import LossProblem
from representer.problems.ridge import RidgeProblem
from representer.regularizers import SquaredNorm
from representer.result import Budget
from representer.solvers import newton
from representer.solvers.leave_one_out import loo_error
from representer.solvers.machine_leave_one_out import machine_loss
from representer.solvers.workspace import Workspace

N = 40
RNG = np.random.default_rng(3)
X = RNG.normal(size=(N, 2))
F = np.sin(2.0 * X[:, :1])
Y = {
    "real": F + 0.3 * RNG.normal(size=(N, 1)),
    "signs": np.sign(F + 0.3 * RNG.normal(size=(N, 1))),
    "counts": RNG.poisson(np.exp(F)).astype(float),
}
WEIGHTS = RNG.uniform(0.5, 2.0, (N, 1))
LOSSES = [Logistic(), Poisson(), Huber(0.3), Softened(Hinge(), 0.2), Softened(Pinball(0.3), 0.1)]


def problem(loss, scales=(1.0, 1.3), strength=0.5, rows=slice(None), intercept=True):
    gram = Gram(Matern(np.array(scales), nu=1.5), X[rows])
    return LossProblem(gram, Y[loss.targets][rows], loss, SquaredNorm(strength), WEIGHTS[rows], intercept)


def at(*args, **options):
    p = problem(*args, **options)
    return machine_loss(p, Workspace(p.gram, 2**40))


def without(loss, i):
    """The value at x_i of the machine that is fitted without it."""
    p = problem(loss, rows=np.arange(N) != i)
    point = newton.solve(p, Workspace(p.gram, 2**40), Budget(2**40, 1e-12)).point
    return float((p.gram.kernel(X[[i]], p.gram.X) @ point.coef + point.intercept)[0, 0])


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_predictions_are_near_those_of_n_fits(loss):
    found = at(loss)
    exact = np.array([[without(loss, i)] for i in range(N)])
    change = np.abs(found.point.values - exact)
    assert np.corrcoef(found.predictions.ravel(), exact.ravel())[0, 1] > 0.99
    assert np.mean(np.abs(found.predictions - exact)) < 0.2 * change.mean()
    y = Y[loss.targets]
    least = loss.conjugate(y, np.zeros_like(y))
    assert found.total == pytest.approx(float((WEIGHTS * (loss.value(y, exact) + least)).sum()), rel=0.1)


@each("loss", LOSSES)
@each("intercept", [True, False])
def test_gradient(loss, intercept):
    found, step = at(loss, intercept=intercept), 1e-4

    def slope(up, down):
        totals = [at(loss, scales, strength, intercept=intercept).total for scales, strength in (up, down)]
        return (totals[0] - totals[1]) / (2 * step)

    expected = [
        slope(((1.0 + step, 1.3), 0.5), ((1.0 - step, 1.3), 0.5)),
        slope(((1.0, 1.3 + step), 0.5), ((1.0, 1.3 - step), 0.5)),
        slope(((1.0, 1.3), 0.5 * np.exp(step)), ((1.0, 1.3), 0.5 * np.exp(-step))),
    ]
    actual = [*found.gradients["length_scale"], found.by_log_strength]
    np.testing.assert_allclose(actual, expected, rtol=1e-4, atol=1e-4 * np.abs(expected).max())


@pytest.mark.parametrize("intercept", [True, False])
def test_squared_loss_is_ridge_regression(intercept):
    """Where one Newton step is exact; the loss is half the square."""
    p, total = problem(Squared(), intercept=intercept), WEIGHTS.sum()
    value, gradients, by_alpha = loo_error(RidgeProblem(p.gram, p.y, np.array([0.5]), WEIGHTS[:, 0], intercept))
    found = machine_loss(p, Workspace(p.gram, 2**40))
    assert found.total / total == pytest.approx(0.5 * value, rel=1e-9)
    np.testing.assert_allclose(found.gradients["length_scale"] / total, 0.5 * gradients["length_scale"], rtol=1e-7)
    assert found.by_log_strength / total == pytest.approx(0.5 * 0.5 * by_alpha, rel=1e-7)


def test_a_start_gives_the_same():
    cold = at(Logistic())
    p = problem(Logistic())
    warm = machine_loss(p, Workspace(p.gram, 2**40), cold.point)
    assert warm.total == pytest.approx(cold.total, rel=1e-9)
