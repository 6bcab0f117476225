import numpy as np
import pytest
from machine_cases import problem

from representer.losses import CustomLoss, Huber, Logistic, Squared
from representer.solvers import lbfgs, newton
from representer.solvers.matrix import Matrix


def own(loss):
    """The same loss, of which only value and gradient are known."""
    return CustomLoss(loss.value, loss.gradient, targets=loss.targets)


@pytest.mark.parametrize("loss", [Squared(), Huber(0.3), Logistic()], ids=repr)
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("strength", [0.01, 3.0])
def test_as_newton(loss, intercept, strength):
    p = problem(loss, n=60, strength=strength, intercept=intercept, weighted=True)
    expected = newton.solve(p, Matrix(p, "float64"), tol=1e-12)
    q = problem(own(loss), n=60, strength=strength, intercept=intercept, weighted=True)
    q.y = p.y
    found = lbfgs.solve(q, Matrix(q, "float64"), tol=1e-8)
    scale = p.scale(expected.point)
    assert found.primal == pytest.approx(expected.primal, abs=1e-7 * scale)
    assert expected.primal - 1e-10 * scale <= found.primal
    assert found.dual.value <= expected.primal + 1e-10 * scale
    assert found.primal - found.dual.value <= 1e-7 * scale


def test_stopped_early_the_bound_holds():
    p = problem(own(Squared()), n=60, strength=0.1)
    least = newton.solve(problem(Squared(), n=60, strength=0.1), Matrix(p, "float64"), tol=1e-12).primal
    for steps in (1, 3, 10):
        found = lbfgs.solve(p, Matrix(p, "float64"), tol=1e-12, max_iter=steps)
        assert found.dual.value <= least + 1e-9
        assert found.primal >= least - 1e-9


def test_start_from_the_solution():
    p = problem(own(Logistic()), n=60)
    matrix = Matrix(p, "float64")
    first = lbfgs.solve(p, matrix, tol=1e-6)
    assert lbfgs.solve(p, matrix, tol=1e-6, start=first.point).steps < first.steps / 2


def test_loss_that_is_not_convex():
    """A redescending loss ignores an outlier."""
    cauchy = CustomLoss(
        lambda y, f: np.log1p((f - y) ** 2), lambda y, f: 2 * (f - y) / (1 + (f - y) ** 2), convex=False
    )
    p = problem(cauchy, n=60, strength=0.1)
    p.y[7] = 50.0
    seen = []
    found = lbfgs.solve(p, Matrix(p, "float64"), tol=1e-6, progress=lambda what, gap: seen.append(what))
    assert abs(found.point.values[7, 0]) < 3.0
    assert set(seen) == {"L-BFGS"}
    assert found.primal - found.dual.value <= 1e-4  # here the square of the gradient
