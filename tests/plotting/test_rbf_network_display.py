"""The picture of dual basis functions: what it computes, and what it draws."""

import matplotlib
import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from representer import RBFNetwork
from representer.plotting import DualBasisDisplay

matplotlib.use("Agg")
from matplotlib import pyplot as plt

RNG = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


@pytest.mark.parametrize("columns", [1, 2])
def test_values_are_those_of_the_dual_basis(columns):
    X = RNG.uniform(size=(15, columns))
    model = RBFNetwork("cubic").fit(X, RNG.normal(size=15))
    display = DualBasisDisplay.from_estimator(model, [3, -1], grid=9)
    assert display.values.shape == (2, *(9,) * columns)
    np.testing.assert_array_equal(display.index, [3, 14])
    np.testing.assert_array_equal(display.points, X[[3, -1]])
    place = np.array([[side[4] for side in display.grid]])
    place[0, 0] = display.grid[0][7]
    at = (4, 7) if columns == 2 else (7,)
    expected = model.dual_basis([3, 14])(place)[0]
    np.testing.assert_allclose(display.values[(slice(None), *at)], expected, rtol=1e-7, atol=1e-9)
    display.plot()
    assert len(display.drawn_) == 2
    assert [text.get_text() for text in display.ax_.get_legend().get_texts()] == ["point 3", "point 14"]


def test_given_axes_and_a_single_function():
    X = np.linspace(0.0, 1.0, 8)[:, None]
    ax = plt.subplots()[1]
    model = RBFNetwork("cubic").fit(X, X.ravel() ** 2)
    display = DualBasisDisplay.from_estimator(model, 2).plot(ax)
    assert display.ax_ is ax
    line = display.drawn_[0]
    assert np.interp(X[2, 0], line.get_xdata(), line.get_ydata()) == pytest.approx(1.0, abs=1e-2)


def test_errors():
    X = RNG.normal(size=(9, 3))
    with pytest.raises(ValueError, match="3 columns; a plot needs one or two"):
        DualBasisDisplay.from_estimator(RBFNetwork("linear_spline").fit(X, X[:, 0]), 0)
    with pytest.raises(NotFittedError):
        DualBasisDisplay.from_estimator(RBFNetwork(), 0)
