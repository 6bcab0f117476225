"""Large tables: `KernelRegressor` against scikit-learn's default boosting in the same run.

    python benchmarks/tables/large.py [--rows 16000] [--sets houses kin40k]

Prints seconds of a fit (the median of three), CPU seconds, their ratio, RMSE over the standard
deviation of y, the coverage of 95 % prediction intervals, and seconds of 1,000 predictions with intervals. "houses" is
generated: two interacting coordinates, a skewed and a folded column, a product of two, and two irrelevant columns.
Before, CPU seconds of a fit of 2,000 rows of "houses" with twelve more irrelevant columns; and of a value and gradient
of the leave-one-out error by a length scale per column, in units of the same for a Gaussian process's likelihood.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor
from threadpoolctl import threadpool_limits

from representer import GaussianProcessRegressor, Gram, KernelRegressor
from representer.kernels import RBF
from representer.problems.ridge import RidgeProblem
from representer.solvers.leave_one_out import loo_error

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import data_file, print_versions

MOST_TIMES = 15.0
"""Times of a default fit of boosting that `KernelRegressor` may take."""
MOST_SECONDS, MOST_LIKELIHOODS = 10.0, 2.0
"""CPU seconds of a fit of 2,000 x 20, and likelihoods that a leave-one-out error may take."""
NEW_ROWS, BANDS = 4000, 1000


def table(name: str, n: int) -> tuple[np.ndarray, np.ndarray] | None:
    """Rows and targets; None if the set is absent."""
    rng = np.random.default_rng(0)
    if name == "houses":
        X = rng.normal(size=(n, 8))
        X[:, :2] = rng.uniform(-1.0, 1.0, (n, 2))
        f = 2.0 * np.sin(3.0 * X[:, 0]) * X[:, 1] + np.exp(0.5 * X[:, 2]) + np.abs(X[:, 3]) + 0.3 * X[:, 4] * X[:, 5]
        return X, f + 0.4 * rng.normal(size=n)
    file = data_file(name)
    if file is None:
        return None
    with np.load(file) as data:
        order = rng.permutation(len(data["X"]))[:n]
        return data["X"][order].astype(float), data["y"][order].astype(float)


def timed(call: Any) -> tuple[Any, float, float]:
    """What a function returns, its seconds and its CPU seconds."""
    begin, cpu = time.perf_counter(), time.process_time()
    found = call()
    return found, time.perf_counter() - begin, time.process_time() - cpu


def compare(name: str, rows: int) -> None:
    found = table(name, rows + NEW_ROWS)
    if found is None:
        print(f"{name}: not there")
        return
    (X, new), (y, truth) = (np.split(part, [min(rows, 4 * len(part) // 5)]) for part in found)
    KernelRegressor().fit(X[:300], y[:300])  # compiled loops
    boosting, kernel = (
        sorted((timed(lambda model=model: clone(model).fit(X, y)) for _ in range(3)), key=lambda run: run[1])[1]
        for model in (HistGradientBoostingRegressor(random_state=0), KernelRegressor())
    )
    errors = [np.sqrt(np.mean((run[0].predict(new) - truth) ** 2)) / truth.std() for run in (boosting, kernel)]
    (mean, std), seconds, cpu = timed(lambda: kernel[0].predict(new[:BANDS], return_std=True))
    covered = float(np.mean(np.abs(truth[:BANDS] - mean) <= 1.96 * std))
    ratio = kernel[1] / boosting[1]
    print(f"{name}, {X.shape[0]:,} x {X.shape[1]}: {kernel[0].kernel_words()[0]}")
    print(f"  boosting       {boosting[1]:7.2f} s, {boosting[2]:6.2f} s of CPU, error {errors[0]:.4f}")
    print(f"  KernelRegressor{kernel[1]:7.2f} s, {kernel[2]:6.2f} s of CPU, error {errors[1]:.4f}")
    print(f"  times of boosting {ratio:.1f} ({'within' if ratio <= MOST_TIMES else 'above'} {MOST_TIMES:g})")
    print(
        f"  {len(mean):,} predictions with bands {seconds:.2f} s, {cpu:.2f} s of CPU; covered {100 * covered:.1f} %",
        flush=True,
    )


def small() -> None:
    """2,000 x 20: a fit, and one step of its search."""
    X, y = table("houses", 2000) or (np.empty(0), np.empty(0))
    X = np.hstack([X, np.random.default_rng(1).normal(size=(2000, 12))])
    KernelRegressor().fit(X[:300], y[:300])  # compiled loops
    _, seconds, cpu = timed(lambda: KernelRegressor().fit(X, y))
    verdict = "within" if cpu <= MOST_SECONDS else "above"
    print(f"2,000 x 20: {seconds:.2f} s, {cpu:.2f} s of CPU ({verdict} {MOST_SECONDS:g})")
    kernel = RBF(np.full(20, 5.0))
    gram, targets = Gram(kernel, X), (y - y.mean())[:, None]
    problem = RidgeProblem(gram, targets, np.full(1, 0.1), None, True)
    process = GaussianProcessRegressor(1.0 * kernel, noise=0.1, optimizer=None).fit(X, y)
    steps = (lambda: loo_error(problem)), (lambda: process.log_marginal_likelihood(eval_gradient=True))
    with threadpool_limits(1):  # threads that spin while they wait would count as work
        both = [min(timed(step)[2] for _ in range(5)) for step in steps]
    ratio = both[0] / both[1]
    verdict = "within" if ratio <= MOST_LIKELIHOODS else "above"
    print(
        f"  leave-one-out error and its gradient: {ratio:.2f} likelihoods ({verdict} {MOST_LIKELIHOODS:g})", flush=True
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=16_000)
    parser.add_argument("--sets", nargs="*", default=["houses", "bike_hourly", "kin40k"])
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print_versions()
    small()
    for name in options.sets:
        compare(name, options.rows)


if __name__ == "__main__":
    main()
