"""The normalised Laplacian against its dense matrix."""

import numpy as np

from representer import Gram
from representer.kernels import RBF
from representer.problems.laplacian import LaplacianProblem

X = np.array([0.0, 0.25, 0.5, 2.0, 2.25, 1e3])[:, None]  # in float32, too; the last one has no edges


def dense():
    A = RBF(0.5)(X)
    np.fill_diagonal(A, 0.0)
    degrees = A.sum(axis=1)
    degrees[-1], A[-1, -1] = 1.0, 1.0
    return A / np.sqrt(np.outer(degrees, degrees))


def test_products(rng):
    problem = LaplacianProblem(Gram(RBF(0.5), X))
    assert problem.isolated.tolist() == [False] * 5 + [True]
    for V in (rng.normal(size=6), rng.normal(size=(6, 2))):
        np.testing.assert_allclose(problem.apply(V), dense() @ V, rtol=1e-13, atol=1e-14)


def test_residuals_of_eigenvectors(rng):
    values, vectors = np.linalg.eigh(dense())
    for dtype in (np.float64, np.float32):  # judged in float64
        residuals = LaplacianProblem(Gram(RBF(0.5), X.astype(dtype))).judge(vectors, values).residuals
        assert residuals.max() < 1e-14
    vectors, values = vectors + 0.1 * rng.normal(size=vectors.shape), values + 0.01
    expected = np.linalg.norm(dense() @ vectors - vectors * values, axis=0) / np.linalg.norm(vectors, axis=0)
    found = LaplacianProblem(Gram(RBF(0.5), X)).judge(vectors, values).residuals
    np.testing.assert_allclose(found, expected, rtol=1e-12)
