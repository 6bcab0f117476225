import naive
import numpy as np
import pytest
from each_case import each
from scipy import sparse

from representer.kernels import Brownian
from representer.testing import check_kernel

WIDTHS = each("width", [3, 12])
HURSTS = each("hurst", [0.3, 0.5, 0.8])


def rows(n, width, seed=0):
    return np.random.default_rng(seed).normal(size=(n, width))


@WIDTHS
@HURSTS
def test_formulas(hurst, width):
    naive.check_formulas(Brownian(hurst), rows(5, width), rows(4, width, seed=1))


@WIDTHS
@HURSTS
def test_laws(hurst, width):
    check_kernel(Brownian(hurst), rows(14, width))
    check_kernel(Brownian(hurst), rows(14, width).astype(np.float32))


@WIDTHS
@HURSTS
def test_sparse(hurst, width):
    X, Y = rows(7, width), rows(4, width, seed=1)
    X[np.abs(X) < 0.6] = Y[np.abs(Y) < 0.6] = 0.0
    naive.check_sparse(Brownian(hurst), X, Y)


def test_minimum_of_positive_numbers():
    x, y = np.array([[0.0], [0.5], [2.0]]), np.array([[0.0], [0.7], [1.0], [3.0]])
    np.testing.assert_allclose(Brownian()(x, y), np.minimum(x, y.T), atol=1e-15)


def test_zero_at_the_origin():
    X = rows(4, 3)
    X[2] = 0.0
    for hurst in (0.2, 0.5, 0.9):
        np.testing.assert_allclose(Brownian(hurst)(X)[2], 0.0, atol=1e-15)
        assert Brownian(hurst).diag(X)[2] == 0.0
        assert np.isfinite(Brownian(hurst).contract(X, np.ones((4, 4)))["hurst"])
        assert np.all(np.isfinite(Brownian(hurst).input_gradient(X, X, np.ones((4, 4)))))


def test_overflow_is_refused():
    X = rows(4, 3)
    np.testing.assert_allclose(Brownian()(1e150 * X), 1e150 * Brownian()(X), rtol=1e-13)
    with pytest.raises(ValueError, match=r"Values of Brownian\(\) overflow.*scale them"):
        Brownian()(1e200 * X)
    with pytest.raises(ValueError, match=r"Values of Brownian\(\) overflow"):
        Brownian()(X, np.array([[0.0, 0.0, 1.2e154]]))  # its own square is finite, that of twice it is not


def test_sparse_input_is_left_as_it_was():
    X = sparse.csr_array((np.array([1.0, 2.0, 3.0]), np.array([2, 0, 1]), np.array([0, 2, 3])), shape=(2, 3))
    K = Brownian()(X)
    assert (X.data.tolist(), X.indices.tolist()) == ([1.0, 2.0, 3.0], [2, 0, 1])  # unsorted, and left so
    np.testing.assert_allclose(K, Brownian()(X.toarray()))


@pytest.mark.parametrize("hurst", [0.0, 1.0, -0.1, np.nan, "rough", None])
def test_bad_hurst(hurst):
    with pytest.raises(ValueError, match=r"hurst is .* (must lie between 0 and 1|finite number)"):
        Brownian(hurst)(rows(3, 2))
