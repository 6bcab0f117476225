"""Laplace's approximation of a Gaussian process with logistic likelihood."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular
from scipy.special import expit

from representer import _parallel
from representer.gram.stored import Stored
from representer.gram.tiled import Gram
from representer.kernels.base import Gradients, Kernel
from representer.losses.logistic import Logistic
from representer.problems.judgement import Judgement
from representer.problems.loss import LossProblem
from representer.regularizers import SquaredNorm
from representer.result import Budget
from representer.solvers import newton
from representer.solvers.workspace import Workspace


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
        Relative duality gap at which the search for the mode has converged.
    max_iter : int
    threads : int, optional
    """

    def __init__(
        self, kernel: Kernel, X: Any, y: np.ndarray, *, tol: float, max_iter: int = 100, threads: int | None = None
    ):
        gram = Gram(kernel, X, threads=threads).astype(np.float64)
        self.problem = LossProblem(gram, y[:, None], Logistic(), SquaredNorm(1.0), np.ones((len(y), 1)), False)
        # the whole matrix is kept regardless of the memory budget: the variances need it
        budget = Budget(64 * len(y) ** 2 + 10**6, tol, max_iter, threads)
        workspace = Workspace(gram, budget.memory)
        self.found, self.K = newton.solve(self.problem, workspace, budget), workspace.K.values  # type: ignore[attr-defined]
        self.coef = self.found.point.coef[:, 0]
        self.f = self.found.point.applied[:, 0]
        self.root = np.sqrt(Logistic().curvature(y, self.f))
        B = self.K * self.root * self.root[:, None]
        B.ravel()[:: len(B) + 1] += 1.0
        self.L = cho_factor(B, lower=True, overwrite_a=True, check_finite=False)
        determinant = 2.0 * float(np.log(self.L[0].diagonal()).sum())
        self.log_likelihood = -self.found.primal - 0.5 * determinant

    def gradients(self) -> Gradients:
        """The derivative of log Z with respect to each hyper-parameter, including through the mode: <V, dK>.

        V = (a a' - S) / 2 + u a' with a the gradient of the log likelihood, S = R B^(-1) R, and u = (I - S K) s for the
        derivative s of log Z with respect to the mode.
        """
        n, K = len(self.f), self.K
        inverse = cho_solve(self.L, np.eye(n), check_finite=False)
        S = inverse * self.root * self.root[:, None]
        half = solve_triangular(self.L[0], self.root[:, None] * K, lower=True, check_finite=False)
        variance = self.problem.diagonal - np.einsum("ij,ij->j", half, half)
        p = expit(self.f)
        by_mode = -0.5 * variance * p * (1.0 - p) * (1.0 - 2.0 * p)
        u = by_mode - S @ (K @ by_mode)
        V = 0.5 * (np.outer(self.coef, self.coef) - S) + np.outer(u, self.coef)
        return self.problem.gram.contract(V)

    def judge(self) -> Judgement:
        """The duality gap of the mode, relative to the objective, from the float64 kernel values in memory."""
        point = self.found.point
        problem = replace(self.problem, gram=Stored(self.problem.gram, self.K))
        return problem.judge(point.coef, point.intercept, self.found.dual.v)

    def moments(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance of f at each x in X."""
        gram: Any = self.problem.gram
        A = gram.kernel.prepare(X, like=gram.inputs)
        mean, variance = np.empty(len(A)), gram.kernel.diagonal(A).astype(np.float64)
        with _parallel.blas_threads_for(len(gram)):
            for i in range(0, len(A), 2048):
                block = Gram.of(gram.kernel, A[i : i + 2048], gram.inputs, threads=gram.threads).dense()
                mean[i : i + 2048] = block @ self.coef
                half = solve_triangular(self.L[0], self.root[:, None] * block.T, lower=True, check_finite=False)
                variance[i : i + 2048] -= np.einsum("ij,ij->j", half, half)
        return mean, np.maximum(variance, 0.0)
