import numpy as np
import pytest
from each_case import each
from smo_cases import naive_violation, problem, spans_of

from representer._loops.smo import smo_steps


def run(K, t, lower, upper, epsilon, groups, tol=1e-6, max_steps=10**6, size=7):
    c, g = np.zeros(len(t)), -t
    steps, violation = smo_steps(
        K, g, c, np.diag(K).copy(), lower, upper, epsilon, spans_of(groups, size), tol, max_steps
    )
    return c, g, steps, violation


@each("n_groups", [1, 2])
@each("epsilon", [0.0, 0.3])
@each("seed", range(2))
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
@pytest.mark.parametrize("n", [64, 130])
def test_search_by_pieces(n, dtype):
    """Spans of one piece, of several, and short ones: each step takes the same pair, whichever way it was found."""
    K, t, lower, upper, epsilon, groups = problem(n, 0)
    paths = []
    for size in (7, 64, 100, 1024):
        c, g = np.zeros(n), -t.astype(dtype)
        smo_steps(K, g, c, np.diag(K).copy(), lower, upper, epsilon, spans_of(groups, size), 1e-9, 30)
        paths.append(c)
    for c in paths[1:]:
        assert np.array_equal(c, paths[0])


def test_gradients_that_are_no_numbers_end():
    K, t, lower, upper, epsilon, groups = problem(200, 0)
    K[:, 3] = np.inf
    K[3] = np.inf
    box, c = (np.diag(K).copy(), lower, upper, epsilon, spans_of(groups, 1024)), np.zeros(200)
    with np.errstate(invalid="ignore"):
        smo_steps(K, -t, c, *box, 1e-6, 50)
    assert np.all((lower <= c) & (c <= upper) | np.isnan(c))


@pytest.mark.parametrize("epsilon", [0.0, 0.3])
def test_gradient_in_float32(epsilon):
    K, t, lower, upper, epsilon, groups = problem(40, 0, epsilon, 2)
    c, g = np.zeros(40), -t.astype(np.float32)
    steps, violation = smo_steps(K, g, c, np.diag(K).copy(), lower, upper, epsilon, spans_of(groups, 7), 1e-3, 10**6)
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
    steps, _ = smo_steps(K, g, c, *box, 1e-3, 10**6)
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
    result = smo_steps(K, g, c, np.diag(K)[index].copy(), lower[index], upper[index], epsilon, spans, 1e-6, 10**6)
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
