"""A low-rank factor of a kernel matrix by randomly pivoted Cholesky, from a few of its columns."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from representer import _parallel
from representer._loops import pivot_rejection
from representer.gram.low_rank import LowRank
from representer.gram.tiled import Gram

STRIP_COLUMNS = 1024
"""Columns that a thread computes at a time, so that they stay in the cache from their kernel values to the end."""


def pivoted_cholesky(
    gram: Gram,
    rank: int,
    *,
    stop: float = 0.0,
    weights: np.ndarray | None = None,
    random_state: Any = 0,
) -> LowRank:
    """Randomly pivoted Cholesky: pivots are drawn with probability proportional to the remainder's diagonal.

    Blocks of pivots are proposed at once and thinned by rejection, which gives the distribution of pivots drawn one by
    one at the speed of matrix products. The expected trace of the remainder is near that of the best approximation of
    slightly lower rank.

    Parameters
    ----------
    gram : Gram
        Symmetric; the factor has its precision.
    rank : int
        The largest rank.
    stop : float
        Stop when the trace of the remainder is at most this; it is checked between blocks of 128 pivots or more.
    weights : array of shape (n,), optional
        Factor D K D instead, where D is the diagonal matrix of these.
    random_state : int or numpy Generator

    References
    ----------
    Chen, Epperly, Tropp and Webber, Randomly pivoted Cholesky, CPAM 2025. Epperly, Tropp and Webber, Embrace rejection,
    arXiv 2410.03969.
    """
    rng = np.random.default_rng(random_state)
    n = len(gram)
    rank = min(rank, n)
    scale = np.ones(n) if weights is None else weights
    diagonal = gram.diag().astype(np.float64) * scale**2
    factor = np.empty((rank, n), gram.dtype)
    pivots = np.empty(rank, np.int64)
    done, start = 0, diagonal.sum()
    block = max(128, rank // 8)
    while done < rank and diagonal.sum() > max(stop, 1e-13 * start):
        proposed = rng.choice(n, min(block, n), p=diagonal / diagonal.sum())
        H = gram.block(proposed, proposed).astype(np.float64) * np.multiply.outer(scale[proposed], scale[proposed])
        known = factor[:done, proposed]
        H -= known.T @ known
        accepted = np.flatnonzero(pivot_rejection.reject(H, rng.random(len(proposed))))[: rank - done]
        if not len(accepted):
            diagonal[proposed] = 0.0  # only rounding is left there
            continue
        new = proposed[accepted]
        _append(gram, scale, factor, diagonal, done, new, np.tril(H[np.ix_(accepted, accepted)]))
        pivots[done : done + len(new)] = new
        np.maximum(diagonal, 0.0, out=diagonal)
        diagonal[new] = 0.0
        done += len(new)
    return LowRank(factor[:done], pivots[:done], diagonal)


def _append(
    gram: Gram, scale: np.ndarray, factor: np.ndarray, diagonal: np.ndarray, done: int, new: np.ndarray, L: np.ndarray
) -> None:
    """Write the rows L^(-1) (K[new] - factor[:, new]' factor) below the first ``done`` rows of the factor."""
    known = np.ascontiguousarray(factor[:done, new].T)
    inverse = solve_triangular(L, np.eye(len(L)), lower=True, check_finite=False).astype(factor.dtype)
    weights = (inverse * scale[new]).astype(factor.dtype), scale.astype(factor.dtype)
    known = inverse @ known

    def visit(tiles: Any) -> None:
        for _, columns, values in tiles:
            rows = weights[0] @ values
            rows *= weights[1][columns]
            rows -= known @ factor[:done, columns]
            factor[done : done + len(new), columns] = rows
            diagonal[columns] -= np.einsum("ij,ij->j", rows, rows)

    strips = _parallel.pairs(len(new), len(gram), (len(new), STRIP_COLUMNS), False)
    for _ in gram.take(new, slice(None)).map_tiles(visit, tiles=strips):
        pass
