import naive
import numpy as np
import pytest
from scipy import sparse
from sklearn.gaussian_process import kernels as gp
from sklearn.metrics import pairwise

from representer.kernels import RBF, Laplacian, Matern, Periodic, RationalQuadratic
from representer.testing import check_kernel

WIDTHS = pytest.mark.parametrize("width", [3, 12])  # distances from differences, and from a matrix product


def rows(n, width, seed=0):
    return np.random.default_rng(seed).uniform(0.1, 2.0, (n, width))


def apart(n, width):
    """Rows with no two entries of a column close to each other, so that differences do not cross a kink of |x - y|."""
    columns = np.tile(np.linspace(0.1, 2.0, n)[:, None], width)
    return np.random.default_rng(2).permuted(columns, axis=0)


def scales(width):
    return np.linspace(0.6, 2.5, width)


def kernels(width):
    L = scales(width)
    return [
        RBF(),
        RBF(1.3),
        RBF(L),
        Laplacian(1.3),
        Laplacian(L),
        Matern(1.2, nu=0.5),
        Matern(L, nu=1.5),
        Matern(1.2, nu=2.5),
        Matern(L, nu=2.5),
        Matern(1.2, nu=np.inf),
        Matern(1.2, nu=1.7),
        RationalQuadratic(1.2, mixture=0.7),
        RationalQuadratic(L, mixture=3.0),
        Periodic(1.1, period=2.0),
        Periodic(L, period=L + 1.0),
        Periodic(L, period=1.5),
    ]


CASES = [pytest.param(kernel, width, id=f"{kernel!r:.40}-{width}") for width in (3, 12) for kernel in kernels(width)]


@pytest.mark.parametrize(("kernel", "width"), CASES)
def test_formulas(kernel, width):
    naive.check_formulas(kernel, rows(5, width), rows(4, width, seed=1))


@pytest.mark.parametrize(("kernel", "width"), CASES)
def test_laws(kernel, width):
    check_kernel(kernel, apart(14, width))
    check_kernel(kernel, apart(14, width).astype(np.float32))


@pytest.mark.parametrize("n", [1, 2, 40])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("kernel", "width"), CASES)
def test_each_pair_once_is_the_same_as_all(kernel, width, dtype, n):
    A = kernel.prepare(rows(n, width).astype(dtype))
    once, all_ = np.empty((n, n), dtype), np.empty((n, n), dtype)
    kernel.fill_symmetric(A, once)
    kernel.fill(A, A, all_)
    np.testing.assert_allclose(once, all_, rtol=50 * np.finfo(dtype).eps)
    assert np.array_equal(once, once.T)


@pytest.mark.parametrize(("kernel", "width"), [case for case in CASES if not isinstance(case.values[0], Periodic)])
def test_sparse(kernel, width):
    X, Y = rows(7, width), rows(4, width, seed=1)
    X[X < 0.8] = Y[Y < 0.8] = 0.0
    naive.check_sparse(kernel, X, Y)


@pytest.mark.parametrize("nu", [0.3, 0.8, 3.2, 4.9])
def test_matern_of_any_smoothness(nu):
    naive.check_formulas(Matern(scales(2), nu=nu), rows(3, 2), rows(2, 2, seed=1))


@pytest.mark.parametrize("nu", [5.0, 7.5, 30.0, 100.0])
def test_very_smooth_matern(nu):
    X = np.array([[0.0], [1e-9], [1e-4], [0.1], [1.0], [10.0]])
    kernel, W = Matern(nu=nu), np.ones((6, 6))
    np.testing.assert_allclose(kernel(X), naive.matrix(kernel, X), rtol=1e-10)
    np.testing.assert_allclose(
        kernel.contract(X, W)["length_scale"], naive.contract(kernel, X, W)["length_scale"], rtol=1e-8
    )


@pytest.mark.parametrize("nu", [0.5, 1.5, 2.5, 0.8, 3.2, np.inf])
def test_matern_gradients_at_equal_points(nu):
    X = np.ones((2, 3))
    assert Matern(nu=nu).contract(X, np.ones((2, 2)))["length_scale"] == 0.0
    assert not Matern(nu=nu).input_gradient(X, X, np.ones((2, 2))).any()


