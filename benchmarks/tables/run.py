"""Tables: `KernelRegressor` and `KernelClassifier` against boosting, forests and support vector machines.

    python benchmarks/tables/run.py [--splits 5] [--rows 10000] [--sets concrete wine_red] [--models kernel forest]
    python benchmarks/tables/run.py --results table.jsonl ...     # keeps every fit, and resumes where it stopped
    python benchmarks/tables/run.py --results table.jsonl --show  # prints the results so far

Prints RMSE over the standard deviation of y, or the error in per cent, as means over splits with the CPU seconds of a
fit, then mean ranks and the coverage of 95 % prediction intervals, each with its target. Large sets are subsampled to
``--rows`` training rows for all models. Grid and random searches use three folds of at most 4,000 of them, and the best
candidate is fitted to all. Categories are data frames for `KernelRegressor` and `KernelClassifier`, and one-hot columns
for the others. "isotropic" is our model with one length scale for all columns, with which ours is compared on sets of
fewer than 30 rows per column; among them are sets of 400 rows with 20 or 21 columns that are generated.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import loguniform, randint, rankdata
from sklearn.base import BaseEstimator, clone
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
from representer.kernels import checks

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import data_file, print_versions

REGRESSION = ["concrete", "energy", "airfoil", "bike_hourly", "power", "kin8nm", "naval", "wine_red", "sml", "yacht"]
CLASSIFICATION = ["ionosphere", "sonar", "pendigits", "adult_raw", "covtype", "splice"]
GENERATED = ["waveform", "ringnorm", "twonorm"]
MODELS = ["kernel", "boosting", "forest", "svm", "boosting30"]
OURS = "kernel", "isotropic"
RIVALS = ["boosting", "forest", "svm"]
"""Models that ours is to beat; boosting by 30 draws is shown for comparison."""
COVERED = 90.0, 98.0
"""Target for the mean coverage of 95 % intervals on each set, in per cent."""
DRAWS = {
    "learning_rate": loguniform(0.01, 0.3),
    "max_leaf_nodes": randint(8, 128),
    "min_samples_leaf": randint(2, 50),
    "l2_regularization": loguniform(1e-4, 10.0),
}
GRID = {"C": [1.0, 10.0, 100.0], "gamma": [0.1, 0.3, 1.0, 3.0]}
FEW_ROWS, GENERATED_ROWS = 30, 400
"""Rows per column below which one length scale is hard to beat, and training rows of generated sets."""
SEARCHED_ROWS = 4000
"""Rows on which grids and draws are compared."""
TESTS = 5000
"""Rows of a split that are predicted at most."""


def table(name: str) -> tuple[Any, np.ndarray] | None:
    """Rows of numbers, or a data frame of numbers and categories, and targets of a set; None if it is absent."""
    if name in GENERATED:
        return generated(name, GENERATED_ROWS + TESTS)
    file = data_file(name, "tsv" if name == "splice" else "npz")
    if file is None:
        return None
    if name == "splice":
        rows = [line.rstrip("\n").split("\t") for line in file.read_text(encoding="utf-8").splitlines()[1:]]
        return pd.DataFrame([list(row[-1]) for row in rows]).add_prefix("base "), np.array([row[0] for row in rows])
    with np.load(file) as data:
        if name == "adult_raw":
            names = [f"category {i}" for i in range(data["X_cat"].shape[1])]
            numbers = pd.DataFrame(data["X_num"].astype(float), columns=data["num_names"])
            return numbers.join(pd.DataFrame(data["X_cat"].astype(str), columns=names)), data["y"]
        X = data["X_train"] if "X_train" in data else data["X"]
        y = data["y_train"] if "y_train" in data else data["y"]
    if name == "covtype":
        rows = np.random.default_rng(0).permutation(len(X))[:20_000]
        X, y = X[rows], y[rows]
    return X.astype(float), y


def generated(name: str, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Breiman's twonorm and ringnorm with 20 columns and two classes, and waveform with 21 and three."""
    rng = np.random.default_rng(0)
    if name == "waveform":
        y, position = rng.integers(0, 3, n), np.arange(1, 22)
        waves = np.maximum(6.0 - np.abs(position - np.array([[7], [15], [11]])), 0.0)
        share = rng.uniform(size=(n, 1))
        pairs = np.array([[0, 1], [0, 2], [1, 2]])[y]
        return share * waves[pairs[:, 0]] + (1.0 - share) * waves[pairs[:, 1]] + rng.normal(size=(n, 21)), y
    y, noise = rng.integers(0, 2, n), rng.normal(size=(n, 20))
    if name == "twonorm":
        return noise + np.where(y == 1, 1.0, -1.0)[:, None] * 2.0 / np.sqrt(20.0), y
    return np.where(y[:, None] == 1, noise + 1.0 / np.sqrt(20.0), 2.0 * noise), y


