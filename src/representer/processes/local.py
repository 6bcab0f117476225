"""Posterior variances for many training inputs: a low-rank factor for all of them, exact among the nearest."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import cho_solve, cholesky, lapack, solve_triangular

from representer import _parallel
from representer.features.pivoted_cholesky import pivoted_cholesky
from representer.gram.low_rank import LowRank
from representer.gram.tiled import Gram
from representer.solvers.conjugate_gradient import LITTLE_LEFT
from representer.solvers.preconditioners import summed_gram

LOCAL_RANK = 600
"""Largest rank of the factor."""
SMALL_REMAINDER = 1e-3
"""Mean of R(x, x), as a fraction of the noise, at which the factor is complete, if it also is for a preconditioner."""
NEAREST_ROWS = 128
"""Number of nearest training inputs used for each new input."""
NEAR_PART = 0.01
"""R(x, x), as a fraction of the noise, up to which no nearest inputs are used: they explain no more than that."""
VALUES_AT_ONCE = 2**24
"""Kernel values between all training inputs and new inputs that are held at a time."""


class LocalPosterior:
    """Var f(x) given y = f + noise, with K = F'F + R, where R is used between x and its nearest inputs only.

    With phi the features of x under F, r the values of R between x and its nearest inputs N, and
    S = F diag(R_ii + noise_i)^(-1) F' + I, the precision of the features given all inputs, it is

        R(x, x) - r' w + u' S^(-1) u,     w = (R_NN + noise_N)^(-1) r,     u = phi - F_N w

    Nearest are the inputs most informative about x beyond F: those with the largest r_i^2 / (R_ii + noise_i). The
    variance is exact where R is zero, and where inputs outside N carry no further information. Where R(x, x) is below a
    hundredth of the noise, N is empty. No n x n matrix is formed.

    Parameters
    ----------
    gram : Gram
        Symmetric, of the training inputs.
    noise : array of shape (n,), positive
    random_state : int
        Seed of the landmarks.
    """

    def __init__(self, gram: Gram, noise: np.ndarray, random_state: int = 0):
        self.gram, self.inputs, self.noise = gram.astype(np.float64), gram.X, noise
        # blocks of kernel values are small: synchronising BLAS threads on each of them would cost more than it saves
        with _parallel.one_blas_thread():
            stop = min(SMALL_REMAINDER * float(noise.sum()), LITTLE_LEFT * float(noise.min()))
            found = pivoted_cholesky(self.gram, LOCAL_RANK, stop=stop, random_state=random_state)
            self.pivots, self.own = found.pivots, found.remainder + noise
            S = summed_gram(found.factor / np.sqrt(self.own), np.float64, gram.threads)
            S.ravel()[:: len(S) + 1] += 1.0
            self.L = cholesky(S, lower=True, overwrite_a=True, check_finite=False)
            self.features = np.ascontiguousarray(found.factor.T)  # one row per input, as rows are gathered
            self.corner = self.features[self.pivots]  # lower triangular

    @property
    def low_rank(self) -> LowRank:
        """F and the diagonal of R."""
        return LowRank(self.features.T, self.pivots, self.own - self.noise)

    def smoothed(self, V: np.ndarray) -> np.ndarray:
        """(F'F + diag(R_ii + noise_i))^(-1) V, close to (K + diag(noise))^(-1) V where R is small."""
        V = V / self.own[:, None]
        inside = cho_solve((self.L, True), self.features.T @ V, check_finite=False)
        return V - (self.features @ inside) / self.own[:, None]

    def variance(self, new: Any) -> np.ndarray:
        """Posterior variance at new inputs."""
        values = Gram(self.gram.kernel, new, self.inputs, threads=self.gram.threads).astype(np.float64)
        return self._variances(values, np.asarray(self.gram.kernel.diag(new), np.float64), None)

    def left_out(self, rows: np.ndarray) -> np.ndarray:
        """Leave-one-out variance at some of the training inputs."""
        values = self.gram.take(rows, slice(None))
        return self._variances(values, np.asarray(self.gram.diag(), np.float64)[rows], rows)

    def _variances(self, values: Gram, prior: np.ndarray, rows: np.ndarray | None) -> np.ndarray:
        """Variance for each row of kernel values against all training inputs; ``rows`` are the inputs to leave out."""
        with _parallel.one_blas_thread():
            phi = solve_triangular(
                self.corner, values.block(slice(None), self.pivots).T, lower=True, check_finite=False
            )
            remainder, U = prior - np.einsum("ij,ij->j", phi, phi), phi.copy()
            apart = np.flatnonzero(remainder > NEAR_PART * self.noise.min())
            for part in _parallel.split(len(apart), max(VALUES_AT_ONCE // len(self.gram), 1)):
                some = apart[part]
                explained, U[:, some] = self._by_nearest(values, phi[:, some], some, rows)
                remainder[some] -= explained
            half = solve_triangular(self.L, U, lower=True, overwrite_b=True, check_finite=False)
            out = remainder + np.einsum("ij,ij->j", half, half)
            if rows is not None:
                mine = solve_triangular(self.L, self.features[rows].T, lower=True, check_finite=False)
                left = self.own[rows] - np.einsum("ij,ij->j", mine, mine)  # S without the row, by Sherman-Morrison
                out += np.einsum("ij,ij->j", half, mine) ** 2 / left
        return np.maximum(out, 0.0)

    def _by_nearest(
        self, values: Gram, phi: np.ndarray, some: np.ndarray, rows: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """r' w and u = phi - F_N w, one column for each of these new inputs."""
        R = values.block(some, slice(None)) - phi.T @ self.features.T
        if rows is not None:
            R[np.arange(len(some)), rows[some]] = np.nan  # which is sorted last
        explained, U = np.empty(len(some)), phi.copy()

        def visit(run: Any) -> None:
            for i in run:
                explained[i], shift = self._nearest(R[i])
                U[:, i] -= shift

        for _ in _parallel.map_tiles(list(range(len(some))), visit, threads=self.gram.threads):
            pass
        return explained, U

    def _nearest(self, values: np.ndarray) -> tuple[float, np.ndarray]:
        """r' w and F_N w; a value that is not a number is that of the input that is left out, which is not in N."""
        gains = values**2 / self.own
        near = (
            np.argpartition(-gains, NEAREST_ROWS)[:NEAREST_ROWS] if len(gains) > NEAREST_ROWS else np.arange(len(gains))
        )
        near = near[~np.isnan(gains[near])]
        some = self.features[near]
        A, r = self.gram.block(near, near) - some @ some.T, values[near]
        A.ravel()[:: len(A) + 1] += self.noise[near]
        _, w, info = lapack.dposv(A, r, lower=1)
        if info != 0:  # the kernel is not positive definite: use the nearest input alone
            w = np.where(np.arange(len(r)) == np.argmax(gains[near]), r / self.own[near], 0.0)
        return float(r @ w), w @ some
