"""Kernels of Gaussian processes are translated both ways without a change of values or gradients."""

import numpy as np
import pytest
from each_case import each
from sklearn.gaussian_process import kernels as theirs

from representer.drop_in.process_kernels import Foreign, from_sklearn, to_sklearn
from representer.kernels import (
    RBF,
    Chi2,
    Cosine,
    HistogramIntersection,
    Laplacian,
    Linear,
    Matern,
    Periodic,
    Polynomial,
    RationalQuadratic,
)

X = np.random.default_rng(0).normal(size=(8, 2))
KERNELS = [
    theirs.ConstantKernel(2.0) * theirs.RBF([0.5, 2.0]) + theirs.WhiteKernel(0.1),
    theirs.Matern(1.5, nu=1.5) * theirs.DotProduct(0.7) + theirs.ConstantKernel(3.0, "fixed"),
    theirs.RationalQuadratic(0.8, alpha=0.6, length_scale_bounds="fixed") ** 2,
    theirs.ExpSineSquared(1.2, 0.9),
    theirs.PairwiseKernel(0.5, metric="laplacian"),
    theirs.RBF([1.5]),
    theirs.Exponentiation(theirs.RBF(), 0.5),
]


@each("kernel", KERNELS)
@each("columns", [1, 2])
def test_values_and_gradients_are_those_of_scikit_learn(kernel, columns):
    if columns == 1 and np.size(kernel.get_params().get("k1__k2__length_scale", 1.0)) > 1:
        kernel = kernel.clone_with_theta(kernel.theta).set_params(k1__k2=theirs.RBF(0.5))
    rows = X[:, :columns]
    found, W = from_sklearn(kernel, columns), np.random.default_rng(1).normal(size=(8, 8))
    K, gradient = kernel(rows, eval_gradient=True)
    np.testing.assert_allclose(found.kernel(rows), K, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(found.kernel(rows, rows[:3]), kernel(rows, rows[:3]), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(found.kernel.diag(rows), kernel.diag(rows), rtol=1e-10)
    expected = np.einsum("ij,ijp->p", W, gradient)
    np.testing.assert_allclose(found.gradient(found.kernel.contract(rows, W)), expected, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize(
    "kernel",
    [
        2.0 * RBF([0.5, 2.0]) + Matern(1.5, nu=2.5) * 3.0,
        RationalQuadratic(0.8, 0.6) ** 3 + 1.0,
        0.5 * Linear(2.0),
        Foreign(theirs.PairwiseKernel(0.5)),
        2.0 * Laplacian(1.5),
        Chi2(0.7),
        Cosine(),
        Polynomial(2, 0.5, 3.0),
    ],
    ids=repr,
)
def test_way_back(kernel):
    rows = np.abs(X)
    np.testing.assert_allclose(to_sklearn(kernel)(rows), kernel(rows), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(to_sklearn(kernel).diag(rows), kernel.diag(rows), rtol=1e-10)


def test_slopes_of_exponentials_that_underflow_are_zero():
    kernel, far = theirs.RBF(1e-3), np.arange(8.0)[:, None]
    found = from_sklearn(kernel, 1)
    np.testing.assert_array_equal(found.gradient(found.kernel.contract(far, np.ones((8, 8)))), 0.0)


def test_way_back_of_one_column_and_what_has_none():
    np.testing.assert_allclose(to_sklearn(Periodic(1.2, 0.9))(X[:, :1]), Periodic(1.2, 0.9)(X[:, :1]), rtol=1e-10)
    with pytest.raises(TypeError, match="scikit-learn has no Gaussian-process kernel"):
        to_sklearn(HistogramIntersection())
    for kernel in (Linear([1.0, 2.0]), Laplacian([1.0, 2.0])):
        with pytest.raises(TypeError, match="scikit-learn has no Gaussian-process kernel"):
            to_sklearn(kernel)
