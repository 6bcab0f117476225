import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from representer.estimators.repeated_rows import DistinctRows
from representer.kernels import checks

NUMBERS = np.array([[1.0, 2.0], [0.0, 5.0], [1.0, 2.0], [1.0, 2.0], [0.0, 5.0]])
TARGETS = np.array([[1.0], [2.0], [1.0], [3.0], [2.0]])
INPUTS = {
    "numbers": NUMBERS,
    "sparse": sparse.csr_array(NUMBERS),
    "frame": pd.DataFrame({"a": NUMBERS[:, 0], "text": ["x", "y", "x", "x", "y"]}),
    "texts": ["x", "y", "x", "x", "y"],
}


@pytest.mark.parametrize("X", INPUTS.values(), ids=INPUTS.keys())
def test_equal_rows_are_one_with_the_sum_of_their_weights(X):
    """Rows 0 and 2, and 1 and 4; row 3 has another target, and row 4 no weight."""
    weights = np.array([1.0, 0.5, 3.0, 1.0, 0.0])
    found = DistinctRows.of(X, TARGETS, weights)
    assert len(found.first) == 3
    assert found.groups[0] == found.groups[2] != found.groups[3]
    np.testing.assert_allclose(np.sort(found.weights), [0.5, 1.0, 4.0])
    np.testing.assert_allclose(found.spread(found.weights[:, None])[:, 0], weights)


@pytest.mark.parametrize("X", INPUTS.values(), ids=INPUTS.keys())
def test_the_order_of_rows_does_not_matter(X):
    turn = np.array([3, 1, 4, 0, 2])
    before, after = DistinctRows.of(X, TARGETS, None), DistinctRows.of(checks.take(X, turn), TARGETS[turn], None)
    np.testing.assert_array_equal(NUMBERS[before.first], NUMBERS[turn][after.first])
    np.testing.assert_array_equal(before.weights, after.weights)


def test_different_rows_have_no_weights():
    assert DistinctRows.of(np.eye(4), np.zeros((4, 1)), None).weights is None


def test_objects_that_cannot_be_compared_are_different():
    assert len(DistinctRows.of([{1, 2}, {1, 2}], np.zeros((2, 1)), None).first) == 2
