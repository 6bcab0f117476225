import numpy as np
import pytest

from representer.gram.low_rank import LowRank
from representer.testing import check_operator


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_is_f_transposed_f(rng, dtype):
    F = rng.normal(size=(3, 8)).astype(dtype)
    K = LowRank(F)
    check_operator(K, F.T @ F)
    assert (K.rank, K.dtype, K.evaluations, K.definite) == (3, dtype, 0, True)
    assert K.nbytes == F.nbytes + 8 * 8


def test_parts_keep_what_is_left_over(rng):
    F, left = rng.normal(size=(2, 5)), np.arange(5.0)
    K = LowRank(F, np.array([3, 1]), left)
    check_operator(K, F.T @ F)  # what is left over is not part of the matrix
    part = K.take([4, 0])
    assert part.remainder.tolist() == [4.0, 0.0]
    assert len(part.pivots) == 0  # they may not be among the rows
    single = K.astype(np.float32)
    assert (single.pivots.tolist(), single.remainder.tolist()) == ([3, 1], left.tolist())


def test_rows_and_columns_are_the_same(rng):
    K = LowRank(rng.normal(size=(2, 5)))
    with pytest.raises(ValueError, match=r"same rows and columns; use block\(\)"):
        K.take([1], [2])
    assert K.block([1], [2]).shape == (1, 1)
