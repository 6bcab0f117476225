"""Random features: unbiased, with an error that falls as one over the root of their number."""

import numpy as np
import pytest
from each_case import each
from scipy import sparse

from representer import RandomFeatures
from representer.functions import Function
from representer.kernels import (
    RBF,
    ArcCosine,
    Laplacian,
    Linear,
    Matern,
    Normalized,
    Polynomial,
    RationalQuadratic,
    Spectrum,
)

X = np.random.default_rng(0).normal(size=(40, 4))
KERNELS = [
    RBF(1.5),
    RBF([1.0, 2.0, 3.0, 4.0]),
    Laplacian(4.0),
    Matern(2.0, nu=0.5),
    Matern(2.0, nu=2.0),
    Matern(2.0, nu=np.inf),
    RationalQuadratic(2.0, 0.7),
    ArcCosine(0),
    ArcCosine(1),
    ArcCosine(2),
    Polynomial(2),
    RBF(2.0) + 0.5 * Laplacian(4.0),
    RBF(2.0) * Matern(3.0, nu=1.5),
    RBF(3.0) ** 2,
    2.0 * RBF(2.0) * Matern(3.0, nu=1.5),
    RBF(2.0) * Polynomial(2),
    (ArcCosine(1) * RBF(3.0)) ** 2,
    (RBF(2.0) + 0.5 * Polynomial(1)) * Matern(3.0, nu=1.5),
]


@each("sampling", ["orthogonal", "gaussian", "qmc"])
@each("kernel", KERNELS)
def test_means_of_many_draws_are_the_kernel(kernel, sampling):
    W = np.random.default_rng(1).normal(size=(10, *X.shape[:1] * 2))  # ten weighted sums of all values
    draws = [RandomFeatures(kernel, 64, sampling=sampling, random_state=s)(X) for s in range(30)]
    sums = np.array([np.einsum("kij,ij->k", W, draw - kernel(X)) for draw in draws])
    error = sums.std(axis=0, ddof=1) / np.sqrt(30)
    assert np.all(np.abs(sums.mean(axis=0)) < 4.5 * error + 1e-9)  # Student's t exceeds it once in 10,000


@pytest.mark.parametrize(
    "kernel", [RBF(1.5), Laplacian(4.0), Polynomial(2), ArcCosine(1), Polynomial(2) * RBF(2.0)], ids=repr
)
def test_error_falls_as_the_root_of_their_number(kernel):
    K = kernel(X)

    def error(size):
        parts = [np.mean((RandomFeatures(kernel, size, random_state=s)(X) - K) ** 2) for s in range(8)]
        return np.sqrt(np.mean(parts))

    assert 2.5 < error(64) / error(1024) < 6.5  # 4 in the mean


def test_orthogonal_directions_have_a_smaller_error():
    K = RBF(2.0)(X)
    errors = [
        np.mean([np.mean((RandomFeatures(RBF(2.0), 256, sampling=s, random_state=r)(X) - K) ** 2) for r in range(10)])
        for s in ("orthogonal", "gaussian")
    ]
    assert errors[0] < 0.7 * errors[1]


def test_sparse_rows():
    kernel = RandomFeatures(RBF(1.5), 64)
    np.testing.assert_allclose(kernel(sparse.csr_array(X)), kernel(X), atol=1e-12)


def test_functions_of_features_predict_rows_of_either_precision():
    kernel = RandomFeatures(RBF(1.5), 64)
    w = np.random.default_rng(1).normal(size=64)
    f = Function(*kernel.basis(X).representers(w))
    np.testing.assert_allclose(f(X.astype(np.float32)), f(X), atol=1e-4)
    gradient = f.gradient(X[:3])
    step = 1e-5 * np.eye(4)
    for i in range(3):
        expected = [(f(X[i : i + 1] + e[None]) - f(X[i : i + 1] - e[None])) / 2e-5 for e in step]
        np.testing.assert_allclose(gradient[i], np.ravel(expected), rtol=1e-5, atol=1e-6)


def test_refusals():
    with pytest.raises(ValueError, match="sampling is 'sobol'"):
        RandomFeatures(RBF(), 8, sampling="sobol")(X)
    with pytest.raises(TypeError, match="use Nystroem"):
        RandomFeatures(Linear(), 8).fit(X)


def test_an_odd_number_of_waves_is_unbiased(rng):
    X = rng.normal(size=(6, 3))
    draws = [RandomFeatures(RBF(2.0), 5, random_state=s)(X) for s in range(2000)]
    error = np.std(draws, axis=0) / np.sqrt(len(draws))
    assert np.all(np.abs(np.mean(draws, axis=0) - RBF(2.0)(X)) < 4.5 * error)
    assert RandomFeatures(RBF(2.0), 5).fit_transform(X).shape == (6, 5)
    with pytest.raises(ValueError, match="each part needs at least one"):
        RandomFeatures(RBF(1.0) + RBF(2.0), 1).fit(X)


def test_kernels_of_objects_have_no_random_features():
    with pytest.raises(TypeError, match=r"Random features of .*Spectrum.* are not known; use Nystroem"):
        RandomFeatures(Normalized(Spectrum(2))).fit(["abc", "abd"])
