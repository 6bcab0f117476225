import numpy as np
import pytest
from each_case import each
from preimage_cases import NESTED, POINTS, PRODUCTS, RADIAL, inputs, random_function, representers
from scipy import sparse
from sklearn.kernel_ridge import KernelRidge

from representer import Function
from representer.kernels import RBF
from representer.preimage.learned import learned
from representer.preimage.target import Target

CASES = RADIAL | PRODUCTS | NESTED


@each("case", CASES)
def test_finds_the_input_of_a_representer(case):
    f = representers(CASES[case], POINTS, inputs(100))
    np.testing.assert_allclose(learned(Target(f), alpha=1e-6), POINTS, atol=0.03)


def test_training_inputs_are_reproduced_without_a_ridge():
    X = inputs()
    np.testing.assert_allclose(learned(Target(Function(RBF(), X, np.eye(60))), alpha=1e-12), X, atol=1e-6)


def test_is_ridge_regression_of_scikit_learn(rng):
    """From explicit distances in H, computed as norms of differences of functions."""
    f = random_function(NESTED["sum"], rng, n=20, outputs=4)
    each = [Function(f.kernel, f.X, column) for column in np.eye(20)]
    squares = np.array([[g.distance(h) ** 2 for h in each] for g in each])
    width = squares.mean() / 2.0  # half of the mean squared distance of pairs is the mean one from the mean
    own = np.array([[f[o].distance(g) ** 2 for g in each] for o in range(4)])
    mean = f.X.mean(axis=0)
    model = KernelRidge(alpha=0.1, kernel="precomputed").fit(np.exp(-0.5 * squares / width), f.X - mean)
    wanted = model.predict(np.exp(-0.5 * own / width)) + mean
    np.testing.assert_allclose(learned(Target(f), alpha=0.1), wanted, rtol=1e-8, atol=1e-10)


def test_sparse_inputs_give_the_same(rng):
    X = rng.normal(size=(30, 5)) * (rng.uniform(size=(30, 5)) > 0.6)
    coef = rng.uniform(size=(30, 3)) / 30
    dense, thin = (learned(Target(Function(RBF(2.0), Z, coef))) for Z in (X, sparse.csr_array(X)))
    np.testing.assert_allclose(thin, dense, atol=1e-8)


def test_one_input():
    np.testing.assert_allclose(learned(Target(Function(RBF(), np.ones((1, 2)), [0.5]))), np.ones((1, 2)), rtol=1e-12)


def test_memory_is_announced():
    with pytest.raises(MemoryError, match=r"2\.88e-05 GB for 60 x 60 values"):
        learned(Target(Function(RBF(), inputs(), np.ones(60))), memory=20_000)
