"""How fast are permutation tests?

    python benchmarks/mmd/run.py [quick]

MMD with 500 permutations of two samples of 5,000 inputs in ten dimensions, RBF kernel, against scikit-learn's
`rbf_kernel` and numpy: the matrix is permuted on both sides and its blocks are averaged. Twenty of those
permutations are timed and scaled to 500. The other baselines do the same work in numpy: one product with
all columns of signs, which stores the matrix; and for HSIC the sum over a permuted matrix. ``quick`` skips the
longest row.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import Table, median_seconds, print_versions

from representer import HSIC, MMD
from representer._parallel import default_threads
from representer.kernels import RBF

N, D, B, TIMED = 5000, 10, 500, 20
SCALE = np.sqrt(D)


def samples(n: int = N) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, D)), rng.normal(size=(n, D)) + 0.02


def unbiased(K: np.ndarray, m: int) -> float:
    """MMD^2 from the kernel matrix of both samples."""
    A, C, M = K[:m, :m], K[m:, m:], K[:m, m:]
    n = len(C)
    return float((A.sum() - A.trace()) / (m * (m - 1)) + (C.sum() - C.trace()) / (n * (n - 1)) - 2 * M.mean())


def naive(X: np.ndarray, Y: np.ndarray, permutations: int) -> tuple[float, float, float]:
    """Seconds for the matrix, seconds for each permutation, and the statistic."""
    start = time.perf_counter()
    K = rbf_kernel(np.concatenate([X, Y]), gamma=0.5 / SCALE**2)
    statistic, made = unbiased(K, len(X)), time.perf_counter()
    rng = np.random.default_rng(0)
    for _ in range(permutations):
        p = rng.permutation(len(K))
        unbiased(K[np.ix_(p, p)], len(X))
    return made - start, (time.perf_counter() - made) / permutations, statistic


def stored(X: np.ndarray, Y: np.ndarray) -> None:
    """All permutations by one product with the stored matrix, in float32."""
    K = rbf_kernel(np.concatenate([X, Y]).astype(np.float32), gamma=0.5 / SCALE**2)
    signs = np.tile(np.repeat(np.float32([1, -1]), len(X)), (B, 1))
    signs = np.random.default_rng(0).permuted(signs, axis=1).T.copy()
    np.einsum("ib,ib->b", signs, K @ signs)


def two_sample(table: Table) -> None:
    X, Y = samples()
    test = MMD(RBF(SCALE), n_permutations=B)
    own = median_seconds(lambda: test.test(X, Y))
    matrix, each, statistic = naive(X, Y, TIMED)
    note = f"{own:.2f} s against {matrix:.1f} + {B} x {each:.2f} s"
    table.row(
        f"n = m = {N}, {B} permutations: scikit-learn and numpy / own", (matrix + B * each) / own, ">=", 20, note=note
    )
    table.row("difference of the statistics", abs(statistic - test.test(X, Y).statistic), "<=", 1e-12, "")
    other = median_seconds(lambda: stored(X, Y), 3)
    table.row("one float32 product with the stored matrix / own", other / own, ">=", 1, note=f"{other:.2f} s")
    single = X.astype(np.float32), Y.astype(np.float32)
    seconds = median_seconds(lambda: test.test(*single))
    print(f"       float32 inputs: {seconds:.2f} s")
    wild = MMD(RBF(SCALE), n_permutations=B, null="wild_bootstrap")
    seconds = median_seconds(lambda: wild.test(X, Y))
    table.row("permutation / wild bootstrap", own / seconds, ">=", 2, note=f"{seconds:.2f} s")
    linear = MMD(RBF(SCALE), n_permutations=B, block_size=2)
    seconds = median_seconds(lambda: linear.test(X, Y))
    table.row("permutation / linear time", own / seconds, ">=", 5, note=f"{seconds:.3f} s")


def large(table: Table) -> None:
    X, Y = samples(50_000)
    start = time.perf_counter()
    MMD(RBF(SCALE), n_permutations=99).test(X, Y)
    seconds = time.perf_counter() - start
    table.row("n = m = 50,000, 99 permutations: seconds, nothing of size n x n stored", seconds, "<=", 120, "s")


def independence(table: Table) -> None:
    X, Y = samples(3000)
    for what, A, C, target in (("rank 3000", X, Y, 5), ("low rank", X[:, :1].copy(), Y[:, :1].copy(), 100)):
        test = HSIC(RBF(1.0), RBF(1.0), n_permutations=B)
        own = median_seconds(lambda test=test, A=A, C=C: test.test(A, C), 1)
        start = time.perf_counter()
        K, L = (rbf_kernel(Z, gamma=0.5) for Z in (A, C))
        K -= K.mean(axis=0)
        K -= K.mean(axis=1, keepdims=True)
        made = time.perf_counter()
        for _ in range(TIMED):
            p = np.random.default_rng(0).permutation(len(L))
            np.vdot(K, L[np.ix_(p, p)])
        other = (made - start) + (time.perf_counter() - made) * B / TIMED
        table.row(
            f"HSIC, n = 3000, {what}: scikit-learn and numpy / own", other / own, ">=", target, note=f"{own:.2f} s"
        )


if __name__ == "__main__":
    print_versions()
    print(f"{default_threads()} threads")
    table = Table()
    two_sample(table)
    independence(table)
    if "quick" not in sys.argv:
        large(table)
    table.end()
