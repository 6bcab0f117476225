import sys

import matplotlib
import numpy as np
import pytest
from scipy import sparse

from representer import Function, preimage
from representer.kernels import RBF
from representer.plotting import ImageRowsDisplay

matplotlib.use("Agg")
import matplotlib.pyplot as plt


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


def images(n=3, pixels=6):
    return np.arange(n * pixels, dtype=float).reshape(n, pixels)


def test_mosaic_holds_every_image_in_its_place():
    display = ImageRowsDisplay({"a": images(), "b": -images()}, (2, 3))
    mosaic = display.mosaic()
    assert mosaic.shape == (2 * 3 - 1, 3 * 4 - 1)
    np.testing.assert_array_equal(mosaic[:2, 4:7], images()[1].reshape(2, 3))
    np.testing.assert_array_equal(mosaic[3:, 8:], -images()[2].reshape(2, 3))
    assert np.isnan(mosaic).sum() == 55 - 36


def test_sparse_images():
    images = np.eye(4)
    display = ImageRowsDisplay({"sparse": sparse.csr_array(images), "dense": images}, (2, 2))
    np.testing.assert_array_equal(display.rows["sparse"], images)


def test_plot_names_the_rows():
    display = ImageRowsDisplay({"original": images(), "noisy": images() + 1.0}, (2, 3)).plot()
    assert [label.get_text() for label in display.ax_.get_yticklabels()] == ["original", "noisy"]
    assert display.ax_.images[0].get_clim() == (0.0, 17.0)
    _, ax = plt.subplots()
    assert display.plot(ax=ax).ax_ is ax


def test_rows_from_preimages():
    X = images()
    f = Function(RBF(), X, np.eye(3)[:, :2])
    display = ImageRowsDisplay.from_preimages({"found": preimage(f)}, (2, 3), others={"original": X[:2]})
    assert list(display.rows) == ["original", "found"]
    np.testing.assert_array_equal(display.rows["found"], X[:2])
    assert len(ImageRowsDisplay.from_preimages({"one": preimage(f[0])}, (2, 3)).rows["one"]) == 1


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ({}, r"rows is empty"),
        ({"a": images(), "b": images(2)}, r"2 images 'b' and 3 in the first row"),
        ({"a": images(3, 5)}, r"'a' have shape \(3, 5\).* one row of 6 numbers"),
    ],
)
def test_errors_say_what_to_do(rows, message):
    with pytest.raises(ValueError, match=message):
        ImageRowsDisplay(rows, (2, 3))


def test_without_matplotlib_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"representer\[plot\]"):
        ImageRowsDisplay({"a": images()}, (2, 3)).plot()
