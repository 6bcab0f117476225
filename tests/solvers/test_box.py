from dataclasses import replace

import numpy as np
import pytest

from representer._loops.box import spans
from representer.kernels import RBF
from representer.problem import BoxProblem
from representer.solvers import box


@pytest.fixture
def problem(rng):
    """Two groups, and coefficients at either bound, at the kink and in between."""
    n = 12
    groups, width = np.arange(n) % 2, rng.uniform(0.5, 2.0, n)
    return BoxProblem(RBF(1.0), rng.normal(size=(n, 2)), rng.normal(size=n), -width, width, 0.1, groups=groups)


@pytest.fixture
def state(problem, rng):
    kinds = rng.permutation(np.arange(problem.n) % 4)
    c = np.select([kinds == 0, kinds == 1, kinds == 2], [problem.lower, problem.upper, 0.0], 0.5 * problem.upper)
    return box.State(c, problem.kernel(problem.X) @ c - problem.targets)


def test_rates_are_slopes_of_the_objective(problem, state):
    K = problem.kernel(problem.X)

    def value(c):
        return 0.5 * c @ K @ c - problem.targets @ c + problem.epsilon * np.abs(c).sum()

    rates, step = box.Rates.of(problem, state), 1e-7
    for i, c in enumerate(state.c):
        e = step * np.eye(problem.n)[i]
        up, down = (value(state.c + e) - value(state.c)) / step, (value(state.c) - value(state.c - e)) / step
        assert rates.rise[i] == (np.inf if c == problem.upper[i] else pytest.approx(up, abs=1e-5))
        assert rates.fall[i] == (-np.inf if c == problem.lower[i] else pytest.approx(down, abs=1e-5))
    for s in (0, 1):
        mine = problem.groups == s
        assert (rates.low[s], rates.high[s]) == (rates.rise[mine].min(), rates.fall[mine].max())
    assert rates.violation == (rates.high - rates.low).max()
    assert rates.violations.max() == rates.violation


def test_steps_reach_the_aim_and_keep_the_sums(problem, state):
    K, order = problem.kernel(problem.X), np.argsort(problem.groups, kind="stable")
    c, g, sums = state.c[order], state.g[order], [state.c[problem.groups == s].sum() for s in (0, 1)]
    K = K[order][:, order]
    pieces = spans(problem.groups[order], np.arange(problem.n), 4)
    bounds = K.diagonal().copy(), problem.lower[order], problem.upper[order], problem.epsilon, pieces
    state.K = K
    assert box.take_steps(state, g, c, bounds, 1e-6, 1000, None) <= 1e-6
    assert 0 < state.steps < 1000
    state.c[order], state.g[order] = c, g
    assert box.Rates.of(problem, state).violation <= 1e-6
    assert [state.c[problem.groups == s].sum() for s in (0, 1)] == pytest.approx(sums)
    np.testing.assert_allclose(state.g, problem.kernel(problem.X) @ state.c - problem.targets, atol=1e-12)


@pytest.fixture
def many(monkeypatch):
    """Coefficients that count as many, so that two threads step on them: their state, and what steps need."""
    rng, n = np.random.default_rng(0), 200
    K = RBF(1.0)(rng.normal(size=(n, 3)))
    bounds = K.diagonal().copy(), np.full(n, -2.0), np.full(n, 2.0), 0.1, spans(np.zeros(n, int), np.arange(n), 50)
    monkeypatch.setattr(box, "FAR", n)
    return box.State(np.zeros(n), -rng.normal(size=n), K=K), bounds


def stepped(many, **more):
    state, bounds = many
    state = replace(state, **more)
    c, g = state.c.copy(), state.g.copy()
    violation = box.take_steps(state, g, c, bounds, 1e-6, 10**5, None)
    return state, c, g, violation


def test_two_threads_find_what_one_does(many, monkeypatch):
    one, found = stepped(many, alone=True), []
    for patience in ((10**15, 0), (-1, 0), (10**15, -(10**14))):  # nobody is late, or in the first step, or a later one
        monkeypatch.setattr(box, "PATIENCE", patience)
        found.append(stepped(many))
    for state, c, g, violation in found:
        assert state.steps == one[0].steps > 100
        assert np.array_equal(c, one[1])
        assert np.array_equal(g, one[2])
        assert violation == one[3] <= 1e-6


@pytest.mark.parametrize(("who", "error"), [(0, KeyboardInterrupt), (1, MemoryError)])
def test_no_thread_waits_for_one_that_has_failed(who, error, many, monkeypatch):
    steps = box.smo.far_steps

    def failing(*arguments):
        if arguments[-1] == who:
            raise error
        return steps(*arguments)

    monkeypatch.setattr(box.smo, "far_steps", failing)
    monkeypatch.setattr(box, "PATIENCE", (10**15, 0))
    with pytest.raises(error):
        stepped(many)


def test_intercepts_are_rates_of_free_coefficients_or_between_the_extremes(problem, state):
    rates = box.Rates.of(problem, state)
    first = rates.intercepts
    assert first[0] == pytest.approx(-rates.rise[rates.free & (problem.groups == 0)].mean())
    state.c = np.where(problem.groups == 1, problem.upper, problem.lower)
    ends = box.Rates.of(problem, state)
    assert ends.intercepts == pytest.approx([-ends.low[0], -ends.high[1]])


def test_worst_coefficients_of_each_group(problem, state):
    rates = box.Rates.of(problem, state)
    assert rates.rise[rates.worst[::2]].tolist() == rates.low.tolist()
    assert rates.fall[rates.worst[1::2]].tolist() == rates.high.tolist()
    assert problem.groups[rates.worst].tolist() == [0, 0, 1, 1]


def test_values_that_are_not_finite_are_told():
    with pytest.raises(ValueError, match="scale the inputs"):
        box.require_finite(np.array([1.0, np.inf]))


@pytest.mark.parametrize(
    ("sizes", "more", "few"),
    [([300, 300, 99], 0, True), ([300, 300, 99], -1, False), ([400, 300, 5], 0, False), ([300] * 11, 0, False)],
)
def test_small_pairs_share_matrices_if_there_is_room(sizes, more, few):
    sizes = np.array(sizes)
    room = 2 * 8 * sizes.sum() ** 2 + 3 * 12 * np.sort(sizes)[-2:].sum() ** 2 + more
    assert box.are_few(sizes, room, 3, matrices=2) == few
