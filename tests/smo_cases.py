"""Small box-constrained duals for tests of SMO steps."""

import numpy as np


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


def naive_violation(c, g, lower, upper, epsilon, groups):
    """From the definition: the least g_up against the greatest g_down, within each group."""
    worst = -np.inf
    for s in np.unique(groups):
        raising = [g[i] + (epsilon if c[i] >= 0 else -epsilon) for i in np.flatnonzero(groups == s) if c[i] < upper[i]]
        lowering = [g[i] + (epsilon if c[i] > 0 else -epsilon) for i in np.flatnonzero(groups == s) if c[i] > lower[i]]
        if raising and lowering:
            worst = max(worst, max(lowering) - min(raising))
    return worst
