"""Tables: `KernelRegressor` and `KernelClassifier` against boosting, forests and support vector machines.

    python benchmarks/tables/run.py [--splits 5] [--rows 10000] [--sets concrete wine_red] [--quick]

Prints RMSE over the standard deviation of y, or the error in per cent, as means over splits, then mean ranks and the
coverage of 95 % bands. Large sets are cut to ``--rows`` training rows for all; ``--quick`` leaves out tuned boosting.
Categories are columns of zeros and ones for all.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import loguniform, randint, rankdata
from sklearn.base import clone
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

from representer import KernelClassifier, KernelRegressor

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import data_file, print_versions

REGRESSION = ["concrete", "energy", "airfoil", "bike_hourly", "power", "kin8nm", "naval", "wine_red", "sml", "yacht"]
CLASSIFICATION = ["ionosphere", "sonar", "pendigits", "adult_raw", "covtype", "splice"]
DRAWS = {
    "learning_rate": loguniform(0.01, 0.3),
    "max_leaf_nodes": randint(8, 128),
    "min_samples_leaf": randint(2, 50),
    "l2_regularization": loguniform(1e-4, 10.0),
}
GRID = {"C": [1.0, 10.0, 100.0], "gamma": [0.1, 0.3, 1.0, 3.0]}


def table(name: str) -> tuple[np.ndarray, np.ndarray] | None:
    """Rows of numbers and targets of a set, or None if it is absent."""
    file = data_file(name, "tsv" if name == "splice" else "npz")
    if file is None:
        return None
    if name == "splice":
        rows = [line.rstrip("\n").split("\t") for line in file.read_text(encoding="utf-8").splitlines()[1:]]
        return indicators(np.array([list(row[-1]) for row in rows])), np.array([row[0] for row in rows])
    with np.load(file) as data:
        if name == "adult_raw":
            return np.hstack([data["X_num"].astype(float), indicators(data["X_cat"])]), data["y"]
        X = data["X_train"] if "X_train" in data else data["X"]
        y = data["y_train"] if "y_train" in data else data["y"]
    if name == "covtype":
        rows = np.random.default_rng(0).permutation(len(X))[:20_000]
        X, y = X[rows], y[rows]
    return X.astype(float), y


def indicators(X: np.ndarray) -> np.ndarray:
    """A column of zeros and ones for each category of each column."""
    return np.hstack([(column[:, None] == np.unique(column)).astype(float) for column in X.T])


def contenders(regression: bool, width: int, tuned: bool) -> dict[str, Any]:
    """Models by name; the grid of gamma is in units of one over the number of columns."""
    boosting = HistGradientBoostingRegressor if regression else HistGradientBoostingClassifier
    forest = RandomForestRegressor if regression else RandomForestClassifier
    machine, prefix = (SVR(), "svr") if regression else (SVC(), "svc")
    grid = {f"{prefix}__C": GRID["C"], f"{prefix}__gamma": [g / width for g in GRID["gamma"]]}
    models = {
        "kernel": KernelRegressor() if regression else KernelClassifier(),
        "boosting": boosting(random_state=0),
        "forest": forest(300, random_state=0, n_jobs=2),
        "SVM by grid": GridSearchCV(make_pipeline(StandardScaler(), machine), grid, n_jobs=2, cv=3),
    }
    if tuned:
        models["boosting, 30 draws"] = RandomizedSearchCV(boosting(random_state=0), DRAWS, n_iter=30, cv=3, n_jobs=2)
    return models


def splits(n: int, count: int, rows: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Four fifths for training, at most so many rows, and a fifth for tests."""
    found = []
    for seed in range(count):
        order = np.random.default_rng(seed).permutation(n)
        found.append((order[: min(4 * n // 5, rows)], order[4 * n // 5 :][:5000]))
    return found


def error(model: Any, X: np.ndarray, y: np.ndarray, regression: bool) -> float:
    found = model.predict(X)
    return float(np.sqrt(np.mean((found - y) ** 2)) / y.std() if regression else 100.0 * np.mean(found != y))


def compare(names: list[str], regression: bool, options: argparse.Namespace) -> None:
    """A line for each set, then mean ranks."""
    ranks, header = [], None
    for name in names:
        found = table(name)
        if found is None:
            print(f"{name}: not there")
            continue
        X, y = found
        y = y.astype(float) if regression else y
        models = contenders(regression, X.shape[1], not options.quick)
        header = header or print_header(models, regression)
        errors, seconds, covered = np.empty((options.splits, len(models))), np.zeros(len(models)), []
        for s, (train, test) in enumerate(splits(len(X), options.splits, options.rows)):
            for m, model in enumerate(models.values()):
                begin = time.perf_counter()
                fitted = clone(model).fit(X[train], y[train])
                seconds[m] += (time.perf_counter() - begin) / options.splits
                errors[s, m] = error(fitted, X[test], y[test], regression)
                if regression and m == 0:
                    mean, std = fitted.predict(X[test], return_std=True)
                    covered.append(np.mean(np.abs(y[test] - mean) <= 1.96 * std))
        ranks.append(rankdata(errors.mean(axis=0)))
        pairs = zip(errors.mean(axis=0), seconds, strict=True)
        shown = "".join(f"{value:>12.4f} ({second:>5.1f})" for value, second in pairs)
        coverage = f"{100 * np.mean(covered):>10.1f} %" if covered else ""
        print(f"{name:14}{len(X):>7}{X.shape[1]:>5}{shown}{coverage}", flush=True)
    if ranks:
        print(f"{'mean rank':26}" + "".join(f"{rank:>12.2f}        " for rank in np.mean(ranks, axis=0)) + "\n")


def print_header(models: dict[str, Any], regression: bool) -> bool:
    what = "RMSE / sd" if regression else "error in %"
    print(f"{what + ' (s)':26}" + "".join(f"{name:>20}" for name in models) + ("    coverage" if regression else ""))
    return True


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--rows", type=int, default=10_000, help="training rows at most")
    parser.add_argument("--sets", nargs="*", default=[*REGRESSION, *CLASSIFICATION])
    parser.add_argument("--quick", action="store_true", help="without boosting by 30 draws")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print_versions()
    compare([name for name in options.sets if name in REGRESSION], True, options)
    compare([name for name in options.sets if name in CLASSIFICATION], False, options)


if __name__ == "__main__":
    main()
