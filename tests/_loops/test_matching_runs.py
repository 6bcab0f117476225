import numpy as np
import pytest

from representer._loops import matching_runs


def runs(a, b, most):
    """Of each place, how many places up to it are equal without a gap."""
    return [min(next((r for r in range(p + 1) if a[p - r] != b[p - r]), p + 1), most) for p in range(len(a))]


@pytest.mark.parametrize("shift", [0, 2])
def test_values_and_counts_of_runs(shift, rng):
    A, B = (rng.integers(0, 2, (n, 9)).astype(np.uint32) for n in (3, 4))
    gains, factors, W = np.array([0.5, 1.0, 3.0, 7.0]), np.array([1.0, 0.3, 0.1])[: shift + 1], rng.normal(size=(3, 4))
    tile, counts = np.empty((3, 4)), np.zeros(4)
    matching_runs.run_values(A, B, gains, factors, tile)
    matching_runs.run_counts(A, B, W, factors, counts)
    expected, total = np.zeros((3, 4)), np.zeros(4)
    for i, a in enumerate(A):
        for j, b in enumerate(B):
            for s, factor in enumerate(factors):
                for x, y in {0: [(a, b)]}.get(s, [(a[s:], b[:-s]), (a[:-s], b[s:])] if s else []):
                    for run in runs(x, y, 3):
                        expected[i, j] += factor * gains[run]
                        total[run] += factor * W[i, j]
    np.testing.assert_allclose(tile, expected)
    np.testing.assert_allclose(counts, total)
