import numpy as np

from representer._loops.category_mismatches import mismatches, sums_of_mismatches


def test_equal_to_numpy():
    rng = np.random.default_rng(0)
    A, B = rng.integers(0, 3, (5, 4)).astype(np.uint64), rng.integers(0, 3, (9, 4)).astype(np.uint64)
    differ = A[:, None, :] != B[None, :, :]
    weights, tile = rng.random(4), np.full((5, 9), np.nan)
    columns = np.ascontiguousarray(B.T)
    mismatches(A, columns, weights, tile)
    assert np.allclose(tile, differ @ weights)
    W, sums = rng.normal(size=(5, 9)), np.ones(4)
    sums_of_mismatches(A, columns, W, sums)
    assert np.allclose(sums, 1.0 + np.einsum("ij,ijf->f", W, differ))
