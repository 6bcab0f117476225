import numpy as np
import pytest
from numba import njit

from representer._loops import conjugate
from representer._loops.jit import STRICT
from representer._loops.rates import rates

N = 40


@njit(fastmath=STRICT)  # not cached: the cache would not see changes of what is inlined
def walk(K, pairs, c, g, lower, upper, epsilon, lengths, keeps):
    """Steps along given pairs, with all of K d."""
    box, way, size, curvature, along = (lower, upper, epsilon), conjugate.no_way(), 0, 1.0, np.zeros(c.size)
    rise, fall = np.empty(c.size), np.empty(c.size)
    rates(g, c, lower, upper, epsilon, rise, fall)
    for s in range(len(pairs)):
        i, j = pairs[s, 0], pairs[s, 1]
        own = K[i, i] + K[j, j] - 2.0 * K[i, j]
        pair = i, j, fall[j] - rise[i], own, along[i] - along[j]
        lengths[s], keeps[s], size, curvature = conjugate.turn(pair, c, box, way, size, curvature)
        size = conjugate.take(lengths[s], i, j, c, box, way, size, rise, fall, 0, c.size)
        along = K[i] - K[j] + keeps[s] * along
        rise += lengths[s] * along
        fall += lengths[s] * along
    return rise, fall


def matrix(rng):
    A = rng.normal(size=(N, 60))
    return A @ A.T / 60.0


def pairs_downhill(K, c, g, rng, count):
    """Pairs, all different, whose c_i is to be raised and c_j lowered at the start."""
    order = rng.permutation(N)
    pairs = order[: 2 * count].reshape(count, 2)
    return np.where((g[pairs[:, 0]] < g[pairs[:, 1]])[:, None], pairs, pairs[:, ::-1])


