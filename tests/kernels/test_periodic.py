import naive
import numpy as np
import pytest
from scipy import sparse
from sklearn.gaussian_process import kernels as gp

from representer.kernels import RBF, Periodic
from representer.testing import check_kernel


def rows(n, width=3, seed=0):
    return np.random.default_rng(seed).uniform(0.1, 2.0, (n, width))


L = np.linspace(0.6, 2.5, 3)


@pytest.mark.parametrize(
    "kernel", [Periodic(1.1, period=2.0), Periodic(L, period=L + 1.0), Periodic(L, period=1.5)], ids=["1", "2", "3"]
)
def test_formulas_and_laws(kernel):
    naive.check_formulas(kernel, rows(5), rows(4, seed=1))
    check_kernel(kernel, rows(10))
    check_kernel(kernel, rows(10).astype(np.float32))


def test_equal_to_scikit_learn():
    one = rows(6, 1)
    np.testing.assert_allclose(Periodic(0.7, period=1.4)(one), gp.ExpSineSquared(0.7, periodicity=1.4)(one), rtol=1e-11)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_repeats(dtype):
    X, kernel = rows(5).astype(dtype), Periodic(0.9, period=2.0)
    np.testing.assert_allclose(kernel(X + dtype(2.0**12), X), kernel(X), rtol=1e-9 if dtype == np.float64 else 2e-3)


def test_default_scale_is_that_of_points_on_circles():
    X = rows(20)
    turns = 2.0 * np.pi * X / 1.5
    points = np.concatenate([np.cos(turns), np.sin(turns)], axis=1)
    scale = Periodic(period=1.5).with_default_scales(X).length_scale
    assert scale == pytest.approx(RBF().with_default_scales(points).length_scale)


@pytest.mark.parametrize("period", [0.0, -1.0, np.nan, [1.0, 0.0, 1.0]])
def test_bad_period(period):
    with pytest.raises(ValueError, match=r"period is .* positive number"):
        Periodic(period=period)(rows(4))


def test_refuses_sparse():
    with pytest.raises(TypeError, match=r"sparse.*X.toarray\(\)"):
        Periodic()(sparse.csr_array(rows(4)))
