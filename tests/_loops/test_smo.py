from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from representer._loops import pair, smo
from representer._loops.conjugate import PLACES
from representer._loops.rates import rates


def problem(n, seed, epsilon=0.0, n_groups=1):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    K = np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(axis=2)).astype(np.float32)
    lower, upper = -rng.uniform(0.1, 2.0, n), rng.uniform(0.1, 2.0, n)
    groups = np.sort(rng.integers(0, n_groups, n))
    return K, rng.normal(size=n), lower, upper, epsilon, groups


def spans_of(groups, size):
    rows = []
    for s in np.unique(groups):
        index = np.flatnonzero(groups == s)
        rows += [(i, min(i + size, index[-1] + 1), s, 0) for i in range(index[0], index[-1] + 1, size)]
    return np.array(rows)


def run(K, t, lower, upper, epsilon, groups, tol=1e-6, max_steps=10**6, size=7):
    c, g = np.zeros(len(t)), -t
    steps, violation = smo.pair_steps(
        K, g, c, np.diag(K).copy(), lower, upper, epsilon, spans_of(groups, size), tol, max_steps
    )
    return c, g, steps, violation


def naive_violation(c, g, lower, upper, epsilon, groups):
    """From the definition: the least rate of raising against the greatest of lowering, within each group."""
    worst = -np.inf
    for s in np.unique(groups):
        raising = [g[i] + (epsilon if c[i] >= 0 else -epsilon) for i in np.flatnonzero(groups == s) if c[i] < upper[i]]
        lowering = [g[i] + (epsilon if c[i] > 0 else -epsilon) for i in np.flatnonzero(groups == s) if c[i] > lower[i]]
        if raising and lowering:
            worst = max(worst, max(lowering) - min(raising))
    return worst


@pytest.mark.parametrize("n_groups", [1, 2])
@pytest.mark.parametrize("epsilon", [0.0, 0.3])
@pytest.mark.parametrize("seed", range(5))
def test_solution_is_feasible_and_optimal(seed, epsilon, n_groups):
    K, t, lower, upper, epsilon, groups = problem(40, seed, epsilon, n_groups)
    c, g, steps, violation = run(K, t, lower, upper, epsilon, groups)
    assert steps > 0
    assert np.all((lower <= c) & (c <= upper))
    assert np.bincount(groups, c) == pytest.approx(0.0, abs=1e-12)
    assert g == pytest.approx(K.astype(np.float64) @ c - t, abs=1e-6)  # differences of rows are float32
    assert violation <= 1e-6
    assert violation == pytest.approx(naive_violation(c, g, lower, upper, epsilon, groups), abs=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [64, 65, 128, 130, 200])
def test_search_by_pieces(n, dtype):
    """Spans of one piece, of several, and short ones: each step takes the same pair, whichever way it was found."""
    K, t, lower, upper, epsilon, groups = problem(n, 0)
    paths = []
    for size in (7, 64, 100, 1024):
        c, g = np.zeros(n), -t.astype(dtype)
        smo.pair_steps(K, g, c, np.diag(K).copy(), lower, upper, epsilon, spans_of(groups, size), 1e-9, 30)
        paths.append(c)
    for c in paths[1:]:
        assert np.array_equal(c, paths[0])


def test_rates_that_are_no_numbers_end():
    K, t, lower, upper, epsilon, groups = problem(200, 0)
    K[:, 3] = np.inf
    K[3] = np.inf
    box, c = (np.diag(K).copy(), lower, upper, epsilon, spans_of(groups, 1024)), np.zeros(200)
    with np.errstate(invalid="ignore"):
        smo.pair_steps(K, -t, c, *box, 1e-6, 50)
    assert np.all((lower <= c) & (c <= upper) | np.isnan(c))


