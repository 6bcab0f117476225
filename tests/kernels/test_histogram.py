import naive
import numpy as np
import pytest
from each_case import each
from sklearn.metrics import pairwise

from representer.kernels import Chi2, HistogramIntersection
from representer.testing import check_kernel


def rows(n, width, seed=0):
    return np.random.default_rng(seed).uniform(0.1, 2.0, (n, width))


def apart(n, width):
    """Rows with no two entries of a column close to each other, so that differences do not cross a kink of |x - y|."""
    columns = np.tile(np.linspace(0.1, 2.0, n)[:, None], width)
    return np.random.default_rng(2).permuted(columns, axis=0)


def kernels(width):
    return [HistogramIntersection(), Chi2(), Chi2(2.5), Chi2(np.linspace(0.6, 2.5, width))]


CASES = [(kernel, width) for width in (3, 12) for kernel in kernels(width)]


@each(("kernel", "width"), CASES)
def test_formulas(kernel, width):
    naive.check_formulas(kernel, rows(5, width), rows(4, width, seed=1))


@each(("kernel", "width"), CASES)
def test_laws(kernel, width):
    check_kernel(kernel, apart(14, width))
    check_kernel(kernel, apart(14, width).astype(np.float32))


@each(("kernel", "width"), CASES)
def test_sparse_with_empty_bins(kernel, width):
    X, Y = rows(7, width), rows(4, width, seed=1)
    X[X < 0.8] = Y[Y < 0.8] = 0.0
    naive.check_sparse(kernel, X, Y)
    naive.close(kernel(X, Y), naive.matrix(kernel, X, Y), 1e-12)


def test_chi2_equal_to_scikit_learn():
    X, Y = rows(6, 5), rows(4, 5, seed=1)
    X[:, 0] = Y[:, 0] = 0.0
    np.testing.assert_allclose(Chi2(2.0)(X, Y), pairwise.chi2_kernel(X, Y, gamma=0.5), rtol=1e-12)


def test_intersection_of_indicators_counts_common_ones(rng):
    X = (rng.random((6, 9)) < 0.5).astype(float)
    assert np.array_equal(HistogramIntersection()(X), X @ X.T)


def test_intersection_gradient_where_bins_are_equal():
    X = np.array([[1.0, 2.0]])
    assert np.array_equal(
        HistogramIntersection().input_gradient(X, np.array([[1.0, 3.0]]), np.ones((1, 1))), [[0.5, 1]]
    )


@pytest.mark.parametrize("kernel", [Chi2(), HistogramIntersection()])
def test_negative_entries_are_refused(kernel):
    X = rows(4, 3)
    X[2, 1] = -1e-9
    with pytest.raises(ValueError, match=rf"negative entries; {type(kernel).__name__} compares histograms"):
        kernel(X)
    with pytest.raises(ValueError, match="negative entries"):
        kernel(X, rows(4, 3))


@pytest.mark.parametrize("length_scale", [0.0, -1.0, np.nan, "wide"])
def test_bad_length_scale(length_scale):
    with pytest.raises(ValueError, match=r"length_scale is .* must be a positive number"):
        Chi2(length_scale)(rows(4, 3))
    with pytest.raises(ValueError, match="length_scale has 2 entries, but X has 3 columns"):
        Chi2([1.0, 2.0])(rows(4, 3))