@WIDTHS
def test_equal_to_scikit_learn(width):
    X, Y, one = rows(6, width), rows(5, width, seed=1), rows(6, 1)
    pairs = [
        (RBF(0.7)(X, Y), pairwise.rbf_kernel(X, Y, gamma=1 / (2 * 0.7**2))),
        (Laplacian(0.7)(X, Y), pairwise.laplacian_kernel(X, Y, gamma=1 / 0.7)),
        *((Matern(scales(width), nu)(X, Y), gp.Matern(scales(width), nu=nu)(X, Y)) for nu in (0.5, 1.5, 2.5, 1.7)),
        (RationalQuadratic(0.7, mixture=1.8)(X, Y), gp.RationalQuadratic(0.7, alpha=1.8)(X, Y)),
        (Periodic(0.7, period=1.4)(one), gp.ExpSineSquared(0.7, periodicity=1.4)(one)),
    ]
    for ours, theirs in pairs:
        np.testing.assert_allclose(ours, theirs, rtol=1e-11)


def test_matern_becomes_rbf():
    X = rows(5, 3)
    np.testing.assert_allclose(Matern(nu=100.0)(X), RBF()(X), atol=3e-3)
    with pytest.raises(ValueError, match="use nu=inf"):
        Matern(nu=101.0)(X)
    np.testing.assert_array_equal(Matern(nu=np.inf)(X), RBF()(X))


@pytest.mark.parametrize("nu", [0.5, 1.5, 2.5])
def test_logarithms_of_matern_of_any_smoothness(nu):
    """Beyond where values underflow, too: those of a nearly equal nu, which takes the way by Bessel functions."""
    s = np.array([[0.0, 1e-6, 0.5, 40.0, 1e3, 1e4, 1e8]])
    np.testing.assert_allclose(Matern(nu=nu + 1e-9).logs_from(s), Matern(nu=nu).logs_from(s), rtol=1e-7, atol=1e-8)


def test_periodic_repeats():
    X = rows(5, 3)
    K = Periodic(0.9, period=1.7)
    np.testing.assert_allclose(K(X + 1.7e3, X), K(X), rtol=1e-9)


@WIDTHS
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_near_neighbours_far_from_the_origin(width, dtype):
    X = (1000.0 + rows(6, width)).astype(dtype)
    Y = X + dtype(0.001)
    for kernel in (RBF(2.0**-7), Matern(2.0**-7, nu=0.5), Laplacian(2.0**-7)):  # so that scaling does not round
        expected = naive.matrix(kernel, X.astype(float), Y.astype(float))
        np.testing.assert_allclose(kernel(X, Y), expected, atol=1e-6 if dtype == np.float32 else 1e-12)


@pytest.mark.parametrize("kernel", [RBF(), Laplacian(), Matern(nu=0.8), RationalQuadratic()])
def test_far_points_are_nearly_zero(kernel):
    K = kernel(np.array([[0.0], [1e8]]))
    assert np.all(K.diagonal() == 1.0)
    assert 0 <= K[0, 1] < 1e-15


@pytest.mark.parametrize("length_scale", [0.0, -1.0, np.nan, np.inf, "wide", [1.0, -1.0, 2.0], [[1.0, 1.0, 1.0]]])
@pytest.mark.parametrize("kernel", [RBF, Laplacian, Matern, RationalQuadratic, Periodic])
def test_bad_length_scale(kernel, length_scale):
    with pytest.raises(ValueError, match=r"length_scale is .* must be a positive number, or one positive number per"):
        kernel(length_scale=length_scale)(rows(4, 3))


@pytest.mark.parametrize("kernel", [RBF, Laplacian, Matern, RationalQuadratic, Periodic])
def test_length_scale_of_wrong_length(kernel):
    with pytest.raises(ValueError, match="length_scale has 2 entries, but X has 3 columns"):
        kernel(length_scale=[1.0, 2.0])(rows(4, 3))


@pytest.mark.parametrize("nu", [0.0, -1.5, np.nan, -np.inf, "smooth", None])
def test_bad_nu(nu):
    with pytest.raises(ValueError, match=r"nu is .* positive number"):
        Matern(nu=nu)(rows(4, 3))


@pytest.mark.parametrize("mixture", [0.0, -1.0, np.inf, np.nan, "a"])
def test_bad_mixture(mixture):
    with pytest.raises(ValueError, match=r"mixture is .* positive number"):
        RationalQuadratic(mixture=mixture)(rows(4, 3))


@pytest.mark.parametrize("period", [0.0, -1.0, np.nan, [1.0, 0.0, 1.0]])
def test_bad_period(period):
    with pytest.raises(ValueError, match=r"period is .* positive number"):
        Periodic(period=period)(rows(4, 3))


def test_periodic_refuses_sparse():
    with pytest.raises(TypeError, match=r"sparse.*X.toarray\(\)"):
        Periodic()(sparse.csr_array(rows(4, 3)))
