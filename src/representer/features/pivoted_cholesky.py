"""A low-rank factor of a kernel matrix by randomly pivoted Cholesky, from a few of its columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from representer import _tiles
from representer._loops import pivoting
from representer.kernels.base import Kernel


@dataclass(frozen=True)
class LowRank:
    """K = factor' factor + remainder, where the remainder is positive semidefinite and zero at the pivots."""

    factor: np.ndarray
    """Array of shape (rank, n)."""

    pivots: np.ndarray
    remainder: np.ndarray
    """Diagonal of the remainder, array of shape (n,)."""

    @property
    def evaluations(self) -> int:
        """Kernel values that were computed."""
        return self.factor.size


def pivoted_cholesky(
    kernel: Kernel,
    inputs: Any,
    rank: int,
    *,
    stop: float = 0.0,
    weights: np.ndarray | None = None,
    random_state: Any = 0,
    threads: int | None = None,
) -> LowRank:
    """Randomly pivoted Cholesky: pivots are drawn with probability proportional to the remainder's diagonal.

    Blocks of pivots are proposed at once and thinned by rejection, which gives the law of one-by-one drawing at the
    speed of matrix products. The expected trace of the remainder is near that of the best approximation of slightly
    lower rank.

    Parameters
    ----------
    kernel : Kernel
    inputs : prepared inputs
    rank : int
        The largest rank.
    stop : float
        Stop when the trace of the remainder is at most this; it is looked at between blocks of 128 pivots or more.
    weights : array of shape (n,), optional
        Factor D K D instead, D the diagonal matrix of these.
    random_state : int or numpy Generator
    threads : int, optional

    References
    ----------
    Chen, Epperly, Tropp and Webber, Randomly pivoted Cholesky, CPAM 2025. Epperly, Tropp and Webber, Embrace rejection,
    arXiv 2410.03969.
    """
    rng = np.random.default_rng(random_state)
    n = len(inputs)
    rank = min(rank, n)
    scale = np.ones(n) if weights is None else weights
    diagonal = kernel.diagonal(inputs).astype(np.float64) * scale**2
    factor = np.empty((rank, n), inputs.dtype)
    pivots = np.empty(rank, np.int64)
    done, start = 0, diagonal.sum()
    block = max(128, rank // 8)
    while done < rank and diagonal.sum() > max(stop, 1e-13 * start):
        proposed = rng.choice(n, min(block, n), p=diagonal / diagonal.sum())
        part = inputs[proposed]
        H = kernel._tile(part, part).astype(np.float64) * np.multiply.outer(scale[proposed], scale[proposed])
        known = factor[:done, proposed]
        H -= known.T @ known
        accepted = np.flatnonzero(pivoting.reject(H, rng.random(len(proposed))))[: rank - done]
        if not len(accepted):
            diagonal[proposed] = 0.0  # nothing but rounding is left there
            continue
        new = proposed[accepted]
        L = np.tril(H[np.ix_(accepted, accepted)])
        _append(kernel, inputs, scale, factor, diagonal, done, new, L, threads)
        pivots[done : done + len(new)] = new
        np.maximum(diagonal, 0.0, out=diagonal)
        diagonal[new] = 0.0
        done += len(new)
    return LowRank(factor[:done], pivots[:done], diagonal)


def _append(
    kernel: Kernel,
    inputs: Any,
    scale: np.ndarray,
    factor: np.ndarray,
    diagonal: np.ndarray,
    done: int,
    new: np.ndarray,
    L: np.ndarray,
    threads: int | None,
) -> None:
    """Write the rows L^(-1) (K[new] - factor[:, new]' factor) below the first ``done`` rows of the factor.

    Columns are cut into chunks for the threads, so that a chunk stays in the cache from its kernel values to its end.
    """
    pivots, known = inputs[new], np.ascontiguousarray(factor[:done, new].T)
    inverse = solve_triangular(L, np.eye(len(L)), lower=True, check_finite=False).astype(factor.dtype)
    weights = (inverse * scale[new]).astype(factor.dtype), scale.astype(factor.dtype)
    known = inverse @ known

    def visit(run: list[_tiles.Tile]) -> None:
        for _, columns in run:
            rows = weights[0] @ kernel._tile(pivots, inputs[columns], factor.dtype)
            rows *= weights[1][columns]
            rows -= known @ factor[:done, columns]
            factor[done : done + len(new), columns] = rows
            diagonal[columns] -= np.einsum("ij,ij->j", rows, rows)

    chunks = [(slice(0, 1), columns) for columns in _tiles.split(len(inputs), 1024)]
    for _ in _tiles.walk(chunks, visit, threads=threads):
        pass
