"""The map from a latent space to the data: its density, and the latent points where new data are most likely."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from representer import _parallel
from representer.gram.tiled import Gram
from representer.kernels.base import Kernel
from representer.processes.variational import along_diagonal


@dataclass(frozen=True)
class LatentMap:
    """y given z is normal in each column: mean k(z, B) coef, variance k(z, z) - k(z, B) reduction k(B, z) + noise.

    For an exact process, B holds its inputs and ``reduction`` is (K + noise I)^(-1); for a sparse one, B holds the
    landmarks.

    Parameters
    ----------
    kernel : Kernel
    points : prepared inputs
        B.
    coef : array of shape (n_points, n_columns)
    reduction : array of shape (n_points, n_points)
    noise : float
    """

    kernel: Kernel
    points: Any
    coef: np.ndarray
    reduction: np.ndarray
    noise: float
    threads: int | None = None

    def prepare(self, Z: np.ndarray) -> Any:
        """Latent points prepared like those of the map."""
        return self.kernel.prepare(Z, like=self.points)

    def variance(self, Z: np.ndarray) -> np.ndarray:
        """Variance of the function at each z, without the noise."""
        A = self.prepare(Z)
        variance = self.kernel.diagonal(A).astype(np.float64)
        for rows in _parallel.split(len(A), 1024):
            k = Gram.of(self.kernel, A[rows], self.points, threads=self.threads).dense()
            variance[rows] -= np.einsum("ij,ij->i", k @ self.reduction, k)
        return np.maximum(variance, 0.0)

    def log_density(self, Z: np.ndarray, Y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """log p(y_i | z_i) for each i, and its gradient with respect to z_i."""
        parts = [self._log_density(Z[rows], Y[rows]) for rows in _parallel.split(len(Z), 256)]
        values, gradients = zip(*parts, strict=True)
        return np.concatenate(values), np.concatenate(gradients)

    def _log_density(self, Z: np.ndarray, Y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        A, columns = self.prepare(Z), Y.shape[1]
        k = Gram.of(self.kernel, A, self.points, threads=self.threads).dense()
        reduced = k @ self.reduction
        variance = self.kernel.diagonal(A) - np.einsum("ij,ij->i", reduced, k)
        v = np.maximum(variance, 0.0) + self.noise
        error = Y - k @ self.coef
        squares = np.einsum("ij,ij->i", error, error)
        value = -0.5 * (columns * np.log(2.0 * np.pi * v) + squares / v)
        by_variance = np.where(variance > 0.0, 0.5 * (squares / v - columns) / v, 0.0)
        W = (error / v[:, None]) @ self.coef.T - 2.0 * by_variance[:, None] * reduced
        along = self.kernel.input_vjp(A, self.points, W)
        return value, along + along_diagonal(self.kernel, A, by_variance)


Objective = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]


def climb(objective: Objective, Z: np.ndarray, *, max_iter: int = 100, tol: float = 1e-6) -> np.ndarray:
    """A local maximum z_i of objective(z, i) for each row i, by BFGS with one small inverse Hessian per row.

    All rows climb at the same time, so that each evaluation of the objective is batched, but each has its own step
    lengths and curvature, so that no row depends on the others.

    Parameters
    ----------
    objective : callable
        Takes rows and their indices, returns their values and gradients.
    Z : array of shape (n, n_components)
        Starting points.
    max_iter : int
    tol : float
        A row has converged when its next full step is predicted to change its value by less than this.
    """
    Z, everyone = Z.copy(), np.arange(len(Z))
    value, slope = objective(Z, everyone)
    size = np.maximum(np.linalg.norm(slope, axis=1), 1e-300)
    # the first step is at most a tenth of the unit in which latent points are measured
    H = np.eye(Z.shape[1]) * np.minimum(1.0, 0.1 / size)[:, None, None]
    moving = everyone
    for _ in range(max_iter):
        step = np.einsum("ijk,ik->ij", H[moving], slope[moving])
        gain = np.einsum("ij,ij->i", step, slope[moving])
        step, moving = step[gain > tol], moving[gain > tol]
        if not len(moving):
            break
        before, old = Z[moving], slope[moving]
        found = _line_search(objective, Z, value, slope, moving, step)
        _update(H, moving, Z[moving] - before, old - slope[moving])
        moving = moving[found]
    return Z


def _line_search(
    objective: Objective, Z: np.ndarray, value: np.ndarray, slope: np.ndarray, rows: np.ndarray, step: np.ndarray
) -> np.ndarray:
    """Backtracking: halve steps until the ascent suffices, updating Z, value and slope. Returns which rows climbed."""
    gain = np.einsum("ij,ij->i", step, slope[rows])
    left, length = np.arange(len(rows)), 1.0
    found = np.zeros(len(rows), bool)
    for _ in range(30):
        i = rows[left]
        trial = Z[i] + length * step[left]
        new, new_slope = objective(trial, i)
        good = new >= value[i] + 1e-4 * length * gain[left]
        Z[i[good]], value[i[good]], slope[i[good]] = trial[good], new[good], new_slope[good]
        found[left[good]] = True
        left, length = left[~good], length / 2.0
        if not len(left):
            break
    return found


def _update(H: np.ndarray, rows: np.ndarray, s: np.ndarray, y: np.ndarray) -> None:
    """BFGS update of the inverse Hessians of the negative objective, where the curvature along the step is positive."""
    sy = np.einsum("ij,ij->i", s, y)
    curved = sy > 1e-12 * np.linalg.norm(s, axis=1) * np.linalg.norm(y, axis=1)
    rows, s, y, sy = rows[curved], s[curved], y[curved], sy[curved, None, None]
    V = np.eye(s.shape[1]) - s[:, :, None] * y[:, None, :] / sy
    H[rows] = V @ H[rows] @ V.transpose(0, 2, 1) + s[:, :, None] * s[:, None, :] / sy
