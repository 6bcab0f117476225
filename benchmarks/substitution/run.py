"""How accurate is the kernel Fisher discriminant, and how fast are neighbours, clustering and Parzen windows?

    python benchmarks/substitution/run.py [quick]

Errors are measured on the test part of usps (10 digits) and oilflow (3 classes), or of scikit-learn's small digits
where the folder has none of these. Both models are tuned on the same training rows: the support vector machine by
five-fold cross-validation, the discriminant by its own leave-one-out. ``quick`` skips usps.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans
from sklearn.cluster import SpectralClustering as OtherSpectral
from sklearn.datasets import load_digits, make_blobs
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KernelDensity, NearestNeighbors
from sklearn.svm import SVC

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import Table, data_file, median_seconds, print_versions

from representer import (
    KernelFisherDiscriminant,
    KernelKMeans,
    KernelNeighborsClassifier,
    NadarayaWatson,
    ParzenDensity,
    SpectralClustering,
)
from representer.kernels import RBF

TUNING_ROWS = 1500


def parts(name: str) -> list[np.ndarray] | None:
    """Training and test inputs and labels, inputs divided by their largest entry; None if the data are not there."""
    if (file := data_file(name)) is None:
        return None
    with np.load(file) as data:
        X, y, new, truth = (data[key] for key in ("X_train", "y_train", "X_test", "y_test"))
    size = np.abs(X).max()
    return [X / size, y, new / size, truth]


def digits() -> list[np.ndarray]:
    """The first two thirds of scikit-learn's small digits, and the rest."""
    X, y = load_digits(return_X_y=True)
    return [X[:1200] / 16, y[:1200], X[1200:] / 16, y[1200:]]


def errors(table: Table, name: str, X: np.ndarray, y: np.ndarray, new: np.ndarray, truth: np.ndarray) -> None:
    """Errors in percent of a tuned support vector machine and a tuned discriminant."""
    some = np.random.default_rng(0).permutation(len(X))[:TUNING_ROWS]
    gamma = 1.0 / (X.shape[1] * X.var())
    grid = {"C": [1.0, 10.0, 100.0, 1000.0], "gamma": gamma * 2.0 ** np.arange(-1, 4)}
    start = time.perf_counter()
    search = GridSearchCV(SVC(), grid, cv=5).fit(X[some], y[some])
    other = SVC(**search.best_params_).fit(X, y)
    theirs, seconds = 100 * (1 - other.score(new, truth)), time.perf_counter() - start
    print(f"       {name}: SVC error {theirs:.2f} % in {seconds:.0f} s, {search.best_params_}")
    start = time.perf_counter()
    alphas = np.logspace(-5, 0, 11)
    tried = [
        KernelFisherDiscriminant(alphas, kernel=RBF(np.sqrt(0.5 / g))).fit(X[some], y[some]) for g in grid["gamma"]
    ]
    best = max(tried, key=lambda model: model.loo_scores_.max())
    own = KernelFisherDiscriminant(best.alpha_, kernel=best.kernel_).fit(X, y)
    error = 100 * (1 - own.score(new, truth))
    note = f"{error:.2f} % in {time.perf_counter() - start:.0f} s, alpha {own.alpha_:.2g}, {own.kernel_}"
    table.row(f"{name}: error of the Fisher discriminant less that of the SVM", error - theirs, "<=", 1, "%", note)


def neighbours(table: Table) -> None:
    """Ten neighbours of 5,000 inputs among 20,000 with 50 columns, by exhaustive search."""
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(20_000, 50)), rng.normal(size=(5000, 50))
    own = KernelNeighborsClassifier(10, kernel="linear").fit(X, np.arange(20_000) % 2)
    other = NearestNeighbors(n_neighbors=10, algorithm="brute").fit(X)
    assert np.array_equal(own.kneighbors(new)[1], other.kneighbors(new)[1])
    seconds = median_seconds(lambda: own.kneighbors(new), 3)
    ratio = median_seconds(lambda: other.kneighbors(new), 3) / seconds
    table.row("10 neighbours of 5,000 among 20,000: scikit-learn's / own", ratio, ">=", 0.5, note=f"{seconds:.2f} s")


