"""Time two checkouts of the library against each other, alternately, so that a slow minute is slow for both.

    python tools/compare.py path/to/before path/to/after [rows, such as "svc" "ridge"] [--rounds 3]

Each checkout is a server process with its own compiled loops; rows are fits and products like those of benchmarks/.
Prints median seconds, their ratio, and the ratio of peak resident memory; rows above 1.10 are marked.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

DATA = Path(os.environ.get("REPRESENTER_DATA", Path(__file__).parents[2] / "shared" / "data"))


def classification(n: int, standardised: bool = True) -> tuple[np.ndarray, np.ndarray]:
    from sklearn.datasets import make_classification

    X, y = make_classification(n, 20, n_informative=12, flip_y=0.05, class_sep=0.8, random_state=0)
    return ((X - X.mean(axis=0)) / X.std(axis=0) if standardised else X), y


def stored(name: str, n: int, scale: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    with np.load(DATA / f"{name}.npz") as data:
        X = data["X_train"][:n] if "X_train" in data else data["X"][:n]
        y = data["y_train"][:n] if "y_train" in data else data["y"][:n]
    return X.reshape(len(X), -1).astype(np.float64) / scale, y


def covtype() -> tuple[np.ndarray, np.ndarray]:
    with np.load(DATA / "covtype.npz") as data:
        rows = np.random.default_rng(0).permutation(len(data["y"]))[:20_000]
        X, y = data["X"][rows].astype(np.float64), (data["y"][rows] == 2).astype(int)
    return (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-12), y


def regression(n: int, d: int = 10) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    return X, np.sin(X).sum(axis=1) + 0.1 * rng.normal(size=n)


def rows() -> dict[str, Callable[[], Callable[[], Any]]]:
    """For each row, a function that builds the data and returns the function to time."""
    import representer as r
    from representer import kernels as k
    from representer.losses import Hinge

    def svc(data: tuple, C: float, gamma: float, **options: Any) -> Callable[[], Any]:
        X, y = data
        return lambda: r.SVC(C=C, kernel=k.RBF(1 / np.sqrt(2 * gamma)), **options).fit(X, y)

    def gram(n: int, d: int, dtype: Any, columns: int, kernel: Any) -> Callable[[], Any]:
        X, V = regression(n, d)[0].astype(dtype), np.random.default_rng(1).normal(size=(n, columns))
        return lambda: r.Gram(kernel, X) @ V

    def fit(model: Any, X: Any, *targets: Any) -> Callable[[], Any]:
        return lambda: model.fit(X, *targets)

    def ridge(n: int, d: int = 10, **options: Any) -> Callable[[], Any]:
        return fit(r.KernelRidge(kernel=k.RBF(3.0), **options), *regression(n, d))

    def predict() -> Callable[[], Any]:
        X, y = regression(4000)
        model = r.KernelRidge(kernel=k.RBF(3.0)).fit(X, y)
        return lambda: model.predict(np.repeat(X, 5, axis=0))

    def gp(n: int, **options: Any) -> Callable[[], Any]:
        kernel = 1.0 * k.RBF(np.ones(3))
        return fit(r.GaussianProcessRegressor(kernel=kernel, **options), *regression(n, 3))

    def logistic() -> Callable[[], Any]:
        X, y = stored("a9a", 40_000)
        return fit(r.KernelLogisticRegression(k.RBF(np.sqrt(10.0)), tol=1e-4), X.astype(np.float32), y)

    def quantiles() -> Callable[[], Any]:
        X, y = regression(3000)
        return fit(r.KernelQuantileRegression([0.1, 0.5, 0.9], tol=1e-4), X, y)

    def mmd() -> Callable[[], Any]:
        X = regression(4000)[0]
        return lambda: r.MMD(kernel=k.RBF(3.0), n_permutations=500, random_state=0).test(X[:2000], X[2000:])

    def path() -> Callable[[], Any]:
        X, y = stored("usps", 1500)
        return fit(r.SVCPath(C=[0.1, 1.0, 10.0], kernels=[k.RBF(4.0), k.RBF(8.0)]), X, y)

    def hinge() -> Callable[[], Any]:
        X, y = classification(3000)
        return fit(r.KernelMachine(kernel=k.RBF(3.0), loss=Hinge(), tol=1e-4), X, y)

    single, double = np.float32, np.float64
    return {
        "gram 20000x3 rbf": lambda: gram(20_000, 3, single, 1, k.RBF(2.0)),
        "gram 20000x20 rbf": lambda: gram(20_000, 20, single, 1, k.RBF(4.0)),
        "gram 10000x20 rbf float64": lambda: gram(10_000, 20, double, 1, k.RBF(4.0)),
        "gram 10000x20 matern, 16 columns": lambda: gram(10_000, 20, single, 16, k.Matern(4.0)),
        "gram 10000x100 linear": lambda: gram(10_000, 100, single, 1, k.Linear()),
        "gram 5000x10 laplacian": lambda: gram(5_000, 10, single, 1, k.Laplacian(10.0)),
        "gram 5000x10 sum": lambda: gram(5_000, 10, single, 1, k.RBF(3.0) + k.Polynomial(2)),
        "predict 20000 on 4000": predict,
        "ridge 500": lambda: ridge(500),
        "ridge 2000": lambda: ridge(2000),
        "ridge 6000": lambda: ridge(6000),
        "ridge 12000": lambda: ridge(12_000),
        "ridge 20000 intercept": lambda: ridge(20_000, fit_intercept=True),
        "ridge path 1500": lambda: ridge(1500, alpha=np.logspace(-4, 2, 30)),
        "ridge path 4000": lambda: ridge(4000, alpha=np.logspace(-4, 2, 30)),
        "ridge tune 1000": lambda: ridge(1000, tune="loo"),
        "gp 500": lambda: gp(500),
        "gp 2000": lambda: gp(2000),
        "gp 9000": lambda: gp(9000, optimizer=None, noise=0.01),
        "svc 300 C=1": lambda: svc(classification(300), 1.0, 0.05),
        "svc 300 C=100": lambda: svc(classification(300), 100.0, 0.05),
        "svc 650 C=1": lambda: svc(classification(650), 1.0, 0.05),
        "svc 1000 C=1": lambda: svc(classification(1000), 1.0, 0.05),
        "svc 1000 C=100": lambda: svc(classification(1000), 100.0, 0.05),
        "svc 3000 C=1": lambda: svc(classification(3000), 1.0, 0.05),
        "svc 6000 C=100": lambda: svc(classification(6000), 100.0, 0.05),
        "svc 20000 C=1": lambda: svc(classification(20_000), 1.0, 0.05),
        "svc 20000 C=100": lambda: svc(classification(20_000), 100.0, 0.05),
        "svc 20000 raw C=1": lambda: svc(classification(20_000, False), 1.0, 0.05),
        "svc 20000 raw C=100": lambda: svc(classification(20_000, False), 100.0, 0.05),
        "svc a9a": lambda: svc(stored("a9a", 40_000), 1.0, 0.05),
        "svc covtype C=1": lambda: svc(covtype(), 1.0, 1 / 54),
        "svc covtype C=100": lambda: svc(covtype(), 100.0, 1 / 54),
        "svc usps": lambda: svc(stored("usps", 8000), 10.0, 1 / 128),
        "svc mnist": lambda: svc(stored("mnist", 10_000, 255.0), 10.0, 0.02),
        "svc pendigits": lambda: svc(stored("pendigits", 8000, 100.0), 10.0, 1.0),
        "svc usps probability": lambda: svc(stored("usps", 2000), 10.0, 1 / 128, probability=True),
        "svcpath usps": path,
        "svr 20000": lambda: fit(r.SVR(C=10.0, kernel=k.RBF(3.0)), *regression(20_000)),
        "svr 1000": lambda: fit(r.SVR(C=10.0, kernel=k.RBF(3.0)), *regression(1000)),
        "machine logistic a9a": logistic,
        "machine quantiles 3000": quantiles,
        "machine hinge 3000": hinge,
        "machine huber 12000": lambda: fit(
            r.KernelMachine(kernel=k.RBF(3.0), loss=huber(), tol=1e-4), *regression(12_000)
        ),
        "pca 3000, 10": lambda: fit(r.KernelPCA(10, kernel=k.RBF(3.0)), regression(3000)[0]),
        "pca 20000, 20": lambda: fit(r.KernelPCA(20, kernel=k.RBF(3.0), tol=1e-4), regression(20_000)[0]),
        "kmeans 5000": lambda: fit(r.KernelKMeans(5, kernel=k.RBF(3.0), n_init=3), regression(5000)[0]),
        "mmd 2000": mmd,
    }


def huber() -> Any:
    from representer.losses import Huber

    return Huber(0.5)


def serve() -> None:
    """Answer each row name with seconds and peak resident memory, until the input ends."""
    import warnings

    warnings.simplefilter("ignore")
    known, ready = rows(), {}
    for line in sys.stdin:
        name = line.strip()
        if name not in ready:
            ready.clear()
            ready[name] = known[name]()
            ready[name]()  # compiles loops, and touches memory that is slow to get
        start = time.perf_counter()
        ready[name]()
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        print(f"answer {time.perf_counter() - start} {peak}", flush=True)


def ask(server: subprocess.Popen, row: str) -> tuple[float, float]:
    assert server.stdin is not None
    assert server.stdout is not None
    server.stdin.write(row + "\n")
    server.stdin.flush()
    for line in server.stdout:
        if line.startswith("answer"):
            return float(line.split()[1]), float(line.split()[2])
    raise RuntimeError(f"the server died at {row!r}")


def start_server(tree: str) -> subprocess.Popen:
    environment = {**os.environ, "PYTHONPATH": str(Path(tree).resolve() / "src"), "REPRESENTER_DATA": str(DATA)}
    command = [sys.executable, __file__, "--serve"]
    return subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def compare(before: str, after: str, wanted: list[str], rounds: int) -> None:
    print(f"{'row':38}{'before':>9}{'after':>9}{'ratio':>7}{'memory':>8}")
    for row in [name for name in rows() if not wanted or any(part in name for part in wanted)]:
        servers = [start_server(tree) for tree in (before, after)]
        answers: list[list[tuple[float, float]]] = [[], []]
        for _ in range(rounds):
            for s, server in enumerate(servers):
                answers[s].append(ask(server, row))
        for server in servers:
            server.kill()
        seconds = [float(np.median([a[0] for a in each])) for each in answers]
        peaks = [max(a[1] for a in each) for each in answers]
        slow = "  slower" if seconds[1] > 1.1 * seconds[0] else ""
        ratio, memory = seconds[1] / seconds[0], peaks[1] / peaks[0]
        print(f"{row:38}{seconds[0]:9.4f}{seconds[1]:9.4f}{ratio:7.2f}{memory:8.2f}{slow}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trees", nargs="*")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--serve", action="store_true")
    given = parser.parse_args()
    if given.serve:
        serve()
    else:
        compare(given.trees[0], given.trees[1], given.trees[2:], given.rounds)
