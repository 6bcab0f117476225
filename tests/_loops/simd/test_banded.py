import numpy as np
import pytest
from each_case import each
from scipy.linalg import solve_triangular

from representer._loops.simd import banded


@each(("n", "b"), [(4, 4), (8, 16), (16, 8), (44, 8), (40, 12)])
@each("columns", [12, 24, 60])
def test_column_norms(n, b, columns, rng):
    """Also where the band is wider than the matrix."""
    i, j = np.arange(n)[:, None], np.arange(n)
    L = np.where((i >= j) & (i - j <= b), rng.normal(size=(n, n)), 0.0)
    L[np.diag_indices(n)] = rng.uniform(2.0, 3.0, n)
    grouped = np.zeros((n, b + 4))
    for row in range(n):
        for s in range(b + 4):
            column = 4 * (row // 4) - b + s
            grouped[row, s] = L[row, column] if 0 <= column < n else 0.0
    grouped[np.arange(n), b + np.arange(n) % 4] = 1.0 / L.diagonal()
    Q, out = rng.normal(size=(n, columns)), np.full(columns, np.nan)
    banded.column_norms(grouped, Q, out)
    np.testing.assert_allclose(out, (solve_triangular(L, Q, lower=True) ** 2).sum(axis=0), rtol=1e-11)


@pytest.mark.parametrize(("rows", "columns", "norms"), [(8, 13, 13), (6, 12, 12), (8, 12, 24)])
def test_shapes_that_steps_do_not_fill_are_refused(rows, columns, norms):
    with pytest.raises(ValueError, match="would not fit"):
        banded.column_norms(np.ones((rows, 8)), np.ones((rows, columns)), np.ones(norms))
