from itertools import combinations

import numpy as np
import pytest

from representer._loops.alignment import LANES
from representer._loops.subsequences import lanes, lanes_with_slopes


def naive(s, t, p, decay):
    places = [(i, j) for i in combinations(range(len(s)), p) for j in combinations(range(len(t)), p)]
    same = [(i, j) for i, j in places if all(s[a] == t[b] for a, b in zip(i, j, strict=True))]
    return sum(decay ** (i[-1] - i[0] + j[-1] - j[0] + 2 - 2 * p) for i, j in same)


@pytest.mark.parametrize("p", [1, 2, 3])
def test_equal_to_enumeration(p):
    rng = np.random.default_rng(0)
    xs, ys = ([rng.integers(0, 3, rng.integers(0, 8)) for _ in range(LANES)] for _ in range(2))
    sides = []
    for fill, strings in ((-2, xs), (-1, ys)):
        letters = np.full((7, LANES), fill)
        for k, s in enumerate(strings):
            letters[: len(s), k] = s
        sides += [letters.ravel(), 7]
    out, again, slopes = np.empty((3, LANES))
    lanes(*sides, p, 0.6, out)
    assert np.allclose(out, [naive(s, t, p, 0.6) for s, t in zip(xs, ys, strict=True)])
    lanes_with_slopes(*sides, p, 0.6, again, slopes)
    assert np.allclose(again, out)
    step = 1e-6
    up, down = ([naive(s, t, p, 0.6 + h) for s, t in zip(xs, ys, strict=True)] for h in (step, -step))
    assert np.allclose(slopes, (np.array(up) - down) / (2 * step), atol=1e-8)
