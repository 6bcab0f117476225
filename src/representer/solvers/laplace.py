"""Laplace's approximation of a Gaussian process with logistic likelihood."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular
from scipy.special import expit

from representer.gram import Gram
from representer.kernels.base import Gradients, Kernel
from representer.losses.logistic import Logistic
from representer.problem import Problem
from representer.solvers import newton
from representer.solvers.matrix import Matrix


class Laplace:
    """The Gaussian around the mode of p(f | y) ~ prod_i 1 / (1 + exp(-y_i f_i)) N(f; 0, K).

    The mode is the solution of logistic regression with the squared norm of strength 1 and no intercept. With W the
    curvatures there, R = sqrt(W) and B = I + R K R,

        log Z = -sum_i log(1 + exp(-y_i f_i)) - <f, K^(-1) f> / 2 - log |B| / 2,

    and f(x) has the variance k(x, x) - k(x, X) R B^(-1) R k(X, x).

    Parameters
    ----------
    kernel : Kernel
    X : inputs of the kernel
    y : array of shape (n,)
        Signs -1 and +1.
    tol : float
        Relative duality gap at which the mode counts as found.
    max_iter : int
    threads : int, optional
    """

    def __init__(
        self, kernel: Kernel, X: Any, y: np.ndarray, *, tol: float, max_iter: int = 100, threads: int | None = None
    ):
        self.problem = Problem(kernel, X, y[:, None], Logistic(), 1.0, np.ones((len(y), 1)), False, threads)
        self.matrix = Matrix(self.problem, "float64")
        self.found = newton.solve(self.problem, self.matrix, tol=tol, max_iter=max_iter)
        self.coef = self.found.point.coef[:, 0]
        self.f = self.found.point.applied[:, 0]
        self.root = np.sqrt(Logistic().curvature(y, self.f))
        B = self.matrix.K * self.root * self.root[:, None]
        B.ravel()[:: len(B) + 1] += 1.0
        self.L = cho_factor(B, lower=True, overwrite_a=True, check_finite=False)
        determinant = 2.0 * float(np.log(self.L[0].diagonal()).sum())
        self.log_likelihood = -self.found.primal - 0.5 * determinant

    def gradients(self) -> Gradients:
        """The derivative of log Z by each hyper-parameter, through the mode, too: a contraction <V, dK>.

        V = (a a' - S) / 2 + u a' with a the gradient of the log likelihood, S = R B^(-1) R, and u = (I - S K) s for the
        derivative s of log Z by the mode.
        """
        n, K = len(self.f), self.matrix.K
        inverse = cho_solve(self.L, np.eye(n), check_finite=False)
        S = inverse * self.root * self.root[:, None]
        half = solve_triangular(self.L[0], self.root[:, None] * K, lower=True, check_finite=False)
        variance = self.matrix.diagonal - np.einsum("ij,ij->j", half, half)
        p = expit(self.f)
        by_mode = -0.5 * variance * p * (1.0 - p) * (1.0 - 2.0 * p)
        u = by_mode - S @ (K @ by_mode)
        V = 0.5 * (np.outer(self.coef, self.coef) - S) + np.outer(u, self.coef)
        return Gram.of(self.problem.kernel, self.problem.exact, threads=self.problem.threads).contract(V)

    def moments(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance of f at each x in X."""
        A = self.problem.kernel.prepare(X, like=self.problem.exact)
        mean, variance = np.empty(len(A)), self.problem.kernel.diagonal(A).astype(np.float64)
        for i in range(0, len(A), 2048):
            block = self.problem.kernel.block(A[i : i + 2048], self.problem.exact, threads=self.problem.threads)
            mean[i : i + 2048] = block @ self.coef
            half = solve_triangular(self.L[0], self.root[:, None] * block.T, lower=True, check_finite=False)
            variance[i : i + 2048] -= np.einsum("ij,ij->j", half, half)
        return mean, np.maximum(variance, 0.0)
