import matplotlib as mpl
import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from representer import GaussianProcessRegressor, KernelRidge
from representer.kernels import RBF, Spectrum
from representer.plotting import GaussianProcessDisplay

X = np.random.default_rng(0).uniform(0.0, 5.0, (40, 1))
Y = np.c_[np.sin(X), 100.0 + 30.0 * np.cos(X)] + 0.1 * np.random.default_rng(1).normal(size=(40, 2))


@pytest.fixture(autouse=True)
def plt():
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    yield plt
    plt.close("all")


def fixed(noise=0.01, **options):
    return GaussianProcessRegressor(RBF(1.0), noise=noise, optimizer=None, **options)


def test_numbers_are_those_of_the_process():
    gp, grid = fixed().fit(X, Y[:, 0]), np.array([4.0, 1.0, 2.5])
    display = GaussianProcessDisplay.from_estimator(gp, grid, n_samples=5, random_state=3)
    mean, std = gp.predict(np.sort(grid)[:, None], return_std=True)
    np.testing.assert_array_equal(display.x, np.sort(grid))
    np.testing.assert_array_equal(display.mean, mean)
    np.testing.assert_array_equal(display.std, std)
    np.testing.assert_array_equal(display.samples, gp.sample(np.sort(grid)[:, None], 5, 3))


@pytest.mark.parametrize("noise", [0.01, np.linspace(0.01, 1.0, 40)], ids=["one", "each"])
@pytest.mark.parametrize(
    "options", [{}, {"normalize_y": True}, {"solver": "conjugate_gradient", "tol": 1e-10}], ids=str
)
def test_targets_are_found_again(noise, options):
    """From y = f(x) + noise a, so that an estimator need not keep y."""
    gp, target = fixed(noise, **options).fit(X, Y), 1
    display = GaussianProcessDisplay.from_estimator(gp, target=target, n_samples=2)
    np.testing.assert_allclose(display.targets, Y[:, target], rtol=1e-8)
    np.testing.assert_array_equal(display.inputs, X.ravel())
    mean, std = gp.predict(display.x[:, None], return_std=True)
    np.testing.assert_array_equal(display.mean, mean[:, target])
    np.testing.assert_array_equal(display.std, std[:, target])
    np.testing.assert_array_equal(display.samples, gp.sample(display.x[:, None], 2)[:, target])


def test_sparse_inputs_to_draw_at():
    gp = fixed().fit(sparse.csr_array(X), Y[:, 0])
    display = GaussianProcessDisplay.from_estimator(gp, sparse.csr_array(X[:5])).plot()
    np.testing.assert_array_equal(display.x, np.sort(X[:5, 0]))


def test_default_inputs_reach_over_the_data():
    display = GaussianProcessDisplay.from_estimator(fixed().fit([[2.0], [4.0]], [0.0, 1.0]))
    assert (display.x[0], display.x[-1], len(display.x)) == (1.8, 4.2, 300)
    single = GaussianProcessDisplay.from_estimator(fixed().fit([[2.0]], [1.0]))
    assert (single.x[0], single.x[-1]) == (1.0, 3.0)


@pytest.mark.parametrize("kind", [np.float32, sparse.csr_array], ids=["float32", "sparse"])
def test_inputs_of_other_types(kind):
    display = GaussianProcessDisplay.from_estimator(fixed().fit(kind(X), Y[:, 0])).plot()
    np.testing.assert_allclose(display.inputs, X.ravel(), rtol=1e-6)
    np.testing.assert_allclose(display.targets, Y[:, 0], rtol=1e-6)


@pytest.mark.parametrize("n_samples", [0, 3])
def test_what_is_drawn(plt, n_samples):
    display = GaussianProcessDisplay.from_estimator(fixed().fit(X, Y[:, 0]), n_samples=n_samples).plot()
    np.testing.assert_array_equal(display.line_.get_ydata(), display.mean)
    np.testing.assert_array_equal(display.points_.get_offsets(), np.c_[X, display.targets])
    heights = display.band_.get_paths()[0].vertices[:, 1]
    assert heights.max() == pytest.approx((display.mean + 2 * display.std).max())
    assert heights.min() == pytest.approx((display.mean - 2 * display.std).min())
    assert len(display.sample_lines_) == n_samples
    names = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert names == ["mean", "± 2 sd", *["draws of f"] * bool(n_samples), "data"]
    _, ax = plt.subplots()
    assert display.plot(ax).ax_ is ax


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: fixed(), NotFittedError, "not fitted"),
        (lambda: KernelRidge().fit(X, Y[:, 0]), TypeError, "estimator is a KernelRidge; give a fitted Gaussian"),
        (lambda: fixed().fit(Y, X[:, 0]), ValueError, "has 2 input columns; this plot needs exactly one"),
        (
            lambda: GaussianProcessRegressor(Spectrum(1), noise=0.1, optimizer=None).fit(["a", "b"], [0.0, 1.0]),
            ValueError,
            "inputs that are not vectors",
        ),
    ],
)
def test_bad_estimators(make, error, message):
    with pytest.raises(error, match=message):
        GaussianProcessDisplay.from_estimator(make())


@pytest.mark.parametrize("target", [-1, 2])
def test_bad_target(target):
    with pytest.raises(ValueError, match=r"target is -?\d, but there are 2, counted from 0"):
        GaussianProcessDisplay.from_estimator(fixed().fit(X, Y), target=target)
