import numpy as np
import pytest

from representer._loops import box_dual
from representer._loops.gradient_bounds import one_sided_gradients


@pytest.fixture
def coefficients(rng):
    """c, g, lower, upper, epsilon, group: at either bound, at the kink, in between, and in a box that is a point."""
    n, kinds = 30, rng.permutation(np.arange(30) % 5)
    lower, upper = -rng.uniform(0.5, 2.0, n), rng.uniform(0.5, 2.0, n)
    lower[kinds == 4] = upper[kinds == 4] = 0.0
    c = np.select([kinds == 0, kinds == 1, kinds == 2], [lower, upper, 0.0], 0.5 * upper)
    return c, rng.normal(size=n), lower, upper, 0.1, np.arange(n) % 3


def kkt(c, g, lower, upper, epsilon, group, n_groups=3):
    g_up, g_down, free = np.empty_like(g), np.empty_like(g), np.empty(len(g), bool)
    low, high = np.empty(n_groups), np.empty(n_groups)
    violation = box_dual.kkt_violation(g, c, lower, upper, epsilon, group, g_up, g_down, free, low, high)
    return g_up, g_down, free, low, high, violation


def test_the_greatest_distance_from_a_box(coefficients):
    c, _, lower, upper, _, group = coefficients
    sums = np.array([1.0, 0.0, -2.0])
    assert box_dual.beyond(c, lower, upper, group, sums) == (0.0, pytest.approx(np.abs(c).sum(), rel=1e-15))
    np.testing.assert_allclose(sums, [1.0, 0.0, -2.0] - np.bincount(group, c), atol=1e-15)
    for i, end in ((3, lower), (4, upper)):
        moved = c.copy()
        moved[i] = end[i] + (0.25 if end is upper else -0.25)
        assert box_dual.beyond(moved, lower, upper, group, sums)[0] == pytest.approx(0.25, rel=1e-12)


def test_violation_from_the_extremes_of_groups(coefficients):
    c, g, lower, upper, epsilon, group = coefficients
    g_up, g_down, free, low, high, violation = kkt(*coefficients)
    expected = np.empty_like(g), np.empty_like(g)
    one_sided_gradients(g, c, lower, upper, epsilon, *expected)
    assert np.array_equal([g_up, g_down], expected)
    assert np.array_equal(free, (lower < c) & (c < upper) & (c != 0.0))  # zero is a kink
    assert low.tolist() == [g_up[group == s].min() for s in range(3)]
    assert high.tolist() == [g_down[group == s].max() for s in range(3)]
    assert violation == (high - low).max() > 0.0


def test_no_violation_where_all_are_at_one_bound(coefficients):
    c, g, lower, upper, epsilon, group = coefficients
    *_, low, _, violation = kkt(upper, g, lower, upper, epsilon, group)
    assert np.all(low == np.inf)
    assert violation == 0.0
    assert kkt(lower, g, lower, upper, epsilon, group)[-1] == 0.0
    assert kkt(c, g, lower, upper, epsilon, np.zeros(30, int), 2)[3][1] == np.inf  # a group without members


def test_intercepts(coefficients):
    c, g, lower, upper, epsilon, group = coefficients
    c[group == 1] = upper[group == 1]
    c[group == 2] = np.where(np.arange(10) % 2, lower[group == 2], upper[group == 2])
    g_up, g_down, free, low, high, _ = kkt(c, g, lower, upper, epsilon, group)
    b = np.full(4, np.nan)
    box_dual.intercepts(g_up, g_down, group, np.append(low, np.inf), np.append(high, -np.inf), b)
    mine = free & (group == 0)
    assert b == pytest.approx([-g_up[mine].mean(), -high[1], -0.5 * (low[2] + high[2]), 0.0])


def test_values_from_the_definition(coefficients):
    c, g, lower, upper, epsilon, group = coefficients
    t, b = np.random.default_rng(1).normal(size=30), np.array([0.3, -0.2, 0.1])
    error = np.random.default_rng(2).uniform(0.0, 0.5, 30)
    dual, gap, rounding = box_dual.values(c, g, error, t, lower, upper, epsilon, group, b)
    r, f, kinks = -g - b[group], g + t, epsilon * np.abs(c)
    assert dual == pytest.approx(t @ c - 0.5 * c @ f - kinks.sum())
    boxes = np.linspace(lower, upper, 2001)  # support(r) = max of c r - epsilon |c| over the box, at an end or at 0
    support = np.maximum((boxes * r - epsilon * np.abs(boxes)).max(axis=0), 0.0)
    sums = np.array([c[group == s].sum() for s in range(3)])
    assert dual + gap == pytest.approx(0.5 * c @ f + support.sum() + b @ sums)

    def slacks(r):
        return np.maximum((boxes * r - epsilon * np.abs(boxes)).max(axis=0), 0.0) + kinks - c * r

    changes = np.maximum(slacks(r - error), slacks(r + error)) - slacks(r) + 0.5 * np.abs(c) * error
    assert rounding == pytest.approx(np.linalg.norm(changes))


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        (9, [[0, 2, 0, 4], [2, 3, 0, 7], [3, 6, 1, 7], [6, 7, 1, 14]]),
        (2, [[0, 2, 0, 4], [2, 3, 0, 7], [3, 5, 1, 7], [5, 6, 1, 7], [6, 7, 1, 14]]),
    ],
)
def test_spans_are_runs_cut_short(size, expected):
    group, columns = np.array([0, 0, 0, 1, 1, 1, 1]), np.array([4, 5, 9, 10, 11, 12, 20])
    assert box_dual.spans(group, columns, size).tolist() == expected
