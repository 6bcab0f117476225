"""Preconditioners for ridge problems: a low-rank factor near K, alone or with blocks of nearby inputs."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve, lapack, solve_triangular

from representer import _parallel
from representer.gram.low_rank import LowRank
from representer.gram.tiled import Gram
from representer.problems.ridge import RidgeProblem

GRAM_RUNS = 4
"""Partial sums of F F', each as large as the whole."""
GROUP_ROWS = 512
"""Largest number of inputs in a block: all blocks together take as many operations as a factor of this rank."""
BLOCKS_FROM = 4000
"""Rows from which blocks are worth their set-up."""
GROUPED_BY = 200
"""Rows of a factor that are used to find inputs near each other."""
POWER_STEPS = 5
"""Steps of the power method for a direction of large variance."""
FINE_RIDGE = 1e-6
"""Fraction of the mean k(x, x) below which float32 values of a remainder are rounding."""
MUCH_LEFT = 10.0
"""Mean diagonal of a remainder, in units of alpha, from which fewer iterations pay for the blocks."""
LOCAL_SHARE, REMAINDER_ROWS = 0.9, 64
"""Share of a remainder's squares among as many inputs as a block has, from which blocks help: Matern kernels leave .93
to 1 and then take a quarter to a half of the iterations; smooth ones leave .75 to .8, and take more."""


def summed_gram(F: np.ndarray, wide: Any, threads: int | None) -> np.ndarray:
    """F F' summed in float64, from products in precision ``wide``."""

    def visit(run: Any) -> np.ndarray:
        gram = np.zeros((len(F), len(F)))
        for columns in run:
            part = F[:, columns].astype(wide, copy=False)
            gram += part @ part.T
        return gram

    chunks = _parallel.split(F.shape[1], 2048 if wide == F.dtype else 512)  # converted chunks are copies
    total: Any = sum(_parallel.map_tiles(chunks, visit, threads=threads, runs=GRAM_RUNS))
    return total


class Preconditioner:
    """(F'F + alpha I)^(-1) = (I - F' (F F' + alpha I)^(-1) F) / alpha for a low-rank factor F; one alpha per column.

    F F' is small; it is summed in float64 where alpha is so far below its largest eigenvalue that float32 would not do.
    """

    def __init__(self, low_rank: LowRank, ridges: np.ndarray, threads: int | None = None):
        self.F = low_rank.factor
        total = np.einsum("ij,ij->", self.F, self.F, dtype=np.float64)
        gram = summed_gram(self.F, np.float64 if ridges.min() < 1e-6 * total else np.float32, threads)
        self.factors = {}
        for ridge in np.unique(ridges):
            gram.ravel()[:: len(gram) + 1] += ridge
            self.factors[ridge] = cho_factor(gram, lower=True, check_finite=False)
            gram.ravel()[:: len(gram) + 1] -= ridge

    def __call__(self, R: np.ndarray, ridges: np.ndarray) -> np.ndarray:
        """(F'F + alpha I)^(-1) R."""
        inside = (self.F @ R.astype(self.F.dtype)).astype(np.float64)
        for ridge in np.unique(ridges):
            inside[:, ridges == ridge] = cho_solve(self.factors[ridge], inside[:, ridges == ridge], check_finite=False)
        return (R - self.F.T @ inside.astype(self.F.dtype)) / ridges


