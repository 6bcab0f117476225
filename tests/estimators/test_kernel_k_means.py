import pickle
import warnings

import numpy as np
import pytest
import sklearn.cluster
from each_case import each
from scipy import sparse
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn_contract import faults

from representer import KernelKMeans, Nystroem
from representer.estimators import kernel_k_means
from representer.kernels import RBF, Callable, Jaccard, Linear, Matern, Sigmoid, Spectrum


def data(n=200, k=4, width=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, width)) + 2.0 * rng.normal(size=(k, width))[np.arange(n) % k]


def test_estimator_checks():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer distinct inputs than clusters
        assert faults(KernelKMeans(3)) == []


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("memory", [None, 10**6])
def test_linear_kernel_is_scikit_learn_from_the_same_start(weighted, memory):
    X = data()
    weights = np.random.default_rng(1).uniform(0.0, 3.0, 200) if weighted else None
    for seed in range(5):
        start = X[np.random.default_rng(seed).choice(200, 6, replace=False)]
        theirs = sklearn.cluster.KMeans(6, init=start, n_init=1, tol=0.0).fit(X, sample_weight=weights)
        ours = KernelKMeans(6, kernel="linear", init=start, memory=memory).fit(X, sample_weight=weights)
        assert ours.inertia_ == pytest.approx(theirs.inertia_, rel=1e-10)
        np.testing.assert_array_equal(ours.labels_, theirs.labels_)
        np.testing.assert_allclose(ours.centers_.coef.T @ X, theirs.cluster_centers_, rtol=1e-9, atol=1e-12)
        new = data(50, seed=1)
        np.testing.assert_array_equal(ours.predict(new), theirs.predict(new))
        np.testing.assert_allclose(ours.transform(new), theirs.transform(new), rtol=1e-7)
        assert ours.score(new) == pytest.approx(theirs.score(new), rel=1e-9)


@pytest.mark.parametrize("kernel", [RBF(2.0), Linear() * RBF(3.0) + Matern(1.0)], ids=repr)
@pytest.mark.parametrize("weighted", [False, True])
def test_labels_are_a_fixed_point_and_the_inertia_is_its_definition(kernel, weighted):
    X = data()
    weights = 1.0 + np.arange(200) % 3 if weighted else np.ones(200)
    model = KernelKMeans(4, kernel=kernel).fit(X, sample_weight=weights)
    K = kernel(X)
    members = np.eye(4)[model.labels_] * weights[:, None]
    means = members / members.sum(axis=0)
    squares = K.diagonal()[:, None] - 2 * K @ means + np.einsum("ic,ij,jc->c", means, K, means)
    np.testing.assert_array_equal(model.labels_, squares.argmin(axis=1))
    assert model.inertia_ == pytest.approx(weights @ squares.min(axis=1), rel=1e-10)
    assert -model.score(X, sample_weight=weights) == pytest.approx(model.inertia_, rel=1e-10)
    np.testing.assert_allclose(model.transform(X), np.sqrt(squares), rtol=1e-8)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    np.testing.assert_allclose(model.centers_.norm() ** 2, np.einsum("ic,ij,jc->c", means, K, means))


def test_stored_and_computed_matrices_agree():
    X = data(500, 6)
    stored = KernelKMeans(6, kernel=RBF(2.0)).fit(X)
    computed = KernelKMeans(6, kernel=RBF(2.0), memory=1_000_000).fit(X)
    np.testing.assert_array_equal(stored.labels_, computed.labels_)
    assert stored.inertia_ == pytest.approx(computed.inertia_, rel=1e-12)


def test_restarts_together_are_restarts_one_by_one(monkeypatch):
    """The memory allows all starts at once, or one at a time."""
    X = data(300, 8)
    together = KernelKMeans(8, n_init=4).fit(X)
    counted = []
    seeds = kernel_k_means._far_apart
    monkeypatch.setattr(kernel_k_means, "_far_apart", lambda *args: counted.append(len(args[-1])) or seeds(*args))
    apart = KernelKMeans(8, n_init=4, memory=400_000).fit(X)
    assert counted == [1, 1, 1, 1]
    np.testing.assert_array_equal(apart.labels_, together.labels_)
    assert together.inertia_ < KernelKMeans(8, n_init=1).fit(X).inertia_ * (1 + 1e-9)


def test_careful_seeds_are_better_than_the_first_rows():
    X, y = make_blobs(400, centers=12, cluster_std=0.4, random_state=3)
    careful = KernelKMeans(12, kernel="linear", n_init=1).fit(X)
    careless = KernelKMeans(12, kernel="linear", init=X[y == 0][:12]).fit(X)
    assert careful.inertia_ < 0.7 * careless.inertia_