def naive_k_means(K: np.ndarray, labels: np.ndarray, k: int) -> float:
    """Kernel k-means from the textbook: the whole matrix in each step of each start."""
    best = np.inf
    for start in labels:
        last = None
        while not np.array_equal(start, last):
            members = np.eye(k)[start]
            members /= np.maximum(members.sum(axis=0), 1.0)
            sums = K @ members
            squares = K.diagonal()[:, None] - 2 * sums + np.einsum("ic,ic->c", members, sums)
            last, start = start, squares.argmin(axis=1)
        best = min(best, squares.min(axis=1).sum())
    return best


def clusters(table: Table) -> None:
    """Kernel k-means against a plain one and scikit-learn's, and spectral clustering."""
    X, _ = make_blobs(5000, centers=20, n_features=10, cluster_std=4.0, random_state=0)
    A = X[:1000]
    own = np.mean([KernelKMeans(20, kernel="linear", n_init=1, random_state=s).fit(A).inertia_ for s in range(20)])
    other = np.mean([KMeans(20, n_init=1, random_state=s).fit(A).inertia_ for s in range(20)])
    table.row("k-means, linear: mean inertia of 20 starts, own / scikit-learn's", own / other, "<=", 1.02)
    kernel = RBF(10.0)
    model = KernelKMeans(20, kernel=kernel, n_init=5)
    starts = np.random.default_rng(0).integers(0, 20, (5, 5000))
    seconds = median_seconds(lambda: model.fit(X), 1)
    plain = median_seconds(lambda: naive_k_means(kernel(X), starts, 20), 1)
    table.row(
        "kernel k-means, n = 5,000, 5 starts: plain numpy / own", plain / seconds, ">=", 1, note=f"{seconds:.2f} s"
    )
    A = X[:3000]
    own = SpectralClustering(10, kernel=RBF(5.0))
    other = OtherSpectral(10, gamma=0.5 / 25, random_state=0)
    seconds = median_seconds(lambda: own.fit(A), 1)
    ratio = median_seconds(lambda: other.fit(A), 1) / seconds
    table.row("spectral clustering, n = 3,000: scikit-learn's / own", ratio, ">=", 1, note=f"{seconds:.2f} s")


def windows(table: Table) -> None:
    """Densities and bandwidths."""
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(10_000, 4)), rng.normal(size=(5000, 4))
    for window, name in (("gaussian", "gaussian"), ("epanechnikov", "epanechnikov")):
        h = ParzenDensity(window=window).fit(X).bandwidth_
        own = ParzenDensity(h, window=window).fit(X)
        other = KernelDensity(bandwidth=h, kernel=name).fit(X)
        values = np.exp(own.score_samples(new)), np.exp(other.score_samples(new))
        assert np.abs(values[0] - values[1]).max() < 1e-9
        seconds = median_seconds(lambda model=own: model.score_samples(new), 3)
        ratio = median_seconds(lambda model=other: model.score_samples(new), 1) / seconds
        table.row(f"{window} density, 10,000 at 5,000: scikit-learn's / own", ratio, ">=", 3, note=f"{seconds:.2f} s")
    A = X[:2000]
    grid = ParzenDensity("loo").fit(A).bandwidths_
    seconds = median_seconds(lambda: ParzenDensity(grid).fit(A), 3)
    search = GridSearchCV(KernelDensity(), {"bandwidth": grid}, cv=5, refit=False)
    ratio = median_seconds(lambda: search.fit(A), 1) / seconds
    table.row(
        "25 bandwidths, n = 2,000: GridSearchCV(cv=5) / own exact leave-one-out",
        ratio,
        ">=",
        3,
        note=f"{seconds:.2f} s",
    )
    seconds = median_seconds(lambda: NadarayaWatson("loo").fit(X, X[:, 0]), 1)
    table.row("Nadaraya-Watson, n = 10,000, 25 bandwidths by leave-one-out", seconds, "<=", 30, "s")


if __name__ == "__main__":
    print_versions()
    table = Table()
    neighbours(table)
    clusters(table)
    windows(table)
    for name in ("oilflow", "usps"):
        if name == "usps" and "quick" in sys.argv:
            continue
        data = parts(name)
        errors(table, name if data else "digits", *(data or digits()))
    table.end()
