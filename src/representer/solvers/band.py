"""Ridge for a whole path of alphas, with exact leave-one-out errors, from one reduction to a banded matrix."""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np
from scipy.linalg import cho_solve_banded, cholesky_banded, qr

from representer import _tiles
from representer._loops import banded
from representer.problem import RidgeProblem
from representer.solvers.spectral import Decomposition, Path, leave_out, weighted_matrix

WIDTH = 32
"""Diagonals of B below the main one. More make the reduction faster, and each alpha slower."""
TILE = 256
"""Rows and columns of the tiles of A that are changed and multiplied while they are in the cache."""
GROUP = 128
"""Reflections that are applied together."""
COLUMNS = 256
"""Columns of Q' that a thread takes at a time."""


class BandReduction:
    """D K D = Q B Q' with Q orthogonal and B banded; then G = (D K D + alpha I)^(-1) = Q (B + alpha I)^(-1) Q'.

    With the Cholesky factor B + alpha I = L L' the diagonal of G is that of |L^(-1) Q'|^2 summed over rows. It takes
    8/3 n^3 operations, nearly all in products of matrices, where an eigendecomposition waits for the memory; and
    64 n^2 more for each alpha, where an eigendecomposition takes 4 n^2.

    An alpha that is zero to rounding next to D K D, or a matrix that has negative eigenvalues below -alpha, raises
    LinAlgError: those are for an eigendecomposition.
    """

    name = "band reduction"

    def __init__(self, problem: RidgeProblem, smallest: float):
        started = perf_counter()
        self.problem = problem
        A = weighted_matrix(problem)
        if not smallest > len(A) * np.finfo(np.float64).eps * np.linalg.norm(A):
            raise np.linalg.LinAlgError("alpha is zero to rounding")
        with _tiles.one_blas_thread():
            self.B, scales = reduce(A, problem.threads)
            self.Q = orthogonal(A, scales, problem.threads)
        self.inside = self.Q[: len(A)] @ problem.right_sides
        self.seconds = perf_counter() - started

    def solve(self, alpha: np.ndarray) -> np.ndarray:
        """Solutions of all right sides, with one alpha for each."""
        columns = zip(alpha, self.inside.T, strict=True)
        return self._outside(np.stack([cho_solve_banded((self._factor(a), False), c) for a, c in columns], axis=1))

    def path(self, alphas: np.ndarray) -> Path:
        """Leave-one-out predictions for alphas of shape (n_alphas, n_targets)."""
        return leave_out(self.problem, self.at, alphas)

    def at(self, alphas: np.ndarray, columns: list[int]) -> tuple[np.ndarray, np.ndarray]:
        """The diagonal of G for each alpha, and solutions of shape (n, n_alphas, n_columns) of these right sides."""
        n, inside = self.problem.n, self.inside[:, columns]
        rows = np.zeros((len(alphas), len(self.Q), WIDTH + 4))
        solutions = np.empty((n, len(alphas), len(columns)))
        padding = np.arange(n, len(self.Q))
        rows[:, padding, WIDTH + padding % 4] = 1.0
        with _tiles.one_blas_thread():
            for i, alpha in enumerate(alphas):
                factor = self._factor(alpha)
                solutions[:, i] = cho_solve_banded((factor, False), inside)
                for r in range(4):  # as `banded.column_norms` wants it
                    rows[i, r:n:4, r : r + WIDTH + 1] = factor.T[r::4]
        diagonal = np.empty((len(alphas), n))

        def visit(run: list[_tiles.Tile]) -> None:
            for _, part in run:
                Q = np.ascontiguousarray(self.Q[:, part])
                for L, out in zip(rows, diagonal, strict=True):
                    banded.column_norms(L, Q, out[part])

        _walk(_tiles.split(n, COLUMNS), visit, self.problem.threads)
        return diagonal.T, self._outside(solutions.reshape(n, -1)).reshape(solutions.shape)

    def _factor(self, alpha: float) -> np.ndarray:
        """U of B + alpha I = U'U by its diagonals; its columns are the rows of L."""
        shifted = self.B.copy(order="F")
        shifted[-1] += alpha
        return cholesky_banded(shifted, overwrite_ab=True, check_finite=False)

    def _outside(self, solutions: np.ndarray) -> np.ndarray:
        return self.Q[: self.problem.n].T @ solutions


def decompose(problem: RidgeProblem, alphas: np.ndarray, *, banded: bool) -> tuple[BandReduction | Decomposition, Path]:
    """The path by eigendecomposition or, if ``banded``, by band reduction.

    An eigendecomposition takes its place where K is not definite or an alpha is zero to rounding.
    """
    if banded and problem.kernel.definite:
        try:
            reduction = BandReduction(problem, alphas.min())
            return reduction, reduction.path(alphas)
        except np.linalg.LinAlgError:
            pass
    decomposition = Decomposition(problem)
    return decomposition, decomposition.path(alphas)


