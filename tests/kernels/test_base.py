import pickle
from fractions import Fraction

import naive
import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from representer.kernels import (
    RBF,
    Callable,
    Constant,
    Cosine,
    Exp,
    FeatureMap,
    Kernel,
    Linear,
    Matern,
    Normalized,
    Pairwise,
    Polynomial,
    Power,
    Precomputed,
    Product,
    Quadratic,
    Scaled,
    Sigmoid,
    Spectrum,
    Sum,
)
from representer.kernels import base as kernels_base
from representer.testing import check_kernel


def rows(n, width=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, width))


def nested(width):
    a, b, c = RBF(1.3), Linear(np.linspace(0.6, 2.0, width)), Matern(0.9, nu=2.5)
    return {
        "sum": a + b,
        "product": a * b,
        "scaled": 2.5 * a,
        "power": b**3,
        "constant": a + 0.7,
        "product and sum": a * b + c,
        "product of a sum": a * (b + c),
        "sum of sums": a + (b + c),
        "product of products": a * (b * c),
        "power of a sum": (a + b) ** 2,
        "power of a product": (a * b) ** 2,
        "scaled sum times sum": 0.5 * (a + b) * (c + 1.5),
        "scaled on both sides": 2.0 * (a * 3.0 + b) * 0.5,
        "power of a power": (b**2) ** 3,
        "negative": 2.0 * b + -0.5 * a,
        "same child twice": a * a + a,
    }


NESTED = pytest.mark.parametrize(
    ("name", "width"), [(name, width) for width in (3, 12) for name in nested(width)], ids=str
)


@NESTED
def test_formulas(name, width):
    naive.check_formulas(nested(width)[name], rows(5, width), rows(4, width, seed=1))


@NESTED
def test_laws(name, width):
    check_kernel(nested(width)[name], rows(14, width))
    check_kernel(nested(width)[name], rows(14, width).astype(np.float32))


@NESTED
def test_sparse(name, width):
    X, Y = rows(7, width), rows(4, width, seed=1)
    X[np.abs(X) < 0.6] = Y[np.abs(Y) < 0.6] = 0.0
    naive.check_sparse(nested(width)[name], X, Y)


def test_product_is_hadamard_and_sums_distribute():
    X = rows(6)
    A, B, C = (k(X) for k in (RBF(1.3), Linear(), Matern(0.9)))
    a, b, c = RBF(1.3), Linear(), Matern(0.9)
    for kernel, expected in [
        (a * b, A * B),
        (a + b, A + B),
        (a * b + c, A * B + C),
        (a * (b + c), A * (B + C)),
        (a + b * c, A + B * C),
        ((a + b) * c, (A + B) * C),
        ((a + b) ** 2, (A + B) ** 2),
        (a + b**2, A + B**2),
        (2 * a + 3, 2 * A + 3),
        (2 * (a + 3), 2 * (A + 3)),
        (1 + a * 2, 1 + A * 2),
        (sum([a, b, c]), A + B + C),
    ]:
        np.testing.assert_allclose(kernel(X), expected, rtol=1e-12, atol=1e-14)
    assert np.abs((a * b + c)(X) - (a + b + c)(X)).max() > 0.1
    assert np.abs((a * b + c)(X) - (a * (b + c))(X)).max() > 0.1


@pytest.mark.parametrize(
    "number",
    [2, 2.0, True, np.float64(2.0), np.float32(2.0), np.int64(2), Fraction(5, 2)],
    ids=lambda n: type(n).__name__,
)
def test_numbers_on_both_sides(number):
    k = RBF()
    assert k * number == number * k == Scaled(k, float(number))
    assert number + k == Constant(float(number)) + k
    assert k + number == k + Constant(float(number))


@pytest.mark.parametrize("other", ["two", None, 1j, [1.0], np.ones(2), np.ones((2, 2)), object()])
def test_what_is_not_a_number_or_kernel_is_refused(other):
    for combine in (
        lambda: RBF() * other,
        lambda: other * RBF(),
        lambda: RBF() + other,
        lambda: other + RBF(),
    ):
        with pytest.raises(TypeError, match=r"operand|multiply sequence|oncatenat"):
            combine()


