import numpy as np
import pytest
from each_case import each

from representer._loops import conjugate_directions as directions
from representer._loops.gradient_bounds import one_sided_gradients
from representer._loops.jit import loop

N = 40


@loop
def walk(K, pairs, c, g, lower, upper, epsilon, lengths, betas):
    """Steps along given pairs, with all of K d."""
    box, d, size, curvature, Kd = (lower, upper, epsilon), directions.new_direction(), 0, 1.0, np.zeros(c.size)
    g_up, g_down = np.empty(c.size), np.empty(c.size)
    one_sided_gradients(g, c, lower, upper, epsilon, g_up, g_down)
    for s in range(len(pairs)):
        i, j = pairs[s, 0], pairs[s, 1]
        own = K[i, i] + K[j, j] - 2.0 * K[i, j]
        pair = i, j, g_down[j] - g_up[i], own, Kd[i] - Kd[j]
        lengths[s], betas[s], size, curvature = directions.next_direction(pair, c, box, d, size, curvature)
        size = directions.step_along(lengths[s], i, j, c, box, d, size, g_up, g_down, 0, c.size)
        Kd = K[i] - K[j] + betas[s] * Kd
        g_up += lengths[s] * Kd
        g_down += lengths[s] * Kd
    return g_up, g_down


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
    pairs = pairs_downhill(K, c, -t, rng, directions.MAX_ENTRIES // 2)
    lengths, betas, d, ds = np.empty(len(pairs)), np.empty(len(pairs)), np.zeros(N), []
    free = np.full(N, 100.0)
    for count in range(1, len(pairs) + 1):
        c[:] = 0.0
        walk(K, pairs[:count], c, -t, -free, free, 0.0, lengths[:count], betas[:count])
        u = np.zeros(N)
        u[pairs[count - 1]] = 1.0, -1.0
        d = u + betas[count - 1] * d
        ds.append(d)
        g = K @ c - t
        assert g @ d == pytest.approx(0.0, abs=1e-10)  # lengths are to the bottom
        if count > 1:
            assert d @ K @ ds[-2] == pytest.approx(0.0, abs=1e-10)
            assert g @ ds[-2] == pytest.approx(0.0, abs=1e-10)
    assert c == pytest.approx(np.transpose(ds) @ lengths)
    assert np.all(betas[1:] != 0.0)


def test_a_full_direction_is_restarted(rng):
    K, c, t = matrix(rng), np.zeros(N), rng.normal(size=N)
    pairs = pairs_downhill(K, c, -t, rng, N // 2)
    lengths, betas, free = np.empty(len(pairs)), np.empty(len(pairs)), np.full(N, 100.0)
    walk(K, pairs, c, -t, -free, free, 0.0, lengths, betas)
    assert np.flatnonzero(betas == 0.0).tolist() == [*range(0, N // 2, directions.MAX_ENTRIES // 2)]


@each("epsilon", [0.0, 0.2])
@each("seed", range(4))
def test_no_step_passes_a_bound_or_raises_the_cost(seed, epsilon):
    """g_up and g_down are those of the coefficients, bounds are reached exactly, and each step lowers the cost."""
    rng = np.random.default_rng(seed)
    K, t = matrix(rng), rng.normal(size=N)
    lower, upper = -rng.uniform(0.0, 0.8, N), rng.uniform(0.0, 0.8, N)
    c = np.zeros(N)
    pairs, costs, lengths, betas = np.empty((60, 2), int), [], np.empty(60), np.empty(60)
    for s in range(60):
        c[:] = 0.0
        g = -t.copy()
        g_up, g_down = walk(K, pairs[:s], c, g, lower, upper, epsilon, lengths[:s], betas[:s])
        expected = np.empty(N), np.empty(N)
        one_sided_gradients(K @ c - t, c, lower, upper, epsilon, *expected)
        np.testing.assert_allclose([g_up, g_down], expected, atol=1e-12)
        assert np.all((lower <= c) & (c <= upper))
        assert c.sum() == pytest.approx(0.0, abs=1e-13)
        costs.append(0.5 * c @ K @ c - t @ c + epsilon * np.abs(c).sum())
        pairs[s] = g_up.argmin(), g_down.argmax()
        if g_down[pairs[s, 1]] <= g_up[pairs[s, 0]]:
            break
    assert np.all(np.diff(costs) < 1e-14)
    assert np.count_nonzero((c == lower) | (c == upper)) > 5
    assert np.any(betas[: s - 1] != 0.0)


def two_steps(K, t, lower, upper, epsilon=0.0):
    """A step along the first two of four coefficients, then one along the others; also without conjugate directions."""
    found = []
    for pairs in ([[0, 1], [2, 3]], [[0, 1]]):
        c, lengths, betas = np.zeros(4), np.empty(len(pairs)), np.empty(len(pairs))
        walk(K, np.array(pairs), c, -t, lower, upper, epsilon, lengths, betas)
        found.append((c, betas, 0.5 * c @ K @ c - t @ c))
    return found


def test_the_pair_alone_where_a_bound_is_in_the_way_of_more():
    """The first coefficient is a hair from its bound, where a step that goes on with it would end."""
    K = np.eye(4) + 0.4
    K[0, 2] = K[2, 0] = -0.4
    t, bound = np.array([1.0, -1.0, 2.0, -2.0]), np.full(4, 9.0)
    (c, betas, least), (_, _, before) = two_steps(K, t, -bound, bound)
    assert betas.tolist() == pytest.approx([0.0, 0.4])
    assert c[0] > 1.5
    bound[0] = 1.0 + 1e-9
    (c, betas, value), _ = two_steps(K, t, -bound, bound)
    assert betas.tolist() == [0.0, 0.0]
    assert c[0] == pytest.approx(1.0)
    assert least < value < before - 1.0


def test_directions_that_hardly_differ_are_restarted():
    """Copies of the first two inputs: what is left of the second direction is rounding."""
    K = np.kron(np.ones((2, 2)), np.array([[1.0, 0.3], [0.3, 1.0]])) + 1e-9 * np.eye(4)
    t, bound = np.array([1.0, -1.0, 1.1, -1.1]), np.full(4, 1e3)
    (c, betas, value), (_, _, before) = two_steps(K, t, -bound, bound)
    assert betas.tolist() == [0.0, 0.0]
    assert np.abs(c).max() < 10.0
    assert value < before


def test_a_short_step_from_a_bound_is_kept():
    """Bounds may be so far apart that the step is less than what they are rounded to."""
    K, t = np.diag([1e12, 1e12, 1.0, 1.0]), np.array([1e-3, -1e-3, 0.0, 0.0])
    lower, upper = np.array([0.0, -1e10, 0.0, 0.0]), np.array([1e10, 0.0, 1.0, 1.0])
    c, lengths, betas = np.zeros(4), np.empty(1), np.empty(1)
    walk(K, np.array([[0, 1]]), c, -t, lower, upper, 0.0, lengths, betas)
    assert c.tolist() == pytest.approx([1e-15, -1e-15, 0.0, 0.0], rel=1e-9)
    assert c[0] > 0.0
