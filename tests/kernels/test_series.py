import naive
import numpy as np
import pytest
from sklearn.base import clone

from representer import kernels
from representer.kernels import RBF, Exp, Linear, Normalized, PowerSeries, Sigmoid
from representer.testing import check_kernel


def rows(n, width=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, width))


@pytest.mark.parametrize(
    "kernel",
    [
        Exp(0.1 * Linear([0.8, 1.0, 2.0])),
        Exp(RBF([0.8, 1.0, 2.0]) + 0.1 * Linear()),
        PowerSeries(RBF(1.5), [0.5, 0.3, 2.0, 1.0]),
        PowerSeries(RBF(), (3.0,)),
    ],
    ids=repr,
)
def test_formulas_and_laws(kernel):
    naive.check_formulas(kernel, rows(4), rows(3, seed=1))
    check_kernel(kernel, rows(14))
    check_kernel(kernel, rows(14).astype(np.float32))


def test_exp_is_the_limit_of_its_series():
    factorials = np.cumprod([1.0, *range(1, 25)])
    np.testing.assert_allclose(Exp(RBF())(rows(6)), PowerSeries(RBF(), 1 / factorials)(rows(6)), rtol=1e-14)


def test_definite():
    assert Exp(RBF()).definite
    assert PowerSeries(RBF()).definite
    assert not Exp(-1.0 * RBF()).definite
    assert not PowerSeries(Sigmoid()).definite


@pytest.mark.parametrize("coefficients", [(), (1.0, -0.1), (np.nan,), (np.inf, 1.0), 2.0, [[1.0]]], ids=repr)
def test_bad_coefficients(coefficients):
    with pytest.raises(ValueError, match=r"coefficients is .* zero or positive"):
        PowerSeries(RBF(), coefficients)(rows(3))


def test_too_many_coefficients():
    assert PowerSeries(RBF(), np.full(1000, 1e-3))(rows(1))[0, 0] == pytest.approx(1.0)
    with pytest.raises(ValueError, match=r"coefficients has 10,000,000 entries; use at most 1,000"):
        PowerSeries(RBF(), np.zeros(10**7))(rows(3))


def test_parameters_clone_and_printed_form():
    kernel = Exp(0.5 * PowerSeries(Normalized(Linear()), (1.0, 2.0)))
    assert eval(repr(kernel), vars(kernels).copy()) == clone(kernel) == kernel
    kernel.set_params(kernel__factor=0.25, kernel__kernel__coefficients=(3.0,))
    assert kernel == Exp(0.25 * PowerSeries(Normalized(Linear()), (3.0,)))
