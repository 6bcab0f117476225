"""The picture of a latent space: what it computes, and what it draws."""

import sys

import matplotlib
import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from representer import GPLVM
from representer.plotting import LatentDisplay

matplotlib.use("Agg")
from matplotlib import pyplot as plt

X = np.random.default_rng(0).normal(size=(30, 4))
LABELS = np.repeat(["a", "b", "c"], 10)


@pytest.fixture(scope="module")
def model():
    return GPLVM(3, n_landmarks=6, tol=1e-2).fit(X)


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


@pytest.mark.parametrize("components", [(0, 1), (2, 0)])
def test_values_are_those_of_the_model(model, components):
    display = LatentDisplay.from_estimator(model, labels=LABELS, components=components, grid=7)
    place = model.embedding_.mean(axis=0)
    place[components[0]], place[components[1]] = display.columns[2], display.rows[5]
    assert display.precision[5, 2] == pytest.approx(model.precision(place[None])[0])
    np.testing.assert_array_equal(display.points, model.embedding_[:, list(components)])
    assert display.columns[0] < display.points[:, 0].min()
    assert display.rows[-1] > display.points[:, 1].max()


def test_drawing(model):
    display = LatentDisplay.from_estimator(model, labels=LABELS, grid=7).plot()
    assert [text.get_text() for text in display.ax_.get_legend().get_texts()] == ["a", "b", "c"]
    assert sum(len(points.get_offsets()) for points in display.points_) == 30
    ax = plt.subplots()[1]
    plain = LatentDisplay.from_estimator(model, components=(1, 2), grid=7).plot(ax)
    assert plain.ax_ is ax
    assert ax.get_legend() is None
    assert ax.get_xlabel() == "latent component 1"
    np.testing.assert_allclose(plain.image_.get_array(), np.log10(plain.precision))


@pytest.mark.parametrize("components", [(0, 3), (1, 1), (0,)])
def test_components_that_are_not_there(model, components):
    with pytest.raises(ValueError, match="a plot needs two different ones of the 3"):
        LatentDisplay.from_estimator(model, components=components)


def test_other_errors(model, monkeypatch):
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        LatentDisplay.from_estimator(model, labels=LABELS[:5])
    with pytest.raises(NotFittedError):
        LatentDisplay.from_estimator(GPLVM())
    display = LatentDisplay.from_estimator(model, grid=3)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"representer\[plot\]"):
        display.plot()