class BlockPreconditioner:
    """(F'F + B)^(-1), where B has the blocks of D K D + alpha I - F'F between inputs of one group, and zeros elsewhere.

    Inputs are grouped by their location in H, as seen by F. The remainder of a low-rank approximation is local, so that
    diagonal blocks hold most of it. With B = L L' and W = F L'^(-1) the preconditioner is L'^(-1) (I - W' (I + W
    W')^(-1) W) L^(-1).

    Parameters
    ----------
    problem : RidgeProblem
        With a single alpha.
    K : Gram
        Its matrix in float32.
    low_rank : LowRank
        A factor of D K D.
    random_state : int or Generator
    threads : int, optional
    """

    def __init__(
        self, problem: RidgeProblem, K: Gram, low_rank: LowRank, random_state: Any = 0, threads: int | None = None
    ):
        F, alpha, D = low_rank.factor, float(problem.alpha[0]), problem.sqrt_weights.ravel()
        groups = bisected(F[:GROUPED_BY], GROUP_ROWS, np.random.default_rng(random_state))
        self.order = np.concatenate(groups)
        ends = np.cumsum([0, *map(len, groups)])
        self.parts = [slice(a, b) for a, b in pairwise(ends)]
        self.W, self.L = np.empty_like(F), [np.empty((0, 0), F.dtype)] * len(groups)

        def visit(run: Any) -> None:
            for s in run:
                rows = groups[s]
                some = F[:, rows]
                S = K.block(rows, rows) * np.multiply.outer(D[rows], D[rows]) - some.T @ some
                self.L[s] = _factor(np.asarray(S, F.dtype), alpha)
                self.W[:, self.parts[s]] = solve_triangular(self.L[s], some.T, lower=True, check_finite=False).T

        for _ in _parallel.map_tiles(list(range(len(groups))), visit, threads=threads):
            pass
        total = np.einsum("ij,ij->", self.W, self.W, dtype=np.float64)
        gram = summed_gram(self.W, np.float64 if total > 1e6 else np.float32, threads)
        gram.ravel()[:: len(gram) + 1] += 1.0
        self.inner = cho_factor(gram, lower=True, check_finite=False)

    def __call__(self, R: np.ndarray, ridges: np.ndarray) -> np.ndarray:
        """(F'F + B)^(-1) R."""
        with _parallel.one_blas_thread():  # several would wait for each other in every block
            return self._applied(R)

    def _applied(self, R: np.ndarray) -> np.ndarray:
        V = self._solved(np.asarray(R[self.order], self.W.dtype), 0)
        inside = cho_solve(self.inner, (self.W @ V).astype(np.float64), check_finite=False)
        V = self._solved(V - self.W.T @ inside.astype(self.W.dtype), 1)
        out = np.empty(R.shape)
        out[self.order] = V
        return out

    def _solved(self, V: np.ndarray, transposed: int) -> np.ndarray:
        """L^(-1) V, or L'^(-1) V."""
        for part, L in zip(self.parts, self.L, strict=True):
            V[part] = solve_triangular(L, V[part], lower=True, trans=transposed, check_finite=False)
        return V


def _factor(S: np.ndarray, alpha: float) -> np.ndarray:
    """The Cholesky factor of S + alpha I, with a larger diagonal where that is indefinite to rounding."""
    size = float(np.abs(S.diagonal()).mean()) + alpha
    for raised in (0.0, 1e-5, 1e-3, 1.0, 100.0):
        A = S.copy()
        A.ravel()[:: len(A) + 1] += A.dtype.type(alpha + raised * size)
        potrf = lapack.spotrf if A.dtype == np.float32 else lapack.dpotrf
        L, info = potrf(A, lower=1, clean=1)
        if info == 0:
            return L
    return np.asfortranarray(np.diag(np.full(len(S), np.sqrt(size))).astype(S.dtype))


def bisected(F: np.ndarray, size: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Groups of at most ``size`` nearby columns of F, by halving along the direction of largest variance."""
    todo, groups = [np.arange(F.shape[1])], []
    while todo:
        rows = todo.pop()
        if len(rows) <= size:
            groups.append(np.sort(rows))
            continue
        part = F[:, rows]
        part -= part.mean(axis=1, keepdims=True)
        direction = rng.normal(size=len(F)).astype(F.dtype)
        for _ in range(POWER_STEPS):
            direction = part @ (part.T @ direction)
            direction /= max(float(np.linalg.norm(direction)), 1e-30)
        order = np.argsort(part.T @ direction, kind="stable")
        todo += [rows[order[: len(rows) // 2]], rows[order[len(rows) // 2 :]]]
    return groups


def blocks_help(problem: RidgeProblem, low_rank: LowRank, wanted: int) -> bool:
    """Whether a local remainder of the factor far exceeds alpha, and float32 can resolve it, for a single alpha."""
    alpha = float(problem.alpha.min())
    fine = alpha > FINE_RIDGE * float(problem.diagonal.mean()) and MUCH_LEFT * alpha < float(low_rank.remainder.mean())
    able = low_rank.rank >= wanted and problem.n >= BLOCKS_FROM and np.ptp(problem.ridges) == 0.0
    return fine and able and _local_share(problem, low_rank) > LOCAL_SHARE


def _local_share(problem: RidgeProblem, low_rank: LowRank) -> float:
    """The share of squares beside the diagonal, in sampled rows of the remainder, that their largest entries hold."""
    n, D, F = problem.n, problem.sqrt_weights.ravel(), low_rank.factor
    rows = np.unique(np.linspace(0, n - 1, REMAINDER_ROWS).astype(int))
    K = problem.gram.astype(np.float32)
    left = K.block(rows, np.arange(n)) * np.multiply.outer(D[rows], D) - F[:, rows].T @ F
    left[np.arange(len(rows)), rows] = 0.0
    squares = np.sort(np.square(left, dtype=np.float64), axis=1)
    return float(squares[:, -GROUP_ROWS:].sum() / max(squares.sum(), 1e-300))
