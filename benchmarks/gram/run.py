"""How fast is a product with a kernel matrix that is never stored?

    python benchmarks/gram/run.py

Ratios of two things timed in one run, median of five after a warm-up, float32 and n = 20,000 unless stated otherwise.
scikit-learn stores the matrix, so it runs at n = 10,000 and its time is scaled by the number of pairs. Libraries that
are not installed are skipped.
"""

from __future__ import annotations

import importlib.util
import sys
import tempfile
from pathlib import Path

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import Table, in_new_process, median_seconds, print_versions

from representer import Gram
from representer.kernels import RBF, Matern, Polynomial

N, N_STORED = 20_000, 10_000


def data(d: int, dtype: type = np.float32, n: int = N) -> tuple[np.ndarray, np.ndarray, float]:
    """Standard normal rows, a vector, and a length scale at which typical kernel values are neither 0 nor 1."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, d)).astype(dtype), rng.normal(size=n).astype(dtype), float(np.sqrt(d / 2))


def stored(X: np.ndarray, v: np.ndarray, scale: float) -> float:
    """scikit-learn's time for the product, scaled to all pairs."""
    X, v = X[:N_STORED], v[:N_STORED]
    return median_seconds(lambda: rbf_kernel(X, gamma=0.5 / scale**2) @ v) * (N / N_STORED) ** 2


def numpy_blocks(X: np.ndarray, v: np.ndarray, scale: float) -> float:
    """Numpy in row blocks of 2,000."""
    A = X / np.float32(scale)
    half = 0.5 * (A * A).sum(axis=1)

    def block(rows: slice) -> np.ndarray:
        exponent = A[rows] @ A.T
        exponent -= half[rows, None] + half
        return np.exp(np.minimum(exponent, 0.0, out=exponent), out=exponent) @ v

    return median_seconds(lambda: [block(slice(i, i + 2000)) for i in range(0, len(A), 2000)])


def torch_blocks(X: np.ndarray, v: np.ndarray, scale: float) -> float:
    """Torch in row blocks of 2,000."""
    import torch

    A, b = torch.from_numpy(X / np.float32(scale)), torch.from_numpy(v)
    half = 0.5 * (A * A).sum(dim=1)

    def block(rows: slice) -> object:
        exponent = torch.addmm(half[rows, None] + half, A[rows], A.T, alpha=-1.0)
        return exponent.clamp_(min=0.0).neg_().exp_() @ b

    def product() -> list:
        return [block(slice(i, i + 2000)) for i in range(0, len(A), 2000)]

    return median_seconds(product)


def keops(X: np.ndarray, v: np.ndarray, scale: float) -> float:
    """KeOps on the CPU, a smaller number of rows scaled by pairs because it is slow there."""
    from pykeops.numpy import LazyTensor

    n = 4000
    A = X[:n] / np.float32(scale)
    b = v[:n, None]

    def product() -> np.ndarray:
        x, y = LazyTensor(A[:, None, :]), LazyTensor(A[None, :, :])
        return (-0.5 * ((x - y) ** 2).sum(-1)).exp() @ b

    return median_seconds(product) * (N / n) ** 2


def products(table: Table) -> None:
    """RBF products against the other libraries, and against themselves."""
    for d in (3, 10, 32, 100):
        X, v, scale = data(d)
        K = Gram(RBF(scale), X)
        own = median_seconds(lambda K=K, v=v: K @ v)
        note = f"{own * 1e9 / N**2:.2f} ns a pair"
        other = stored(X, v, scale)
        if d < 100:
            table.row(f"RBF, d = {d}: rbf_kernel(X) @ v of scikit-learn / own", other / own, ">=", 10, note=note)
        else:
            print(f"       RBF, d = {d}: scikit-learn / own is {other / own:.1f} x, {note}")
            alone = median_seconds(lambda X=X: [X[i : i + 2000] @ X.T for i in range(0, N, 2000)])
            table.row(f"RBF, d = {d}: own (symmetric) / the n^2 matrix products alone", own / alone, "<=", 1.5)
        print(f"       RBF, d = {d}: numpy in row blocks / own is {numpy_blocks(X, v, scale) / own:.1f} x")
        if importlib.util.find_spec("torch"):
            time = torch_blocks(X, v, scale)
            if d < 100:
                table.row(f"RBF, d = {d}: torch in row blocks / own", time / own, ">=", 5)
            else:
                print(f"       RBF, d = {d}: torch in row blocks / own is {time / own:.1f} x")
        if importlib.util.find_spec("pykeops"):
            print(f"       RBF, d = {d}: pykeops on the CPU / own is {keops(X, v, scale) / own:.1f} x")
    X, v, scale = data(10, np.float64)
    K = Gram(RBF(scale), X)
    table.row("RBF, d = 10, float64: scikit-learn / own", stored(X, v, scale) / median_seconds(lambda: K @ v), ">=", 4)


