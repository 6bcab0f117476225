"""Does the latent variable model separate the three flow regimes of the oil data, and how long does it take?

    python benchmarks/latent/run.py [quick]

Reports nearest-neighbour errors in the embedding (leave-one-out), as in Lawrence (JMLR 2005), and of the test rows
embedded by `transform`. All models start from the principal components, with one kernel and no restarts. Without
the oil data, scikit-learn's digits are used. ``quick`` skips the exact model.
"""

from __future__ import annotations

import sys
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import Table, data_file, print_versions

from representer import GPLVM, _parallel
from representer.kernels import RBF
from representer.processes.likelihood import log_marginal_likelihood
from representer.processes.variational import Landmarks


def oil() -> tuple[str, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Name, training rows and labels, test rows and labels."""
    if (file := data_file("oilflow")) is not None:
        with np.load(file) as data:
            return "oil flow", data["X_train"], data["y_train"], data["X_test"], data["y_test"]
    X, y = load_digits(return_X_y=True)
    return "digits", X[:900] / 16.0, y[:900], X[900:] / 16.0, y[900:]


def errors(Z: np.ndarray, y: np.ndarray) -> int:
    """Rows whose nearest neighbour in the map has another label."""
    nearest = NearestNeighbors(n_neighbors=2).fit(Z).kneighbors(Z)[1][:, 1]
    return int((y[nearest] != y).sum())


def separation(table: Table, quick: bool) -> None:
    """Errors of nearest neighbours in the map, and of new rows placed in it."""
    name, X, y, new, labels = oil()
    pca = PCA(2).fit(X)
    before = errors(pca.transform(X), y)
    print(f"       {name}: {before} of {len(X)} errors in two principal components, {errors(X, y)} in all columns")
    for landmarks in (50,) if quick else (50, None):
        start = time.perf_counter()
        model = GPLVM(n_landmarks=landmarks).fit(X)
        seconds = time.perf_counter() - start
        after = errors(model.embedding_, y)
        how = "exact" if landmarks is None else f"{landmarks} landmarks"
        note = (
            f"{after} errors, {seconds:.1f} s, {model.n_iter_} steps, likelihood {model.log_marginal_likelihood_:.0f}"
        )
        table.row(f"{name}, {how}: errors of PCA / own", before / max(after, 1), ">=", 5, note=note)
        start = time.perf_counter()
        placed = model.transform(new)
        seconds = time.perf_counter() - start
        wrong = (KNeighborsClassifier(1).fit(model.embedding_, y).predict(placed) != labels).sum()
        flat = (KNeighborsClassifier(1).fit(pca.transform(X), y).predict(pca.transform(new)) != labels).sum()
        note = f"{wrong} of {len(new)} errors, {seconds:.1f} s"
        table.row(f"{name}, {how}: errors of PCA / own on new rows", flat / max(wrong, 1), ">=", 3, note=note)


def growth(table: Table) -> None:
    """One value and gradient: n^3 for the exact model, n for landmarks."""
    kernel, rng, seconds = 1.0 * RBF(1.0), np.random.default_rng(0), {}
    for n in (500, 1000, 2000, 16_000):
        Z, Y = rng.normal(size=(n, 2)), rng.normal(size=(n, 12))
        A = kernel.prepare(Z)
        U = kernel.prepare(Z[:100], like=A)
        runs = {"landmarks": lambda A=A, U=U, Y=Y: Landmarks(kernel, A, U, Y, 0.1).bound()}
        if n <= 2000:
            runs["exact"] = lambda A=A, Y=Y: log_marginal_likelihood(kernel, A, Y, np.full(len(Y), 0.1), by_inputs=True)
        for how, run in runs.items():
            with _parallel.one_blas_thread():
                run()
                times = []
                for _ in range(5):
                    start = time.perf_counter()
                    run()
                    times.append(time.perf_counter() - start)
            seconds[how, n] = float(np.median(times))
    print("       " + ", ".join(f"{how} n = {n}: {1e3 * value:.0f} ms" for (how, n), value in sorted(seconds.items())))
    ratio = seconds["exact", 2000] / seconds["landmarks", 2000]
    table.row("n = 2,000: exact / 100 landmarks, one value and gradient", ratio, ">=", 4)
    power = np.log(seconds["landmarks", 16_000] / seconds["landmarks", 2000]) / np.log(8)
    table.row("100 landmarks: time grows as n to the power, from 2,000 to 16,000", float(power), "<=", 1.2, "")


if __name__ == "__main__":
    warnings.simplefilter("ignore", ConvergenceWarning)
    print_versions()
    table = Table()
    growth(table)
    separation(table, "quick" in sys.argv)
    table.end()
