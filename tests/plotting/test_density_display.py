import sys

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from representer import KernelRidge, NadarayaWatson, ParzenDensity
from representer.plotting import DensityDisplay, RegressionDisplay

mpl.use("Agg")


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


def test_density_of_one_column(rng):
    X = rng.normal(size=(80, 1))
    model = ParzenDensity(0.4).fit(X)
    display = DensityDisplay.from_estimator(model, points=400)
    (x,) = display.axes
    np.testing.assert_allclose(display.density, np.exp(model.score_samples(x[:, None])))
    assert display.density.sum() * (x[1] - x[0]) == pytest.approx(1.0, abs=0.01)
    ax = display.plot(color="red").ax_
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), display.density)
    assert ax.lines[0].get_color() == "red"
    assert len(ax.collections[0].get_segments()) == 80


def test_density_of_two_columns(rng):
    X = rng.normal(size=(60, 2)) * [1.0, 5.0]
    model = ParzenDensity(window="epanechnikov").fit(sparse.csr_array(X))
    display = DensityDisplay.from_estimator(model, points=50)
    first, second = display.axes
    assert second[-1] - second[0] > 2 * (first[-1] - first[0])
    at = model.score_samples(sparse.csr_array([[first[30], second[20]]]))[0]
    assert np.log(display.density[20, 30]) == pytest.approx(at)
    axes = plt.subplots()[1]
    assert display.plot(axes).ax_ is axes
    assert axes.lines[0].get_xdata().shape == (60,)


def test_regression(rng):
    X = rng.uniform(size=(40, 1)).astype(np.float32)
    y = X.ravel() ** 2
    for model in (NadarayaWatson(0.1).fit(X, y), KernelRidge().fit(X, y)):
        display = RegressionDisplay.from_estimator(model, X, y, points=20, margin=0.1)
        assert display.x[0] == pytest.approx(X.min() - 0.1)
        np.testing.assert_array_equal(display.prediction, model.predict(display.x[:, None]))
        ax = display.plot(linestyle="--").ax_
        np.testing.assert_array_equal(ax.lines[0].get_ydata(), y)
        assert ax.lines[1].get_linestyle() == "--"
    assert len(RegressionDisplay.from_estimator(model, X).plot().ax_.lines) == 1


def test_one_input():
    display = DensityDisplay.from_estimator(ParzenDensity().fit([[3.0]]), margin=0.0)
    assert display.axes[0][[0, -1]].tolist() == [2.0, 4.0]


def test_errors(rng, monkeypatch):
    X = rng.normal(size=(20, 3))
    with pytest.raises(NotFittedError):
        DensityDisplay.from_estimator(ParzenDensity())
    with pytest.raises(ValueError, match="The density has 3 columns; a plot shows one or two"):
        DensityDisplay.from_estimator(ParzenDensity().fit(X))
    with pytest.raises(ValueError, match="points is 1"):
        DensityDisplay.from_estimator(ParzenDensity().fit(X[:, :1]), points=1)
    with pytest.raises(ValueError, match="a curve needs one column"):
        RegressionDisplay.from_estimator(NadarayaWatson().fit(X, X[:, 0]), X)
    with pytest.raises(ValueError, match="has 2 targets; a curve shows one"):
        RegressionDisplay.from_estimator(NadarayaWatson().fit(X[:, :1], X[:, :2]), X[:, :1])
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match="Plots need matplotlib"):
        RegressionDisplay(np.arange(2), np.arange(2)).plot()