@pytest.mark.parametrize(
    ("kernel", "text"),
    [
        (RBF() + Linear(), "RBF() + Linear()"),
        (RBF() * Linear(), "RBF() * Linear()"),
        (2.0 * RBF(), "2.0 * RBF()"),
        (RBF() * 2, "2.0 * RBF()"),
        (RBF() ** 2, "RBF() ** 2"),
        (RBF() * (Linear() + Matern()), "RBF() * (Linear() + Matern())"),
        ((RBF() + Linear()) * Matern(), "(RBF() + Linear()) * Matern()"),
        (RBF() * Linear() + Matern(), "RBF() * Linear() + Matern()"),
        (RBF() + (Linear() + Matern()), "RBF() + (Linear() + Matern())"),
        (RBF() + Linear() + Matern(), "RBF() + Linear() + Matern()"),
        (RBF() * (Linear() * Matern()), "RBF() * (Linear() * Matern())"),
        (RBF() * Linear() * Matern(), "RBF() * Linear() * Matern()"),
        (2.0 * RBF() * Linear(), "2.0 * RBF() * Linear()"),
        (2.0 * (RBF() * Linear()), "2.0 * (RBF() * Linear())"),
        (2.0 * (RBF() + Linear()), "2.0 * (RBF() + Linear())"),
        (RBF() * (2.0 * Linear()), "RBF() * (2.0 * Linear())"),
        ((RBF() + Linear()) ** 3, "(RBF() + Linear()) ** 3"),
        ((2.0 * RBF()) ** 3, "(2.0 * RBF()) ** 3"),
        (2.0 * RBF() ** 3, "2.0 * RBF() ** 3"),
        ((RBF() ** 2) ** 3, "(RBF() ** 2) ** 3"),
        (-1.0 * RBF() + 0.5, "-1.0 * RBF() + Constant(value=0.5)"),
        (RBF(0.5) * Polynomial(2), "RBF(length_scale=0.5) * Polynomial(degree=2)"),
    ],
)
def test_printed_as_typed(kernel, text):
    assert repr(kernel) == str(kernel) == text
    assert eval(text) == kernel


def test_equality():
    assert RBF(1.5) == RBF(1.5)
    assert RBF(1.5) != RBF(1.6)
    assert RBF() != RBF(1.0)
    assert RBF([1.0, 2.0]) == RBF(np.array([1.0, 2.0]))
    assert RBF([1.0, 2.0]) != RBF([1.0, 2.0, 3.0])
    assert RBF() != Matern()
    assert RBF() != "RBF()"
    assert RBF() + Linear() == RBF() + Linear()
    assert RBF() + Linear() != Linear() + RBF()
    assert RBF() + Linear() != RBF() * Linear()
    assert 2.0 * RBF() != 3.0 * RBF()
    with pytest.raises(TypeError, match="unhashable"):
        hash(RBF())


@pytest.mark.parametrize("kernel", [*nested(3).values(), Normalized(RBF()), Spectrum(2)], ids=repr)
def test_clone_and_pickle(kernel):
    for copy in (clone(kernel), pickle.loads(pickle.dumps(kernel))):
        assert copy == kernel
        assert copy is not kernel
        assert repr(copy) == repr(kernel)


def test_nested_parameters():
    kernel = RBF(1.5) * (2.0 * Linear() + 0.5) + Matern(0.7) ** 2
    copy = clone(kernel)
    assert kernel.get_params()["left__left__length_scale"] == 1.5
    assert kernel.get_params()["left__right__left__factor"] == 2.0
    kernel.set_params(left__left__length_scale=0.5, right__kernel__nu=0.5, left__right__right__value=3.0)
    assert kernel == RBF(0.5) * (2.0 * Linear() + 3.0) + Matern(0.7, nu=0.5) ** 2
    assert copy != kernel
    with pytest.raises(ValueError, match="Invalid parameter 'width'"):
        kernel.set_params(left__left__width=2.0)