def itself(table: Table) -> None:
    """Dense blocks, expressions and several vectors."""
    X, v, scale = data(10)
    dense = median_seconds(lambda: RBF(scale)(X[:N_STORED]))
    other = median_seconds(lambda: rbf_kernel(X[:N_STORED], gamma=0.5 / scale**2))
    table.row("dense RBF()(X), n = 10,000: rbf_kernel(X) / own", other / dense, ">=", 4)
    one = Gram(RBF(scale), X)
    many = Gram(2.0 * RBF(scale) * Matern(scale, nu=1.5) + Polynomial(degree=2), X)
    V = np.random.default_rng(1).normal(size=(N, 16)).astype(np.float32)
    alone = median_seconds(lambda: one @ v)
    table.row("2 * RBF * Matern + Polynomial / RBF alone", median_seconds(lambda: many @ v) / alone, "<=", 5)
    table.row("16 vectors / one vector", median_seconds(lambda: one @ V) / alone, "<=", 2)


def accuracy(table: Table) -> None:
    """Largest error of a product against the float64 dense matrix, relative to the largest entry."""
    for dtype, target in ((np.float32, 1e-5), (np.float64, 1e-12)):
        for d in (3, 10, 100):
            X, v, scale = data(d, dtype, 5000)
            exact = rbf_kernel(X.astype(np.float64), gamma=0.5 / scale**2) @ v.astype(np.float64)
            error = np.abs(Gram(RBF(scale), X) @ v - exact).max() / np.abs(exact).max()
            table.row(f"error of a product, {dtype.__name__}, d = {d}", error, "<=", target, "")


FIRST = """
import time, numpy as np
from representer import Gram
from representer.kernels import RBF
X = np.random.default_rng(0).normal(size=({n}, 10)).astype(np.float32)
v = np.ones(len(X), np.float32)
def timed():
    start = time.perf_counter(); Gram(RBF(2.0), X) @ v; return time.perf_counter() - start
"""
IMPORT = "import time, sklearn; t = time.perf_counter(); from representer import Gram; print(time.perf_counter() - t)"


def starting_up(table: Table) -> None:
    """Memory at n = 100,000, and the time to import, to compile and to load compiled code."""
    small, large = FIRST.format(n=1000), FIRST.format(n=100_000)
    extra = large + "import tracemalloc; tracemalloc.start(); timed(); print(tracemalloc.get_traced_memory()[1] / 1e6)"
    table.row("peak extra memory of a product, n = 100,000", in_new_process(extra), "<=", 300, "MB")
    seconds = float(np.median([in_new_process(IMPORT) for _ in range(5)]))
    table.row("import representer, after import sklearn", seconds, "<=", 0.6, "s")
    warm = in_new_process(small + "a, b = timed(), timed(); print(a - b)")
    table.row("first product of a process, above the second", warm, "<=", 1, "s")
    with tempfile.TemporaryDirectory() as cache:
        cold = in_new_process(small + "print(timed())", NUMBA_CACHE_DIR=cache)
    table.row("first product after installation, with compilation", cold, "<=", 15, "s")


if __name__ == "__main__":
    print_versions()
    table = Table()
    products(table)
    itself(table)
    accuracy(table)
    starting_up(table)
    table.end()
