import pickle
from fractions import Fraction

import naive
import numpy as np
import pytest
from each_case import each
from scipy import sparse
from sklearn.base import clone

from representer.kernels import (
    RBF,
    Constant,
    Linear,
    Matern,
    Normalized,
    Pairwise,
    Polynomial,
    Scaled,
    Sigmoid,
    Spectrum,
)
from representer.testing import check_kernel


def rows(n, width=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, width))


A, B, C = RBF(1.3), Linear([0.6, 1.0, 2.0]), Matern(0.9, nu=2.5)
NESTED = {
    "sum": A + B,
    "product": A * B,
    "scaled": 2.5 * A,
    "power": B**3,
    "constant": A + 0.7,
    "power of a sum": (A + B) ** 2,
    "scaled sum times sum": 0.5 * (A + B) * (C + 1.5),
    "power of a power": (B**2) ** 3,
    "negative": 2.0 * B + -0.5 * A,
    "same child twice": A * A + A,
}


@each("name", NESTED)
def test_formulas_and_laws(name):
    naive.check_formulas(NESTED[name], rows(5), rows(4, seed=1))
    check_kernel(NESTED[name], rows(14))
    check_kernel(NESTED[name], rows(14).astype(np.float32))


def test_sparse():
    X, Y = rows(7), rows(4, seed=1)
    X[np.abs(X) < 0.6] = Y[np.abs(Y) < 0.6] = 0.0
    naive.check_sparse(0.5 * (A + B) ** 2 * (C + 1.5), X, Y)


def test_product_is_hadamard_and_sums_distribute():
    X = rows(6)
    a, b, c = RBF(1.3), Linear(), Matern(0.9)
    KA, KB, KC = (k(X) for k in (a, b, c))
    for kernel, expected in [
        (a * b + c, KA * KB + KC),
        (a * (b + c), KA * (KB + KC)),
        (a + b * c, KA + KB * KC),
        ((a + b) * c, (KA + KB) * KC),
        ((a + b) ** 2, (KA + KB) ** 2),
        (a + b**2, KA + KB**2),
        (2 * a + 3, 2 * KA + 3),
        (2 * (a + 3), 2 * (KA + 3)),
        (1 + a * 2, 1 + KA * 2),
        (sum([a, b, c]), KA + KB + KC),
    ]:
        np.testing.assert_allclose(kernel(X), expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(
    "number",
    [2, True, np.float64(2.0), np.float32(2.0), np.int64(2), Fraction(5, 2)],
    ids=lambda n: type(n).__name__,
)
def test_numbers_on_both_sides(number):
    k = RBF()
    assert k * number == number * k == Scaled(k, float(number))
    assert number + k == Constant(float(number)) + k
    assert k + number == k + Constant(float(number))


@each(
    ("kernel", "text"),
    [
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
    assert RBF() + Linear() == RBF() + Linear()
    assert RBF() + Linear() != Linear() + RBF()
    assert RBF() + Linear() != RBF() * Linear()
    assert 2.0 * RBF() != 3.0 * RBF()


def test_nested_parameters_clone_and_pickle():
    kernel = RBF(1.5) * (2.0 * Linear() + 0.5) + Matern(0.7) ** 2
    for copy in (clone(kernel), pickle.loads(pickle.dumps(kernel))):
        assert copy == kernel
        assert copy is not kernel
    assert kernel.get_params()["left__left__length_scale"] == 1.5
    assert kernel.get_params()["left__right__left__factor"] == 2.0
    kernel.set_params(left__left__length_scale=0.5, right__kernel__nu=0.5, left__right__right__value=3.0)
    assert kernel == RBF(0.5) * (2.0 * Linear() + 3.0) + Matern(0.7, nu=0.5) ** 2
    assert copy != kernel
    with pytest.raises(ValueError, match="Invalid parameter 'width'"):
        kernel.set_params(left__left__width=2.0)


@each(
    ("kernel", "definite"),
    [
        (RBF() + Linear(), True),
        (RBF() + Sigmoid(), False),
        (Sigmoid() * RBF(), False),
        (0.0 * RBF(), True),
        (-2.0 * RBF(), False),
        (RBF() + -0.5, False),
        (Constant(0.0), True),
        (RBF() * Constant(-1.0), False),
        (Sigmoid() ** 2, False),
        (RBF() ** 2, True),
    ],
)
def test_definite(kernel, definite):
    assert kernel.definite is definite


def test_radial_form_of_a_scaled_kernel():
    check_kernel(2.5 * RBF(0.7), rows(9), gradients=False)
    assert (2.5 * RBF()).radial is not None
    assert (-1.0 * RBF()).radial is (2.0 * Polynomial(2)).radial is None


def test_children_of_two_types():
    """The anchors are float64 and the inputs float32, so one child computes in another type than its sibling."""
    X = rows(6).astype(np.float32)
    through, other, W = Pairwise(RBF(), rows(3, seed=1)), Linear(), np.ones((6, 6))
    for kernel in (through + other, other + through, through * other, other * through):
        np.testing.assert_allclose(kernel(X), kernel(X.astype(np.float64)), rtol=1e-5, atol=1e-5)
        for name, value in kernel.contract(X.astype(np.float64), W).items():
            np.testing.assert_allclose(kernel.contract(X, W)[name], value, rtol=1e-4)
        exact = kernel.input_gradient(X.astype(float), X.astype(float), W)
        np.testing.assert_allclose(kernel.input_gradient(X, X, W), exact, atol=1e-4)


def test_default_scales_of_all_parts():
    X, w = rows(20), np.arange(20.0)
    scale = RBF().with_default_scales(X, w).length_scale
    found = (2.0 * RBF() + Normalized(Matern(nu=0.5) ** 2) * Matern(3.0)).with_default_scales(X, w)
    assert found == 2.0 * RBF(scale) + Normalized(Matern(scale, nu=0.5) ** 2) * Matern(3.0)


def test_constant_on_anything():
    for X in (["a", "bc"], [{1}, {2}], rows(2), sparse.csr_array(rows(2))):
        assert np.array_equal(Constant(2.5)(X), np.full((2, 2), 2.5))
    assert (Spectrum(1) + 1.0)(["a", "b"]).tolist() == [[2.0, 1.0], [1.0, 2.0]]
    assert Constant()(rows(2).astype(np.float32)).dtype == np.float32
    with pytest.raises(TypeError, match="Constant has no gradient with respect to its inputs"):
        Constant().input_gradient(["a"], ["b"], np.ones((1, 1)))


@pytest.mark.parametrize("exponent", [0, -1, 2.0, 0.5, "two"])
def test_bad_exponent(exponent):
    with pytest.raises(ValueError, match=r"exponent is .* integer, at least 1"):
        (RBF() ** exponent)(rows(3))


@pytest.mark.parametrize("number", [np.nan, np.inf, "a", None])
def test_bad_numbers(number):
    with pytest.raises(ValueError, match=r"factor is .* finite number"):
        Scaled(RBF(), number)(rows(3))
    with pytest.raises(ValueError, match=r"value is .* finite number"):
        Constant(number)(rows(3))
