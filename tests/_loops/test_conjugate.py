import numpy as np
import pytest

from representer._loops import conjugate
from representer._loops.jit import loop
from representer._loops.rates import rates

N = 40


@loop
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
