"""The constant kernel is the same for all inputs, and keeps the laws of kernels."""

import numpy as np
import pytest

from representer.kernels import Constant
from representer.testing import check_kernel


def test_it_is_a_kernel_with_a_gradient():
    check_kernel(Constant(2.5), np.random.default_rng(0).normal(size=(5, 2)))


@pytest.mark.parametrize("X", [np.zeros((2, 3)), ["a", "b"], [{1}, {2, 3}]])
def test_inputs_of_any_type_have_its_value(X):
    assert np.array_equal(Constant(2.5)(X), np.full((2, 2), 2.5))
