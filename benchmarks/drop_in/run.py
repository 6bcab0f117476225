"""Scripts written for scikit-learn, before and after `representer.drop_in.patch()`.

    pip install -r benchmarks/drop_in/requirements.txt
    python benchmarks/drop_in/run.py [rows of the search, 5000 when not given]

Tasks of tutorial size, where interpreter overhead is a large part of the time; then a grid search over 40 SVC
candidates (8 values of gamma, 5 of C) with five folds on a table with 20 columns. The same functions run with
scikit-learn, after `patch`, and after the patch of scikit-learn-intelex where it is installed; scores must agree.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.datasets import load_digits, load_iris, make_classification
from sklearn.model_selection import GridSearchCV, StratifiedShuffleSplit

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import print_versions
from sklearn import decomposition, gaussian_process, kernel_ridge, svm
from sklearn.gaussian_process import kernels

from representer import drop_in

try:
    import sklearnex
except ImportError:
    sklearnex = None

TARGET, SEARCH_TARGET = 1.0, 4.0
"""Times as long that scikit-learn has to take for the small tasks and for the search."""
GRID = {"gamma": np.logspace(-4, 0, 8), "C": np.logspace(-1, 3, 5)}


def data(n: int) -> tuple[np.ndarray, np.ndarray]:
    X, y = make_classification(n, 20, n_informative=10, flip_y=0.05, class_sep=0.8, random_state=0)
    return (X - X.mean(axis=0)) / X.std(axis=0), y


@contextmanager
def intelex() -> Iterator[None]:
    """scikit-learn patched by scikit-learn-intelex."""
    sklearnex.patch_sklearn(verbose=False)
    try:
        yield
    finally:
        sklearnex.unpatch_sklearn()


PATCHES = {"representer": drop_in.patch, "scikit-learn": nullcontext}
if sklearnex is not None:
    PATCHES["scikit-learn-intelex"] = intelex


def search(X: np.ndarray, y: np.ndarray) -> tuple[float, np.ndarray]:
    """Seconds, and the scores of all candidates."""
    svm.SVC().fit(X[:200], y[:200])  # loops are compiled
    start = perf_counter()
    found = GridSearchCV(svm.SVC(), GRID, cv=5, refit=False).fit(X, y)
    return perf_counter() - start, found.cv_results_["mean_test_score"]


def iris() -> float:
    """The best accuracy of 169 radial machines."""
    X, y = load_iris(return_X_y=True)
    grid = {"gamma": np.logspace(-9, 3, 13), "C": np.logspace(-2, 10, 13)}
    splits = StratifiedShuffleSplit(5, test_size=0.2, random_state=0)
    return GridSearchCV(svm.SVC(), grid, cv=splits).fit((X - X.mean(axis=0)) / X.std(axis=0), y).best_score_


def digits() -> float:
    """The accuracy of a machine for ten classes."""
    X, y = load_digits(return_X_y=True)
    return svm.SVC(gamma=0.001).fit(X[:900], y[:900]).score(X[900:], y[900:])


def sine() -> float:
    """R^2 of a grid of ridge regressions and one of SVR, at 100,000 new points."""
    rng = np.random.default_rng(0)
    X, new = 5.0 * rng.random((100, 1)), np.linspace(0.0, 5.0, 100_000)[:, None]
    y, widths = np.sin(X).ravel() + 0.3 * rng.normal(size=100), np.logspace(-2, 2, 5)
    ridge = GridSearchCV(kernel_ridge.KernelRidge(kernel="rbf"), {"alpha": [1.0, 0.1, 0.01], "gamma": widths})
    machine = GridSearchCV(svm.SVR(), {"C": [1.0, 10.0, 100.0], "gamma": widths})
    return sum(model.fit(X, y).score(new, np.sin(new).ravel()) for model in (ridge, machine)) / 2.0


def process() -> float:
    """R^2 of a Gaussian process on 300 rows, whose hyper-parameters are searched from three starts."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-2.0, 2.0, (300, 2))
    y = np.sin(2.0 * X[:, 0]) * np.cos(X[:, 1]) + 0.1 * rng.normal(size=300)
    kernel = 1.0 * kernels.RBF([1.0, 1.0]) + kernels.WhiteKernel(0.1)
    model = gaussian_process.GaussianProcessRegressor(kernel, n_restarts_optimizer=2, random_state=0)
    return model.fit(X, y).score(X, y)


def components() -> float:
    """The share of digits that 32 kernel principal components give back."""
    X = load_digits().data
    model = decomposition.KernelPCA(32, kernel="rbf", gamma=1e-3, fit_inverse_transform=True, alpha=5e-3)
    return 1.0 - float(((X - model.inverse_transform(model.fit_transform(X))) ** 2).sum() / (X**2).sum())


TUTORIALS = (iris, digits, sine, process, components)


def timed(task: Any) -> tuple[float, float]:
    """Median seconds of three runs, and the score."""
    seconds = []
    for _ in range(3):
        start = perf_counter()
        score = task()
        seconds.append(perf_counter() - start)
    return float(np.median(seconds)), score


def row(name: str, results: dict[str, Any], target: float) -> None:
    """A line: seconds of each library, ratios to those of this one, and the largest difference of scores."""
    ours, scores = results.pop("representer")
    print(f"{name}: representer by patch() {ours:.3f} s")
    for other, (seconds, theirs) in results.items():
        aim = f" (target: at least {target:g})" if other == "scikit-learn" else ""
        print(
            f"  {other}: {seconds:.3f} s, {seconds / ours:.2f} times as long{aim}; "
            f"scores differ by at most {np.abs(np.subtract(scores, theirs)).max():.4f}",
            flush=True,
        )


def main(n: int) -> None:
    print_versions()
    for task in TUTORIALS:
        results = {}
        for name, patch in PATCHES.items():
            with patch():
                task()  # loops are compiled
                results[name] = timed(task)
        row(task.__name__, results, TARGET)
    X, y = data(n)
    results = {}
    for name, patch in PATCHES.items():
        with patch():
            results[name] = search(X, y)
    row(f"GridSearchCV of 40 SVC, 5 folds, {n:,} rows", results, SEARCH_TARGET)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5000)