@pytest.mark.parametrize(
    ("kernel", "definite"),
    [
        (RBF() + Linear(), True),
        (RBF() + Sigmoid(), False),
        (Sigmoid() * RBF(), False),
        (2.0 * RBF(), True),
        (0.0 * RBF(), True),
        (-2.0 * RBF(), False),
        (RBF() + -0.5, False),
        (Constant(0.0), True),
        (RBF() * Constant(-1.0), False),
        (Sigmoid() ** 2, False),
        (RBF() ** 2, True),
    ],
    ids=repr,
)
def test_definite(kernel, definite):
    assert kernel.definite is definite


def test_distance():
    X, Y = rows(6), rows(4, seed=1)
    np.testing.assert_allclose(
        Linear().distance(X, Y), np.linalg.norm(X[:, None] - Y[None], axis=2), rtol=1e-12, atol=1e-7
    )
    distances = (RBF() + Linear()).distance(X)
    assert not distances.diagonal().any()
    np.testing.assert_allclose(distances, distances.T, rtol=1e-12)
    K = RBF()(X)
    np.testing.assert_allclose(RBF().distance(X), np.sqrt(2 - 2 * K), atol=1e-8)
    with pytest.raises(ValueError, match=r"Sigmoid\(\) is not positive semidefinite, so a distance"):
        Sigmoid().distance(X)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("threads", [1, 2])
