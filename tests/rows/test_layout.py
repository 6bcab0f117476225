import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from each_case import each
from scipy import sparse

from representer.rows.layout import Layout, same_layout, signature

FRAME = pd.DataFrame({"a": [1.0, 2.0], "b": [3, 4], "t": [5.0, 6.0], "w": [1.0, 0.0]})


@pytest.mark.parametrize("wrap", [lambda f: f, pl.from_pandas, pa.Table.from_pandas, pa.RecordBatch.from_pandas])
def test_tables_become_arrays(wrap):
    X, y, w = Layout("t", "w").split(wrap(FRAME), "It")
    assert (X.dtype, y.dtype) == (np.float64, np.float64)
    np.testing.assert_array_equal(X, [[1, 3], [2, 4]])
    np.testing.assert_array_equal(y, [5, 6])
    np.testing.assert_array_equal(w, [1, 0])
    X, y, w = Layout(["t", "b"], "w").split(wrap(FRAME), "It")
    np.testing.assert_array_equal(X, [[1], [2]])
    np.testing.assert_array_equal(y, [[5, 3], [6, 4]])
    np.testing.assert_array_equal(w, [1, 0])
    X, y, w = Layout(["t", "w"], columns=["b"]).split(wrap(FRAME), "It")
    np.testing.assert_array_equal(X, [[3], [4]])
    np.testing.assert_array_equal(y, [[5, 1], [6, 0]])
    assert w is None


@pytest.mark.parametrize("wrap", [lambda f: f, pl.from_pandas, pa.Table.from_pandas])
def test_float32_stays_if_all_columns_are(wrap):
    single = FRAME.astype(np.float32)
    assert Layout("t", "w").split(wrap(single), "It")[0].dtype == np.float32
    assert Layout("t", "w").split(wrap(single.astype({"a": np.float64})), "It")[0].dtype == np.float64


@pytest.mark.parametrize("wrap", [lambda f: f, pa.Table.from_pandas])
def test_mixed_tables_stay_data_frames(wrap):
    mixed = FRAME.assign(city=["Rome", "Oslo"], kind=pd.Categorical(["x", "y"]))
    X, _, _ = Layout("t", columns=["a", "city", "kind"]).split(wrap(mixed), "It")
    assert list(X.columns) == ["a", "city", "kind"]
    assert list(X["city"]) == ["Rome", "Oslo"]
    assert list(X["kind"]) == ["x", "y"]
    assert Layout("city").split(wrap(mixed[["a", "city"]]), "It")[1].tolist() == ["Rome", "Oslo"]


def test_columns_of_arrays_by_number():
    A = np.arange(12.0).reshape(3, 4)
    X, y, w = Layout(-1, 0).split(A, "It")
    np.testing.assert_array_equal(X, A[:, 1:3])
    np.testing.assert_array_equal(y, A[:, 3])
    np.testing.assert_array_equal(w, A[:, 0])
    X, y, w = Layout([-1, 1], 0).split(A, "It")
    np.testing.assert_array_equal(X, A[:, 2:3])
    np.testing.assert_array_equal(y, A[:, [3, 1]])
    np.testing.assert_array_equal(w, A[:, 0])
    assert Layout().split(sparse.coo_array(A), "It")[0].shape == (3, 4)


@each(
    ("layout", "batch", "message"),
    [
        (Layout("t"), FRAME[["a", "b"]], "Batch 3 has no column 't'; its columns are a, b"),
        (Layout("t", columns=["a", "c"]), pa.Table.from_pandas(FRAME), "Batch 3 has no column 'c'"),
        (Layout("t"), FRAME[["t"]], "no columns besides target"),
        (Layout("t"), (np.ones((2, 1)),), "tuple"),
        (Layout(), (1, 2, 3, 4), "a tuple of 4"),
        (Layout(4), np.ones((2, 4)), "array with 4 columns, so 4 is not a column"),
        (Layout(), (np.ones((2, 1)), np.ones(3)), "2 rows of inputs and 3 targets"),
        (Layout(), (np.array([[1.0], [np.nan]]),), "Batch 3 has missing or infinite values among the inputs, in row 1"),
        (Layout(), (np.ones((2, 1)), np.array([0, np.inf])), "among the target, in row 1"),
        (Layout(), (np.ones((2, 1)), None, np.array([0.0, -1.0])), "weights that are negative"),
        (Layout("t"), pa.table({"a": [1.0, None], "t": [1, 2]}), "1 missing values in column 'a', the first in row 1"),
    ],
)
def test_faults_name_the_batch(layout, batch, message):
    with pytest.raises(ValueError, match="Batch 3") as error:
        layout.split(batch, "Batch 3")
    assert message in str(error.value)


def test_later_batches_must_be_like_the_first():
    first = signature(np.ones((2, 3)))
    same_layout(np.ones((5, 3)), first, "It")
    with pytest.raises(ValueError, match="Batch 2 has different columns from those before it: 4 where they have 3"):
        same_layout(np.ones((5, 4)), first, "Batch 2")
    with pytest.raises(ValueError, match="different type from those before it: float32 where they have float64"):
        same_layout(np.ones((5, 3), np.float32), first, "It")
    with pytest.raises(ValueError, match="different names"):
        same_layout(FRAME[["a", "b"]], signature(FRAME[["a", "t"]]), "It")