def as_numbers(X: Any) -> np.ndarray:
    """A column of zeros and ones for each category of each column that is not a number."""
    return pd.get_dummies(X).to_numpy(float) if hasattr(X, "columns") else X


class Searched(BaseEstimator):
    """A search on some of the rows, and a fit of all of them with what it found."""

    def __init__(self, search: Any):
        self.search = search

    def fit(self, X: np.ndarray, y: np.ndarray) -> Searched:
        some = np.random.default_rng(0).permutation(len(X))[:SEARCHED_ROWS]
        found = clone(self.search).fit(X[some], y[some])
        self.model_ = clone(found.estimator).set_params(**found.best_params_).fit(X, y)
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        return self.model_.predict(X)


class OneScale:
    """Mixin of our models whose columns share a length scale, after the same scaling."""

    def _start(self, X: Any, weights: Any) -> Any:
        start = super()._start(X, weights)  # type: ignore[misc]
        return replace(start, groups=np.zeros(X.shape[1], int))


class IsotropicRegressor(OneScale, KernelRegressor):
    """`KernelRegressor` with one length scale."""


class IsotropicClassifier(OneScale, KernelClassifier):
    """`KernelClassifier` with one length scale."""


def contender(name: str, regression: bool, width: int) -> Any:
    """A model by its name; the grid of gamma is in units of one over the number of columns."""
    if name == "kernel":
        return KernelRegressor() if regression else KernelClassifier()
    if name == "isotropic":
        return IsotropicRegressor() if regression else IsotropicClassifier()
    if name == "forest":
        return (RandomForestRegressor if regression else RandomForestClassifier)(300, random_state=0)
    if name == "svm":
        machine, prefix = (SVR(), "svr") if regression else (SVC(), "svc")
        grid = {f"{prefix}__C": GRID["C"], f"{prefix}__gamma": [g / width for g in GRID["gamma"]]}
        return Searched(GridSearchCV(make_pipeline(StandardScaler(), machine), grid, cv=3, refit=False))
    boosting = HistGradientBoostingRegressor if regression else HistGradientBoostingClassifier
    if name == "boosting":
        return boosting(random_state=0)
    draws = RandomizedSearchCV(boosting(random_state=0), DRAWS, n_iter=30, cv=3, random_state=0, refit=False)
    return Searched(draws)


