import box_cases
import numpy as np
import pytest

from representer.gram.submatrix import Submatrix
from representer.gram.tiled import Gram
from representer.kernels import RBF
from representer.problems.box import BoxProblem
from representer.solvers import smo
from representer.solvers.smo import working_set
from representer.solvers.smo.polish import polish
from representer.solvers.smo.state import KKT, State


def problem_of(rng, epsilon, groups=None):
    n = 14
    gram, t = Gram(RBF(1.0), rng.normal(size=(n, 2))), np.where(np.arange(n) % 2, 1.0, -1.0)
    if epsilon:
        return BoxProblem(gram, rng.normal(size=n), -np.ones(n), np.ones(n), epsilon, groups)
    return box_cases.hinge(gram, t, 2.0)


def state_of(problem, c):
    return State(c, box_cases.dense(problem) @ c - problem.targets, problem.gram, Submatrix(problem.gram))


@pytest.mark.parametrize(("epsilon", "groups"), [(0.0, None), (0.1, None), (0.1, np.arange(14) % 2)])
def test_digits_that_steps_leave_are_found(epsilon, groups, rng, monkeypatch):
    problem = problem_of(rng, epsilon, groups)
    monkeypatch.setattr(working_set, "POLISH_UP_TO", 0)
    rough = smo.solve(problem, box_cases.budget(1e-4), "")
    state, K = state_of(problem, rough.coef), box_cases.dense(problem)
    before = KKT.of(problem, state.c, state.g)
    assert 1e-9 < before.violation <= 1e-4
    after = polish(problem, state, before, K, 10**6)
    assert after.violation == pytest.approx(box_cases.violation(problem, K, state.c), abs=1e-14)
    assert after.violation < 1e-12
    assert problem.infeasibility(state.c) < 1e-13
    np.testing.assert_allclose(state.g, K @ state.c - problem.targets, atol=1e-13)


@pytest.mark.parametrize("limit", [0, 10**6])
def test_nothing_is_lost_where_no_digit_is_gained(limit, rng):
    """Newton steps among free coefficients do not help where others should be free, too; more steps find those."""
    problem = problem_of(rng, 0.0)
    state, K = state_of(problem, np.zeros(problem.n)), box_cases.dense(problem)
    before = KKT.of(problem, state.c, state.g)
    after = polish(problem, state, before, K, limit)
    if limit:
        assert after.violation < 1e-12
    else:
        assert after is before
        assert not np.any(state.c)


def test_sums_hold_for_kernel_values_of_any_size(rng):
    """Unscaled, the sum of changes would be rounding error next to kernel values of 1e15."""
    problem = problem_of(rng, 0.0)
    for scale in (1e-12, 1.0, 1e15):
        K = scale * box_cases.dense(problem)
        larger = BoxProblem(
            Gram(scale * RBF(1.0), problem.gram.X), problem.targets, problem.lower / scale, problem.upper / scale
        )
        found = smo.solve(larger, box_cases.budget(1e-3), "")
        assert found.certificate.residual < 1e-11
        assert abs(found.coef.sum()) <= 1e-12 * np.abs(found.coef).sum()
        assert found.certificate.residual == pytest.approx(box_cases.violation(larger, K, found.coef), abs=1e-12)


def test_digits_are_found_where_inputs_are_equal(rng):
    """The system of free coefficients is singular then, so that L D L' does not solve it."""
    once = problem_of(rng, 0.0)
    best = smo.solve(once, box_cases.budget(1e-3), "").coef
    twice = box_cases.hinge(Gram(RBF(1.0), np.repeat(once.gram.X, 2, axis=0)), np.repeat(once.targets, 2), 1.0)
    rough = np.where(np.abs(best) % 2.0 > 0.0, 0.999 * best, best)
    state, K = state_of(twice, np.repeat(0.5 * rough, 2)), box_cases.dense(twice)
    before = KKT.of(twice, state.c, state.g)
    assert np.linalg.matrix_rank(K[np.ix_(before.free, before.free)]) < before.free.sum()
    polish(twice, state, before, K, 10**6)
    assert box_cases.violation(twice, K, state.c) < 1e-12
    np.testing.assert_allclose(state.c.reshape(-1, 2).sum(axis=1), best, atol=1e-9)
