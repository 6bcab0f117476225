import numpy as np
from preimage_cases import inputs

from representer import Function
from representer.kernels import RBF
from representer.preimage.starts import best, starts
from representer.preimage.target import Target


def test_order_of_starts():
    X = np.array([[0.0], [1.0], [2.0], [7.0]])
    target = Target(Function(RBF(2.0), X, np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 0.0], [0.0, 1.0]])))
    points, functions = starts(target, 1)
    np.testing.assert_array_equal(points, [[1.0], [7.0]])
    np.testing.assert_array_equal(functions, [0, 1])
    points, functions = starts(target, 3)
    np.testing.assert_array_equal(points[:2], [[1.0], [7.0]])
    np.testing.assert_array_equal(points[4:], [[0.0], [2.0]])
    np.testing.assert_array_equal(functions, [0, 1, 0, 1, 0, 1])
    assert X.min() < points[2] < X.max()
    assert points[2] < points[3]  # a mean leans to where the function is


def test_no_more_starts_than_inputs():
    target = Target(Function(RBF(), inputs(3), np.ones(3)))
    assert starts(target, 50)[0].shape == (4, 3)  # three inputs and a mean
    assert starts(Target(Function(RBF(), inputs(1), np.ones(1))), 50)[0].shape == (2, 3)


def test_mean_of_one_repeated_input_is_that_input():
    X = np.repeat(inputs(1), 5, axis=0)
    np.testing.assert_allclose(starts(Target(Function(RBF(), X, np.full(5, 0.2))), 2)[0], X[:2], rtol=1e-14)


def test_best():
    points = np.arange(6.0)[:, None]
    np.testing.assert_array_equal(best(np.array([3.0, 1.0, 1.0, 2.0, 2.0, 0.5]), points, 2), [[2.0], [5.0]])
