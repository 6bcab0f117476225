"""Marginal likelihood and leave-one-out probability of a Gaussian process, with gradients."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from scipy.linalg import blas, lapack

from representer.gram.tiled import Gram
from representer.kernels.base import Gradients, Kernel
from representer.problems.ridge import RidgeProblem
from representer.result import Certificate, Work, certify


class Factor:
    """The Cholesky factor L L' = K + diag(noise) + jitter I, in place of the kernel matrix.

    One policy for matrices that are singular to rounding: jitter is 0 first, then 1e-10 times the mean of the diagonal,
    and ten times larger on each retry, up to 1e-5 times; after that, or at once without ``jitter``, an error is raised.
    """

    def __init__(self, kernel: Kernel, inputs: Any, noise: np.ndarray, threads: int | None = None, jitter: bool = True):
        started = perf_counter()
        self.kernel, self.inputs, self.threads = kernel, inputs, threads
        self.jitter = self.norm = 0.0
        for power in (None, *range(-10, -4)) if jitter else (None,):
            A = Gram.of(kernel, inputs, threads=threads).dense().astype(np.float64, copy=False)
            if power is not None:
                self.jitter = 10.0**power * float(A.diagonal().mean())
            A.ravel()[:: len(A) + 1] += noise + self.jitter
            self.norm = _norm(A) if power is None else self.norm
            # the transposed view is column-major, as LAPACK expects, and the same matrix, as A is symmetric
            self.L, info = lapack.dpotrf(A.T, lower=1, overwrite_a=1, clean=0)
            if info == 0:
                self.seconds = perf_counter() - started
                return
            del A, self.L  # before the next try allocates another one
        raise np.linalg.LinAlgError(
            f"The covariance matrix is not positive definite{' even with jitter' if jitter else ''}; "
            "use more noise, remove repeated inputs, or "
            "check the kernel with representer.psd.report."
        )

    @property
    def log_determinant(self) -> float:
        return 2.0 * float(np.log(self.L.diagonal()).sum())

    @property
    def condition(self) -> float:
        """An estimate of the condition number in the 1-norm."""
        reciprocal, _ = lapack.dpocon(self.L, self.norm, uplo="L")
        return float(1.0 / max(reciprocal, np.finfo(np.float64).tiny))

    def solve(self, B: np.ndarray) -> np.ndarray:
        """(K + noise)^(-1) B."""
        return lapack.dpotrs(self.L, np.asfortranarray(B), lower=1)[0]

    def half_solve(self, B: np.ndarray, *, overwrite: bool = False) -> np.ndarray:
        """L^(-1) B, written over a column-major B if asked for."""
        return lapack.dtrtrs(self.L, np.asfortranarray(B), lower=1, overwrite_b=overwrite)[0]

    def certificate(self, a: np.ndarray, Y: np.ndarray, noise: np.ndarray, tol: float) -> Certificate:
        """How well a solves (K + noise + jitter) a = y: a ridge problem, with alpha the smallest noise."""
        started, noise = perf_counter(), noise + self.jitter
        alpha = max(float(noise.min()), 0.0)
        weights = alpha / noise if alpha > 0.0 else None
        gram = Gram.of(self.kernel, self.inputs, threads=self.threads)
        problem = RidgeProblem(gram, Y, np.full(Y.shape[1], alpha), weights)
        seconds = self.seconds + perf_counter() - started
        work = Work("Cholesky", "n is in the direct range", 1, 8 * len(Y) ** 2, seconds, "float64")
        return certify(problem, a, np.zeros(Y.shape[1]), work, tol)

    def invert(self) -> np.ndarray:
        """The inverse, written over the factor; only its lower triangle is meaningful."""
        inverse, _ = lapack.dpotri(self.L, lower=1, overwrite_c=1)
        return inverse

    def inverse(self) -> np.ndarray:
        """The inverse, written over the factor, both triangles."""
        inverse = self.invert()
        for i in range(0, len(inverse), 64):
            rows = slice(i, i + 64)
            inverse[:i, rows] = inverse[rows, :i].T
            square = np.tril(inverse[rows, rows])
            inverse[rows, rows] = square + np.tril(square, -1).T
        return inverse


def _norm(A: np.ndarray) -> float:
    """The 1-norm of a symmetric matrix, without a second matrix for absolute values."""
    return max(float(np.abs(A[i : i + 64]).sum(axis=1).max()) for i in range(0, len(A), 64))


@dataclass(frozen=True)
class Value:
    """An objective and its gradient by hyper-parameter, by the noise of each input and, on request, by the inputs."""

    value: float
    gradients: Gradients
    by_noise: np.ndarray
    by_inputs: np.ndarray | None = None


def log_density(squares: float, log_determinant: float, n: int, targets: int) -> float:
    """sum over targets of log N(y; 0, A), from the sum over them of y' A^(-1) y and log |A| of an n x n matrix."""
    return -0.5 * (squares + targets * (log_determinant + n * np.log(2.0 * np.pi)))


