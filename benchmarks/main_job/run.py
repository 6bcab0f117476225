"""The command `representer`: named tables, written as CSV, fitted, evaluated and compared with boosting.

    python benchmarks/main_job/run.py [--sets demo files bike flights adult] [--keep folder]

Prints wall time and peak memory of `representer fit` with its default time limit, and its error on its held-out rows,
relative to those of a linear model and of boosting with default parameters trained on the other rows. `files`
measures saving and loading of a model of 20,000 rows.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.metrics import log_loss

import representer

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import Table, data_file, friedman, median_seconds, print_versions

SETS = {"bike": "count", "flights": "arrival_delay", "adult": "income"}
"""Targets of the tables."""
SECONDS = {"demo": 60.0, "bike": 300.0, "flights": 600.0, "adult": 600.0}
MEGABYTES = {"bike": 4000.0, "flights": 4000.0, "adult": 4000.0}
SAVED_ROWS, SAVED_COLUMNS, SAVED_SECONDS = 20_000, 20, 0.2
WORSE_THAN_BOOSTING = 1.05


def columns_of(name: str) -> dict[str, np.ndarray] | None:
    """The columns of a table, words and numbers, or None if its data are absent."""
    file = data_file({"bike": "bike_hourly", "flights": "nycflights13", "adult": "adult_raw"}[name])
    if file is None:
        return None
    with np.load(file) as data:
        if name == "adult":
            found = dict(zip(data["num_names"], data["X_num"].T, strict=True))
            for levels, codes in zip(data["cat_levels"], data["X_cat"].T, strict=True):
                column, _, words = str(levels).partition("=")
                found[column] = np.array(words.split("|"))[codes]
            return found | {"income": np.where(data["y"] > 0, "above 50k", "up to 50k")}
        found = dict(zip(data["names"], data["X"].T, strict=True))
        if name == "flights":
            for column, levels in (("carrier", "carriers"), ("origin", "origins"), ("dest", "dests")):
                found[column] = data[levels][found.pop(f"{column}_id").astype(int)]
        return found | {SETS[name]: data["y"]}


def write(columns: dict[str, np.ndarray], path: Path) -> None:
    """A CSV file with an empty cell for what is missing."""
    words = [["" if cell in ("nan", "?") else cell for cell in np.char.mod("%s", each)] for each in columns.values()]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*words, strict=True))


def run(words: list[str]) -> tuple[float, float, float]:
    """Wall and CPU seconds and peak MB of the command; its exit code may say that it did not converge."""
    begin = time.perf_counter()
    process = subprocess.Popen([str(Path(sys.executable).with_name("representer")), *words], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 3):
        raise RuntimeError(f"representer {' '.join(words)} ended with {process.returncode}")
    return time.perf_counter() - begin, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1000


def boosting_error(columns: dict[str, np.ndarray], target: str, test: np.ndarray) -> float:
    """RMSE, or log loss of classes, of boosting with default parameters on the same rows."""
    X = np.empty((len(columns[target]), len(columns) - 1))
    inputs = {name: values for name, values in columns.items() if name != target}
    words = [values.dtype.kind == "U" for values in inputs.values()]
    for j, values in enumerate(inputs.values()):
        X[:, j] = np.unique(values, return_inverse=True)[1] if words[j] else values
    y, train = columns[target], np.setdiff1d(np.arange(len(X)), test)
    if y.dtype.kind == "U":
        model = HistGradientBoostingClassifier(categorical_features=words, random_state=0).fit(X[train], y[train])
        return float(log_loss(y[test], model.predict_proba(X[test])))
    model = HistGradientBoostingRegressor(categorical_features=words, random_state=0).fit(X[train], y[train])
    return float(np.sqrt(np.mean((model.predict(X[test]) - y[test]) ** 2)))


def fit(name: str, folder: Path, table: Table) -> None:
    """One table: time, memory, and errors against linear model and boosting."""
    columns = columns_of(name)
    if columns is None:
        print(f"       {name}: its data are absent")
        return
    write(columns, folder / f"{name}.csv")
    out = folder / f"{name}-out"
    seconds, cpu, memory = run(
        ["fit", str(folder / f"{name}.csv"), "--target", SETS[name], "--out", str(out), "--force"]
    )
    report = json.loads((out / "report.json").read_text(encoding="utf-8"))
    held, scores = report["held_out"], {each["metric"]: each["value"] for each in report["scores"]}
    error = scores["RMSE"] if "RMSE" in scores else scores["log loss"]
    linear = next(each for each in report["comparisons"] if each["other"] == "a linear model")
    theirs = boosting_error(columns, SETS[name], np.array(held["rows"]))
    note = ", ".join(f"{metric} {value:.4g}" for metric, value in scores.items())
    table.row(f"{name}: representer fit", seconds, "<=", SECONDS[name], "s", f"{cpu:.0f} s of CPU; {note}")
    table.row(f"{name}: peak memory", memory, "<=", MEGABYTES[name], "MB")
    table.row(f"{name}: gain over a linear model in {linear['metric']}", linear["gain"], ">=", 0.0, "",
              f"95 % interval {linear['lower']:.3g} to {linear['upper']:.3g}")  # fmt: skip
    table.row(f"{name}: error / boosting's", error / theirs, "<=", WORSE_THAN_BOOSTING, "", report["model"])


def files(folder: Path, table: Table) -> None:
    """Saving and loading of a model of many rows."""
    X, y = friedman(SAVED_ROWS)
    X = np.hstack([X, X[::-1]])[:, :SAVED_COLUMNS]
    model, path = representer.KernelRidge(1.0).fit(X, y), folder / "model.repr"
    table.row("save 20,000 x 20", median_seconds(lambda: representer.save(model, path)), "<=", SAVED_SECONDS, "s")
    table.row("load 20,000 x 20", median_seconds(lambda: representer.load(path)), "<=", SAVED_SECONDS, "s")
    off = np.abs(representer.load(path).predict(X[:500]) - model.predict(X[:500])).max()
    table.row("largest change of a prediction", float(off), "<=", 0.0, "")


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--sets", nargs="+", default=["demo", "files", *SETS], choices=["demo", "files", *SETS])
    arguments.add_argument("--keep", help="a folder for tables and reports")
    options = arguments.parse_args()
    print_versions()
    table = Table()
    with tempfile.TemporaryDirectory() as other:
        folder = Path(options.keep or other)
        folder.mkdir(parents=True, exist_ok=True)
        for name in options.sets:
            if name == "demo":
                seconds, cpu, _ = run(["demo", "--out", str(folder / "demo")])
                table.row("representer demo", seconds, "<=", SECONDS["demo"], "s", f"{cpu:.0f} s of CPU")
            elif name == "files":
                files(folder, table)
            else:
                fit(name, folder, table)
    table.end()


if __name__ == "__main__":
    main()
