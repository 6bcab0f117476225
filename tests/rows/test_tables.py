import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from representer.rows import tables


@pytest.mark.parametrize("wrap", [np.asarray, sparse.csr_array, pd.DataFrame])
def test_parts_and_places(wrap):
    X = np.arange(12.0).reshape(6, 2)
    table = tables.sliceable(wrap(X))
    index = np.array([4, 0])
    for ours, plain in [(tables.part(table, 1, 3), X[1:3]), (tables.at(table, index), X[index])]:
        np.testing.assert_array_equal(ours.toarray() if sparse.issparse(ours) else ours, plain)
    assert (tables.number_of_rows(table), tables.number_of_columns(table)) == (6, 2)
    twice = tables.stacked([table, table])
    assert tables.number_of_rows(twice) == 12


def test_sequences_become_lists():
    assert tables.sliceable(("a", "b")) == ["a", "b"]
    assert tables.at(["a", "b"], np.array([1])) == ["b"]
    assert tables.stacked([["a"], ["b"]]) == ["a", "b"]
    assert tables.stacked([None, None]) is None


@pytest.mark.parametrize(
    ("kind", "expected"), [("float32", np.float32), ("int16", np.float64), ("bool", np.float64), ("str", None)]
)
def test_types_of_arrays(kind, expected):
    assert tables.dtype_of(np.zeros((2, 2), kind)) == expected
