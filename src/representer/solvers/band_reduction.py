"""Ridge for a whole path of alphas, with exact leave-one-out errors, from one reduction to a banded matrix."""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np
from scipy.linalg import cho_solve_banded, cholesky_banded, qr

from representer import _parallel
from representer._loops import products
from representer._loops.simd import banded, skinny_products
from representer.problems.ridge import RidgeProblem
from representer.result import Budget, Plan
from representer.solvers.eigendecomposition import Path, bytes_of_path, leave_out, plan_of_path

BAND_FROM = 2000
"""Least number of rows for a band reduction. On one thread, with 50 alphas, an eigendecomposition took 0.7 times as
long at 1,000 rows, 1.15 at 2,000 and 1.5 at 3,000."""
ROWS_FOR_EACH_ALPHA = 40
"""Least number of rows per alpha for a band reduction, because each alpha costs more than with eigenvectors."""
WIDTH = 24
"""Bandwidth: diagonals of B below the main one. A larger one makes the reduction faster and each alpha slower."""
GROUP = 120
"""Householder reflections that are applied together, several panels of WIDTH columns."""
COLUMNS = 320
"""Columns of Q that a thread computes at a time."""
PRODUCT_RUNS = 4
"""Partial sums of a product A V, each as large as the whole."""
FACTORS = 25
"""Alphas whose factors are stored at a time."""
STRIP = 48
"""Columns of Q' that a thread takes at a time, few enough that the last rows of L^(-1) Q' stay in the L1 cache."""

Reflections = tuple[np.ndarray, np.ndarray]
"""V and T of a product I - V T V' of Householder reflections that change the last len(V) rows."""


