import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from representer.rows.arrays import ArrayRows
from representer.rows.base import Rows

N = 20_000


@pytest.fixture
def X(rng):
    return rng.normal(size=(N, 4))


def dense(X):
    return X.toarray() if sparse.issparse(X) else np.asarray(X)


@pytest.mark.parametrize(
    "wrap", [np.asarray, sparse.csr_array, sparse.coo_array, pd.DataFrame, pl.DataFrame], ids=lambda wrap: str(wrap)
)
def test_tables_of_all_kinds_give_the_same_blocks(X, wrap):
    rows = ArrayRows(wrap(X), pd.Series(X[:, 0]), list(X[:, 1]))
    assert (rows.n_columns, rows.dtype, rows.n_rows) == (4, np.float64, N)
    blocks = rows.map(lambda X, y, w: (dense(X), y, w))
    np.testing.assert_array_equal(np.concatenate([block[0] for block in blocks]), X)
    np.testing.assert_array_equal(np.concatenate([block[1] for block in blocks]), X[:, 0])
    np.testing.assert_array_equal(np.concatenate([block[2] for block in blocks]), X[:, 1])
    some = rows.sample(50, seed=3)
    np.testing.assert_array_equal(dense(some[0]), ArrayRows(X).sample(50, seed=3)[0])
    np.testing.assert_array_equal(some[1], dense(some[0])[:, 0])


def test_blocks_of_an_array_are_views_and_may_start_later(X):
    rows = ArrayRows(X)
    (later,) = rows.blocks(first=1)
    assert np.shares_memory(later[0], X)
    assert len(later[0]) == N - 16384


def test_a_sample_by_one_pass_is_the_sample_by_index(X):
    rows = ArrayRows(X, X[:, 0])
    for k in (1, 300, N + 5):
        for ours, slow in zip(rows.sample(k, 5), Rows.sample(rows, k, 5), strict=True):
            np.testing.assert_array_equal(ours, slow)


def test_lists_of_objects():
    words = [f"word {i}" for i in range(N)]
    rows = ArrayRows(words, np.arange(N))
    assert (rows.n_columns, rows.dtype, rows.names) == (1, None, None)
    assert [word for part in rows.map(lambda X, y, w: X) for word in part] == words
    some, numbers, _ = rows.sample(20)
    assert some == [words[i] for i in numbers]


def test_data_frames_know_their_names_and_mixed_ones_have_no_type(X):
    frame = pd.DataFrame({"a": X[:, 0].astype(np.float32), "b": X[:, 1].astype(np.float32)})
    assert ArrayRows(frame).dtype == np.float32
    mixed = ArrayRows(frame.assign(c="text"))
    assert (mixed.names, mixed.dtype) == (["a", "b", "c"], None)


def test_fingerprints_differ_where_rows_differ(X):
    first = ArrayRows(X).fingerprint
    assert first == ArrayRows(X.copy()).fingerprint
    assert first != ArrayRows(X, X[:, 0]).fingerprint
    assert first != ArrayRows(X[:-1]).fingerprint
    assert first != ArrayRows(X + 1e-9).fingerprint


def test_memory_maps_are_the_same_rows(X, tmp_path):
    np.save(tmp_path / "X.npy", X)
    mapped = ArrayRows(np.load(tmp_path / "X.npy", mmap_mode="r"))
    assert mapped.fingerprint == ArrayRows(X).fingerprint
    assert all(type(block[0]) is np.ndarray for block in mapped.blocks())
    np.testing.assert_array_equal(mapped.sample(10)[0], ArrayRows(X).sample(10)[0])


def test_unequal_lengths_are_an_error(X):
    with pytest.raises(ValueError, match="X has 20000 rows and y has 19999; give one for each row"):
        ArrayRows(X, X[1:, 0])
    with pytest.raises(ValueError, match="X is empty"):
        ArrayRows(X[:0])
