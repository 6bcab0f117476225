import sys

import matplotlib
import numpy as np
import pytest
from scipy import sparse

from representer import HSIC, MMD
from representer.plotting import NullDisplay, WitnessDisplay

matplotlib.use("Agg")
from matplotlib import pyplot as plt


@pytest.fixture
def samples(rng):
    yield rng.normal(size=(60, 1)), rng.normal(size=(50, 1)) + 1.0
    plt.close("all")


def test_null_display_shows_the_test(samples):
    test = MMD(n_permutations=200)
    outcome = test.test(*samples)
    display = NullDisplay.from_estimator(test, *samples)
    np.testing.assert_array_equal(display.null, outcome.null)
    assert display.plot() is display
    heights = [bar.get_height() for bar in display.ax_.patches]
    assert sum(heights) == 200
    (line,) = display.ax_.get_lines()
    assert line.get_xdata()[0] == outcome.statistic
    assert display.ax_.get_xlabel() == "unbiased MMD^2"
    texts = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert f"observed, p = {outcome.pvalue:.3g}" in texts


def test_null_display_of_other_tests(samples, rng):
    X = samples[0]
    blocks = NullDisplay.from_estimator(MMD(n_permutations=20, block_size=5), X, X + 1.0)
    assert blocks.plot().ax_.get_xlabel() == "unbiased MMD^2 over blocks of 5"
    assert NullDisplay.from_estimator(HSIC(n_permutations=20), X, X**2).plot().ax_.get_xlabel() == "biased HSIC"
    constant = NullDisplay.from_estimator(HSIC(n_permutations=20), X, np.ones_like(X))
    assert constant.plot().ax_.patches
    with pytest.raises(ValueError, match="normal distribution"):
        NullDisplay.from_estimator(MMD(block_size=2, null="normal"), X, X)


def test_null_display_of_several_kernels(samples):
    """The histogram is that of one kernel, the p-value that of all."""
    X, Y = samples
    outcome = MMD(bandwidths=[0.1, 1.0, 10.0], n_permutations=99).test(X, Y + 0.3)
    display = NullDisplay.from_outcome(outcome).plot()
    assert display.ax_.get_xlabel() == "unbiased MMD^2 of the best of 3 kernels"
    texts = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert f"observed, p = {outcome.pvalue:.3g} for all 3" in texts


def test_sparse_samples(samples):
    dense = WitnessDisplay.from_estimator(MMD(), *samples)
    thin = WitnessDisplay.from_estimator(MMD(), *map(sparse.csr_array, samples)).plot()
    np.testing.assert_allclose(thin.witness, dense.witness)


def test_witness_display(samples):
    X, Y = samples
    display = WitnessDisplay.from_estimator(MMD(), X, Y, n_points=50)
    np.testing.assert_allclose(display.witness, MMD().witness(X, Y)(display.grid[:, None]))
    assert display.grid[0] < min(X.min(), Y.min()) < max(X.max(), Y.max()) < display.grid[-1]
    assert display.witness[10] > 0 > display.witness[40]  # X is on the left
    _, ax = plt.subplots()
    assert display.plot(ax).ax_ is ax
    assert len(display.figure_.axes) == 2
    with pytest.raises(ValueError, match="one column"):
        WitnessDisplay.from_estimator(MMD(), np.ones((3, 2)), np.ones((3, 2)))


def test_without_matplotlib_the_error_says_what_to_install(monkeypatch):
    for name in ("matplotlib", "matplotlib.pyplot"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=r"pip install 'representer\[plot\]'"):
        NullDisplay(0.0, 0.5, np.zeros(3)).plot()