def test_order_of_the_rows_does_not_matter():
    X = data(150)
    order = np.random.default_rng(1).permutation(150)
    straight, mixed = KernelKMeans(5, n_init=2).fit(X), KernelKMeans(5, n_init=2).fit(X[order])
    np.testing.assert_array_equal(straight.labels_[order], mixed.labels_)


@pytest.mark.parametrize("n_init", [1, 3])
def test_a_weight_of_two_is_a_row_given_twice(n_init):
    X = data(60)
    times = np.arange(60) % 4
    weighted = KernelKMeans(5, n_init=n_init).fit(X, sample_weight=times)
    repeated = KernelKMeans(5, n_init=n_init).fit(np.repeat(X, times, axis=0))
    assert weighted.inertia_ == pytest.approx(repeated.inertia_, rel=1e-10)
    np.testing.assert_array_equal(weighted.predict(X), repeated.predict(X))


@pytest.mark.parametrize("unit", [1e-310, 1e-300, 1e300])
def test_units_of_weights_do_not_matter(unit):
    X, weights = data(40), 2.0 ** (np.arange(40) % 3)
    one, other = (KernelKMeans(3, n_init=2).fit(X, sample_weight=c * weights) for c in (1.0, unit))
    assert np.array_equal(one.labels_, other.labels_)
    assert other.inertia_ == pytest.approx(unit * one.inertia_, rel=1e-9)
    np.testing.assert_allclose(one.transform(X), other.transform(X), atol=1e-7)


def test_one_input_may_outweigh_all_others():
    X, weights = data(40), np.where(np.arange(40) == 7, 1e300, 1.0)
    model = KernelKMeans(3, n_init=2).fit(X, sample_weight=weights)
    assert np.sort(np.bincount(model.labels_))[-1] < 40
    assert np.isfinite(model.transform(X)).all()


def test_empty_clusters_are_filled():
    """Two equal seeds: one cluster has no members at first."""
    X = data(100)
    model = KernelKMeans(3, kernel="linear", init=X[[0, 0, 1]]).fit(X)
    assert len(np.unique(model.labels_)) == 3


def test_fewer_distinct_inputs_than_clusters():
    X = np.repeat([[0.0], [1.0]], 5, axis=0)
    with pytest.warns(ConvergenceWarning, match="Only 2 of 3 clusters"):
        model = KernelKMeans(3).fit(X)
    assert model.inertia_ == pytest.approx(0.0, abs=1e-12)
    assert len(np.unique(model.predict(X))) == 2
    assert np.isinf(model.transform(X)).sum() == 10


def test_too_few_steps():
    with pytest.warns(ConvergenceWarning, match="max_iter=1 steps"):
        model = KernelKMeans(8, n_init=1, max_iter=1).fit(data(300))
    np.testing.assert_array_equal(model.predict(data(300)), model.labels_)


def test_strings_sets_and_matrices():
    words = ["abab", "baba", "aba", "cdcd", "dcdc", "cdc"]
    truth = [0, 0, 0, 1, 1, 1]
    model = KernelKMeans(2, kernel=Spectrum(2)).fit(words)
    assert adjusted_rand_score(truth, model.labels_) == 1.0
    assert model.predict(["bab"])[0] == model.labels_[0]
    assert adjusted_rand_score(truth, KernelKMeans(2, kernel=Spectrum(2), init=words[:2]).fit(words).labels_) == 1.0
    sets = [set(word) | {i} for i, word in enumerate(words)]
    assert adjusted_rand_score(truth, KernelKMeans(2, kernel=Jaccard()).fit_predict(sets)) == 1.0
    K = Spectrum(2)(words)
    same = KernelKMeans(2, kernel="precomputed").fit(K)
    np.testing.assert_array_equal(same.labels_, model.labels_)
    np.testing.assert_array_equal(same.predict(Spectrum(2)(["bab", "dcd"], words)), model.predict(["bab", "dcd"]))


def test_distances_from_a_precomputed_matrix():
    """k(x, x) is known of the training inputs alone."""
    X, new = data(), data()[:30] + 0.1
    kernel = RBF(1.0)
    model = KernelKMeans(4, kernel=kernel).fit(X)
    same = KernelKMeans(4, kernel="precomputed").fit(kernel(X))
    weights = 1.0 + np.arange(len(X)) % 3
    np.testing.assert_allclose(same.transform(kernel(X)), model.transform(X), rtol=1e-9, atol=1e-9)
    assert same.score(kernel(X)) == pytest.approx(-same.inertia_, rel=1e-12)
    assert same.score(kernel(X), sample_weight=weights) == pytest.approx(model.score(X, sample_weight=weights))
    for method in (same.transform, same.score):
        with pytest.raises(ValueError, match=r"do not determine k\(x, x\).*use predict"):
            method(kernel(new, X))


