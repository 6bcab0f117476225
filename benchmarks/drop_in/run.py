"""Searches written for scikit-learn, before and after `representer.drop_in.patch()`.

    python benchmarks/drop_in/run.py [rows, 5000 when not given]

A grid of 40 candidates of SVC (8 values of gamma, 5 of C) with five folds on a table with 20 columns. The same
script runs with scikit-learn, with scikit-learn-intelex where it is installed, and after `patch`; scores have to agree.
"""

from __future__ import annotations

import sys
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.datasets import make_classification
from sklearn.model_selection import GridSearchCV

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import print_versions
from sklearn import svm

from representer import drop_in

try:
    from sklearnex.svm import SVC as IntelSVC
except ImportError:
    IntelSVC = None

GRID = {"gamma": np.logspace(-4, 0, 8), "C": np.logspace(-1, 3, 5)}


def data(n: int) -> tuple[np.ndarray, np.ndarray]:
    X, y = make_classification(n, 20, n_informative=10, flip_y=0.05, class_sep=0.8, random_state=0)
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def search(machine: Any, X: np.ndarray, y: np.ndarray) -> tuple[float, np.ndarray]:
    """Seconds, and the scores of all candidates."""
    start = perf_counter()
    found = GridSearchCV(machine(), GRID, cv=5, refit=False).fit(X, y)
    return perf_counter() - start, found.cv_results_["mean_test_score"]


def main(n: int) -> None:
    print_versions()
    X, y = data(n)
    with drop_in.patch():
        svm.SVC().fit(X[:200], y[:200])  # loops are compiled
        ours, scores = search(svm.SVC, X, y)
    print(f"GridSearchCV of 40 SVC, 5 folds, {n:,} rows; representer by patch(): {ours:.1f} s")
    others = {"scikit-learn": svm.SVC, "scikit-learn-intelex": IntelSVC}
    for name, machine in others.items():
        if machine is not None:
            seconds, theirs = search(machine, X, y)
            print(
                f"  {name}: {seconds:.1f} s, {seconds / ours:.2f} times as long; "
                f"scores differ by at most {np.abs(scores - theirs).max():.4f}"
            )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5000)