def log_evidence(factor: Factor, Y: np.ndarray) -> tuple[float, np.ndarray]:
    """`log_density` for a factor of A, and A^(-1) Y."""
    a = factor.solve(Y)
    return log_density(float(np.vdot(Y, a)), factor.log_determinant, *Y.shape), a


def log_marginal_likelihood(
    kernel: Kernel,
    inputs: Any,
    Y: np.ndarray,
    noise: np.ndarray,
    threads: int | None = None,
    *,
    by_inputs: bool = False,
    jitter: bool = True,
) -> Value:
    """`log_evidence` with A = K + diag(noise), and its gradient.

    The gradient is <V, dA> with V = (a a' - A^(-1)) / 2. One n x n matrix holds in turn A, its factor, its inverse and
    V. ``by_inputs`` adds the gradient 2 sum_j V_ij dk(x_i, x_j) / dx_i, for kernels on vectors.
    """
    factor = Factor(kernel, inputs, noise, threads, jitter)
    value, a = log_evidence(factor, Y)
    V = blas.dsyrk(0.5, a, beta=-0.5 * Y.shape[1], c=factor.invert(), lower=1, overwrite_c=1)
    K = Gram.of(kernel, inputs, threads=threads)
    along = 2.0 * K.input_gradient(V, lower=True) if by_inputs else None
    return Value(value, K.contract(V, lower=True), V.diagonal().copy(), along)


def log_leave_one_out(
    kernel: Kernel, inputs: Any, Y: np.ndarray, noise: np.ndarray, threads: int | None = None
) -> Value:
    """sum_i log N(y_i; mean and variance predicted without i): variance 1 / G_ii and error a_i / G_ii, G = A^(-1).

    The gradient is <V, dA> with V = (G q) a' - G diag(p) G, q_i = a_i / G_ii, p_i = (1 / G_ii + a_i^2 / G_ii^2) / 2,
    or with its symmetric part. Two n x n matrices are held: the factor, then G, then G diag(sqrt p); and V.
    """
    targets = Y.shape[1]
    factor = Factor(kernel, inputs, noise, threads)
    a = factor.solve(Y)
    G = factor.inverse()
    g = G.diagonal()[:, None].copy()
    value = 0.5 * float((np.log(g) - a**2 / g - np.log(2.0 * np.pi)).sum())
    p = 0.5 * (targets / g + ((a / g) ** 2).sum(axis=1, keepdims=True))
    V = blas.dsyr2k(0.5, G @ (a / g), a, lower=1)
    G *= np.sqrt(p).T
    V = blas.dsyrk(-1.0, G, beta=1.0, c=V, lower=1, overwrite_c=1)
    return Value(value, Gram.of(kernel, inputs, threads=threads).contract(V, lower=True), V.diagonal().copy())
