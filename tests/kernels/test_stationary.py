import naive
import numpy as np
import pytest
from each_case import each
from scipy import sparse
from sklearn.gaussian_process import kernels as gp
from sklearn.metrics import pairwise

from representer import KernelRidge
from representer.kernels import RBF, Laplacian, Matern, Periodic, RationalQuadratic
from representer.testing import check_kernel

WIDTHS = each("width", [3, 12])  # distances from differences, and from a matrix product


def rows(n, width, seed=0):
    return np.random.default_rng(seed).uniform(0.1, 2.0, (n, width))


def apart(n, width):
    """Rows with no two entries of a column close to each other, so that differences do not cross a kink of |x - y|."""
    columns = np.tile(np.linspace(0.1, 2.0, n)[:, None], width)
    return np.random.default_rng(2).permuted(columns, axis=0)


def scales(width):
    return np.linspace(0.6, 2.5, width)


L = scales(3)
CASES = [
    RBF(),
    RBF(L),
    Laplacian(1.3),
    Laplacian(L),
    Matern(1.2, nu=0.5),
    Matern(L, nu=1.5),
    Matern(L, nu=2.5),
    Matern(1.2, nu=np.inf),
    Matern(1.2, nu=1.7),
    RationalQuadratic(1.2, mixture=0.7),
    RationalQuadratic(L, mixture=3.0),
]
WIDE = [RBF(1.3), RBF(scales(12)), Laplacian(scales(12)), Matern(1.2, nu=0.5)]
ALL = pytest.mark.parametrize(
    ("kernel", "width"),
    [pytest.param(k, w, id=f"{k!r:.40}-{w}") for w, some in ((3, CASES), (12, WIDE)) for k in some],
)


@ALL
def test_formulas_and_laws(kernel, width):
    naive.check_formulas(kernel, rows(4, width), rows(3, width, seed=1))
    check_kernel(kernel, apart(10, width))
    check_kernel(kernel, apart(10, width).astype(np.float32))


@each("n", [1, 2, 40])
@each("dtype", [np.float32, np.float64])
@each("width", [3, 12, 40])
def test_each_pair_once_is_the_same_as_all(width, dtype, n):
    A, B = (Matern(1.2).prepare(rows(n, width).astype(dtype)) for _ in range(2))
    assert A.each_pair_once is (n > 1 and width < 40)
    once, all_ = np.empty((n, n), dtype), np.empty((n, n), dtype)
    Matern(1.2).fill(A, A, once)
    Matern(1.2).fill(A, B, all_)
    np.testing.assert_allclose(once, all_, rtol=50 * np.finfo(dtype).eps)


@pytest.mark.parametrize("kernel", [RBF(L), Matern(1.2, nu=0.5), Laplacian(L)], ids=lambda k: type(k).__name__)
def test_sparse(kernel):
    X, Y = rows(7, 3), rows(4, 3, seed=1)
    X[X < 0.8] = Y[Y < 0.8] = 0.0
    naive.check_sparse(kernel, X, Y)


@WIDTHS
def test_equal_to_scikit_learn(width):
    X, Y = rows(6, width), rows(5, width, seed=1)
    pairs = [
        (RBF(0.7)(X, Y), pairwise.rbf_kernel(X, Y, gamma=1 / (2 * 0.7**2))),
        (Laplacian(0.7)(X, Y), pairwise.laplacian_kernel(X, Y, gamma=1 / 0.7)),
        *((Matern(scales(width), nu)(X, Y), gp.Matern(scales(width), nu=nu)(X, Y)) for nu in (0.5, 1.5, 2.5, 1.7)),
        (RationalQuadratic(0.7, mixture=1.8)(X, Y), gp.RationalQuadratic(0.7, alpha=1.8)(X, Y)),
    ]
    for ours, theirs in pairs:
        np.testing.assert_allclose(ours, theirs, rtol=1e-11)


# ---- Matern of any smoothness ----


@pytest.mark.parametrize("nu", [0.3, 0.8, 3.2])
def test_matern_of_any_smoothness(nu):
    naive.check_formulas(Matern(scales(2), nu=nu), rows(3, 2), rows(2, 2, seed=1))


@pytest.mark.parametrize("nu", [7.5, 30.5, 100.0])
def test_very_smooth_matern(nu):
    X, origin = np.array([[0.0], [1e-9], [1e-4], [0.1], [1.0], [10.0]]), np.zeros((1, 1))
    kernel, W = Matern(nu=nu), np.ones((6, 1))
    np.testing.assert_allclose(kernel(X, origin), naive.matrix(kernel, X, origin), rtol=1e-10)
    np.testing.assert_allclose(
        kernel.contract(X, W, origin)["length_scale"], naive.contract(kernel, X, W, origin)["length_scale"], rtol=1e-8
    )


def test_both_terms_of_the_series_count_where_the_bessel_function_overflows():
    """At |x - y| = 0.004 they are 8e-6 and 3e-11; the third one would be 9e-17."""
    X, origin = np.array([[0.004], [0.003]]), np.zeros((1, 1))
    exact = [[naive.bessel(np.sqrt(200.0) * x, 100.0)] for x in X[:, 0]]
    np.testing.assert_allclose(Matern(nu=100.0)(X, origin), exact, rtol=3e-16)


