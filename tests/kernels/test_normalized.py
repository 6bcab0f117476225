import naive
import numpy as np
import pytest

from representer.kernels import RBF, Cosine, Exp, Linear, Normalized, Polynomial, Sigmoid, Spectrum
from representer.testing import check_kernel


def rows(n, width=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, width))


@pytest.mark.parametrize(
    "kernel",
    [Normalized(Polynomial(2, length_scale=[0.8, 1.0, 2.0])), Normalized(Normalized(Linear() + 1.0) * RBF())],
    ids=repr,
)
def test_formulas_and_laws(kernel):
    naive.check_formulas(kernel, rows(4), rows(3, seed=1))
    check_kernel(kernel, rows(14))
    check_kernel(kernel, rows(14).astype(np.float32))
    X, Y = rows(7), rows(4, seed=1)
    X[np.abs(X) < 0.4] = Y[np.abs(Y) < 0.4] = 0.0
    naive.check_sparse(kernel, X, Y)


def test_rbf_is_a_normalized_exponential():
    np.testing.assert_allclose(Normalized(Exp(Linear(1.3)))(rows(6)), RBF(1.3)(rows(6)), rtol=1e-12)


def test_cosine_is_the_normalized_product():
    X, Y, W = rows(5), rows(4, seed=1), rows(5, 4, seed=2)
    np.testing.assert_allclose(Normalized(Linear())(X, Y), Cosine()(X, Y), rtol=1e-12)
    np.testing.assert_allclose(
        Normalized(Linear()).input_gradient(X, Y, W), Cosine().input_gradient(X, Y, W), atol=1e-13
    )


def test_zero_where_the_kernel_is():
    X = rows(4)
    X[1] = 0.0
    kernel, W = Normalized(Linear(1.4)), rows(4, 4, seed=2)
    assert not kernel(X)[1].any()
    assert np.array_equal(kernel.diag(X), [1, 0, 1, 1])
    np.testing.assert_allclose(kernel.contract(X, W)["kernel__length_scale"], 0.0, atol=1e-13)
    assert np.all(np.isfinite(kernel.input_gradient(X, X, W)))


def test_strings():
    K = Normalized(Spectrum(2))(["abab", "bab", "x"])
    assert K[0, 1] == pytest.approx(3 / np.sqrt(5 * 2))
    assert K[2].tolist() == [0.0, 0.0, 0.0]


def test_definite_and_negative_diagonals():
    assert Normalized(Linear()).definite
    assert not Normalized(Sigmoid()).definite
    with pytest.raises(ValueError, match=r"-1.0 \* RBF\(\) has negative values k\(x, x\), so it cannot be normalised"):
        Normalized(-1.0 * RBF())(rows(3))