def test_many_tiles(dtype, threads):
    X, Y = rows(530).astype(dtype), rows(300, seed=1).astype(dtype)
    kernel = RBF(1.3) * Polynomial(2) + 0.5
    squared = ((X.astype(float)[:, None] - Y.astype(float)[None]) ** 2).sum(axis=2)
    expected = np.exp(-0.5 * squared / 1.69) * (1 + X.astype(float) @ Y.T.astype(float)) ** 2 + 0.5
    tolerance = 300 * np.finfo(dtype).eps
    np.testing.assert_allclose(kernel(X, Y, threads=threads), expected, rtol=tolerance, atol=tolerance)
    K = kernel(X, threads=threads)
    assert np.array_equal(K, K.T)
    np.testing.assert_allclose(K[:, :300], kernel(X, X[:300]), rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(K.diagonal(), kernel.diag(X), rtol=tolerance)


@pytest.mark.parametrize("width", [5, 20, 40])
@pytest.mark.parametrize("n", [300, 512, 513, 700, 1024, 1100])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_blocks_are_the_same_for_any_number_of_threads(dtype, n, width):
    X = rows(n, width).astype(dtype)
    K = RBF(1.3)(X, threads=1)
    for threads in (2, 3, 4):
        assert np.array_equal(RBF(1.3)(X, threads=threads), K)
    tolerance = 500 * np.finfo(dtype).eps
    np.testing.assert_allclose(K, RBF(1.3)(X, X), rtol=tolerance, atol=tolerance)


def test_gradients_of_many_rows_are_sums_of_parts():
    X, Y, W = rows(530), rows(20, seed=1), rows(530, 20, seed=2)
    kernel = RBF(1.3) * Linear() + 0.5
    whole = kernel.contract(X, W, Y)
    parts = [kernel.contract(X[i], W[i], Y) for i in (slice(0, 100), slice(100, 530))]
    for name, value in whole.items():
        assert value == pytest.approx(parts[0][name] + parts[1][name], rel=1e-11)
    gradient = kernel.input_gradient(X, Y, W)
    np.testing.assert_allclose(gradient[300:305], kernel.input_gradient(X[300:305], Y, W[300:305]), atol=1e-12)


def test_contract_without_second_inputs():
    X, W = rows(5), rows(5, 5, seed=2)
    assert RBF(1.3).contract(X, W)["length_scale"] == pytest.approx(RBF(1.3).contract(X, W, X)["length_scale"])


def test_two_types_meet_in_the_more_precise():
    X, Y = rows(5), rows(4, seed=1).astype(np.float32)
    for kernel in (RBF(), Linear(), RBF() * Linear() + 1.0, Pairwise(RBF(), X)):
        exact = kernel(X, Y.astype(np.float64))
        assert kernel(X, Y).dtype == kernel(Y, X).dtype == np.float64
        np.testing.assert_allclose(kernel(X, Y), exact, rtol=1e-14)
        np.testing.assert_allclose(kernel(Y, X), exact.T, rtol=1e-12)


def test_mixed_types_inside_a_node():
    """The anchors are float64 and the inputs float32, so one child computes in another type than its sibling."""
    X = rows(6).astype(np.float32)
    through = Pairwise(RBF(), rows(3, seed=1))
    other = Linear()
    for kernel in (through + other, other + through, through * other, other * through):
        exact = kernel(X.astype(np.float64))
        np.testing.assert_allclose(kernel(X), exact, rtol=1e-5, atol=1e-5)
        W = np.ones((6, 6))
        for name, value in kernel.contract(X.astype(np.float64), W).items():
            np.testing.assert_allclose(kernel.contract(X, W)[name], value, rtol=1e-4)
        np.testing.assert_allclose(
            kernel.input_gradient(X, X, W), kernel.input_gradient(X.astype(float), X.astype(float), W), atol=1e-4
        )


@pytest.mark.parametrize(
    ("child", "X"),
    [
        (Spectrum(2), ["abab", "bcb", "ab"]),
        (FeatureMap(Quadratic()), rows(4)),
        (Pairwise(RBF(), rows(3, seed=1)), rows(4)),
        (Precomputed(), rows(4) @ rows(4).T),
        (Linear(), rows(4)),
        (Cosine(), rows(4)),
        (Constant(3.0), rows(4)),
    ],
    ids=lambda part: type(part).__name__,
)
@pytest.mark.parametrize("node", [lambda k: 2.0 * k, lambda k: k**2, Exp], ids=["scaled", "power", "exp"])
def test_diagonals_do_not_change_what_was_prepared(node, child, X):
    kernel = node(0.1 * child) if node is Exp else node(child)
    prepared = kernel.prepare(X)
    first = kernel.diagonal(prepared).copy()
    assert np.array_equal(kernel.diagonal(prepared), first)
    assert np.array_equal(kernel.block(prepared), kernel.block(prepared))
    np.testing.assert_allclose(first, kernel(X).diagonal(), rtol=1e-12)


def test_constant_on_anything():
    for X in (["a", "bc"], [{1}, {2}], rows(2), sparse.csr_array(rows(2))):
        assert np.array_equal(Constant(2.5)(X), np.full((2, 2), 2.5))
    assert (Spectrum(1) + 1.0)(["a", "b"]).tolist() == [[2.0, 1.0], [1.0, 2.0]]
    assert Constant()(rows(2).astype(np.float32)).dtype == np.float32
    with pytest.raises(TypeError, match="Constant has no gradient with respect to its inputs"):
        Constant().input_gradient(["a"], ["b"], np.ones((1, 1)))


@pytest.mark.parametrize("exponent", [1, 2, 3, 4, 5, 7, 8, 13])
def test_raise_to(exponent):
    values = np.array([-1.5, 0.0, 0.3, 2.0])
    expected = values**exponent
    kernels_base.raise_to(values, exponent)
    np.testing.assert_allclose(values, expected, rtol=1e-14)


def test_raise_to_zero():
    values = np.array([-1.5, 0.0])
    kernels_base.raise_to(values, 0)
    assert values.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("exponent", [0, -1, 2.0, 0.5, "two"])
def test_bad_exponent(exponent):
    with pytest.raises(ValueError, match=r"exponent is .* whole number, at least 1"):
        (RBF() ** exponent)(rows(3))


@pytest.mark.parametrize("number", [np.nan, np.inf, "a", None])
def test_bad_numbers(number):
    with pytest.raises(ValueError, match=r"factor is .* finite number"):
        Scaled(RBF(), number)(rows(3))
    with pytest.raises(ValueError, match=r"value is .* finite number"):
        Constant(number)(rows(3))


@pytest.mark.parametrize("shape", [(3, 3), (3,), (2, 3), ()])
def test_weights_of_the_wrong_shape(shape):
    for gradient in (
        lambda W: RBF().contract(rows(3), W, rows(2)),
        lambda W: RBF().input_gradient(rows(3), rows(2), W),
    ):
        with pytest.raises(ValueError, match=r"W has shape .* kernel matrix has shape \(3, 2\)"):
            gradient(np.ones(shape))


def test_a_user_needs_prepare_fill_and_pull():
    class Ones(Kernel):
        def prepare(self, X, like=None):
            return Constant().prepare(X)

        def fill(self, A, B, tile):
            tile[...] = 1.0

        def pull(self, A, B, W):
            return {}

    check_kernel(2.0 * Ones() + Linear(), rows(5), gradients=False)
    with pytest.raises(TypeError, match="Ones has no gradient with respect to its inputs"):
        (RBF() + Ones()).input_gradient(rows(2), rows(2), np.ones((2, 2)))


def test_nodes_by_name():
    assert (RBF() + Linear(), RBF() * Linear(), 2.0 * RBF(), RBF() ** 3) == (
        Sum(RBF(), Linear()),
        Product(RBF(), Linear()),
        Scaled(RBF(), 2.0),
        Power(RBF(), 3),
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_block_is_written_where_it_is_wanted(dtype, rng):
    kernel = 2.0 * RBF(1.5) + Linear()
    A = kernel.prepare(rng.normal(size=(600, 3)).astype(dtype))
    out = np.full((600, 600), np.nan, np.float32)
    assert kernel.block(A, out=out) is out
    assert np.array_equal(out, kernel.block(A).astype(np.float32))
    kernel.block(A[:5], A, out=out[:5])
    assert np.array_equal(out[:5], kernel.block(A[:5], A).astype(np.float32))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("known", "n"), [(0, 5), (0, 700), (3, 5), (300, 301), (300, 700), (700, 700)])
def test_block_grows(known, n, dtype, rng):
    """Values between the first inputs stay, and so does what is behind the last column."""
    kernel = 2.0 * RBF(1.5) + Linear()
    A = kernel.prepare(rng.normal(size=(n, 3)).astype(dtype))
    out = np.full((n, n + 4), np.nan, np.float32)
    out[:known, :known] = 7.0
    assert kernel.block(A, out=out, known=known) is out
    expected = kernel.block(A)
    expected[:known, :known] = 7.0
    np.testing.assert_allclose(out[:, :n], expected, rtol=1e-5, atol=1e-5)
    assert np.isnan(out[:, n:]).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [1, 40, 256, 384, 385])
@pytest.mark.parametrize("kernel", [RBF(1.5), RBF(1.5) * Linear()], ids=str)
def test_block_of_one_tile_is_filled_in_place(kernel, n, dtype, rng):
    A = kernel.prepare(rng.normal(size=(n, 12)).astype(dtype))
    out = np.full((n, n), np.nan, dtype)
    assert kernel.block(A, out=out) is out
    assert np.array_equal(out, out.T)
    strided = np.full((n, 2 * n), np.nan, dtype)[:, ::2]
    assert np.array_equal(kernel.block(A, out=strided), out)


def test_block_of_nothing_asks_no_kernel(rng):
    def refuses(X, Y):
        assert len(X) > 0
        assert len(Y) > 0
        return X @ Y.T

    kernel = Callable(refuses)
    A = kernel.prepare(rng.normal(size=(5, 2)))
    assert kernel.block(A[:0], A).shape == (0, 5)
    assert kernel.block(A, A[:0]).shape == (5, 0)
    assert kernel.block(A[:0]).shape == (0, 0)
    A = RBF().prepare(rng.normal(size=(5, 2)))
    assert RBF().block(A[:0]).shape == (0, 0)
