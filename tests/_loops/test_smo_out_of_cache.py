from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from each_case import each
from smo_cases import naive_violation, problem, spans_of

from representer._loops.conjugate_directions import MAX_ENTRIES
from representer._loops.gradient_bounds import one_sided_gradients
from representer._loops.simd import spin_barrier
from representer._loops.smo import restore_gradient, smo_steps
from representer._loops.smo_out_of_cache import BOTH, STOP, smo_steps_out_of_cache


def run(K, g, c, diagonal, lower, upper, epsilon, spans, tol, max_steps, patience=(10**12, 0), threads=2):
    """Steps along conjugate directions by one thread or two, which both have to find the same."""
    before, moving, other_c = c.copy(), (np.empty_like(g), np.empty_like(g), np.zeros_like(g)), c.copy()
    one_sided_gradients(g, c, lower, upper, epsilon, *moving[:2])
    lines = spin_barrier.new_lines(4)
    box, shared = (diagonal, lower, upper, epsilon, spans), (tol, max_steps, patience, lines)
    if threads == 1:
        result = smo_steps_out_of_cache(K, *moving, c, *box, *shared, BOTH)
    else:
        with ThreadPoolExecutor(1) as pool:
            other = pool.submit(smo_steps_out_of_cache, K, *moving, other_c, *box, *shared, 1)
            result = smo_steps_out_of_cache(K, *moving, c, *box, *shared, 0)
        assert other.result() == result
        assert np.array_equal(other_c, c)
    restore_gradient(K, g, c, before, lower, upper, epsilon, *moving[:2], spans)
    return result, bool(lines[:2, STOP].any())


KINDS = each("dtype", [np.float32, np.float64])  # of K and gradients, as solvers call it


@KINDS
@each("size", [7, 39])
@each("epsilon", [0.0, 0.3])
def test_two_threads_take_the_steps_of_one(epsilon, size, dtype):
    K, t, lower, upper, epsilon, groups = problem(40, 1, epsilon)
    K = K.astype(dtype)
    spans = spans_of(groups + 3, size)  # also where the only group is not the first one
    lower[:7] = upper[:7] = 0.0  # and some cannot move
    box = np.diag(K).copy(), lower, upper, epsilon, spans, 1e-3, 10**6
    c, g = np.zeros(40), -t.astype(dtype)
    other_c, other_g = c.copy(), g.copy()
    expected = run(K, g, c, *box, threads=1)
    assert expected[0][0] > 10
    assert run(K, other_g, other_c, *box) == expected
    assert np.array_equal(other_c, c)
    assert np.array_equal(other_g, g)


@KINDS
@each("epsilon", [0.0, 0.3])
@each("seed", range(2))
def test_conjugate_directions_find_the_solution(seed, epsilon, dtype):
    K, t, lower, upper, epsilon, groups = problem(60, seed, epsilon)
    K = K.astype(dtype)
    tol, exact = (1e-3, 1e-5) if dtype == np.float32 else (1e-6, 1e-6)
    lower[::7] = upper[::7] = 0.0
    c, g = np.zeros(60), -t.astype(dtype)
    box = np.diag(K).copy(), lower, upper, epsilon, spans_of(groups, 17)
    (steps, violation), _ = run(K, g, c, *box, tol, 10**6, threads=1)
    assert steps > 30
    assert np.all((lower <= c) & (c <= upper))
    assert c.sum() == pytest.approx(0.0, abs=1e-12)
    assert g == pytest.approx(K.astype(np.float64) @ c - t, abs=exact)
    assert violation <= tol
    assert violation == pytest.approx(naive_violation(c, g, lower, upper, epsilon, groups), abs=exact)


def test_conjugate_directions_take_fewer_steps():
    """On an ill-conditioned problem with few bounds in the way."""
    n = 60
    K, t, lower, upper, epsilon, groups = problem(n, 0)
    K = K.astype(np.float64) + 1e-2 * np.eye(n)
    box = np.diag(K).copy(), 100.0 * lower, 100.0 * upper, epsilon, spans_of(groups, 30), 1e-3, 10**6
    plain, _ = smo_steps(K, -t, np.zeros(n), *box)
    (steps, violation), _ = run(K, -t, np.zeros(n), *box, threads=1)
    assert violation <= 1e-3
    assert steps < 0.85 * plain


@pytest.mark.parametrize("group", [0, 1])
def test_halves_of_coefficients_at_their_upper_bounds(group):
    """Where no coefficient of a half can be raised, it still holds partners; whatever the number of the only group."""
    K, t, lower, upper, epsilon, groups = problem(40, 3)
    K = K.astype(np.float64)
    c = np.where(np.arange(40) < 20, upper, lower)
    box = np.diag(K).copy(), lower, upper, epsilon, spans_of(groups + group, 10)
    g = K.astype(np.float64) @ c - t
    total = c.sum()
    (steps, violation), _ = run(K, g, c, *box, 1e-6, 10**5, threads=1)
    assert steps > 10
    assert violation <= 1e-6
    assert violation == pytest.approx(naive_violation(c, g, lower, upper, epsilon, groups), abs=1e-12)
    assert c.sum() == pytest.approx(total)


def test_two_threads_stop_at_their_limit_or_when_out_of_patience():
    K, t, lower, upper, epsilon, groups = problem(40, 2)
    K = K.astype(np.float64)
    box = np.diag(K).copy(), lower, upper, epsilon, spans_of(groups, 7), 1e-9
    result, late = run(K, -t, np.zeros(40), *box, 5)
    assert (result[0], late) == (5, False)
    result, late = run(K, -t, np.zeros(40), *box, 5, patience=(-1, 0))
    assert (result[0], late) == (0, True)
    result, late = run(K, -t, np.zeros(40), *box, 10**6, patience=(10**12, -2 * 10**12))
    assert late
    assert 1 <= result[0] <= MAX_ENTRIES // 2  # a direction is restarted then, at the latest