@pytest.mark.parametrize("epsilon", [0.0, 0.3])
def test_gradient_in_float32(epsilon):
    K, t, lower, upper, epsilon, groups = problem(40, 0, epsilon, 2)
    c, g = np.zeros(40), -t.astype(np.float32)
    steps, violation = smo.pair_steps(
        K, g, c, np.diag(K).copy(), lower, upper, epsilon, spans_of(groups, 7), 1e-3, 10**6
    )
    assert steps > 0
    assert np.bincount(groups, c) == pytest.approx(0.0, abs=1e-12)
    assert g == pytest.approx(K.astype(np.float64) @ c - t, abs=1e-5)
    assert violation <= 1e-3
    assert violation == pytest.approx(naive_violation(c, g, lower, upper, epsilon, groups), abs=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_boxes_that_are_points(dtype):
    """Coefficients that cannot move keep their value, and their g is as right as all others."""
    K, t, lower, upper, epsilon, groups = problem(40, 4, 0.1, 2)
    index = np.r_[2:20, 25:40]
    lower[::3] = upper[::3] = 0.0
    c, g = np.zeros(len(index)), -t[index].astype(dtype)
    edge = int(np.flatnonzero(np.diff(groups[index]))[0]) + 1
    spans = np.array([(0, edge, 0, 2), (edge, 18, 1, 2), (18, 33, 1, 7)])
    box = np.diag(K)[index].copy(), lower[index], upper[index], epsilon, spans
    steps, _ = smo.pair_steps(K, g, c, *box, 1e-3, 10**6)
    assert steps > 0
    assert np.all(c[lower[index] == upper[index]] == 0.0)
    assert g == pytest.approx(K[np.ix_(index, index)].astype(np.float64) @ c - t[index], abs=1e-5)


def test_kernel_values_in_float64():
    K, t, lower, upper, epsilon, groups = problem(40, 0, 0.1)
    K = K.astype(np.float64) * (1.0 + 1e-9)  # float64, and none of them a float32 number
    c, g, _, violation = run(K, t, lower, upper, epsilon, groups, tol=1e-9)
    assert g == pytest.approx(K @ c - t, abs=1e-12)
    assert violation <= 1e-9


def test_large_kernel_values_in_float64():
    """s K and boxes divided by s have the solution divided by s, also where float32 has no such numbers."""
    K, t, lower, upper, epsilon, groups = problem(40, 0)
    K, scale = K.astype(np.float64), 2.0**150
    c, _, steps, _ = run(K, t, lower, upper, epsilon, groups)
    large = run(scale * K, t, lower / scale, upper / scale, epsilon, groups)
    assert large[2] == steps
    assert np.array_equal(scale * large[0], c)


def test_no_feasible_neighbour_is_better():
    K, t, lower, upper, epsilon, groups = problem(15, 0, 0.2)
    c, _, _, _ = run(K, t, lower, upper, epsilon, groups, tol=1e-9)

    def value(c):
        return 0.5 * c @ K.astype(np.float64) @ c - t @ c + epsilon * np.abs(c).sum()

    rng = np.random.default_rng(1)
    for _ in range(500):
        other = c + rng.normal(scale=10.0 ** rng.uniform(-4, 0), size=15) * (rng.uniform(size=15) < 0.3)
        other = np.clip(other, lower, upper)
        shift = other.sum()
        other = other - shift / 15
        if np.all((lower <= other) & (other <= upper)):
            assert value(other) >= value(c) - 1e-9


def test_part_of_a_larger_matrix():
    """Spans may point to other rows of K: the result is that of the cut matrix."""
    K, t, lower, upper, epsilon, groups = problem(30, 3)
    index = np.r_[5:12, 20:29]
    small = run(K[np.ix_(index, index)], t[index], lower[index], upper[index], epsilon, groups[index])
    c, g = np.zeros(len(index)), -t[index]
    spans = np.array([(0, 7, 0, 5), (7, 16, 0, 13)])
    result = smo.pair_steps(K, g, c, np.diag(K)[index].copy(), lower[index], upper[index], epsilon, spans, 1e-6, 10**6)
    assert result[0] == small[2]
    assert np.array_equal(c, small[0])


def test_stops_after_the_steps_that_it_may_take():
    _, _, steps, violation = run(*problem(40, 0), max_steps=3)
    assert steps == 3
    assert violation > 1e-6


def test_bounds_are_reached_exactly():
    K, t, lower, upper, epsilon, groups = problem(40, 2)
    c, _, _, _ = run(K, 100.0 * t, lower, upper, epsilon, groups)
    assert np.count_nonzero((c == lower) | (c == upper)) > 30


def test_coinciding_points():
    K = np.ones((4, 4), np.float32)
    c, _, _, violation = run(K, np.array([1.0, -1.0, 1.0, -1.0]), -np.ones(4), np.ones(4), 0.0, np.zeros(4, int))
    assert np.array_equal(np.abs(c), np.ones(4))
    assert violation <= 1e-6


def far(K, g, c, diagonal, lower, upper, epsilon, spans, tol, max_steps, patience=(10**12, 0), threads=2, ahead=64):
    """Steps along conjugate directions by one thread or two, which both have to find the same."""
    before, rise, fall, along, other_c = c.copy(), np.empty_like(g), np.empty_like(g), np.zeros_like(g), c.copy()
    rates(g, c, lower, upper, epsilon, rise, fall)
    lines = pair.new_lines(4)
    box, shared = (diagonal, lower, upper, epsilon, spans), (tol, max_steps, ahead, patience, lines)
    if threads == 1:
        result = smo.far_steps(K, rise, fall, along, c, *box, *shared, smo.BOTH)
    else:
        with ThreadPoolExecutor(1) as pool:
            other = pool.submit(smo.far_steps, K, rise, fall, along, other_c, *box, *shared, 1)
            result = smo.far_steps(K, rise, fall, along, c, *box, *shared, 0)
        assert other.result() == result
        assert np.array_equal(other_c, c)
    smo.restore(K, g, c, before, lower, upper, epsilon, rise, fall, spans)
    return result, bool(lines[:2, smo.STOP].any())


KINDS = [(np.float32,) * 2, (np.float32, np.float64), (np.float64,) * 2]


@pytest.mark.parametrize("kinds", KINDS, ids=str)
@pytest.mark.parametrize("size", [7, 20, 39])
@pytest.mark.parametrize("epsilon", [0.0, 0.3])
def test_two_threads_take_the_steps_of_one(epsilon, size, kinds):
    K, t, lower, upper, epsilon, groups = problem(40, 1, epsilon)
    spans = spans_of(groups + 3, size)  # also where the only group is not the first one
    lower[:7] = upper[:7] = 0.0  # and some cannot move
    box = np.diag(K).astype(kinds[0]), lower, upper, epsilon, spans, 1e-3, 10**6
    c, g = np.zeros(40), -t.astype(kinds[1])
    other_c, other_g = c.copy(), g.copy()
    expected = far(K.astype(kinds[0]), g, c, *box, threads=1)
    assert expected[0][0] > 10
    assert far(K.astype(kinds[0]), other_g, other_c, *box) == expected
    assert np.array_equal(other_c, c)
    assert np.array_equal(other_g, g)


@pytest.mark.parametrize("kinds", KINDS, ids=str)
@pytest.mark.parametrize("epsilon", [0.0, 0.3])
@pytest.mark.parametrize("seed", range(5))
def test_conjugate_directions_find_the_solution(seed, epsilon, kinds):
    K, t, lower, upper, epsilon, groups = problem(60, seed, epsilon)
    K, tol = K.astype(kinds[0]), 1e-3 if kinds[1] == np.float32 else 1e-6
    lower[::7] = upper[::7] = 0.0
    c, g = np.zeros(60), -t.astype(kinds[1])
    box = np.diag(K).copy(), lower, upper, epsilon, spans_of(groups, 17)
    (steps, violation), _ = far(K, g, c, *box, tol, 10**6, threads=1)
    assert steps > 30
    assert np.all((lower <= c) & (c <= upper))
    assert c.sum() == pytest.approx(0.0, abs=1e-12)
    exact = 1e-5 if kinds[1] == np.float32 else 1e-6 if kinds[0] == np.float32 else 1e-12
    assert g == pytest.approx(K.astype(np.float64) @ c - t, abs=exact)
    assert violation <= tol
    assert violation == pytest.approx(naive_violation(c, g, lower, upper, epsilon, groups), abs=exact)


def test_conjugate_directions_take_fewer_steps():
    """On an ill-conditioned problem with few bounds in the way."""
    K, t, lower, upper, epsilon, groups = problem(200, 0)
    K = K.astype(np.float64) + 1e-3 * np.eye(200)
    box = np.diag(K).copy(), 100.0 * lower, 100.0 * upper, epsilon, spans_of(groups, 64), 1e-4, 10**6
    plain, _ = smo.pair_steps(K, -t, np.zeros(200), *box)
    (steps, violation), _ = far(K, -t, np.zeros(200), *box, threads=1)
    assert violation <= 1e-4
    assert steps < 0.85 * plain


@pytest.mark.parametrize("group", [0, 1])
def test_halves_that_can_only_fall(group):
    """Whatever the number of the only group: where no coefficient of a half can rise, others find partners there."""
    K, t, lower, upper, epsilon, groups = problem(40, 3)
    c = np.where(np.arange(40) < 20, upper, lower)
    box = np.diag(K).copy(), lower, upper, epsilon, spans_of(groups + group, 10)
    g = K.astype(np.float64) @ c - t
    total = c.sum()
    (steps, violation), _ = far(K, g, c, *box, 1e-6, 10**5, threads=1)
    assert steps > 10
    assert violation <= 1e-6
    assert violation == pytest.approx(naive_violation(c, g, lower, upper, epsilon, groups), abs=1e-12)
    assert c.sum() == pytest.approx(total)


def test_two_threads_stop_at_their_limit_or_where_one_is_late():
    K, t, lower, upper, epsilon, groups = problem(40, 2)
    box = np.diag(K).copy(), lower, upper, epsilon, spans_of(groups, 7), 1e-9
    result, late = far(K, -t, np.zeros(40), *box, 5)
    assert (result[0], late) == (5, False)
    result, late = far(K, -t, np.zeros(40), *box, 5, patience=(-1, 0))
    assert (result[0], late) == (0, True)
    result, late = far(K, -t, np.zeros(40), *box, 10**6, patience=(10**12, -2 * 10**12))
    assert late
    assert 1 <= result[0] <= PLACES // 2  # a direction is over then, at the latest


@pytest.mark.parametrize("kinds", KINDS, ids=str)
def test_rows_that_are_loaded_ahead_give_the_same_steps(kinds):
    K, t, lower, upper, epsilon, groups = problem(300, 3)
    box = np.diag(K).astype(kinds[0]), lower, upper, epsilon, spans_of(groups, 290), 1e-3, 200
    paths = []
    for ahead in (None, 64, 512):
        c, g = np.zeros(300), -t.astype(kinds[1])
        smo.pair_steps(K.astype(kinds[0]), g, c, *box, ahead)
        paths.append((c, g))
    for c, g in paths[1:]:
        assert np.array_equal(c, paths[0][0])
        assert np.array_equal(g, paths[0][1])
