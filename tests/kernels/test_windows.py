import numpy as np
import pytest
from each_case import each
from scipy import stats
from scipy.integrate import quad
from scipy.special import gamma
from sklearn.neighbors import KernelDensity

from representer.kernels import RBF
from representer.kernels.windows import WINDOWS, window_of, window_sums

NAMES = each("name", WINDOWS)
FORMULAS = {
    "gaussian": lambda r: np.exp(-(r**2) / 2),
    "exponential": lambda r: np.exp(-r),
    "uniform": lambda r: 1.0 * (r < 1),
    "triangular": lambda r: (1 - r) * (r < 1),
    "epanechnikov": lambda r: (1 - r**2) * (r < 1),
    "biweight": lambda r: (1 - r**2) ** 2 * (r < 1),
    "triweight": lambda r: (1 - r**2) ** 3 * (r < 1),
    "tricube": lambda r: (1 - r**3) ** 3 * (r < 1),
    "cosine": lambda r: np.cos(np.pi * r / 2) * (r < 1),
}


@NAMES
def test_values_are_the_formula(name):
    r = np.linspace(0, 1.5, 31)
    np.testing.assert_allclose(WINDOWS[name].values(r), FORMULAS[name](r), atol=1e-15)


def radial(name, d, function=lambda r: 1.0):
    """The integral of window times function over d dimensions."""
    area = 2 * np.pi ** (d / 2) / gamma(d / 2)
    end = 200.0 if name in ("gaussian", "exponential") else 1.0

    def inside(r):
        return area * FORMULAS[name](r) * r ** (d - 1) * function(r)

    return quad(inside, 0, end, epsabs=0, epsrel=1e-11, limit=500)[0]


@NAMES
@each("d", [1, 2, 3, 7, 20])
def test_windows_integrate_to_one(name, d):
    window = WINDOWS[name]
    assert np.exp(window.log_integral(d)) == pytest.approx(radial(name, d), rel=1e-9)
    square = radial(name, d, lambda r: r**2) / radial(name, d)
    assert window.deviation(d) == pytest.approx(np.sqrt(square / d), rel=1e-9)


@pytest.mark.parametrize(
    ("name", "theirs"),
    [
        ("gaussian", "gaussian"),
        ("exponential", "exponential"),
        ("uniform", "tophat"),
        ("triangular", "linear"),
        ("epanechnikov", "epanechnikov"),
        ("cosine", "cosine"),
    ],
)
@pytest.mark.parametrize("d", [1, 2, 5, 40])
def test_integrals_are_those_of_scikit_learn(name, theirs, d):
    """The density of one input at itself is one over the integral."""
    if name == "cosine" and d % 2 == 0:
        pytest.skip("scikit-learn leaves out the last term of the integral in even dimensions")
    value = KernelDensity(kernel=theirs).fit(np.zeros((1, d))).score_samples(np.zeros((1, d)))[0]
    assert -WINDOWS[name].log_integral(d) == pytest.approx(value, rel=1e-9, abs=1e-9)


@NAMES
@each("d", [1, 4])
def test_radii_follow_the_window(name, d):
    """A Kolmogorov-Smirnov test that a right sampler fails once in a million seeds."""
    radii = WINDOWS[name].radii(d, 4000, np.random.default_rng(0))
    assert radii.shape == (4000,)
    grid = np.linspace(0, 40 if name in ("gaussian", "exponential") else 1, 20001)
    mass = np.cumsum(FORMULAS[name](grid) * grid ** (d - 1))
    assert stats.kstest(radii, lambda r: np.interp(r, grid, mass / mass[-1])).pvalue > 1e-6


@NAMES
@each("d", [1, 2])
def test_which_windows_are_mercer_kernels(name, d):
    """On a dense grid of points the smallest eigenvalue tells."""
    points = (
        np.arange(60.0)[:, None] / 10 if d == 1 else np.stack(np.meshgrid(*2 * [np.arange(10)]), -1).reshape(-1, 2) / 4
    )
    r = np.linalg.norm(points[:, None] - points, axis=2)
    smallest = np.linalg.eigvalsh(FORMULAS[name](r))[0]
    if WINDOWS[name].mercer(d):
        assert smallest > -1e-12
    else:
        assert smallest < -1e-3


@NAMES
@each("dtype", [np.float32, np.float64])
@each("leave_out", [False, True])
def test_sums_are_double_loops(name, dtype, leave_out):
    """More rows and columns than one tile has, and several bandwidths at once."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2)).astype(dtype)
    V = rng.normal(size=(300, 3))
    A = RBF(1.0).prepare(X)
    bandwidths = np.array([0.2, 1.0])
    sums = np.empty((2, 300, 3))

    def finish(rows, s, e):
        sums[:, rows] = s * np.exp(-e)[:, :, None]

    window_sums(WINDOWS[name], A, A, V, bandwidths, finish, leave_out=leave_out)
    r = np.linalg.norm(X[:, None].astype(np.float64) - X, axis=2)
    for h, bandwidth in enumerate(bandwidths):
        W = FORMULAS[name](r / bandwidth)
        if leave_out:
            np.fill_diagonal(W, 0.0)
        close = {"rtol": 1e-3, "atol": 1e-3} if dtype == np.float32 else {"rtol": 1e-9, "atol": 1e-11}
        if name == "uniform" and dtype == np.float32:
            close["atol"] = 4.0  # a point at the very border may fall on either side
        np.testing.assert_allclose(sums[h], W @ V, **close)


def test_unknown_window():
    with pytest.raises(ValueError, match="window is 'epanechnikow'; use one of gaussian, "):
        window_of("epanechnikow")
