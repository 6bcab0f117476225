"""What the contract of a kernel promises, whatever the kernel."""

import inspect

import numpy as np
import pytest
from each_case import each
from scipy import sparse

from representer.kernels import (
    RBF,
    Constant,
    Cosine,
    Exp,
    FeatureMap,
    Kernel,
    Linear,
    Matern,
    Normalized,
    On,
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


def test_the_contract_has_ten_methods_and_the_rest_are_facts():
    own = {name for name, value in vars(Kernel).items() if inspect.isfunction(value) and not name.startswith("_")}
    user = {"diag", "distance", "contract", "input_gradient", "with_default_scales"}
    assert own == user | {"prepare", "fill", "diagonal", "vjp", "input_vjp"}
    assert RBF().basis is RBF().candidates is Linear().radial.log is RBF().normalized is None


def test_a_user_gives_prepare_fill_and_vjp():
    class Ones(Kernel):
        def prepare(self, X, like=None):
            return Constant().prepare(X)

        def fill(self, A, B, tile):
            tile[...] = 1.0

        def vjp(self, A, B, W):
            return {}

    check_kernel(2.0 * Ones() + Linear(), rows(5), gradients=False)
    with pytest.raises(TypeError, match="Ones has no gradient with respect to its inputs"):
        (RBF() + Ones()).input_gradient(rows(2), rows(2), np.ones((2, 2)))


def test_distance():
    X, Y = rows(6), rows(4, seed=1)
    np.testing.assert_allclose(
        Linear().distance(X, Y), np.linalg.norm(X[:, None] - Y[None], axis=2), rtol=1e-12, atol=1e-7
    )
    np.testing.assert_allclose(RBF().distance(X), np.sqrt(2 - 2 * RBF()(X)), atol=1e-8)
    distances = (RBF() + Linear()).distance(X)
    assert not distances.diagonal().any()
    np.testing.assert_allclose(distances, distances.T, rtol=1e-12)
    with pytest.raises(ValueError, match=r"Sigmoid\(\) is not positive semidefinite, so a distance"):
        Sigmoid().distance(X)


def test_gradients_of_many_rows_are_sums_of_parts():
    X, Y, W = rows(530), rows(20, seed=1), rows(530, 20, seed=2)
    kernel = RBF(1.3) * Linear() + 0.5
    whole = kernel.contract(X, W, Y)
    parts = [kernel.contract(X[i], W[i], Y) for i in (slice(0, 100), slice(100, 530))]
    for name, value in whole.items():
        assert value == pytest.approx(parts[0][name] + parts[1][name], rel=1e-11)
    gradient = kernel.input_gradient(X, Y, W)
    np.testing.assert_allclose(gradient[300:305], kernel.input_gradient(X[300:305], Y, W[300:305]), atol=1e-12)


@pytest.mark.parametrize("shape", [(3, 3), (3,), (2, 3), ()])
def test_weights_of_the_wrong_shape(shape):
    for gradient in (
        lambda W: RBF().contract(rows(3), W, rows(2)),
        lambda W: RBF().input_gradient(rows(3), rows(2), W),
    ):
        with pytest.raises(ValueError, match=r"W has shape .* kernel matrix has shape \(3, 2\)"):
            gradient(np.ones(shape))


def test_two_types_meet_in_the_more_precise():
    X, Y = rows(5), rows(4, seed=1).astype(np.float32)
    for kernel in (RBF() * Linear() + 1.0, Pairwise(RBF(), X)):
        exact = kernel(X, Y.astype(np.float64))
        assert kernel(X, Y).dtype == kernel(Y, X).dtype == np.float64
        np.testing.assert_allclose(kernel(X, Y), exact, rtol=1e-14)
        np.testing.assert_allclose(kernel(Y, X), exact.T, rtol=1e-12)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_columns_of_two_types_meet_in_the_more_precise(library):
    frame = pytest.importorskip(library).DataFrame
    X, kernel = rows(5, 2), On(RBF(), ["a", "b"])
    mixed = frame({"a": X[:, 0].astype(np.float32), "b": X[:, 1]})
    exact = frame({"a": X[:, 0].astype(np.float32).astype(float), "b": X[:, 1]})
    np.testing.assert_allclose(kernel(mixed, exact), kernel(exact), rtol=1e-12)


@pytest.mark.parametrize(
    ("child", "X"),
    [
        (Spectrum(2), ["abab", "bcb", "ab"]),
        (FeatureMap(Quadratic()), rows(4)),
        (Pairwise(RBF(), rows(3, seed=1)), rows(4)),
        (Precomputed(), rows(4) @ rows(4).T),
        (Cosine(), rows(4)),
        (Constant(3.0), rows(4)),
        (Linear(), sparse.csr_array(rows(4))),
    ],
    ids=lambda part: type(part).__name__,
)
def test_diagonals_do_not_change_what_was_prepared(child, X):
    for kernel in (2.0 * child, child**2, Exp(0.1 * child)):
        prepared = kernel.prepare(X)
        first = kernel.diagonal(prepared).copy()
        assert np.array_equal(kernel.diagonal(prepared), first)
        np.testing.assert_allclose(first, kernel(X).diagonal(), rtol=1e-12)


@each("exponent", [0, 1, 2, 3, 4, 5, 7, 8, 13])
def test_raise_to(exponent):
    values = np.array([-1.5, 0.0, 0.3, 2.0])
    expected = values**exponent
    kernels_base.raise_to(values, exponent)
    np.testing.assert_allclose(values, expected, rtol=1e-14)


def test_operators_make_nodes():
    assert (RBF() + Linear(), RBF() * Linear(), 2.0 * RBF(), RBF() ** 3) == (
        Sum(RBF(), Linear()),
        Product(RBF(), Linear()),
        Scaled(RBF(), 2.0),
        Power(RBF(), 3),
    )


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


@pytest.mark.parametrize("part", ["rbf", RBF, None])
def test_parts_are_kernels(part):
    for node in (Sum, lambda left, right: Normalized(left)):
        with pytest.raises(TypeError, match=r"is not a kernel; pass an object such as RBF\(\)"):
            node(part, RBF())


@pytest.mark.parametrize("grow", [lambda k: k + Matern(), lambda k: Polynomial(2) * k, Normalized], ids=["+", "*", "n"])
def test_expressions_as_deep_as_allowed_work_and_deeper_ones_are_refused(grow):
    kernel = RBF()
    for _ in range(kernels_base.MOST_NESTED - 1):
        kernel = grow(kernel)
    assert np.isfinite(kernel(0.1 * rows(2))).all()
    assert eval(repr(kernel)) == kernel
    with pytest.raises(ValueError, match=r"nested 100 levels deep.* in pairs: \(a \+ b\) \+ \(c \+ d\)"):
        grow(kernel)


def test_many_kernels_in_pairs():
    """Also where parts are shared: the expression has 2^20 leaves, and 21 objects."""
    kernel = RBF()
    for _ in range(20):
        kernel = Sum(kernel, kernel)
    assert kernel.left.left == kernel.right.right
