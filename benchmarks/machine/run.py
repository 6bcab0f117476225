"""How fast are kernel machines with losses other than the squared one?

    python benchmarks/machine/run.py

Logistic regression on a9a (32,561 x 123, generated when absent), gamma = 0.05, C = 1, to a relative duality gap of
1e-4, compared with the time of our SVC, and of scikit-learn's SVC on a quarter of the rows; then five quantiles of
hourly bike rentals at n = 10,000, with a certified gap.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import numpy as np
from sklearn import svm

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import Table, friedman, load, print_versions, seconds_of

from representer import SVC, KernelLogisticRegression, KernelQuantileRegression
from representer.kernels import RBF

LEVELS = [0.05, 0.25, 0.5, 0.75, 0.95]


def a9a() -> tuple[np.ndarray, np.ndarray]:
    """Rows of zeros and ones with two classes, 14 ones in each row."""
    folder = Path(os.environ.get("REPRESENTER_DATA", Path(__file__).parents[3] / "shared" / "data"))
    if (folder / "a9a.npz").exists():
        with np.load(folder / "a9a.npz") as data:
            return data["X_train"].astype(np.float32), data["y_train"]
    rng = np.random.default_rng(0)
    X = np.zeros((32561, 123), np.float32)
    X[np.arange(len(X))[:, None], rng.integers(0, 123, (len(X), 14))] = 1.0
    return X, X @ rng.normal(size=123) + rng.normal(size=len(X)) > 0


def logistic(table: Table) -> None:
    X, y = a9a()
    model = KernelLogisticRegression(RBF(np.sqrt(10.0)), C=1.0, tol=1e-4)
    machine = SVC(kernel=RBF(np.sqrt(10.0)))
    for each in (model, machine):  # compiles, and gets memory that the system may take seconds to give
        each.fit(X, y)
    seconds = seconds_of(lambda: model.fit(X, y))
    certificate = model.certificate_
    table.row("a9a, logistic: seconds", seconds, "<=", 6.5, "s", f"{certificate.iterations} Newton steps")
    table.row("a9a, logistic: relative gap", certificate.residual, "<=", 1e-4, "", certificate.precision)
    other = seconds_of(lambda: machine.fit(X, y))
    table.row("a9a: own logistic / own SVC", seconds / other, "<=", 5.0, "x", f"{other:.2f} s for the SVC")
    quarter = slice(len(X) // 4)
    other = seconds_of(lambda: svm.SVC(C=1.0, gamma=0.05, cache_size=2000).fit(X[quarter], y[quarter]))
    own = seconds_of(lambda: model.fit(X[quarter], y[quarter]))
    table.row("a quarter of a9a: own logistic / scikit-learn's SVC", own / other, "<=", 1.0, "x", f"{own:.2f} s")


def quantiles(table: Table) -> None:
    X, y = load("bike_hourly") or friedman(17379)
    X, y = X[:10_000], y[:10_000]
    model = KernelQuantileRegression(LEVELS, alpha=1.0, tol=1e-4)
    start = time.perf_counter()
    certificate = model.fit(X, y).certificate_
    seconds = time.perf_counter() - start
    table.row("bike_hourly, 5 quantiles: relative gap", certificate.residual, "<=", 1e-4, "", f"{seconds:.1f} s")
    below = (y[:, None] < model.predict(X)).mean(axis=0)
    table.row("bike_hourly, 5 quantiles: largest error of coverage", np.abs(below - LEVELS).max(), "<=", 0.03, "")


if __name__ == "__main__":
    print_versions()
    table = Table()
    logistic(table)
    quantiles(table)
    table.end()