def split(n: int, seed: int, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Four fifths for training, at most so many rows, and a fifth for tests."""
    order = np.random.default_rng(seed).permutation(n)
    return order[: min(4 * n // 5, rows)], order[4 * n // 5 :][:TESTS]


def measured(name: str, model: str, seed: int, rows: int) -> dict[str, Any] | None:
    """Error, coverage and seconds of one fit."""
    regression, found = name in REGRESSION, table(name)
    if found is None:
        return None
    X, y = found
    if regression:
        y = (y - y.mean()) / y.std()
    X = X if model in OURS else as_numbers(X)
    train, test = split(len(X), seed, GENERATED_ROWS if name in GENERATED else rows)
    A, new = (checks.take(X, some) for some in (train, test))
    begin, cpu = time.perf_counter(), time.process_time()
    fitted = contender(model, regression, X.shape[1]).fit(A, y[train])
    record = {"set": name, "model": model, "split": seed, "rows": len(train), "columns": X.shape[1]}
    record |= {"seconds": time.perf_counter() - begin, "cpu": time.process_time() - cpu, "limit": rows}
    if regression and model == "kernel":
        values, std = fitted.predict(new, return_std=True)
        record["coverage"] = float(np.mean(np.abs(y[test] - values) <= 1.96 * std))
    else:
        values = fitted.predict(new)
    off = (
        np.sqrt(np.mean((values - y[test]) ** 2)) / y[test].std() if regression else 100.0 * np.mean(values != y[test])
    )
    return record | {"error": float(off)}


def show(records: list[dict[str, Any]], names: list[str], models: list[str]) -> None:
    """A line for each set with means over the splits that all models have, then mean ranks."""
    here = {(r["set"], r["model"], r["split"]): r for r in records}
    losses, coverages = [], {}
    for name in names:
        seeds = [s for s in range(100) if all((name, model, s) in here for model in models)]
        if not seeds:
            continue
        if not losses:
            what = "RMSE / sd (CPU s)" if name in REGRESSION else "error in % (CPU s)"
            print(f"{what:20}{'rows':>7}{'cols':>5}{'splits':>7}" + "".join(f"{model:>19}" for model in models))
        cells = [[here[name, model, s] for s in seeds] for model in models]
        errors = [float(np.mean([r["error"] for r in cell])) for cell in cells]
        shown = "".join(
            f"{error:>11.4f} ({np.mean([r['cpu'] for r in cell]):>5.1f})"
            for error, cell in zip(errors, cells, strict=True)
        )
        covered = [r["coverage"] for cell in cells for r in cell if "coverage" in r]
        first = cells[0][0]
        coverage = f"   covered {100 * np.mean(covered):.1f} %" if covered else ""
        coverages |= {name: 100 * np.mean(covered)} if covered else {}
        print(f"{name:20}{first['rows']:>7}{first['columns']:>5}{len(seeds):>7}{shown}{coverage}", flush=True)
        losses.append(errors)
    if losses:
        print(f"{'mean rank':39}" + "".join(f"{rank:>11.2f}{'':8}" for rank in mean_ranks(losses)))
        show_targets(np.array(losses), models, 1 if names[0] in REGRESSION else 2, coverages)
        print()


def mean_ranks(errors: Any) -> np.ndarray:
    """The mean over sets of the rank of each model, 1 for the smallest error."""
    return np.mean([rankdata(row) for row in errors], axis=0)


def show_targets(errors: np.ndarray, models: list[str], least: int, coverages: dict[str, float]) -> None:
    """Whether ours has at least this place by mean rank among the rivals, and its intervals cover what they should."""
    among = ["kernel", *RIVALS]
    if set(among) <= set(models):
        own, *others = mean_ranks(errors[:, [models.index(model) for model in among]])
        place = 1 + sum(rank < own for rank in others)
        verdict = "met" if place <= least else "missed"
        print(f"place by mean rank among {', '.join(among)}: {place} (target: {least} or better, {verdict})")
    if coverages:
        low, high = COVERED
        off = [f"{name} {value:.1f} %" for name, value in coverages.items() if not low <= value <= high]
        verdict = f"missed: {', '.join(off)}" if off else "met"
        print(f"coverage of 95 % intervals on each set (target: {low:g} to {high:g} %, {verdict})")


def show_isotropic(records: list[dict[str, Any]]) -> None:
    """Whether scales per column lose no more than a standard error to a common one, over splits of small sets."""
    for name in dict.fromkeys(r["set"] for r in records):
        ours, one = ({r["split"]: r for r in records if (r["set"], r["model"]) == (name, model)} for model in OURS)
        seeds = sorted(ours.keys() & one.keys())
        if len(seeds) < 2 or ours[seeds[0]]["rows"] >= FEW_ROWS * ours[seeds[0]]["columns"]:
            continue
        off = np.array([ours[seed]["error"] - one[seed]["error"] for seed in seeds])
        error, means = (
            off.std(ddof=1) / np.sqrt(len(off)),
            [np.mean([m[s]["error"] for s in seeds]) for m in (ours, one)],
        )
        verdict = "met" if off.mean() <= error else "missed"
        print(
            f"{name}: {means[0]:.4g} against {means[1]:.4g} with one length scale, {off.mean():+.3g} with standard "
            f"error {error:.2g} over {len(off)} splits (target: not worse by more than one, {verdict})"
        )


def models_for(name: str, models: list[str], rows: int) -> list[str]:
    """Models that are fitted to a set: ours alone to generated ones, and one length scale where rows are few."""
    found = table(name)
    if found is None:
        return models[:1]
    train = min(GENERATED_ROWS if name in GENERATED else rows, 4 * len(found[1]) // 5)
    few = train < FEW_ROWS * found[0].shape[1] and isinstance(found[0], np.ndarray)
    chosen = [model for model in models if name not in GENERATED or model in OURS]
    return [model for model in chosen if few or model != "isotropic"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--rows", type=int, default=10_000, help="training rows at most")
    parser.add_argument("--sets", nargs="*", default=[*REGRESSION, *CLASSIFICATION, *GENERATED])
    parser.add_argument("--models", nargs="*", default=[*MODELS, "isotropic"], choices=[*MODELS, "isotropic"])
    parser.add_argument("--results", type=Path, help="a file that keeps a line for each fit")
    parser.add_argument("--show", action="store_true", help="fit nothing")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    records, file = [], options.results
    if file is not None and file.exists():
        records = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    known = {(r["set"], r["model"], r["split"], r["limit"]) for r in records}
    for name in [] if options.show else options.sets:
        for seed in range(options.splits):
            for model in models_for(name, options.models, options.rows):
                if (name, model, seed, options.rows) in known:
                    continue
                record = measured(name, model, seed, options.rows)
                if record is None:
                    print(f"{name}: not there")
                    break
                records.append(record)
                if file is not None:
                    with file.open("a", encoding="utf-8") as out:
                        out.write(json.dumps(record) + "\n")
    print_versions()
    for kind in (REGRESSION, CLASSIFICATION):
        ranked = [model for model in options.models if model != "isotropic"]
        show([r for r in records if r["limit"] == options.rows], [n for n in kind if n in options.sets], ranked)
    show_isotropic([r for r in records if r["limit"] == options.rows and r["set"] in options.sets])


if __name__ == "__main__":
    main()
