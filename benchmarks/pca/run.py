"""How fast and how accurate is kernel PCA, and how much memory does it take?

    python benchmarks/pca/run.py [quick]

RBF kernel, 20 components, centred. The digits are usps where the data folder has them (see `load` in common.py), and
random clusters of the same size otherwise. scikit-learn's solvers "randomized" and "arpack" alternate with ours;
"dense" is slower by far and runs once. ``quick`` skips n = 20,000 and n = 50,000, and "dense".
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
from sklearn.decomposition import KernelPCA as Other

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import Table, data_file, in_new_process, print_versions

from representer import KernelPCA
from representer._parallel import default_threads
from representer.kernels import RBF

MEMORY = """
import numpy as np
from common import peak_memory
from representer import KernelPCA
from representer.kernels import RBF
X = np.random.default_rng(0).normal(size=({n}, 10))
KernelPCA(20, kernel=RBF(np.sqrt(10.0)), solver="davidson").fit(X[:{fit}])
print(peak_memory())
"""


def digits() -> np.ndarray:
    """usps scaled to [-1, 1], or ten random clusters of the same size."""
    if (file := data_file("usps")) is not None:
        with np.load(file) as data:
            return data["X_train"] / 1000.0
    rng = np.random.default_rng(0)
    return np.clip(rng.normal(size=(10, 256))[np.arange(7291) % 10] + 0.5 * rng.normal(size=(7291, 256)), -1, 1)


def seconds(fit) -> float:
    start = time.perf_counter()
    fit()
    return time.perf_counter() - start


def compare(table: Table, name: str, X: np.ndarray, gamma: float, target: float, solvers: list[str], rounds: int):
    """Times of both sides in turns, and the agreement of eigenvalues with the most exact of theirs."""
    # enough for eigenvalues to 1e-5; the default is 1e-6
    own = KernelPCA(20, kernel=RBF(np.sqrt(0.5 / gamma)), tol=1e-5)
    others = {s: Other(20, kernel="rbf", gamma=gamma, eigen_solver=s, random_state=0) for s in solvers}
    times: dict[str, list[float]] = {s: [] for s in ["own", *solvers]}
    for _ in range(rounds):
        times["own"].append(seconds(lambda: own.fit(X)))
        for s, other in others.items():
            if s != "dense" or not times[s]:
                times[s].append(seconds(lambda other=other: other.fit(X)))
    medians = {s: float(np.median(t)) for s, t in times.items()}
    fastest = min(solvers, key=medians.__getitem__)
    print(f"       {own.certificate_}")
    print("       seconds: " + ", ".join(f"{s} {m:.2f}" for s, m in medians.items()))
    table.row(f"{name}: scikit-learn's fastest ({fastest}) / own", medians[fastest] / medians["own"], ">=", target)
    exact = others["arpack"].eigenvalues_
    table.row(
        f"{name}: eigenvalues, largest relative difference", np.abs(own.eigenvalues_ / exact - 1).max(), "<=", 1e-5, ""
    )
    table.row(f"{name}: largest residual / lambda_1", own.residuals_.max(), "<=", 1e-5, "")


def peak(n: int) -> float:
    """Peak memory of a process that fits n rows, in MB, above one that fits 1,500 of them."""
    return in_new_process(MEMORY.format(n=n, fit=n)) - in_new_process(MEMORY.format(n=n, fit=1500))


def large(table: Table) -> None:
    """n = 20,000 and n = 50,000."""
    X = np.random.default_rng(0).normal(size=(50_000, 10))
    compare(table, "normal, n = 20,000", X[:20_000], 1 / 20, 5, ["randomized", "arpack"], 1)
    table.row("normal, n = 20,000: peak memory", peak(20_000), "<=", 8 * 20_000**2 / 2 / 1e6, "MB")
    model = KernelPCA(20, kernel=RBF(np.sqrt(10.0)))
    table.row("normal, n = 50,000: seconds", seconds(lambda: model.fit(X)), "<=", 60, "s")
    print(f"       {model.certificate_}")
    table.row("normal, n = 50,000: peak memory", peak(50_000), "<=", 2000, "MB")


if __name__ == "__main__":
    print_versions()
    print(f"{default_threads()} threads\n")
    quick = "quick" in sys.argv
    warm = np.random.default_rng(0).normal(size=(1500, 256))
    KernelPCA(20, solver="davidson").fit(warm)
    KernelPCA(20, solver="davidson").fit(warm[:, :10])
    table = Table()
    compare(table, "usps", digits(), 1 / 128, 4, ["randomized", "arpack"] + ["dense"] * (not quick), 7)
    if not quick:
        large(table)
    table.end()
