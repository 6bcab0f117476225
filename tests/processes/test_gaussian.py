"""A process before and after data against dense formulas and statistics of draws."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from representer import _parallel
from representer.kernels import RBF, Normalized, Spectrum
from representer.processes import gaussian
from representer.processes.gaussian import GaussianProcess, copied, doubled
from representer.processes.posterior import ExactPosterior, IterativePosterior
from representer.processes.single_precision import SinglePosterior

RNG = np.random.default_rng(0)
X, Z = RNG.normal(size=(80, 2)), RNG.normal(size=(70, 2))
NOISE = RNG.uniform(0.05, 0.5, 80)
KERNEL = 1.5 * RBF([0.8, 1.2])
KINDS = pytest.mark.parametrize("kind", [None, ExactPosterior, IterativePosterior, SinglePosterior])


@pytest.fixture(autouse=True)
def _one_blas_thread():
    """As for fits of this size: threads of BLAS that wait for each other take longer than the work."""
    with _parallel.one_blas_thread():
        yield


def process(kind, kernel=KERNEL, X=X, noise=NOISE):
    return GaussianProcess(kernel) if kind is None else GaussianProcess(kernel, X, kind(kernel, X, noise, tol=1e-11))


def covariance(kind, kernel=KERNEL, X=X, Z=Z, noise=NOISE):
    k = kernel(X, Z)
    return kernel(Z) - (0.0 if kind is None else k.T @ np.linalg.solve(kernel(X) + np.diag(noise), k))


def check_draws(draws, C):
    """Means and covariances within five standard errors."""
    n, v = draws.shape[1], C.diagonal()
    assert np.all(np.abs(draws.mean(axis=1)) < 5 * np.sqrt(v / n))
    assert np.all(np.abs(np.cov(draws) - C) < 5 * np.sqrt((np.outer(v, v) + C**2) / n))


@KINDS
def test_variance_and_covariance(kind, monkeypatch):
    if kind:
        monkeypatch.setattr(kind, "at_once", 32)  # several chunks
    expected = covariance(kind)
    np.testing.assert_allclose(process(kind).covariance(Z), expected, atol=1e-8)
    np.testing.assert_allclose(process(kind).variance(Z), expected.diagonal(), atol=1e-8)


@KINDS
@pytest.mark.parametrize("pathwise", [False, True])
def test_draws(kind, pathwise):
    f, rng = process(kind), np.random.default_rng(3)
    draws = f.paths(Z[:6], 4000, rng) if pathwise else f.draws(Z[:6], 4000, rng)
    check_draws(draws, covariance(kind)[:6, :6])


@pytest.mark.parametrize("kind", [None, ExactPosterior])
def test_paths_have_all_variance_though_the_factor_has_not(kind, monkeypatch):
    """With a factor of rank 3 the rest is drawn independently, so nearly all of the variance is still there.

    Uncorrelated draws of the prior have no less variance after data than correlated ones.
    """
    monkeypatch.setattr(gaussian, "PATH_RANK", 3)
    draws = process(kind).paths(Z, 2000, np.random.default_rng(0))
    variance = covariance(kind).diagonal()
    assert np.all(draws.var(axis=1) > variance * (1 - 5 * np.sqrt(2 / 2000)))
    if kind is None:
        assert np.all(draws.var(axis=1) < variance * (1 + 5 * np.sqrt(2 / 2000)))


@KINDS
def test_strings_that_the_data_do_not_have(kind):
    kernel = 1.5 * Normalized(Spectrum(2))
    words, new = ["abc", "bca", "aab", "cab"], ["xyz", "yzz", "abx"]
    f, noise = process(kind, kernel, words, np.full(4, 0.1)), np.full(4, 0.1)
    expected = covariance(kind, kernel, words, new, noise)
    np.testing.assert_allclose(f.covariance(new), expected, atol=1e-8)
    check_draws(f.paths(new, 4000, np.random.default_rng(1)), expected)


def test_covariance_holds_one_matrix_beyond_those_with_the_data(peak_of):
    new = np.random.default_rng(1).normal(size=(1500, 2))
    f = process(ExactPosterior)
    f.covariance(new[:200])  # compiles
    peak, _ = peak_of(lambda: f.covariance(new))
    assert peak < 8 * 1500 * (1.2 * 1500 + 2 * 80) + 3e6  # tiles


def test_copies():
    for inputs in (X.copy(), sparse.csr_array(X), pd.DataFrame(X.copy())):
        other = copied(inputs)
        assert type(other) is type(inputs)
        inputs *= 2.0
        values = other.toarray() if sparse.issparse(other) else np.asarray(other)
        np.testing.assert_array_equal(values, X)
    words = ("a", "b")
    assert copied(words) == ["a", "b"]
    assert doubled(X.astype(np.float32)).dtype == np.float64
    assert doubled(words) is words


def test_small_matrices_need_one_thread_of_blas(monkeypatch, rng):
    """Others would wait for each other, for seconds beside busy processes."""
    asked = []
    limit = _parallel.blas_threads_for
    monkeypatch.setattr(_parallel, "blas_threads_for", lambda n: asked.append(n) or limit(n))
    X = rng.normal(size=(20, 2))
    posterior = ExactPosterior(RBF(1.0), X, np.full(20, 0.1))
    process = GaussianProcess(RBF(1.0), X, posterior)
    process.variance(X[:3])
    process.draws(X[:3], 2, rng)
    process.paths(X[:3], 2, rng)
    assert asked == [20, 20, 3, 23]