@pytest.mark.parametrize("nu", [0.5, 1.5, 2.5, 0.8, 3.2, np.inf])
def test_matern_gradients_at_equal_points(nu):
    X = np.ones((2, 3))
    assert Matern(nu=nu).contract(X, np.ones((2, 2)))["length_scale"] == 0.0
    assert not Matern(nu=nu).input_gradient(X, X, np.ones((2, 2))).any()


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
    near, exact = Matern(nu=nu + 1e-9).radial.log(s), Matern(nu=nu).radial.log(s)
    np.testing.assert_allclose(near, exact, rtol=1e-7, atol=1e-8)


# ---- length scales from data ----


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_default_scales_are_typical_distances_from_the_mean(kind):
    X, w = rows(30, 3), np.random.default_rng(1).integers(0, 4, 30)
    repeated = np.repeat(X, w, axis=0)
    deviations = repeated - repeated.mean(axis=0)
    euclidean = np.sqrt((deviations**2).sum(axis=1).mean())
    for kernel in (RBF(), Matern(nu=2.5)):
        assert kernel.with_default_scales(kind(X), w).length_scale == pytest.approx(euclidean, rel=1e-13)
    by_columns = np.sqrt((deviations**2).mean(axis=0)).sum()
    assert Laplacian().with_default_scales(kind(X), w).length_scale == pytest.approx(by_columns, rel=1e-13)
    assert RBF().with_default_scales(kind(np.ones((4, 2)))).length_scale == 1.0
    assert RBF(3.0).with_default_scales(kind(X)) == RBF(3.0)


@pytest.mark.parametrize(("n", "solver", "calls"), [(40, "auto", 1), (300, "conjugate_gradient", 2)])
def test_a_fit_prepares_inputs_once_for_each_precision(monkeypatch, rng, n, solver, calls):
    seen = []
    prepare = RBF.prepare

    def counting(self, X, like=None):
        seen.append(X.dtype)
        return prepare(self, X, like)

    monkeypatch.setattr(RBF, "prepare", counting)
    X = rng.normal(size=(n, 3))
    KernelRidge(solver=solver).fit(X, X[:, 0])
    assert len(seen) == len(set(seen)) == calls


# ---- numbers of any size ----


@WIDTHS
@each("dtype", [np.float32, np.float64])
def test_near_neighbours_far_from_the_origin(width, dtype):
    X = (1000.0 + rows(6, width)).astype(dtype)
    Y = X + dtype(0.001)
    for kernel in (RBF(2.0**-7), Matern(2.0**-7, nu=0.5), Laplacian(2.0**-7)):  # so that scaling does not round
        expected = naive.matrix(kernel, X.astype(float), Y.astype(float))
        np.testing.assert_allclose(kernel(X, Y), expected, atol=1e-6 if dtype == np.float32 else 1e-12)


@WIDTHS
@each("kind", [np.asarray, sparse.csr_array])
@each(("dtype", "exponent"), [("f4", -90), ("f4", 90), ("f8", -1000), ("f8", -300), ("f8", 1000)])
def test_values_do_not_depend_on_the_unit_of_inputs(width, kind, dtype, exponent):
    X, unit = rows(9, width).astype(dtype), np.array(2.0**exponent, dtype)
    for kernel in (RBF(), Matern(nu=2.5), Laplacian()):
        here, there = kernel.with_default_scales(kind(X)), kernel.with_default_scales(kind(unit * X))
        assert there.length_scale == pytest.approx(float(unit) * here.length_scale, rel=1e-14)
        tolerance = {"rtol": 50 * np.finfo(dtype).eps}
        np.testing.assert_allclose(there(kind(unit * X)), here(kind(X)), **tolerance)
        np.testing.assert_allclose(there(kind(unit * X[:4]), kind(unit * X)), here(X[:4], X), **tolerance)


@pytest.mark.parametrize(
    ("kernel", "X"),
    [
        (RBF(1e-60), np.ones((3, 2), np.float32)),
        (RBF(), np.full((3, 12), 1e20, np.float32) * np.arange(3, dtype=np.float32)[:, None]),
        (RBF(), 1e155 * rows(3, 12)),
        (Matern(1e-200), rows(3, 12)),
        (RBF(1e-200), sparse.csr_array(rows(3, 2))),
    ],
    ids=["tiny scale", "float32", "float64", "wide", "sparse"],
)
def test_distances_that_overflow_are_refused(kernel, X):
    with pytest.raises(ValueError, match=rf"over length_scale overflow {X.dtype}; scale the inputs"):
        kernel(X)


@each("kernel", [RBF(), Laplacian(), Matern(nu=0.8), RationalQuadratic()])
@each("far", [1e8, 1e200])
def test_far_points_are_nearly_zero(kernel, far):
    K = kernel(np.array([[0.0], [far]]))
    assert np.all(K.diagonal() == 1.0)
    assert 0 <= K[0, 1] < 1e-15


# ---- errors ----


@pytest.mark.parametrize("kernel", [RBF, Laplacian, Periodic])
def test_bad_length_scale(kernel):
    for length_scale in (0.0, -1.0, np.nan, np.inf, "wide", [1.0, -1.0, 2.0], [[1.0, 1.0, 1.0]]):
        with pytest.raises(ValueError, match=r"length_scale is .* must be a positive number, or one positive number"):
            kernel(length_scale=length_scale)(rows(4, 3))
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
