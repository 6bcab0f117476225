import numpy as np
import pytest

from representer.rows.arrays import ArrayRows
from representer.rows.base import added, finished, least_hashes, row_hashes, rows_per_block


def test_blocks_are_cut_at_numbers_that_depend_on_the_width_alone():
    assert [rows_per_block(d) for d in (1, 10, 256, 257, 1000, 10**6)] == [16384, 16384, 16384, 8192, 4096, 512]


def test_sums_are_added_block_by_block_in_float64(rng):
    X, y = rng.normal(size=(40_000, 3)).astype(np.float32), rng.normal(size=40_000)
    rows = ArrayRows(X, y)
    G, b, n, nothing = rows.total(lambda X, y, w: (X.T @ X, X.T @ y, len(y), w))
    cuts = [slice(0, 16384), slice(16384, 32768), slice(32768, 40_000)]
    assert G.dtype == np.float64
    np.testing.assert_array_equal(G, sum((X[cut].T @ X[cut]).astype(np.float64) for cut in cuts))
    np.testing.assert_array_equal(b, sum(X[cut].T @ y[cut] for cut in cuts))
    assert (n, nothing) == (40_000, None)
    assert rows.map(lambda X, y, w: len(y)) == [16384, 16384, 7232]
    assert (len(rows), rows.n_blocks, rows.n_columns) == (40_000, 3, 3)


def test_sums_do_not_write_on_what_a_part_returns():
    kept = np.ones(2)
    sums = finished(added(added(None, (kept, 1.0)), (kept, 2.0)))
    np.testing.assert_array_equal(sums[0], [2.0, 2.0])
    np.testing.assert_array_equal(kept, [1.0, 1.0])
    assert sums[1] == 3.0
    assert finished(added(None, None)) == ()


def test_parts_of_different_lengths_are_an_error():
    with pytest.raises(ValueError, match="zip"):
        added((np.ones(1),), (1.0, 2.0))


def test_hashes_are_splitmix64():
    """The first number of splitmix64 from the state 0 is 0xE220A8397B1DCDAF; rows go through it twice."""
    first = 0xE220A8397B1DCDAF
    assert row_hashes(0, 1, 0)[0] == _splitmix(first)
    assert row_hashes(5, 1, 3)[0] == _splitmix(_splitmix(5 ^ 3))
    assert len(set(row_hashes(0, 10_000, 7))) == 10_000


def _splitmix(z):
    z = (z + 0x9E3779B97F4A7C15) % 2**64
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    z = (z ^ z >> 27) * 0x94D049BB133111EB % 2**64
    return z ^ z >> 31


def test_least_hashes_are_the_beginning_of_the_sorted_ones():
    n = 2**20 + 1000  # two pieces
    expected = np.argsort(row_hashes(0, n, 1))[:500]
    np.testing.assert_array_equal(least_hashes(n, 500, 1), expected)
    np.testing.assert_array_equal(least_hashes(n, 100, 1), expected[:100])
    assert not np.array_equal(least_hashes(n, 100, 2), expected[:100])
    assert sorted(least_hashes(10, 20, 0)) == list(range(10))


def test_sampling_is_uniform():
    """Of 2,000 seeds each of 20 rows is among 5 chosen ones with probability 1/4: within 4 standard deviations."""
    counts = np.bincount(np.concatenate([least_hashes(20, 5, seed) for seed in range(2000)]), minlength=20)
    assert np.abs(counts - 500).max() < 4 * np.sqrt(2000 * 0.25 * 0.75)
