import naive
import numpy as np
import pandas as pd
import pytest
from each_case import each
from scipy import sparse
from scipy.special import expit
from sklearn.base import clone

from representer.kernels import RBF, Bumps, FeatureMap, Fourier, Haar, Linear, On, Quadratic, Sigmoids, TruncatedPowers
from representer.testing import check_kernel

MAPS = [
    Quadratic(),
    Fourier(order=2, period=1.7),
    TruncatedPowers(knots=[-0.5, 0.5], degree=3),
    Haar(levels=3),
    Bumps(centers=[-1.0, 0.0, 1.0], width=0.7),
    Sigmoids(centers=[-1.0, 1.0], width=0.5),
]


def rows(n, width=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, width))


@each("phi", MAPS)
@each("width", [3, 12])
def test_laws(phi, width):
    check_kernel(FeatureMap(phi), rows(10, width), gradients=not isinstance(phi, Haar))
    check_kernel(FeatureMap(phi), rows(10, width).astype(np.float32))


@pytest.mark.parametrize("phi", MAPS, ids=repr)
def test_inner_products_of_features(phi):
    X, Y = rows(6), rows(4, seed=1)
    K = FeatureMap(phi)(X, Y)
    np.testing.assert_allclose(K, phi(X) @ phi(Y).T, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(K, naive.matrix(FeatureMap(phi), X, Y), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("phi", [phi for phi in MAPS if not isinstance(phi, Haar)], ids=repr)
def test_input_gradient(phi):
    X, Y, W = rows(5), rows(4, seed=1), rows(5, 4, seed=2)
    along = W @ phi(Y)
    expected = np.empty_like(X)
    for i, f in np.ndindex(X.shape):
        step = np.zeros_like(X[:1])
        step[0, f] = 1e-4
        expected[i, f] = (phi(X[[i]] + step) - phi(X[[i]] - step))[0] @ along[i] / 2e-4
    np.testing.assert_allclose(FeatureMap(phi).input_gradient(X, Y, W), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("phi", "X", "message"),
    [
        (Haar(40), np.ones((1, 2)), r"2,199,023,255,552 features for each of 1 inputs, 1.76e\+04 GB.*use fewer levels"),
        (Haar(20), np.broadcast_to(0.5, (257, 1)), "1,048,576 features for each of 257 inputs, 2.16 GB.*fewer levels"),
        (Haar(10**9), np.ones((1, 2)), "levels is 1000000000, which would take too long .* use at most 52"),
        (Haar(-1), np.ones((1, 2)), "levels is -1; it must be an integer, at least 0"),
        (Fourier(10**9), np.ones((1, 2)), "4,000,000,002 features.*use a smaller order"),
        (Quadratic(), np.broadcast_to(0.5, (600, 1000)), r"501,500 features.*use Linear\(\) \+ Linear\(\) \*\* 2"),
    ],
)
def test_too_many_features_are_refused_before_they_are_made(phi, X, message):
    with pytest.raises(ValueError, match=message):
        phi(X)


def test_quadratic_gradient_is_exact_to_ten_digits():
    X, Y, W = rows(5), rows(4, seed=1), rows(5, 4, seed=2)
    same = Linear() + Linear() ** 2
    np.testing.assert_allclose(
        FeatureMap(Quadratic()).input_gradient(X, Y, W), same.input_gradient(X, Y, W), rtol=1e-8, atol=1e-9
    )


@pytest.mark.parametrize("width", [1, 2, 5])
def test_quadratic(width):
    X, Y = rows(5, width), rows(4, width, seed=1)
    products = X @ Y.T
    np.testing.assert_allclose(FeatureMap(Quadratic())(X, Y), products + products**2, rtol=1e-12, atol=1e-14)


def test_fourier_by_hand():
    x, y = 0.3, 0.8
    expected = 1 + sum(np.cos(2 * np.pi * m * (x - y) / 1.7) for m in (1, 2))
    assert FeatureMap(Fourier(2, 1.7))(np.array([[x]]), np.array([[y]]))[0, 0] == pytest.approx(expected)


def test_haar_is_the_projection_on_dyadic_steps():
    """k(x, y) = 2^levels where x and y lie in the same cell of this length, else zero; nothing outside [0, 1)."""
    x = np.append((np.arange(32) + 0.5) / 32, [-0.1, 1.0, 1.5])[:, None]
    cell = np.floor(8 * x[:32])
    expected = np.zeros((35, 35))
    expected[:32, :32] = 8.0 * (cell == cell.T)
    np.testing.assert_allclose(FeatureMap(Haar(3))(x), expected, atol=1e-12)


def test_truncated_powers_by_hand():
    phi = TruncatedPowers(knots=[1.0, 2.0], degree=2)
    assert phi(np.array([[1.5], [3.0]])).tolist() == [[1.0, 1.5, 2.25, 0.25, 0.0], [1.0, 3.0, 9.0, 4.0, 1.0]]


def test_bumps_and_sigmoids_by_hand():
    x = np.array([[0.2, -1.0]])
    t = (x[0][:, None] - [0.0, 1.0]) / 0.5
    np.testing.assert_allclose(Bumps([0.0, 1.0], 0.5)(x)[0], np.exp(-0.5 * t**2).ravel(), rtol=1e-14)
    np.testing.assert_allclose(Sigmoids([0.0, 1.0], 0.5)(x)[0], expit(t).ravel(), rtol=1e-14)


def test_sparse_features():
    X, Y, W = rows(5), rows(4, seed=1), rows(5, 4, seed=2)
    dense, thin = FeatureMap(Quadratic()), FeatureMap(lambda X: sparse.csr_array(Quadratic()(X)))
    np.testing.assert_allclose(thin(X, Y), dense(X, Y), rtol=1e-12)
    np.testing.assert_allclose(thin.diag(X), dense.diag(X), rtol=1e-12)
    np.testing.assert_allclose(thin.input_gradient(X, Y, W), dense.input_gradient(X, Y, W), atol=1e-8)


def test_features_of_strings():
    kernel = FeatureMap(lambda words: np.array([[len(word), word.count("a")] for word in words]))
    assert kernel(["aa", "b"]).tolist() == [[8.0, 2.0], [2.0, 1.0]]
    check_kernel(kernel, ["aa", "b", "abc", "ba"], gradients=False)
    with pytest.raises(TypeError, match="FeatureMap has no gradient with respect to its inputs"):
        kernel.input_gradient(["a"], ["b"], np.ones((1, 1)))


def test_rows_given_as_lists_or_data_frames():
    X = rows(4)
    expected = FeatureMap(Quadratic())(X)
    np.testing.assert_allclose(FeatureMap(Quadratic())(X.tolist()), expected)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    np.testing.assert_allclose(FeatureMap(Quadratic())(frame), expected)
    np.testing.assert_allclose(On(FeatureMap(Quadratic()), ["a", "b", "c"])(frame), expected)


@pytest.mark.parametrize("function", [lambda X: X[:-1], lambda X: X[:, 0], lambda X: [1.0], lambda X: X[None]])
def test_features_of_the_wrong_shape(function):
    with pytest.raises(ValueError, match=r"feature map returned shape .* for 4 inputs; return one row"):
        FeatureMap(function)(rows(4))


def test_features_that_are_not_numbers():
    with pytest.raises(ValueError, match="NaN or infinite"):
        FeatureMap(lambda X: X * np.inf)(np.ones((2, 2)))
    with pytest.raises(ValueError, match="X has 2 columns where the other inputs of FeatureMap have 3"):
        FeatureMap(lambda X: X)(rows(4, 2), rows(4, 3))


@pytest.mark.parametrize("phi", MAPS, ids=repr)
def test_parameters(phi):
    kernel = FeatureMap(phi)
    assert clone(kernel) == kernel
    assert kernel != FeatureMap(Fourier(order=7))
    assert 2.0 * kernel + RBF() == 2.0 * FeatureMap(clone(phi)) + RBF()


def test_nested_parameters():
    kernel = FeatureMap(Fourier(order=2)).set_params(function__order=5)
    assert kernel == FeatureMap(Fourier(order=5))
