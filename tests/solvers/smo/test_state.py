import box_cases
import numpy as np
import pytest

from representer._loops.box_dual import spans
from representer.gram.submatrix import Submatrix
from representer.gram.tiled import Gram
from representer.kernels import RBF
from representer.problems.box import BoxProblem
from representer.solvers.smo import state as engine


@pytest.fixture
def problem(rng):
    """Two groups."""
    n, gram = 12, Gram(RBF(1.0), rng.normal(size=(12, 2)))
    width = rng.uniform(0.5, 2.0, n)
    return BoxProblem(gram, rng.normal(size=n), -width, width, 0.1, groups=np.arange(n) % 2)


@pytest.fixture
def state(problem, rng):
    """Coefficients at either bound, at the kink and in between."""
    kinds = rng.permutation(np.arange(problem.n) % 4)
    c = np.select([kinds == 0, kinds == 1, kinds == 2], [problem.lower, problem.upper, 0.0], 0.5 * problem.upper)
    return state_of(problem, c, box_cases.dense(problem) @ c - problem.targets)


def state_of(problem, c, g, **more):
    return engine.State(c, g, problem.gram, Submatrix(problem.gram), **more)


def kkt_of(problem, state):
    return engine.KKT.of(problem, state.c, state.g)


def test_kkt_conditions_are_one_sided_derivatives(problem, state):
    K = box_cases.dense(problem)

    def value(c):
        return 0.5 * c @ K @ c - problem.targets @ c + problem.epsilon * np.abs(c).sum()

    kkt, step = kkt_of(problem, state), 1e-7
    for i, c in enumerate(state.c):
        e = step * np.eye(problem.n)[i]
        up, down = (value(state.c + e) - value(state.c)) / step, (value(state.c) - value(state.c - e)) / step
        assert kkt.g_up[i] == (np.inf if c == problem.upper[i] else pytest.approx(up, abs=1e-5))
        assert kkt.g_down[i] == (-np.inf if c == problem.lower[i] else pytest.approx(down, abs=1e-5))
    for s in (0, 1):
        mine = problem.groups == s
        assert (kkt.low[s], kkt.high[s]) == (kkt.g_up[mine].min(), kkt.g_down[mine].max())
    assert kkt.g_up[kkt.worst[::2]].tolist() == kkt.low.tolist()
    assert kkt.g_down[kkt.worst[1::2]].tolist() == kkt.high.tolist()
    assert problem.groups[kkt.worst].tolist() == [0, 0, 1, 1]
    assert kkt.violation == kkt.violations.max() == pytest.approx(box_cases.violation(problem, K, state.c))


def test_priority_of_free_coefficients_and_violators(problem, state):
    kkt = kkt_of(problem, state)
    aim = np.median(kkt.violations)
    priority = kkt.priority(aim, 0)
    assert np.all(priority[kkt.free] >= kkt.violations.max())
    assert np.array_equal(priority > 0.0, kkt.free | (kkt.violations > aim))


def test_intercepts_are_those_of_free_coefficients_or_between_the_extremes(problem, state):
    kkt = kkt_of(problem, state)
    assert kkt.intercepts[0] == pytest.approx(-kkt.g_up[kkt.free & (problem.groups == 0)].mean())
    state.c = np.where(problem.groups == 1, problem.upper, problem.lower)
    ends = kkt_of(problem, state)
    assert ends.intercepts == pytest.approx([-ends.low[0], -ends.high[1]])


def test_steps_reach_the_aim_and_keep_the_sums(problem, state):
    order = np.argsort(problem.groups, kind="stable")
    K = box_cases.dense(problem)[np.ix_(order, order)]
    c, g, sums = state.c[order], state.g[order], np.bincount(problem.groups, state.c)
    box = problem.lower[order], problem.upper[order], problem.epsilon
    pieces = spans(problem.groups[order], np.arange(problem.n), 4)
    assert engine.take_steps(K, g, c, (K.diagonal().copy(), *box, pieces), 1e-6, 1000, state, None) <= 1e-6
    assert 0 < state.steps < 1000
    state.c[order], state.g[order] = c, g
    assert kkt_of(problem, state).violation <= 1e-6
    assert np.bincount(problem.groups, state.c) == pytest.approx(sums)
    np.testing.assert_allclose(state.g, box_cases.dense(problem) @ state.c - problem.targets, atol=1e-12)


# ---- two threads ----


@pytest.fixture
def many(rng, monkeypatch):
    """Steps of two threads, on coefficients that count as many: a function that returns state, c, g and violation."""
    n = 200
    problem = BoxProblem(Gram(RBF(1.0), rng.normal(size=(n, 3))), rng.normal(size=n), *np.full((2, n), 2.0))
    K, pieces = box_cases.dense(problem), spans(np.zeros(n, int), np.arange(n), 50)
    monkeypatch.setattr(engine, "OUT_OF_CACHE", n)

    def stepped(**more):
        c, g = np.zeros(n), -problem.targets
        state = state_of(problem, c, g, **more)
        box = K.diagonal().copy(), np.full(n, -2.0), np.full(n, 2.0), 0.1, pieces
        violation = engine.take_steps(K, g, c, box, 1e-6, 10**5, state, None)
        return state, c, g, violation

    return stepped


def test_two_threads_find_what_one_does(many, monkeypatch):
    one = many(one_thread=True)
    for patience in ((10**15, 0), (-1, 0), (10**15, -(10**14))):  # no timeout, or in the first step, or a later one
        monkeypatch.setattr(engine, "PATIENCE", patience)
        state, c, g, violation = many()
        assert state.steps == one[0].steps > 100
        assert np.array_equal(c, one[1])
        assert np.array_equal(g, one[2])
        assert violation == one[3] <= 1e-6


@pytest.mark.parametrize(("thread", "error"), [(0, KeyboardInterrupt), (1, MemoryError)])
def test_a_thread_that_failed_holds_up_no_other(thread, error, many, monkeypatch):
    steps = engine.out_of_cache.smo_steps_out_of_cache

    def failing(*arguments):
        if arguments[-1] == thread:
            raise error
        return steps(*arguments)

    monkeypatch.setattr(engine.out_of_cache, "smo_steps_out_of_cache", failing)
    monkeypatch.setattr(engine, "PATIENCE", (10**15, 0))
    with pytest.raises(error):
        many()


def test_values_that_are_not_finite_are_refused():
    with pytest.raises(ValueError, match="scale the inputs"):
        engine.require_finite(np.array([1.0, np.inf]))
