"""Scripts written for scikit-learn, before and after `representer.drop_in.patch()`.

    python benchmarks/drop_in/run.py [rows of the search, 5000 when not given]

Tasks of tutorial size, where interpreter overhead is a large part of the time; then a grid search over 40 SVC
candidates (8 values of gamma, 5 of C) with five folds on a table with 20 columns. The same functions run with
scikit-learn, the search also with scikit-learn-intelex where it is installed, and after `patch`; scores must agree.
"""

from __future__ import annotations

import sys
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
    from sklearnex.svm import SVC as IntelSVC
except ImportError:
    IntelSVC = None

SEARCH_TARGET = 4.0
"""Times as long that scikit-learn's search has to take."""
GRID = {"gamma": np.logspace(-4, 0, 8), "C": np.logspace(-1, 3, 5)}


def data(n: int) -> tuple[np.ndarray, np.ndarray]:
    X, y = make_classification(n, 20, n_informative=10, flip_y=0.05, class_sep=0.8, random_state=0)
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def search(machine: Any, X: np.ndarray, y: np.ndarray) -> tuple[float, np.ndarray]:
    """Seconds, and the scores of all candidates."""
    start = perf_counter()
    found = GridSearchCV(machine(), GRID, cv=5, refit=False).fit(X, y)
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


def tutorials() -> None:
    """A line for each of the small tasks."""
    for task in TUTORIALS:
        theirs, expected = timed(task)
        with drop_in.patch():
            task()  # loops are compiled
            ours, score = timed(task)
        print(
            f"{task.__name__}: representer {ours:.3f} s, scikit-learn {theirs:.3f} s, {theirs / ours:.2f} times as "
            f"long; scores {score:.4f}, {expected:.4f}",
            flush=True,
        )


def main(n: int) -> None:
    print_versions()
    tutorials()
    X, y = data(n)
    with drop_in.patch():
        svm.SVC().fit(X[:200], y[:200])  # loops are compiled
        ours, scores = search(svm.SVC, X, y)
    print(f"GridSearchCV of 40 SVC, 5 folds, {n:,} rows; representer by patch(): {ours:.1f} s")
    others = {"scikit-learn": svm.SVC, "scikit-learn-intelex": IntelSVC}
    for name, machine in others.items():
        if machine is not None:
            seconds, theirs = search(machine, X, y)
            target = f" (target: at least {SEARCH_TARGET:g})" if name == "scikit-learn" else ""
            print(
                f"  {name}: {seconds:.1f} s, {seconds / ours:.2f} times as long{target}; "
                f"scores differ by at most {np.abs(scores - theirs).max():.4f}"
            )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5000)