def reduce(A: np.ndarray, threads: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """B = Q'AQ by its diagonals (see scipy's cholesky_banded, upper form), from the lower triangle of a symmetric A.

    Q = H_1 ... H_n is a product of reflections H_j = I - s_j v_j v_j'. A is overwritten by the v_j as its columns, and
    the s_j are returned. A panel of columns is eliminated by the reflections of its QR decomposition, together
    I - V T V'; they change what is right of it by A -= V W' + W V', W = Y - V T'V'Y / 2, Y = A V T. This is put off
    until the next panel is known, so that its Y comes from the same walk over A, one for each panel.
    """
    n = len(A)
    B, scales = np.zeros((WIDTH + 1, n), order="F"), np.zeros(n)
    left, right = np.zeros((n, 2 * WIDTH)), np.zeros((n, 2 * WIDTH))
    for k in range(0, n, WIDTH):
        stop = min(k + WIDTH, n)
        panel = A[k:, k:stop] - left[k:] @ right[k:stop].T
        A[:, k:stop] = 0.0
        if stop < n:
            V, scales[k:stop], panel[WIDTH:] = _eliminate(panel[WIDTH:])
            A[stop:, k:stop] = V
        for d in range(min(WIDTH + 1, len(panel))):
            entries = panel.diagonal(-d)
            B[WIDTH - d, k + d : k + d + len(entries)] = entries
        if stop < n:
            T = _triangle(V, scales[k:stop])
            Y = _update(A, stop, left, right, V, threads) @ T
            W = Y - V @ (0.5 * T.T @ (V.T @ Y))
            left[stop:], right[stop:] = np.hstack([V, W]), np.hstack([W, V])
    return B, scales


def _eliminate(panel: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """V, s and R of panel = H_1 ... H_b R; a column that needs no reflection has v = 0."""
    (packed, s), R = qr(panel, mode="raw", check_finite=False)
    V, scales, upper = np.zeros(panel.shape), np.zeros(panel.shape[1]), np.zeros(panel.shape)
    V[:, : len(s)] = np.tril(packed[:, : len(s)], -1)
    np.fill_diagonal(V, 1.0)
    scales[: len(s)], upper[: len(R)] = s, R
    V[:, scales == 0] = 0.0
    return V, scales, upper


def _triangle(V: np.ndarray, scales: np.ndarray) -> np.ndarray:
    """T of H_1 ... H_b = I - V T V'."""
    inverse = np.triu(V.T @ V, 1)
    np.fill_diagonal(inverse, 1.0 / np.where(scales == 0, 1.0, scales))
    return np.linalg.inv(inverse)


def _update(
    A: np.ndarray, start: int, left: np.ndarray, right: np.ndarray, V: np.ndarray, threads: int | None
) -> np.ndarray:
    """A -= left right' on the lower triangle from row and column ``start`` on; returns A V of that part."""
    # cut at fixed places: of a tile on the diagonal, and only there, the upper triangle is kept, too
    cuts = [slice(max(part.start, start), part.stop) for part in _tiles.split(len(A), TILE) if part.stop > start]

    def visit(run: list[_tiles.Tile]) -> np.ndarray:
        Y, buffer = np.zeros(V.shape), np.empty(TILE * TILE)
        for rows, columns in run:
            tile = A[rows, columns]
            change = buffer[: tile.size].reshape(tile.shape)
            tile -= np.matmul(left[rows], right[columns].T, out=change)
            i, j = slice(rows.start - start, rows.stop - start), slice(columns.start - start, columns.stop - start)
            Y[i] += tile @ V[j]
            if rows != columns:
                Y[j] += tile.T @ V[i]
        return Y

    tiles = [(rows, columns) for rows in cuts for columns in cuts if columns.start <= rows.start]
    total = np.zeros(V.shape)
    for Y in _tiles.walk(tiles, visit, threads=threads, runs=8):
        total += Y
    return total


def orthogonal(V: np.ndarray, scales: np.ndarray, threads: int | None = None) -> np.ndarray:
    """Q' from the reflections that `reduce` leaves, some columns of Q at a time; zero rows fill up a multiple of 4."""
    n = len(V)
    Q = np.zeros((-(-n // 4) * 4, n))
    np.fill_diagonal(Q, 1.0)
    groups = [(slice(k + WIDTH, n), slice(k, k + GROUP)) for k in range(0, n - WIDTH, GROUP)]
    triangles = [_triangle(V[rows, columns], scales[columns]) for rows, columns in groups]

    def visit(run: list[_tiles.Tile]) -> None:
        for part, _ in run:
            for (rows, columns), T in zip(reversed(groups), reversed(triangles), strict=True):
                if rows.start < part.stop:  # else these columns of Q are still unit vectors that V does not reach
                    Q[part, rows] -= ((Q[part, rows] @ V[rows, columns]) @ T.T) @ V[rows, columns].T

    _walk(_tiles.split(n, COLUMNS)[::-1], visit, threads)
    return Q


def _walk(parts: list[slice], visit: Any, threads: int | None) -> None:
    """visit([(part, part)]) for each part, the next free thread takes the next one."""
    for _ in _tiles.walk([(part, part) for part in parts], visit, threads=threads, runs=len(parts)):
        pass
