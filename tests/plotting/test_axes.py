import builtins

import matplotlib as mpl
import numpy as np
import pytest
from scipy import sparse

from representer.plotting.axes import dense, even_grid, log_scale, panels


@pytest.fixture
def plt():
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    yield plt
    plt.close("all")


@pytest.mark.parametrize("count", [1, 2])
def test_new_figure(plt, count):
    axes = panels(None, count)
    assert axes.shape == (count,)
    assert plt.gcf().axes == list(axes)


def test_given_axes(plt):
    _, given = plt.subplots(1, 2)
    assert panels(given[0])[0] is given[0]
    assert list(panels(given, 2)) == list(given)
    assert list(panels(tuple(given), 2)) == list(given)
    with pytest.raises(ValueError, match="ax has 2 axes; this display draws into 1"):
        panels(given)


def test_without_matplotlib(monkeypatch):
    real = builtins.__import__

    def without(name, *args, **options):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *args, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r"Plots need matplotlib; install it with: pip install"):
        panels(None)


@pytest.mark.parametrize(
    ("values", "scale"),
    [
        ([1e-3, 10.0], {"value": "log"}),
        ([0.0, 1e-3, 10.0], {"value": "symlog", "linthresh": 1e-3}),
        ([0.0, 0.0], {"value": "linear"}),
    ],
)
def test_log_scale(values, scale):
    assert log_scale(np.array(values)) == scale


def test_dense():
    X = np.array([[0.0, 2.0], [1.0, 0.0]])
    for given in (X, X.tolist(), sparse.csr_array(X), sparse.coo_matrix(X)):
        np.testing.assert_array_equal(dense(given), X)
        assert type(dense(given)) is np.ndarray


def test_even_grid_without_a_range():
    (first, second) = even_grid(np.array([[0.0, 3.0], [2.0, 3.0]]), 3, 0.0)
    assert first.tolist() == [0.0, 1.0, 2.0]
    assert second.tolist() == [2.0, 3.0, 4.0]
