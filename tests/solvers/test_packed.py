import numpy as np
import pytest

from representer.kernels import RBF, Linear, Spectrum
from representer.solvers.packed import PackedGram


@pytest.mark.parametrize("n", [1, 255, 700, 1300])
@pytest.mark.parametrize("kernel", [RBF(1.0), 0.5 * RBF(2.0) + Linear()], ids=repr)
def test_products_are_those_of_the_matrix(n, kernel):
    X = np.random.default_rng(0).normal(size=(n, 3))
    V = np.random.default_rng(1).normal(size=(n, 4))
    exact = kernel(X) @ V
    packed = PackedGram(kernel, kernel.prepare(X.astype(np.float32)))
    found = packed @ V
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, exact, atol=3e-6 * np.linalg.norm(kernel(X), axis=1).max())
    assert 2 * n * n <= packed.nbytes <= 2 * n * n + 4 * 256 * n


def test_products_do_not_depend_on_the_number_of_threads():
    X, V = np.random.default_rng(0).normal(size=(1500, 3)).astype(np.float32), np.ones((1500, 2))
    one, two = (PackedGram(RBF(1.0), RBF(1.0).prepare(X), threads) @ V for threads in (1, 2))
    np.testing.assert_array_equal(one, two)


def test_kernels_that_compute_in_double_precision():
    words = ["ACGT", "ACCA", "GTGT"]
    packed = PackedGram(Spectrum(2), Spectrum(2).prepare(words))
    np.testing.assert_allclose(packed @ np.eye(3), Spectrum(2)(words), rtol=1e-7)
