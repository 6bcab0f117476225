"""A Gaussian process through landmarks: a lower bound of the marginal likelihood, and the posterior that attains it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import cho_solve, lapack

from representer import _parallel
from representer.gram.tiled import Gram
from representer.kernels.base import Gradients, Kernel, add_gradients

JITTER = 1e-8
"""Added to the landmarks' matrix, times the mean of its diagonal: landmarks may come close to each other."""


@dataclass(frozen=True)
class Bound:
    """The bound, its gradient by hyper-parameter and by the noise, by the inputs and by the landmarks."""

    value: float
    gradients: Gradients
    by_noise: float
    by_inputs: np.ndarray
    by_landmarks: np.ndarray


class Landmarks:
    """Q = K_xu K_u^(-1) K_ux stands for K: what is known of f goes through its values at the landmarks u.

    With S = K_u + K_ux K_xu / noise the posterior mean is k(x, u) m, m = S^(-1) K_ux y / noise, and the variance is
    k(x, x) - k(x, u) (K_u^(-1) - S^(-1)) k(u, x). No n x n matrix is made.

    Parameters
    ----------
    kernel : Kernel
    inputs, landmarks : prepared inputs
        Landmarks are prepared like the inputs.
    Y : array of shape (n, n_targets)
    noise : float
        Variance of the noise.
    """

    def __init__(
        self, kernel: Kernel, inputs: Any, landmarks: Any, Y: np.ndarray, noise: float, threads: int | None = None
    ):
        self.kernel, self.inputs, self.landmarks, self.Y, self.noise = kernel, inputs, landmarks, Y, noise
        self.threads = threads
        self.K_xu = Gram.of(kernel, inputs, landmarks, threads=threads).dense()
        K_u = Gram.of(kernel, landmarks, threads=threads).dense()
        K_u.ravel()[:: len(K_u) + 1] += JITTER * float(K_u.diagonal().mean())
        self.squares = self.K_xu.T @ self.K_xu
        self.L = _cholesky(K_u)
        self.L_S = _cholesky(K_u + self.squares / noise)
        self.projected = self.K_xu.T @ Y
        self.mean = cho_solve((self.L_S, True), self.projected) / noise

    @property
    def reduction(self) -> np.ndarray:
        """K_u^(-1) - S^(-1)."""
        eye = np.eye(len(self.L))
        return cho_solve((self.L, True), eye) - cho_solve((self.L_S, True), eye)

    def bound(self) -> Bound:
        """log N(y; 0, Q + noise I) - tr(K - Q) / (2 noise), summed over targets, with its gradient.

        It is the largest lower bound of the log marginal likelihood that a posterior through these landmarks can give,
        so landmarks can be moved to raise it without any danger of overfitting.
        """
        n, targets = self.Y.shape
        inverse = cho_solve((self.L, True), np.eye(len(self.L)))
        inverse_S = cho_solve((self.L_S, True), np.eye(len(self.L)))
        diagonal = self.kernel.diagonal(self.inputs)
        rest = float(diagonal.sum() - np.vdot(inverse, self.squares))
        b = 1.0 / self.noise
        fitted = float(np.vdot(self.mean, self.projected))
        size = float(np.vdot(self.Y, self.Y))
        log_determinants = 2.0 * float(np.log(self.L_S.diagonal()).sum() - np.log(self.L.diagonal()).sum())
        value = -0.5 * (
            targets * (n * np.log(2.0 * np.pi * self.noise) + log_determinants + b * rest) + b * (size - fitted)
        )
        outer = self.mean @ self.mean.T
        by_cross = b * (self.K_xu @ (targets * (inverse - inverse_S) - outer) + self.Y @ self.mean.T)
        by_square = 0.5 * (targets * (inverse - inverse_S - b * inverse @ self.squares @ inverse) - outer)
        by_precision = 0.5 * (
            n * targets / b
            - targets * (float(np.vdot(inverse_S, self.squares)) + rest)
            - size
            + 2.0 * fitted
            - float(np.vdot(outer, self.squares))
        )
        return self._pulled(value, by_cross, by_square, -0.5 * targets * b, -(b**2) * by_precision)

    def _pulled(
        self, value: float, by_cross: np.ndarray, by_square: np.ndarray, by_diagonal: float, by_noise: float
    ) -> Bound:
        """The gradient from those with respect to K_xu, K_u and each k(x, x)."""
        cross = Gram.of(self.kernel, self.inputs, self.landmarks, threads=self.threads)
        square = Gram.of(self.kernel, self.landmarks, threads=self.threads)
        gradients = cross.contract(by_cross)
        add_gradients(gradients, square.contract(by_square))
        along, by_inputs = vjp_diagonal(self.kernel, self.inputs, np.full(len(self.Y), by_diagonal))
        add_gradients(gradients, along)
        return Bound(
            value,
            gradients,
            by_noise,
            cross.input_gradient(by_cross) + by_inputs,
            cross.T.input_gradient(by_cross.T) + 2.0 * square.input_gradient(by_square),
        )


def vjp_diagonal(kernel: Kernel, A: Any, w: np.ndarray) -> tuple[Gradients, np.ndarray]:
    """sum_i w_i dk(a_i, a_i) / dtheta, and w_i dk(a_i, a_i) / da_i, from small blocks along the diagonal."""
    gradients: Gradients = {}
    parts = []
    for rows in _parallel.split(len(A), 64):
        W = np.diag(w[rows]).astype(A.dtype)
        add_gradients(gradients, kernel.vjp(A[rows], A[rows], W))
        parts.append(2.0 * kernel.input_vjp(A[rows], A[rows], W))
    return gradients, np.concatenate(parts)


def _cholesky(A: np.ndarray) -> np.ndarray:
    L, info = lapack.dpotrf(A, lower=1, clean=1)
    if info != 0:
        raise np.linalg.LinAlgError(
            "The landmarks' matrix is not positive definite; use fewer landmarks or more noise."
        )
    return L
