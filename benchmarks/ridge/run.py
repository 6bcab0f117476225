"""How fast is exact kernel ridge regression, and how much memory does it take?

    python benchmarks/ridge/run.py [quick]

RBF kernel on standardised data, to a relative residual of 1e-6. Real data are used where the folder has them (see
`load` in common.py), Friedman's function otherwise. ``quick`` skips the long rows (36,000 rows and more), ``data``
skips everything but accuracy on several data sets.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
from sklearn.kernel_ridge import KernelRidge as Other
from sklearn.model_selection import GridSearchCV

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import (
    DATA_SETS,
    Table,
    friedman,
    held_out,
    in_new_process,
    load,
    median_seconds,
    print_versions,
    relative_error,
    seconds_of,
)

from representer import KernelRidge
from representer.kernels import RBF

SCALE, ALPHA = np.sqrt(5.0), 1e-2
GAMMA = 0.5 / SCALE**2

MEMORY = """
import numpy as np
from common import friedman, load, peak_memory
data = load("kin40k"); X, y = friedman(40_000) if data is None else data
X, y = X[:{n}], y[:{n}]
{fit}
print(peak_memory())
"""
OWN = """
from representer import KernelRidge
from representer.kernels import RBF
KernelRidge({alpha}, kernel=RBF({scale})).fit(X, y)
"""
THEIRS = """
from sklearn.kernel_ridge import KernelRidge
KernelRidge(alpha={alpha}, kernel="rbf", gamma=0.5 / {scale}**2).fit(X, y)
"""


def peak(n: int, fit: str) -> float:
    """Peak memory of a process that fits, in MB, above one that only loads."""
    code = fit.format(alpha=ALPHA, scale=SCALE)
    idle = code.replace(".fit(X, y)", ".fit(X[:100], y[:100])")
    return in_new_process(MEMORY.format(n=n, fit=code)) - in_new_process(MEMORY.format(n=n, fit=idle))


def ten_thousand(table: Table, X: np.ndarray, y: np.ndarray) -> None:
    """Time, agreement and memory at n = 10,000."""
    A, b, test = X[:10_000], y[:10_000], X[10_000:12_000]
    own = KernelRidge(ALPHA, kernel=RBF(SCALE))
    other = Other(alpha=ALPHA, kernel="rbf", gamma=GAMMA)
    seconds = median_seconds(lambda: own.fit(A, b), 3)
    theirs = median_seconds(lambda: other.fit(A, b), 1)
    print(f"       {own.certificate_}")
    table.row("n = 10,000: scikit-learn's KernelRidge / own", theirs / seconds, ">=", 6, note=f"{seconds:.2f} s")
    error = np.abs(own.predict(test) - other.predict(test)).max() / other.predict(test).std()
    table.row("n = 10,000: largest difference of predictions / their deviation", error, "<=", 1e-3, "")
    table.row("n = 10,000: peak memory, own / scikit-learn's", peak(10_000, OWN) / peak(10_000, THEIRS), "<=", 1 / 3)


def small(table: Table, X: np.ndarray, y: np.ndarray) -> None:
    """A single alpha, and the whole path with leave-one-out, at n = 1,000 to 5,000."""
    alphas = np.logspace(-6, 2, 50)
    for n in (1000, 2000, 5000):
        A, b = X[:n], y[:n]
        own = median_seconds(lambda A=A, b=b: KernelRidge(ALPHA, kernel=RBF(SCALE)).fit(A, b), 3)
        other = median_seconds(lambda A=A, b=b: Other(alpha=ALPHA, kernel="rbf", gamma=GAMMA).fit(A, b), 3)
        table.row(f"n = {n}: scikit-learn's KernelRidge / own, one alpha", other / own, ">=", 1)
        path = KernelRidge(alphas, kernel=RBF(SCALE))
        own = median_seconds(lambda path=path, A=A, b=b: path.fit(A, b), 3)
        some = alphas[::5]  # a fifth of the grid, scaled, keeps the benchmark short
        search = GridSearchCV(Other(kernel="rbf", gamma=GAMMA), {"alpha": some}, cv=5)
        searching = seconds_of(lambda search=search, A=A, b=b: search.fit(A, b)) - search.refit_time_
        other = searching * len(alphas) / len(some) + search.refit_time_
        note = f"{own:.2f} s, alpha {path.alpha_:.2g}"
        table.row(
            f"n = {n}: GridSearchCV(cv=5) / own, 50 alphas with exact leave-one-out", other / own, ">=", 30, note=note
        )


def large(table: Table, X: np.ndarray, y: np.ndarray) -> None:
    """Time and memory beyond what a stored matrix allows, and the growth of the cost."""
    start = time.perf_counter()
    model = KernelRidge(ALPHA, kernel=RBF(SCALE)).fit(X[:36_000], y[:36_000])
    table.row("n = 36,000: seconds", time.perf_counter() - start, "<=", 60, "s", note=str(model.certificate_.converged))
    table.row("n = 36,000: peak memory", peak(36_000, OWN), "<=", 2000, "MB")
    seconds = {}
    for n in (10_000, 20_000, 40_000, 80_000, 100_000):
        A, b = friedman(n)
        start = time.perf_counter()
        model = KernelRidge(1e-6 * n, kernel=RBF(SCALE)).fit(A, b)
        seconds[n] = time.perf_counter() - start
        print(f"       Friedman, n = {n}: {model.certificate_}")
    table.row("Friedman, n = 100,000, alpha = 1e-6 n: seconds", seconds[100_000], "<=", 240, "s")
    table.row("Friedman: bytes of the fit at n = 100,000", model.certificate_.bytes / 1e6, "<=", 2000, "MB")
    power = np.log(seconds[80_000] / seconds[10_000]) / np.log(8)
    table.row("Friedman: time grows as n to the power, from 10,000 to 80,000", float(power), "<=", 2.5, "")


def data_sets(table: Table, rows: int = 1000, all_rows: int = 7_000) -> None:
    """Accuracy and time on several data sets: tuned by leave-one-out, against a grid search with three folds.

    The grid has 5 alphas and 5 widths. Leave-one-out tunes alpha and one length scale per column by gradients.
    """
    for name in DATA_SETS:
        X, y, new, truth = held_out(name)
        A, b = X[:rows], y[:rows]
        grid = {"alpha": np.logspace(-4, 0, 5), "gamma": np.logspace(-2, 1, 5) / X.shape[1]}
        search = GridSearchCV(Other(kernel="rbf"), grid, cv=3, scoring="neg_mean_squared_error")
        theirs = seconds_of(lambda search=search, A=A, b=b: search.fit(A, b))
        path = KernelRidge(np.logspace(-6, 2, 50), kernel="rbf")
        along = seconds_of(lambda path=path, A=A, b=b: path.fit(A, b))
        kernel = RBF(np.full(X.shape[1], np.sqrt(X.shape[1])))
        tuned = KernelRidge(kernel=kernel, tune="loo")
        own = seconds_of(lambda tuned=tuned, A=A, b=b: tuned.fit(A, b))
        error, theirs_error = relative_error(tuned, new, truth), relative_error(search, new, truth)
        print(f"       {name}, {rows} rows, RMSE / sd and seconds: grid search {theirs_error:.4f} in {theirs:.1f} s")
        print(f"       leave-one-out path {relative_error(path, new, truth):.4f} in {along:.1f} s, {path.certificate_}")
        print(f"       tuned by leave-one-out {error:.4f} in {own:.1f} s, {tuned.certificate_}")
        table.row(f"{name}: test error, tuned / grid search", error / theirs_error, "<=", 1.0)
        table.row(f"{name}: seconds, grid search / leave-one-out path", theirs / along, ">=", 5)
        everything = KernelRidge(tuned.alpha_, kernel=tuned.kernel_)
        seconds = seconds_of(lambda e=everything, X=X, y=y: e.fit(X[:all_rows], y[:all_rows]))
        error_all = relative_error(everything, new, truth)
        print(f"       on {min(all_rows, len(X))} rows {error_all:.4f} in {seconds:.1f} s, {everything.certificate_}")
        table.row(f"{name}: test error, all rows / {rows} rows, both tuned", error_all / error, "<=", 1.0)


if __name__ == "__main__":
    print_versions()
    X, y = load("kin40k") or friedman(40_000)
    table = Table()
    KernelRidge(ALPHA).fit(X[:300], y[:300])
    data_sets(table)
    if "data" not in sys.argv:
        small(table, X, y)
        ten_thousand(table, X, y)
        if "quick" not in sys.argv:
            large(table, X, y)
    table.end()
