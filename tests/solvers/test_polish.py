import numpy as np
import pytest
from scipy.optimize import LinearConstraint, minimize

from representer.kernels import RBF
from representer.problem import BoxProblem
from representer.solvers.box import Rates, State
from representer.solvers.polish import polish


def problem_of(rng, n=14, epsilon=0.0):
    t = np.where(np.arange(n) % 2, 1.0, -1.0)
    if epsilon:
        return BoxProblem(RBF(1.0), rng.normal(size=(n, 2)), rng.normal(size=n), -np.ones(n), np.ones(n), epsilon)
    return BoxProblem(RBF(1.0), rng.normal(size=(n, 2)), t, np.minimum(2.0 * t, 0.0), np.maximum(2.0 * t, 0.0))


def rough(problem):
    """A solution to some digits by a general solver, with coefficients near a bound or kink at it."""
    K, n = problem.kernel(problem.X), problem.n

    def value(z):
        c = z[:n] - z[n:]
        return 0.5 * c @ K @ c - problem.targets @ c + problem.epsilon * z.sum()

    found = minimize(
        value,
        np.zeros(2 * n),
        method="SLSQP",
        bounds=[*zip(np.zeros(n), problem.upper, strict=True), *zip(np.zeros(n), -problem.lower, strict=True)],
        constraints=LinearConstraint(np.concatenate([np.ones(n), -np.ones(n)]), 0.0, 0.0),
        options={"ftol": 1e-13, "maxiter": 1000},
    )
    c = found.x[:n] - found.x[n:]
    for edge in (problem.lower, problem.upper, np.zeros(n)):
        c = np.where(np.abs(c - edge) < 1e-3, edge, c)
    free = (c > problem.lower) & (c < problem.upper) & (c != 0.0)
    c[np.flatnonzero(free)[0]] -= c.sum()
    return State(c, K @ c - problem.targets)


@pytest.mark.parametrize("epsilon", [0.0, 0.1])
@pytest.mark.parametrize("number", [np.float32, np.float64])
def test_digits_that_steps_leave_are_found(number, epsilon, rng):
    """Also where the matrix that steps took is float32, or in another order."""
    problem = problem_of(rng, epsilon=epsilon)
    state = rough(problem)
    state.chosen = rng.permutation(problem.n)
    state.K = problem.kernel(problem.X)[np.ix_(state.chosen, state.chosen)].astype(number)
    before = Rates.of(problem, state)
    assert 1e-9 < before.violation < 0.1
    polish(problem, state, before, lambda rates, tol: pytest.fail("needs no steps"))
    after = Rates.of(problem, state)
    assert after.violation < 1e-12
    assert abs(state.c.sum()) < 1e-12
    np.testing.assert_allclose(state.g, problem.kernel(problem.X) @ state.c - problem.targets, atol=1e-13)


def test_nothing_is_lost_where_no_digit_is_gained(rng):
    """Coefficients at a bound that should not be there: Newton steps among the others do not help, so they go."""
    problem = problem_of(rng)
    state = State(np.zeros(problem.n), -problem.targets)
    asked = []
    polish(problem, state, Rates.of(problem, state), lambda rates, tol: bool(asked.append(tol)))
    assert asked == [1e-5]
    assert not np.any(state.c)
