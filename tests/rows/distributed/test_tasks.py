import numpy as np
import pandas as pd
import pytest

from representer import _parallel
from representer.rows.distributed import tasks

FRAME = pd.DataFrame({"kind": pd.Categorical(["x", "y", "x"]), "size": [1.0, 2.0, 3.0]})


def test_categories_become_their_values_and_numbers_arrays():
    assert list(tasks.plain(FRAME)["kind"]) == ["x", "y", "x"]
    assert "category" not in map(str, tasks.plain(FRAME).dtypes)
    np.testing.assert_array_equal(tasks.plain(FRAME[["size"]]), [[1.0], [2.0], [3.0]])


def test_sums_are_cut_as_elsewhere_and_on_one_thread(rng):
    X = rng.normal(size=(40_000, 2))

    def part(X, y, w):
        return X.T @ X, len(X), _parallel.default_threads()

    G, n, threads = tasks.summed(tasks.Parcel(part), X, None, None, 0, tasks.signature(X))
    expected = sum(X[a : a + 16384].T @ X[a : a + 16384] for a in range(0, 40_000, 16384))
    np.testing.assert_array_equal(G, expected)
    assert n == 40_000
    assert threads == 3  # one in each of three blocks
    assert tasks.summed(tasks.Parcel(part), X[:0], None, None, 0, tasks.signature(X)) is None


def test_faults_name_the_partition():
    X = np.ones((4, 2))
    with pytest.raises(ValueError, match="Partition 3 has different columns from those before it: 2 where they have 5"):
        tasks.summed(tasks.Parcel(len), X, None, None, 3, tasks.signature(np.ones((4, 5))))
    with pytest.raises(ValueError, match="Partition 2 has 4 rows of inputs and 3 targets"):
        tasks.block_of(X, np.ones(3), None, 2, None)
    with pytest.raises(ValueError, match="Partition 1 has missing or infinite values among the inputs, in row 0"):
        tasks.block_of(X * np.nan, None, None, 1, None)
    with pytest.raises(ValueError, match="Partition 5 has targets or weights that are neither numbers nor text"):
        tasks.block_of(X, pd.Series([None] * 4), None, 5, None)

    def odd(X, y, w):
        raise ValueError("this is odd")

    with pytest.raises(ValueError, match=r"Partition 4: In the rows 0 to 3 \(counted from there\): this is odd"):
        tasks.summed(tasks.Parcel(odd), X, None, None, 4, tasks.signature(X))


def test_arrays_that_are_not_aligned_are_copied():
    raw = np.zeros(8 * 6 + 1, np.uint8)
    X = raw[1:].view(np.float64).reshape(3, 2)
    assert not X.flags.aligned
    assert tasks.block_of(X, X[:, 0], None, 0, None)[0].flags.aligned
    v = tasks.Parcel(X).open()
    assert v.flags.aligned
