"""Matrices from shared distances are those of each kernel by itself."""

import numpy as np
from each_case import each

from representer.gram.shared_distances import SharedDistances
from representer.gram.tiled import Gram
from representer.kernels import RBF, Matern, RationalQuadratic
from representer.kernels.stationary import SquaredDistance

X = np.random.default_rng(0).normal(size=(150, 3)) + 10.0  # three strips, the last one short


@each("kernel", [RBF(0.5), RBF(2.0), Matern(1.0, nu=1.5), RationalQuadratic(3.0)])
@each(("dtype", "tol"), [(np.float64, 1e-12), (np.float32, 1e-5)])
def test_matrices_are_those_of_each_kernel(kernel, dtype, tol):
    gram = Gram(kernel, X)
    found = SharedDistances(Gram(SquaredDistance(0.7), X), dtype).matrix(gram)
    assert (found.dtype, found.gram) == (dtype, gram)
    np.testing.assert_allclose(found.values, kernel(X), atol=tol)
