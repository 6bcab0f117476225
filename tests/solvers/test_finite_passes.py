"""Bytes of a pass, and factors of matrices that rounding has left indefinite."""

from types import SimpleNamespace

import numpy as np
from scipy.linalg import cho_solve

from representer.result import Budget
from representer.solvers.finite_passes import bytes_of_blocks, definite_factor


def test_bytes_grow_with_columns_and_functions():
    def needed(columns, size):
        rows = SimpleNamespace(block_rows=100, n_columns=columns)
        return bytes_of_blocks(SimpleNamespace(rows=rows, size=size), Budget(memory=1, threads=2))

    assert needed(1, 10) < needed(5, 10) < needed(5, 20)


def test_factors_of_definite_and_indefinite_matrices():
    A = np.diag([4.0, 1.0])
    np.testing.assert_allclose(cho_solve(definite_factor(A), np.ones(2)), [0.25, 1.0])
    shifted = cho_solve(definite_factor(np.diag([4.0, -1.0])), np.ones(2))
    np.testing.assert_allclose(shifted, [1.0 / 6.0, 1.0])
