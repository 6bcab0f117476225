"""Contractions and gradients by inputs, tile by tile, against formulas by hand."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from representer import Gram
from representer.kernels import RBF, Periodic, Polynomial, Spectrum


def dense(rng, n):
    return rng.normal(size=(n, 3))


def matrices(X, Y):
    """A symmetric matrix, a rectangular one and its transpose, with their inputs on both sides."""
    K = Gram(RBF(1.5), X, Y)
    return [(Gram(RBF(1.5), X), X, X), (K, X, Y), (K.T, Y, X)]


def weights(rng, shape):
    U, V = rng.normal(size=(shape[0], 3)), rng.normal(size=(shape[1], 3))
    return U @ V.T, (U, V)


def test_contraction_of_rbf_by_hand(rng):
    for K, A, B in matrices(dense(rng, 530), dense(rng, 300)):
        W, factors = weights(rng, K.shape)
        s = cdist(A, B, "sqeuclidean")
        expected = np.vdot(W, np.exp(-0.5 * s / 1.5**2) * s / 1.5**3)
        for given in (W, factors):
            assert K.contract(given) == {"length_scale": pytest.approx(expected, rel=1e-10)}


def test_input_gradient_of_rbf_by_hand(rng):
    for K, A, B in matrices(dense(rng, 530), dense(rng, 300)):
        W, factors = weights(rng, K.shape)
        G = -W * np.exp(-0.5 * cdist(A, B, "sqeuclidean") / 1.5**2) / 1.5**2
        expected = G.sum(axis=1)[:, None] * A - G @ B
        for given in (W, factors):
            np.testing.assert_allclose(K.input_gradient(given), expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int64, np.float32])
def test_weights_of_any_dtype(rng, dtype):
    K = Gram(RBF(), dense(rng, 30))
    W = rng.integers(0, 2 if dtype is bool else 200, (30, 30)).astype(dtype)
    expected = K.contract(W.astype(np.float64))["length_scale"]
    assert K.contract(W)["length_scale"] == pytest.approx(expected, rel=1e-12)


def test_contraction_names_all_hyper_parameters(rng):
    kernel = 2.0 * RBF([1.0, 2.0, 3.0]) + Periodic(period=[2.0, 3.0, 4.0])
    gradients = Gram(kernel, dense(rng, 30)).contract((np.ones((30, 1)), np.ones((30, 1))))
    shapes = {name: np.shape(value) for name, value in gradients.items()}
    assert shapes == {
        "left__factor": (),
        "left__kernel__length_scale": (3,),
        "right__length_scale": (),
        "right__period": (3,),
    }


def test_input_gradient_of_nested_kernels_equals_that_of_the_kernel(rng):
    kernel, X, Y = 2.0 * RBF([1.0, 2.0, 3.0]) * (Polynomial(2) + 1.0), dense(rng, 530), dense(rng, 270)
    W = rng.normal(size=(530, 270))
    expected = kernel.input_gradient(X, Y, W)
    np.testing.assert_allclose(Gram(kernel, X, Y).input_gradient(W), expected, rtol=1e-9)
    single = Gram(kernel, X.astype(np.float32), Y.astype(np.float32)).input_gradient(W)
    np.testing.assert_allclose(single, expected, rtol=1e-3, atol=1e-4 * np.abs(expected).max())


def test_lower_triangle_of_symmetric_weights_is_enough(rng):
    X = dense(rng, 530)
    K, W = Gram(RBF(), X), rng.normal(size=(530, 530))
    W = W + W.T
    lower = np.tril(W) + np.triu(np.full_like(W, np.nan), 1)
    np.testing.assert_allclose(K.input_gradient(lower, lower=True), K.input_gradient(W), rtol=1e-9, atol=1e-9)
    assert K.contract(lower, lower=True)["length_scale"] == pytest.approx(K.contract(W)["length_scale"], rel=1e-11)
    for gradient in (Gram(RBF(), X, X).input_gradient, Gram(RBF(), X, X).contract):
        with pytest.raises(ValueError, match="two different sets"):
            gradient(W, lower=True)


@pytest.mark.parametrize("lower", [False, True])
def test_chunks(rng, lower):
    X = dense(rng, 1100)
    K, W = Gram(RBF(), X, memory=50_000), rng.normal(size=(1100, 1100))
    assert len(K.row_inputs.chunks) > 1
    W = W + W.T
    whole = Gram(RBF(), X)
    np.testing.assert_allclose(K.input_gradient(W, lower=lower), whole.input_gradient(W), rtol=1e-9, atol=1e-9)
    found, expected = K.contract(W, lower=lower)["length_scale"], whole.contract(W)["length_scale"]
    assert found == pytest.approx(expected, rel=1e-9)


def test_there_is_no_gradient_by_strings():
    with pytest.raises(TypeError, match="not vectors"):
        Gram(Spectrum(2), ["ACG", "CG"]).input_gradient(np.ones((2, 2)))


@pytest.mark.parametrize(
    "W",
    [
        np.ones((5, 3)),
        np.ones(15),
        (np.ones((3, 2)), np.ones((5, 3))),
        (np.ones((5, 2)), np.ones((3, 2))),
        (np.ones(3), np.ones(5)),
        (np.ones((3, 2)),),
        (np.ones((3, 2)), np.ones((5, 2)), np.ones(2)),
    ],
)
def test_wrong_shape_of_w(rng, W):
    with pytest.raises(ValueError, match=r"W has shape .*K has shape \(3, 5\); .*factors"):
        Gram(RBF(), dense(rng, 3), dense(rng, 5)).contract(W)


@pytest.mark.parametrize("W", [np.full((3, 5), "a"), np.full((3, 5), 1j), (np.full((3, 1), 1j), np.ones((5, 1)))])
def test_w_without_numbers(rng, W):
    with pytest.raises(TypeError, match=r"W holds .* real numbers"):
        Gram(RBF(), dense(rng, 3), dense(rng, 5)).contract(W)