def test_sparse_float32_and_pickle():
    X = data()
    model = KernelKMeans(4).fit(X)
    thin = KernelKMeans(4).fit(sparse.csr_array(X))
    np.testing.assert_array_equal(thin.labels_, model.labels_)
    small = KernelKMeans(4).fit(X.astype(np.float32))
    assert small.inertia_ == pytest.approx(model.inertia_, rel=1e-4)
    assert small.transform(X.astype(np.float32)).dtype == np.float32
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.labels_)


@each(
    ("options", "message"),
    [
        ({"n_clusters": 201}, "n_samples=200 should be >= n_clusters=201"),
        ({"n_clusters": 0}, "n_clusters is 0"),
        ({"n_init": 0}, "n_init is 0"),
        ({"max_iter": 0}, "max_iter is 0"),
        ({"init": "kmeans"}, "init is 'kmeans'; use 'k-means"),
        ({"init": np.ones((2, 3))}, "init has 2 inputs; give one for each of 8"),
        ({"kernel": Sigmoid()}, "not positive semidefinite"),
        ({"memory": 0}, "memory is 0"),
    ],
)
def test_bad_arguments_of_k_means(options, message):
    with pytest.raises(ValueError, match=message):
        KernelKMeans(**options).fit(data())


def test_certificate_is_that_of_the_centres(rng):
    """A further step gains nothing; after too few steps it gains what the certificate says."""
    X, weights = rng.normal(size=(120, 2)), rng.uniform(0.5, 2.0, 120)
    model = KernelKMeans(4, kernel=RBF(1.0), n_init=2).fit(X, sample_weight=weights)
    assert model.certificate_.residual < 1e-14
    assert model.certificate_.primal == pytest.approx(model.inertia_, rel=1e-12)
    assert model.certificate_.converged

    early = KernelKMeans(4, kernel=RBF(1.0), init=X[:4], max_iter=1)
    with pytest.warns(ConvergenceWarning, match="still moved after max_iter=1 steps"):
        early.fit(X, sample_weight=weights)
    # labels are those of the nearest centres, so that a step gains by its new centres alone
    members = weights[:, None] * (early.labels_[:, None] == np.arange(4))
    change = early.centers_.coef - members / members.sum(axis=0)
    gain = members.sum(axis=0) @ np.einsum("ic,ij,jc->c", change, RBF(1.0)(X), change)
    assert early.certificate_.residual == pytest.approx(gain / early.inertia_, rel=1e-9)
    assert not early.certificate_.converged


def test_kernels_with_few_features_need_no_matrix():
    X = data(120)
    kernel = Nystroem(RBF(2.0), 25).with_default_scales(X)
    kernels = kernel, Callable(lambda A, B: kernel(A, B))
    ours, whole = (KernelKMeans(4, kernel=k, n_init=2).fit(X) for k in kernels)
    far = len(X) - kernel.diag(X).sum()  # the matrix of k^ does not tell how far inputs are from the span
    np.testing.assert_allclose(ours.inertia_, whole.inertia_ + far, rtol=1e-12)
    np.testing.assert_array_equal(ours.labels_, whole.labels_)
    assert "through the features" in ours.plan(X).reason


def test_distances_from_centres_of_a_span_are_those_in_the_space_of_the_kernel():
    X = data(150)
    for factor in (1.0, 3.0):
        kernel = (factor * Nystroem(RBF(2.0), 25)).with_default_scales(X)
        model = KernelKMeans(4, kernel=kernel, n_init=1).fit(X)
        centres = np.asarray([model.centers_(X)[model.labels_ == c, c].mean() for c in range(4)])  # |m_c|^2
        naive = kernel.original.diag(X)[:, None] - 2.0 * model.centers_(X) + centres
        assert kernel.diag(X).min() < 0.98 * factor
        np.testing.assert_allclose(model.transform(X) ** 2, naive, rtol=1e-9)
        assert model.inertia_ == pytest.approx(naive.min(axis=1).sum(), rel=1e-9)
        assert model.inertia_ == pytest.approx(-model.score(X), rel=1e-9)
        assert model.inertia_ == pytest.approx(model.certificate_.primal, rel=1e-9)