def test_directions_are_conjugate_and_steps_the_best_ones(rng):
    """Without bounds: after each step the slope along all directions so far is zero."""
    K, c, t = matrix(rng), np.zeros(N), rng.normal(size=N)
    pairs = pairs_downhill(K, c, -t, rng, conjugate.PLACES // 2)
    lengths, keeps, d, ds = np.empty(len(pairs)), np.empty(len(pairs)), np.zeros(N), []
    free = np.full(N, 100.0)
    for count in range(1, len(pairs) + 1):
        c[:] = 0.0
        walk(K, pairs[:count], c, -t, -free, free, 0.0, lengths[:count], keeps[:count])
        u = np.zeros(N)
        u[pairs[count - 1]] = 1.0, -1.0
        d = u + keeps[count - 1] * d
        ds.append(d)
        g = K @ c - t
        assert g @ d == pytest.approx(0.0, abs=1e-10)  # lengths are to the bottom
        if count > 1:
            assert d @ K @ ds[-2] == pytest.approx(0.0, abs=1e-10)
            assert g @ ds[-2] == pytest.approx(0.0, abs=1e-10)
    assert c == pytest.approx(np.transpose(ds) @ lengths)
    assert np.all(keeps[1:] != 0.0)


def test_a_direction_without_room_begins_anew(rng):
    K, c, t = matrix(rng), np.zeros(N), rng.normal(size=N)
    pairs = pairs_downhill(K, c, -t, rng, N // 2)
    lengths, keeps, free = np.empty(len(pairs)), np.empty(len(pairs)), np.full(N, 100.0)
    walk(K, pairs, c, -t, -free, free, 0.0, lengths, keeps)
    assert np.flatnonzero(keeps == 0.0).tolist() == [*range(0, N // 2, conjugate.PLACES // 2)]


@pytest.mark.parametrize("epsilon", [0.0, 0.2])
@pytest.mark.parametrize("seed", range(20))
def test_no_step_passes_a_bound_or_raises_the_cost(seed, epsilon):
    """Rates are those of the coefficients, bounds are reached exactly, and each step lowers the cost."""
    rng = np.random.default_rng(seed)
    K, t = matrix(rng), rng.normal(size=N)
    lower, upper = -rng.uniform(0.0, 0.8, N), rng.uniform(0.0, 0.8, N)
    c = np.zeros(N)
    pairs, costs, lengths, keeps = np.empty((60, 2), int), [], np.empty(60), np.empty(60)
    for s in range(60):
        c[:] = 0.0
        g = -t.copy()
        rise, fall = walk(K, pairs[:s], c, g, lower, upper, epsilon, lengths[:s], keeps[:s])
        expected = np.empty(N), np.empty(N)
        rates(K @ c - t, c, lower, upper, epsilon, *expected)
        np.testing.assert_allclose([rise, fall], expected, atol=1e-12)
        assert np.all((lower <= c) & (c <= upper))
        assert c.sum() == pytest.approx(0.0, abs=1e-13)
        costs.append(0.5 * c @ K @ c - t @ c + epsilon * np.abs(c).sum())
        pairs[s] = rise.argmin(), fall.argmax()
        if fall[pairs[s, 1]] <= rise[pairs[s, 0]]:
            break
    assert np.all(np.diff(costs) < 1e-14)
    assert np.count_nonzero((c == lower) | (c == upper)) > 5
    assert np.any(keeps[: s - 1] != 0.0)


def two_steps(K, t, lower, upper, epsilon=0.0):
    """A step along the first two of four coefficients, then one along the others; also without conjugate directions."""
    found = []
    for pairs in ([[0, 1], [2, 3]], [[0, 1]]):
        c, lengths, keeps = np.zeros(4), np.empty(len(pairs)), np.empty(len(pairs))
        walk(K, np.array(pairs), c, -t, lower, upper, epsilon, lengths, keeps)
        found.append((c, keeps, 0.5 * c @ K @ c - t @ c))
    return found


def test_the_pair_alone_where_a_bound_is_in_the_way_of_more():
    """The first coefficient is a hair from its bound, where a step that goes on with it would end."""
    K = np.eye(4) + 0.4
    K[0, 2] = K[2, 0] = -0.4
    t, bound = np.array([1.0, -1.0, 2.0, -2.0]), np.full(4, 9.0)
    (c, keeps, least), (_, _, before) = two_steps(K, t, -bound, bound)
    assert keeps.tolist() == pytest.approx([0.0, 0.4])
    assert c[0] > 1.5
    bound[0] = 1.0 + 1e-9
    (c, keeps, value), _ = two_steps(K, t, -bound, bound)
    assert keeps.tolist() == [0.0, 0.0]
    assert c[0] == pytest.approx(1.0)
    assert least < value < before - 1.0


def test_directions_that_hardly_differ_begin_anew():
    """Copies of the first two inputs: what is left of the second direction is rounding."""
    K = np.kron(np.ones((2, 2)), np.array([[1.0, 0.3], [0.3, 1.0]])) + 1e-9 * np.eye(4)
    t, bound = np.array([1.0, -1.0, 1.1, -1.1]), np.full(4, 1e3)
    (c, keeps, value), (_, _, before) = two_steps(K, t, -bound, bound)
    assert keeps.tolist() == [0.0, 0.0]
    assert np.abs(c).max() < 10.0
    assert value < before


def test_a_short_step_from_a_bound_is_kept():
    """Bounds may be so far apart that the step is less than what they are rounded to."""
    K, t = np.diag([1e12, 1e12, 1.0, 1.0]), np.array([1e-3, -1e-3, 0.0, 0.0])
    lower, upper = np.array([0.0, -1e10, 0.0, 0.0]), np.array([1e10, 0.0, 1.0, 1.0])
    c, lengths, keeps = np.zeros(4), np.empty(1), np.empty(1)
    walk(K, np.array([[0, 1]]), c, -t, lower, upper, 0.0, lengths, keeps)
    assert c.tolist() == pytest.approx([1e-15, -1e-15, 0.0, 0.0], rel=1e-9)
    assert c[0] > 0.0
