"""Variances of a Gaussian process given many inputs: a factor of low rank for all of them, exact among the nearest."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import cholesky, lapack, solve_triangular

from representer import _parallel
from representer.features.pivoted_cholesky import pivoted_cholesky
from representer.gram.tiled import Gram
from representer.solvers.preconditioners import summed_gram

LOCAL_RANK = 600
"""Rank of the factor at most."""
NEAREST_ROWS = 128
"""Inputs that are nearest to a new one."""
VALUES_AT_ONCE = 2**24
"""Kernel values between all inputs and new ones that are held together."""


class LocalPosterior:
    """Var f(x) given y = f + noise, with K = F'F + R of which R counts between x and its nearest inputs only.

    With phi the features of x that F gives, r its values of R at the nearest inputs N, and
    S = F diag(R_ii + noise_i)^(-1) F' + I, the precision of the features given all inputs, it is

        R(x, x) - r' w + u' S^(-1) u,     w = (R_NN + noise_N)^(-1) r,     u = phi - F_N w

    Nearest are the inputs that say most about x beyond F: those of the largest r_i^2 / (R_ii + noise_i). It is exact
    where F leaves nothing of K, and where inputs further away than N say nothing. No n x n matrix is made.

    Parameters
    ----------
    gram : Gram
        Symmetric, of inputs that were given.
    noise : array of shape (n,), positive
    random_state : int
        Seed of the landmarks.
    """

    def __init__(self, gram: Gram, noise: np.ndarray, random_state: int = 0):
        self.gram, self.inputs, self.noise = gram.astype(np.float64), gram.X, noise
        # blocks of values are small, and threads of BLAS would wait for each other in each of them
        with _parallel.one_blas_thread():
            found = pivoted_cholesky(self.gram, LOCAL_RANK, stop=0.1 * float(noise.mean()), random_state=random_state)
            self.F, self.pivots = found.factor, found.pivots
            self.own = found.remainder + noise
            S = summed_gram(self.F / np.sqrt(self.own), np.float64, gram.threads)
            S.ravel()[:: len(S) + 1] += 1.0
            self.L = cholesky(S, lower=True, overwrite_a=True, check_finite=False)
            self.corner = self.F[:, self.pivots]  # upper triangular

    def variance(self, new: Any) -> np.ndarray:
        """At new inputs."""
        columns = Gram(self.gram.kernel, self.inputs, new, threads=self.gram.threads).astype(np.float64)
        return self._variances(columns, np.asarray(self.gram.kernel.diag(new), np.float64), None)

    def left_out(self, rows: np.ndarray) -> np.ndarray:
        """At some of the inputs, each without what was measured there."""
        columns = self.gram.take(slice(None), rows)
        return self._variances(columns, np.asarray(self.gram.diag(), np.float64)[rows], rows)

    def _variances(self, columns: Gram, prior: np.ndarray, rows: np.ndarray | None) -> np.ndarray:
        parts = _parallel.split(len(prior), max(VALUES_AT_ONCE // len(self.gram), 1))
        with _parallel.one_blas_thread():
            found = [self._part(columns, prior, rows, np.arange(part.start, part.stop)) for part in parts]
        return np.maximum(np.concatenate(found), 0.0)

    def _part(self, columns: Gram, prior: np.ndarray, rows: np.ndarray | None, part: np.ndarray) -> np.ndarray:
        """Variances at some of the new inputs; with ``rows`` each is one of the inputs that does not count."""
        values = columns.block(slice(None), part)
        phi = solve_triangular(self.corner, values[self.pivots], trans="T", check_finite=False)
        values = values - self.F.T @ phi  # of R
        if rows is not None:
            values[rows[part], np.arange(len(part))] = 0.0
        local, U = np.empty(len(part)), phi.copy()

        def visit(run: Any) -> None:
            for i in run:
                local[i], shift = self._nearest(values[:, i])
                U[:, i] -= shift

        for _ in _parallel.map_tiles(list(range(len(part))), visit, threads=self.gram.threads):
            pass
        half = solve_triangular(self.L, U, lower=True, overwrite_b=True, check_finite=False)
        out = prior[part] - np.einsum("ij,ij->j", phi, phi) - local + np.einsum("ij,ij->j", half, half)
        if rows is None:
            return out
        mine = solve_triangular(self.L, self.F[:, rows[part]], lower=True, check_finite=False)
        left = self.own[rows[part]] - np.einsum("ij,ij->j", mine, mine)  # S loses the row, by Sherman and Morrison
        return out + np.einsum("ij,ij->j", half, mine) ** 2 / left

    def _nearest(self, values: np.ndarray) -> tuple[float, np.ndarray]:
        """r' w and F_N w."""
        gains = values**2 / self.own
        near = (
            np.argpartition(-gains, NEAREST_ROWS)[:NEAREST_ROWS] if len(gains) > NEAREST_ROWS else np.arange(len(gains))
        )
        some = self.F[:, near]
        A, r = self.gram.block(near, near) - some.T @ some, values[near]
        A.ravel()[:: len(A) + 1] += self.noise[near]
        _, w, info = lapack.dposv(A, r, lower=1)
        if info != 0:  # of kernels that are not positive definite: the nearest input alone
            w = np.where(np.arange(len(r)) == np.argmax(gains[near]), r / self.own[near], 0.0)
        return float(r @ w), some @ w
