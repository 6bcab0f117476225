"""Conditionally positive definite kernels: formulas, definiteness off the polynomials, facts that nodes pass on."""

import naive
import numpy as np
import pytest
from each_case import each
from scipy.linalg import null_space
from sklearn.preprocessing import PolynomialFeatures

from representer.functions import Function
from representer.kernels import RBF, Linear, Multiquadric, Polyharmonic, RationalQuadratic, Sigmoid, ThinPlate
from representer.testing import check_gram, check_kernel

KERNELS = [
    ThinPlate(),
    ThinPlate(1.7),
    *(Polyharmonic(power) for power in (1, 2, 3, 4, 5, 6)),
    Polyharmonic(3, [0.5, 2.0, 1.3]),
    Multiquadric(),
    Multiquadric([0.5, 2.0, 1.3]),
    0.5 * ThinPlate() + RBF(0.7),
]
ALL = each("kernel", KERNELS)


def rows(n, seed=0):
    return np.random.default_rng(seed).uniform(0.1, 2.0, (n, 3))


@ALL
def test_formulas(kernel):
    naive.check_formulas(kernel, rows(5), rows(4, seed=1))


@ALL
def test_laws(kernel):
    check_kernel(kernel, rows(12))
    check_kernel(kernel, rows(12).astype(np.float32))
    check_gram(kernel, rows(30), rows(20, seed=1))


@each("columns", [1, 2, 3])
@each("kernel", [ThinPlate(1.7), *KERNELS[2:8], Multiquadric(), KERNELS[-1]])
def test_definite_off_the_polynomials(kernel, columns):
    """K is positive definite on the null space of polynomials below its order, and not on a larger space."""
    X = np.random.default_rng(columns).uniform(-9.0, 9.0, (24, columns))
    K = kernel(X)

    def least(degree):
        basis = null_space(PolynomialFeatures(degree).fit_transform(X).T) if degree >= 0 else np.eye(len(X))
        return np.linalg.eigvalsh(basis.T @ K @ basis)[0]

    assert least(kernel.conditional_order - 1) > 0
    assert least(kernel.conditional_order - 2) < 0


def test_no_length_scale_is_chosen_for_functions_without_a_scale(rng):
    X = rng.normal(size=(9, 2)) * 50.0
    assert ThinPlate().with_default_scales(X) == ThinPlate()
    assert Multiquadric().with_default_scales(X).length_scale == RBF().with_default_scales(X).length_scale


def test_gradients_at_equal_points_are_zero():
    X = np.ones((4, 2))
    for kernel in KERNELS[:8]:
        assert np.array_equal(kernel(X), np.zeros((4, 4)))
        assert np.array_equal(kernel.input_gradient(X, X, np.ones((4, 4))), np.zeros((4, 2)))


def test_orders():
    assert [Polyharmonic(power).conditional_order for power in range(1, 7)] == [1, 2, 2, 3, 3, 4]
    assert ThinPlate().conditional_order == 2
    assert ThinPlate() != Polyharmonic(2)
    assert Multiquadric().conditional_order == 1
    assert (RBF().conditional_order, RationalQuadratic(mixture=0.5).conditional_order, Sigmoid().conditional_order) == (
        0,
        0,
        None,
    )
    assert (ThinPlate() + 2.0 * Multiquadric()).conditional_order == 2
    assert (ThinPlate() + Sigmoid()).conditional_order is None
    assert (-1.0 * ThinPlate()).conditional_order is None
    assert (ThinPlate() * Linear()).conditional_order is None


def test_inverse_multiquadric_is_a_rational_quadratic():
    X = rows(6)
    np.testing.assert_allclose(RationalQuadratic(mixture=0.5)(X), -1.0 / Multiquadric()(X), rtol=1e-13)


def test_there_is_no_norm():
    with pytest.raises(ValueError, match="not positive semidefinite"):
        Function(ThinPlate(), rows(3), np.ones(3)).norm()


@pytest.mark.parametrize("power", [0, -1, 2.5, "two"])
def test_bad_power(power):
    with pytest.raises(ValueError, match="power is"):
        Polyharmonic(power)(rows(3))
