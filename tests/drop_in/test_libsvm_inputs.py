"""Rows and weights of support vector machines are those of scikit-learn."""

import numpy as np
import pytest

from representer.drop_in.libsvm_inputs import doubled_rows, nonnegative_weights

X = np.ones((3, 2), np.float32)


def test_rows_are_doubled():
    assert doubled_rows(X).dtype == np.float64
    assert doubled_rows(["a"]) == ["a"]


def test_weights_are_not_negative():
    assert nonnegative_weights(None, X) is None
    np.testing.assert_array_equal(nonnegative_weights([1.0, -2.0, 0.0], X), [1.0, 0.0, 0.0])
    with pytest.raises(ValueError, match="zero or negative"):
        nonnegative_weights([0.0, -1.0, 0.0], X)
    with pytest.raises(ValueError, match="incompatible shapes"):
        nonnegative_weights([1.0], X)
