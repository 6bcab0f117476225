"""Random kernel expressions, nested up to depth four, against textbook formulas for one pair of inputs."""

import naive
import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

from representer import Gram, kernels
from representer.kernels import (
    RBF,
    ArcCosine,
    Constant,
    Cosine,
    Exp,
    Laplacian,
    Linear,
    Matern,
    Normalized,
    On,
    Pairwise,
    Periodic,
    Polynomial,
    PowerSeries,
    RationalQuadratic,
)

numbers = st.sampled_from([0.5, 0.75, 1.0, 1.5, 2.0, 3.0])
seeds = st.integers(0, 2**32 - 1)


def scales(width):
    return numbers | st.none() | st.lists(numbers, min_size=width, max_size=width)


def leaves(width):
    scale = scales(width)
    return st.one_of(
        st.builds(RBF, scale),
        st.builds(Matern, scale, st.sampled_from([0.5, 1.5, 2.5])),
        st.builds(RationalQuadratic, scale, numbers),
        st.builds(Periodic, scale, numbers | st.lists(numbers, min_size=width, max_size=width)),
        st.builds(Laplacian, scale),
        st.builds(Linear, scale),
        st.builds(Polynomial, st.integers(1, 3), numbers, scale),
        st.builds(Cosine),
        st.builds(ArcCosine, st.just(1)),
        st.builds(Constant, numbers),
    )


def anchors(width):
    quarters = st.integers(-8, 8).map(lambda i: i / 4 + 0.125)  # printed exactly, and never a zero row
    return st.lists(st.lists(quarters, min_size=width, max_size=width), min_size=1, max_size=3).map(np.array)


@st.composite
def expressions(draw, depth=4, width=3):
    """A kernel of rows with ``width`` columns."""
    if depth == 0:
        return draw(leaves(width))
    nodes = ["leaf", "+", "*", "scale", "add", "**", "Exp", "Series", "Normalized", "Pairwise", "On"]
    node = draw(st.sampled_from(nodes))
    if node in ("leaf", "Pairwise"):
        leaf = draw(leaves(width))  # a sum over anchors of a deep tree takes the naive loops too long
        return Pairwise(leaf, draw(anchors(width))) if node == "Pairwise" else leaf
    if node == "On":
        columns = draw(st.permutations(range(width)))[:2]
        return On(draw(expressions(depth=depth - 1, width=2)), columns)
    left = draw(expressions(depth=depth - 1, width=width))
    if node in ("+", "*"):
        right = draw(expressions(depth=depth - 1, width=width))
        return left + right if node == "+" else left * right
    if node == "Exp":
        return Exp(draw(numbers) * Normalized(left))  # normalised, so that it does not overflow
    return {
        "scale": lambda: draw(numbers) * left,
        "add": lambda: left + draw(numbers),
        "**": lambda: left**2,
        "Series": lambda: PowerSeries(left, draw(st.lists(numbers | st.just(0.0), min_size=1, max_size=3).filter(any))),
        "Normalized": lambda: Normalized(left),
    }[node]()


def inputs(seed, n):
    return np.random.default_rng(seed).normal(size=(n, 3))


def sizes(kernel, X, Y=None):
    """sqrt(k(x_i, x_i) k(y_j, y_j)): what the entries of a positive semidefinite kernel are measured by.

    All terms of k(x, x) are positive, so by Cauchy-Schwarz no term of k(x, y) is larger than this, however much they
    cancel, and rounding is a small multiple of eps times it.
    """
    roots = [np.sqrt([naive.evaluate(kernel, x, x) for x in Z]) for Z in (X, X if Y is None else Y)]
    return np.multiply.outer(*roots)


@given(expressions(), seeds, st.integers(1, 5))
def test_values_tiles_and_products(kernel, seed, cut):
    X, Y = inputs(seed, 9)[:6], inputs(seed, 9)[6:]
    before, K, size = clone(kernel), kernel(X), sizes(kernel, X)
    assert np.array_equal(K, K.T)
    assert np.all(np.abs(K - naive.matrix(kernel, X)) <= 1e-13 * size)
    assert np.all(np.abs(kernel(X, Y) - naive.matrix(kernel, X, Y)) <= 1e-13 * sizes(kernel, X, Y))
    np.testing.assert_allclose(kernel.diag(X), K.diagonal(), rtol=1e-14)
    assert kernel.definite
    assert np.linalg.eigvalsh(K / size)[0] >= -1e-13
    gram, V = Gram(kernel, X), np.random.default_rng(seed).normal(size=(6, 2))
    tiles = [[gram.block(i, j) for j in (slice(cut), slice(cut, 6))] for i in (slice(2), slice(2, 6))]
    assert np.all(np.abs(np.block(tiles) - K) <= 1e-13 * size)
    assert np.all(np.abs(gram @ V - K @ V) <= 1e-13 * size @ np.abs(V))
    assert np.array_equal(gram.dense(), K)
    assert kernel == before


def derivatives(kernel, X, name):
    """dk(x_i, x_j) / dtheta by complex steps, with one more axis if theta has several numbers."""
    value = kernel.get_params()[name]
    theta = np.asarray(1.0 if value is None else value, complex)
    moved = [theta + naive.STEP * 1j * unit.reshape(theta.shape) for unit in np.eye(theta.size)]
    steps = [naive.matrix(kernel, X, **{name: t[()]}).imag / naive.STEP for t in moved]
    return np.stack(steps, axis=-1).reshape(len(X), len(X), *theta.shape)


# Terms of a derivative may cancel, so it is measured by the largest one over all pairs, and where that is small by the
# values. 1e-11 leaves the terms four digits of cancellation, and an error in a formula is much larger.
@given(expressions(), seeds)
def test_derivatives_of_hyper_parameters(kernel, seed):
    X, W = inputs(seed, 3), np.random.default_rng(seed).normal(size=(3, 3))
    size = sizes(kernel, X).max()
    gradients = kernel.contract(X, W)
    real = {"length_scale", "mixture", "period", "offset", "factor", "value", "coefficients"}
    assert gradients.keys() == {name for name in kernel.get_params() if name.split("__")[-1] in real}
    for name, gradient in gradients.items():
        D = derivatives(kernel, X, name)
        assert np.shape(gradient) == D.shape[2:]
        error = np.abs(gradient - np.tensordot(W, D)).max()
        assert error <= 1e-11 * np.abs(W).sum() * max(np.abs(D).max(), 1e-3 * size), name


@given(expressions(), seeds)
def test_derivatives_of_inputs(kernel, seed):
    X, Y = inputs(seed, 6)[:3], inputs(seed, 6)[3:]
    W = np.random.default_rng(seed).normal(size=(3, 3))
    D = np.stack([naive.input_gradient(kernel, X, Y[j : j + 1], np.ones((3, 1))) for j in range(3)], axis=1)
    error = np.abs(kernel.input_gradient(X, Y, W) - np.einsum("ij,ijf->if", W, D)).max()
    assert error <= 1e-11 * np.abs(W).sum() * max(np.abs(D).max(), 1e-3 * sizes(kernel, X, Y).max())


@given(expressions())
def test_printed_form_and_clone(kernel):
    assert clone(kernel) == kernel
    assert clone(kernel) is not kernel
    printed = eval(repr(kernel), vars(kernels) | {"array": np.array})
    assert printed == kernel
    assert repr(printed) == repr(kernel)