class BandReduction:
    """D K D = Q B Q' with Q orthogonal and B banded; then G = (D K D + alpha I)^(-1) = Q (B + alpha I)^(-1) Q'.

    With the Cholesky factor B + alpha I = L L', the diagonal of G holds the squared column norms of L^(-1) Q'. It takes
    8/3 n^3 operations, nearly all in matrix products, where an eigendecomposition is memory-bound; and 48 n^2 more for
    each alpha, where an eigendecomposition takes 4 n^2.

    An alpha that is zero to rounding relative to D K D, or a matrix with eigenvalues below -alpha, raises LinAlgError:
    these need an eigendecomposition.
    """

    name = "band_reduction"

    @staticmethod
    def cost(problem: RidgeProblem, budget: Budget, alphas: np.ndarray) -> Plan:
        """1.5 n^2 doubles, 8/3 n^3 operations in matrix products and 48 n^2 for each alpha."""
        n, different = problem.n, np.unique(alphas, axis=1).size  # targets with the same path share it
        reduction = 4 * n * n + 8 * n * 6 * GROUP  # reflections, and the workspace of a group
        factors = 8 * n * (WIDTH + 4) * min(len(alphas), FACTORS) + bytes_of_path(problem, alphas)
        bytes_, seconds = 8 * n * n + max(reduction, factors), 4e-11 * n**3 + 1e-8 * n**2 * different
        plan = plan_of_path(BandReduction.name, problem, bytes_, seconds, budget)
        if n >= max(BAND_FROM, ROWS_FOR_EACH_ALPHA * different) and alphas.min() > 0 and problem.gram.definite:
            return plan
        return replace(plan, refusal="A band reduction is for many rows, positive alphas and a definite kernel.")

    def __init__(self, problem: RidgeProblem, smallest: float):
        started = perf_counter()
        self.problem = problem
        A = problem.matrix(0.0)
        if not smallest > len(A) * np.finfo(np.float64).eps * np.linalg.norm(A):
            raise np.linalg.LinAlgError("alpha is zero to rounding")
        with _parallel.one_blas_thread():
            self.B, reflections = reduce(A, problem.gram.threads)
            self.transposed = orthogonal(reflections, A, problem.gram.threads)  # Q', in place of A
        self.inside = self.transposed @ problem.right_hand_sides
        self.seconds = perf_counter() - started

    def solve(self, alpha: np.ndarray) -> np.ndarray:
        """Solutions of all right-hand sides, with one alpha for each."""
        columns = zip(alpha, self.inside.T, strict=True)
        return self._outside(np.stack([cho_solve_banded((self._factor(a), False), c) for a, c in columns], axis=1))

    def path(self, alphas: np.ndarray) -> Path:
        """Leave-one-out predictions for alphas of shape (n_alphas, n_targets)."""
        return leave_out(self.problem, self.at, alphas)

    def at(self, alphas: np.ndarray, columns: list[int]) -> tuple[np.ndarray, np.ndarray]:
        """The diagonals of G, and the solutions of these right-hand sides, of shape (n, n_alphas, n_columns)."""
        n, inside = self.problem.n, self.inside[:, columns]
        self._factor(alphas.min())  # raise before the long work
        diagonal, solutions = np.empty((len(alphas), n)), np.empty((n, len(alphas), len(columns)))
        rows = np.zeros((min(len(alphas), FACTORS), -(-n // 4) * 4, WIDTH + 4))
        for some in _parallel.split(len(alphas), FACTORS):
            self._some_at(alphas[some], inside, rows, diagonal[some], solutions[:, some])
        return diagonal.T, self._outside(solutions.reshape(n, -1)).reshape(solutions.shape)

    def _some_at(
        self, alphas: np.ndarray, inside: np.ndarray, rows: np.ndarray, diagonal: np.ndarray, solutions: np.ndarray
    ) -> None:
        """For these alphas: rows of L as `banded.column_norms` needs them, the diagonal of G and solutions with B."""
        n, padded = self.problem.n, rows.shape[1]

        def factorise(run: Any) -> None:
            for i in run:
                factor = self._factor(alphas[i])
                solutions[:, i] = cho_solve_banded((factor, False), inside)
                np.reciprocal(factor[-1], out=factor[-1])
                for r in range(4):
                    rows[i, r:n:4, r : r + WIDTH + 1] = factor.T[r::4]
                for r in range(n, padded):
                    rows[i, r, WIDTH + r % 4] = 1.0

        def substitute(run: Any) -> None:
            Q, norms = np.zeros((padded, STRIP)), np.empty(STRIP)
            for part in run:
                size = part.stop - part.start
                Q[:n, :size] = self.transposed[:, part]
                for L, out in zip(rows, diagonal, strict=False):
                    banded.column_norms(L, Q, norms)
                    out[part] = norms[:size]

        _map(list(range(len(alphas))), factorise, self.problem.gram.threads)
        _map(_parallel.split(n, STRIP), substitute, self.problem.gram.threads)

    def _factor(self, alpha: float) -> np.ndarray:
        """U of B + alpha I = U'U in banded storage; its columns are the rows of L."""
        shifted = self.B.copy(order="F")
        shifted[-1] += alpha
        return cholesky_banded(shifted, overwrite_ab=True, check_finite=False)

    def _outside(self, solutions: np.ndarray) -> np.ndarray:
        return self.transposed.T @ solutions


def reduce(A: np.ndarray, threads: int | None = None) -> tuple[np.ndarray, list[Reflections]]:
    """B = Q'AQ in banded storage (see scipy's cholesky_banded, upper form), for a symmetric A.

    Only the upper triangle of A and the diagonal blocks of GROUP rows are read.

    A panel of columns is eliminated by the reflections of its QR decomposition, together I - V T V'. They update the
    trailing matrix by A -= V W' + W V', W = Y - V T'V'Y / 2, Y = A V T. The updates of a group of panels are applied
    together; until then they are subtracted from what is read, a panel or the product A V. A is overwritten.
    """
    n = len(A)
    B, reflections, memory = np.zeros((WIDTH + 1, n), order="F"), [], np.empty((n, 2 * GROUP))
    for done in range(0, n, GROUP):
        left, changes = A[done:, done:], memory[done:]
        scales = _eliminate_group(left, B[:, done:], changes, threads)
        V = changes.reshape(len(changes), -1, 2, WIDTH)[WIDTH:, :, 0].reshape(-1, GROUP)
        reflections.append((V, _triangle(V, scales)))
        _update(left, changes, threads)
    return B, reflections


def _eliminate_group(A: np.ndarray, B: np.ndarray, changes: np.ndarray, threads: int | None) -> np.ndarray:
    """The scales of the first panels' reflections; writes their diagonals to B, [V_1 W_1 V_2 W_2 ...] to changes."""
    n, scales = len(A), np.zeros(GROUP)
    changes[:] = 0.0
    for start in range(0, min(GROUP, n), WIDTH):
        stop, known = min(start + WIDTH, n), changes[start:, : 2 * start]
        cuts, coefs = (slice(start, stop), slice(stop, n)), _swapped(known[: stop - start])
        parts = [A[start:stop, c] - coefs @ changes[c, : 2 * start].T for c in cuts]
        if stop < n:
            V, scales[start:stop], R = _eliminate(parts[1].T)
            parts[1] = R.T
        panel = np.hstack(parts)
        for d in range(min(WIDTH + 1, panel.shape[1])):
            entries = panel.diagonal(d)
            B[WIDTH - d, start + d : start + d + len(entries)] = entries
        if stop < n:
            T = _triangle(V, scales[start:stop])
            Y = _product(A[stop:, stop:], known[WIDTH:], V, threads) @ T
            W = Y - V @ (0.5 * T.T @ (V.T @ Y))
            changes[stop:, 2 * start : start + stop], changes[stop:, start + stop : 2 * stop] = V, W
    return scales


def _swapped(changes: np.ndarray) -> np.ndarray:
    """[W_1 V_1 W_2 V_2 ...], whose product with [V_1 W_1 V_2 W_2 ...]' is the sum of all V W' + W V'."""
    return changes.reshape(len(changes), -1, 2, WIDTH)[:, :, ::-1].reshape(changes.shape)


def _eliminate(panel: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """V, s and the first rows of R, panel = H_1 ... H_b R; a column that needs no reflection has v = 0."""
    (V, s), R = qr(panel, mode="raw", overwrite_a=True, check_finite=False)
    scales = np.zeros(panel.shape[1])
    scales[: len(s)] = s
    top = V[: V.shape[1]]
    top[:] = np.tril(top, -1)
    np.fill_diagonal(top, 1.0)
    V[:, scales == 0] = 0.0
    return np.ascontiguousarray(V), scales, R


def _triangle(V: np.ndarray, scales: np.ndarray) -> np.ndarray:
    """T of H_1 ... H_b = I - V T V'."""
    inverse = np.triu(V.T @ V, 1)
    np.fill_diagonal(inverse, 1.0 / np.where(scales == 0, 1.0, scales))
    return np.linalg.inv(inverse)


def _product(A: np.ndarray, changes: np.ndarray, V: np.ndarray, threads: int | None) -> np.ndarray:
    """(A - changes) V, where the diagonal blocks of A are complete up to the end of a group."""
    head, coefs = GROUP - WIDTH - changes.shape[1] // 2, _swapped(V.T @ changes)
    rows = _parallel.split(len(V), -(-len(V) // PRODUCT_RUNS))

    def visit(run: Any) -> np.ndarray:
        Y = np.zeros(V.shape)
        for first in run:
            products.subtract_product(changes[rows[first]], coefs, Y[rows[first]])
            skinny_products.add_symmetric(A, V, Y, head, GROUP, first, len(rows))
        return Y

    return sum(_parallel.map_tiles(list(range(len(rows))), visit, threads=threads, runs=len(rows)))


def _update(A: np.ndarray, changes: np.ndarray, threads: int | None) -> None:
    """A -= V W' + W V' for all changes, beyond the rows and columns of their group."""

    def visit(run: Any) -> None:
        for rows in run:
            right = changes[rows.start :]
            products.subtract_product(_swapped(changes[rows]), right, A[rows, rows.start :])

    _map(_parallel.split(len(A), GROUP)[1:], visit, threads)


def orthogonal(reflections: list[Reflections], out: np.ndarray, threads: int | None = None) -> np.ndarray:
    """Q', the product of all reflections applied from the last on, some rows at a time, written to out."""
    n = len(out)

    def visit(run: Any) -> None:
        for part in run:
            rows = out[part]
            rows[:] = 0.0
            np.fill_diagonal(rows[:, part], 1.0)
            for V, T in reversed(reflections):
                first = n - len(V)
                changed = rows[max(first - part.start, 0) :, first:]  # other rows are unit vectors that V leaves alone
                products.subtract_product((changed @ V) @ T.T, V, changed)

    _map(_parallel.split(n, COLUMNS)[::-1], visit, threads)
    return out


def _map(parts: list[Any], visit: Any, threads: int | None) -> None:
    """Call visit([part]) for each part; the next free thread takes the next one."""
    for _ in _parallel.map_tiles(parts, visit, threads=threads, runs=len(parts)):
        pass
