import numpy as np
import pytest

from representer import Gram
from representer.kernels import RBF, Linear, Matern
from representer.processes import local
from representer.processes.local import LocalPosterior


def exact(kernel, X, noise, new):
    """By the inverse of the whole matrix, at new inputs and at the inputs without their own measurements."""
    A = np.linalg.inv(kernel(X) + np.diag(noise))
    columns = kernel(X, new)
    return kernel.diag(new) - np.einsum("ij,ij->j", columns, A @ columns), 1.0 / A.diagonal() - noise


@pytest.fixture
def data(rng):
    return rng.normal(size=(400, 3)), rng.normal(size=(30, 3)), 0.05 * rng.uniform(0.5, 2.0, 400)


def test_exact_where_a_factor_leaves_nothing(data):
    """Of a linear kernel, with another noise at each input; no input is left out at a landmark."""
    X, new, noise = data
    kernel = 2.0 * Linear()
    process = LocalPosterior(Gram(kernel, X), noise)
    at_new, left_out = exact(kernel, X, noise, new)
    np.testing.assert_allclose(process.variance(new), at_new, rtol=1e-6)
    rows = np.setdiff1d(np.arange(400), process.pivots)[::10]
    np.testing.assert_allclose(process.left_out(rows), left_out[rows], rtol=1e-6)


def test_exact_among_few_inputs(data, monkeypatch):
    """Without landmarks, where all inputs are near."""
    X, new, noise = (part[:60] for part in data)
    monkeypatch.setattr(local, "LOCAL_RANK", 1)
    kernel = Matern(0.2, nu=0.5)
    at_new, left_out = exact(kernel, X, noise, new)
    process = LocalPosterior(Gram(kernel, X), noise)
    np.testing.assert_allclose(process.variance(new), at_new, rtol=1e-6)
    rows = np.setdiff1d(np.arange(60), process.pivots)
    np.testing.assert_allclose(process.left_out(rows), left_out[rows], rtol=1e-6)


@pytest.mark.parametrize(("kernel", "alpha"), [(Matern(1.0, nu=0.5), 0.05), (RBF(1.5), 0.01)], ids=str)
def test_near_the_variance_of_the_whole_matrix(data, monkeypatch, kernel, alpha):
    """With a factor of a quarter of the rank, and a tenth of the inputs as neighbours."""
    X, new, noise = data
    noise = alpha * noise / noise.mean()
    monkeypatch.setattr(local, "LOCAL_RANK", 100)
    monkeypatch.setattr(local, "NEAREST_ROWS", 40)
    at_new, left_out = exact(kernel, X, noise, new)
    process = LocalPosterior(Gram(kernel, X), noise)
    ratio = (process.variance(new) + alpha) / (at_new + alpha)
    assert 0.98 < ratio.min() <= ratio.max() < 1.02
    rows = np.setdiff1d(np.arange(400), process.pivots)
    ratio = (process.left_out(rows) + noise[rows]) / (left_out + noise)[rows]
    assert np.abs(ratio - 1.0).max() < 0.05


def test_nearest_rows_where_much_is_left(data, monkeypatch):
    """Only there; elsewhere they could explain a hundredth of the noise at most, and what they would is that small."""
    X, new, noise = data
    kernel = RBF(1.5)
    looked = []
    nearest = LocalPosterior._nearest
    monkeypatch.setattr(LocalPosterior, "_nearest", lambda self, r: looked.append(r) or nearest(self, r))
    process, far = LocalPosterior(Gram(kernel, X), noise), np.array([[4.0, 4.0, 4.0]])
    at_new, _ = exact(kernel, X, noise, np.vstack([new, far]))
    found = process.variance(np.vstack([new, far]))
    assert 1 <= len(looked) < 15
    assert np.abs(found - at_new).max() < local.NEAR_PART * noise.min()
    monkeypatch.setattr(local, "NEAR_PART", 0.0)
    np.testing.assert_allclose(process.variance(new), at_new[:-1], rtol=1e-3)


def test_smoothed_solves_with_factor_and_diagonal(data):
    X, _, noise = data
    process, V = LocalPosterior(Gram(RBF(3.0), X), noise), np.cos(X[:, :2])
    known = process.low_rank
    A = known.factor.T @ known.factor + np.diag(known.remainder + noise)
    np.testing.assert_allclose(A @ process.smoothed(V), V, atol=1e-8)
    np.testing.assert_allclose(known.factor.T @ known.factor + np.diag(known.remainder), RBF(3.0)(X), atol=0.05)
