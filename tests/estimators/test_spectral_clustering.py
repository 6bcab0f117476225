import numpy as np
import pytest
import sklearn.cluster
import sklearn.manifold
from sklearn.datasets import make_circles
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn_contract import faults

from representer import Nystroem, SpectralClustering
from representer.kernels import RBF, Callable, Spectrum


def data(n=200, k=4, width=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, width)) + 2.0 * rng.normal(size=(k, width))[np.arange(n) % k]


def test_estimator_checks():
    assert faults(SpectralClustering(3, n_init=1)) == []


# ---- spectral clustering ----


def test_spectral_clustering_is_that_of_scikit_learn():
    X, _ = make_circles(150, factor=0.3, noise=0.05, random_state=0)
    K = RBF(0.3)(X)
    ours = SpectralClustering(3, kernel=RBF(0.3)).fit(X)
    embedding = sklearn.manifold.spectral_embedding(K, n_components=3, drop_first=False, random_state=0)
    signs = np.sign((ours.embedding_ * embedding).sum(axis=0))
    np.testing.assert_allclose(ours.embedding_, embedding * signs, atol=1e-8)
    theirs = sklearn.cluster.SpectralClustering(3, affinity="precomputed", random_state=0).fit(K)
    assert adjusted_rand_score(ours.labels_, theirs.labels_) == 1.0


def test_rings():
    X, y = make_circles(200, factor=0.3, noise=0.05, random_state=0)
    model = SpectralClustering(2, kernel=RBF(0.15)).fit(X)
    assert adjusted_rand_score(y, model.labels_) == 1.0
    assert model.eigenvalues_[0] == pytest.approx(0.0, abs=1e-9)


def test_iteration_and_dense_eigenvectors_agree(monkeypatch):
    X = data(150)
    dense = SpectralClustering(3, kernel=RBF(1.0)).fit(X)
    lazy = SpectralClustering(3, kernel=RBF(1.0), memory=600_000).fit(X)
    monkeypatch.setattr("representer.estimators.spectral_clustering.DENSE_LAPLACIAN_UP_TO", 10)
    stored = SpectralClustering(3, kernel=RBF(1.0)).fit(X)
    for other in (lazy, stored):
        np.testing.assert_allclose(other.eigenvalues_, dense.eigenvalues_, atol=1e-9)
        np.testing.assert_allclose(other.embedding_, dense.embedding_, atol=1e-7)


def test_eigenvectors_are_those_of_the_definition():
    X = data(40)
    model = SpectralClustering(3, kernel=RBF(1.5), n_components=4).fit(X)
    A = RBF(1.5)(X)
    np.fill_diagonal(A, 0.0)
    degrees = A.sum(axis=1)
    L = np.eye(40) - A / np.sqrt(np.outer(degrees, degrees))
    values, vectors = np.linalg.eigh(L)
    np.testing.assert_allclose(model.eigenvalues_, values[:4], atol=1e-12)
    ours = model.embedding_ * np.sqrt(degrees)[:, None]
    np.testing.assert_allclose(np.abs(np.einsum("ij,ij->j", ours, vectors[:, :4])), 1.0)


def test_spectral_clustering_of_strings_and_matrices():
    words = ["abab", "baba", "aba", "cdcd", "dcdc", "cdc"]
    truth = [0, 0, 0, 1, 1, 1]
    assert adjusted_rand_score(truth, SpectralClustering(2, kernel=Spectrum(2)).fit_predict(words)) == 1.0
    K = Spectrum(2)(words)
    assert adjusted_rand_score(truth, SpectralClustering(2, kernel="precomputed").fit_predict(K)) == 1.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_clusters": 300}, "n_samples=200 should be >= n_clusters=300"),
        ({"n_components": 201}, "n_components is 201, but there are only 200 inputs"),
        ({"kernel": "linear"}, "negative sum of kernel values"),
        ({"n_init": 0}, "n_init is 0"),
    ],
    ids=str,
)
def test_bad_arguments_of_spectral_clustering(options, message):
    with pytest.raises(ValueError, match=message):
        SpectralClustering(**options).fit(data())


def test_an_isolated_input_is_a_cluster():
    Z = np.r_[np.c_[np.linspace(0, 10, 60), np.zeros(60)], [[100.0, 100.0]]]
    labels = SpectralClustering(2, kernel=RBF(0.5), random_state=np.random.default_rng(0)).fit(Z).labels_
    assert len(set(labels[:60])) == 1
    assert labels[60] != labels[0]


@pytest.mark.parametrize("memory", [None, 10**6])
def test_the_plan_is_what_a_fit_takes(memory, peak_of):
    X = data(1200)
    model = SpectralClustering(3, kernel=RBF(1.0), memory=memory, n_init=1)
    peak, _ = peak_of(lambda: model.fit(X))
    assert peak == pytest.approx(model.plan(X).bytes, rel=0.2) or peak < 4e6


@pytest.mark.parametrize("n", [80, 1100])  # all eigenvectors at once, and a few by iteration
def test_certificate_is_that_of_the_eigenvectors(n, rng):
    X = rng.normal(size=(n, 2))
    model = SpectralClustering(3, kernel=RBF(1.0), n_init=1).fit(X)
    A = RBF(1.0)(X)
    np.fill_diagonal(A, 0.0)
    root = np.sqrt(A.sum(axis=1))
    vectors = model.embedding_ * root[:, None]
    rest = (A / np.outer(root, root)) @ vectors - vectors * (1.0 - model.eigenvalues_)
    assert np.linalg.norm(rest, axis=0).max() < 1e-12
    assert model.certificate_.residuals.shape == (3,)
    assert model.certificate_.residual < 1e-12
    assert model.certificate_.converged


def test_edges_far_below_the_diagonal_keep_their_digits(rng):
    """With a short length scale degrees are sums of tiny values, which k(x, x) = 1 would drown."""
    X = rng.normal(size=(1100, 2))
    model = SpectralClustering(2, kernel=RBF(0.003), n_init=1).fit(X)
    assert model.certificate_.residual < 1e-12


def test_eigenvectors_that_are_off_are_told(rng, monkeypatch):
    find = SpectralClustering._eigenvectors

    def off(self, problem, count):
        values, vectors, products = find(self, problem, count)
        return values + 0.01, vectors, products

    monkeypatch.setattr(SpectralClustering, "_eigenvectors", off)
    with pytest.warns(ConvergenceWarning, match=r"residual \|N u - lambda u\| of 0.01"):
        SpectralClustering(2).fit(rng.normal(size=(30, 2)))


def test_kernels_with_few_features_need_no_matrix():
    X = data(120)
    kernel = Nystroem(RBF(2.0), 25).with_default_scales(X)
    ours, whole = (SpectralClustering(4, kernel=k).fit(X) for k in (kernel, Callable(lambda A, B: kernel(A, B))))
    np.testing.assert_allclose(ours.eigenvalues_, whole.eigenvalues_, atol=1e-12)
    assert adjusted_rand_score(ours.labels_, whole.labels_) == 1.0
    assert "through the features" in ours.plan(X).reason
    assert ours.certificate_.converged
