"""The posterior of a Gaussian process without an n x n matrix.

Solves, variances and the likelihood, each with its error.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.linalg import eigh, eigh_tridiagonal

from representer.features.pivoted_cholesky import LowRank
from representer.gram import Gram
from representer.kernels.base import Kernel
from representer.problem import Progress, Result, RidgeProblem
from representer.solvers import conjugate_gradient


class IterativePosterior:
    """A = K + diag(noise) on inputs X, through conjugate gradients with one preconditioner for all right sides.

    With D^2 = alpha / noise it is D A D = D K D + alpha I, a ridge problem with weights; alpha is the mean noise.

    Parameters
    ----------
    kernel : Kernel
    X : inputs of the kernel
    noise : array of shape (n,), positive
    tol : float
        Relative residual of all solves.
    memory : int
    random_state : int
        Seed of the preconditioner and of probes.
    threads : int, optional
    """

    def __init__(
        self,
        kernel: Kernel,
        X: Any,
        noise: np.ndarray,
        *,
        tol: float = 1e-6,
        memory: int = 2 * 10**9,
        random_state: int = 0,
        threads: int | None = None,
    ):
        if np.any(noise <= 0):
            raise ValueError("Some noise is zero; beyond the direct range a Gaussian process needs positive noise.")
        self.alpha = float(noise.mean())
        weights = None if np.all(noise == noise[0]) else self.alpha / noise
        self.problem = RidgeProblem(
            kernel, X, np.zeros((len(noise), 1)), np.array([self.alpha]), weights, False, threads
        )
        self.tol, self.memory, self.random_state = tol, memory, random_state
        self.low_rank: LowRank = conjugate_gradient.approximate(self.problem, memory // 4, random_state)

    def solve(
        self,
        Y: np.ndarray,
        reason: str = "n is beyond the direct range",
        progress: Progress | None = None,
    ) -> Result:
        """A^(-1) Y as the coefficients of the result."""
        problem = replace(self.problem, targets=Y, alpha=np.full(Y.shape[1], self.alpha))
        # what was prepared once serves all right sides
        problem.__dict__.update({name: getattr(self.problem, name) for name in ("exact", "fast", "root")})
        return conjugate_gradient.solve(
            problem, tol=self.tol, reason=reason, memory=self.memory, low_rank=self.low_rank, progress=progress
        )

    def explained(self, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """k' A^(-1) k for each column k, from below, and a bound on how much it is too small.

        For z near B^(-1) D k, B = D A D, with residual r, the value 2 k' D z - z' B z is too small by r' B^(-1) r, at
        most |r|^2 / alpha: errors of the solve count twice only.
        """
        result = self.solve(columns)
        Z = result.coef / self.problem.root
        residual = np.zeros_like(Z) if result.residual is None else result.residual
        value = np.einsum("ij,ij->j", self.problem.root * columns, Z) + np.einsum("ij,ij->j", Z, residual)
        return value, (residual**2).sum(axis=0) / self.alpha

    def log_determinant(self, probes: int = 16, steps: int = 25) -> tuple[float, float]:
        """log |A| and its standard error, by stochastic Lanczos quadrature.

        log |B| = log |P| + tr log(P^(-1/2) B P^(-1/2)) with the preconditioner P = F'F + alpha I; the trace is
        estimated from random signs, and its variance is small where P is near B.
        """
        problem, F, alpha = self.problem, self.low_rank.factor, self.alpha
        values, vectors = eigh((F @ F.T).astype(np.float64))
        values, vectors = values[values > 1e-6 * values[-1]], vectors[:, values > 1e-6 * values[-1]]
        U = (vectors / np.sqrt(values)).T @ F
        shrink = (1.0 - np.sqrt(alpha / (values + alpha)))[:, None]

        def half(V: np.ndarray) -> np.ndarray:
            return (V - U.T @ (shrink * (U @ V))) / np.sqrt(alpha)

        K = Gram.of(problem.kernel, problem.fast, threads=problem.threads)
        ridges = np.full(probes, alpha)
        signs = np.random.default_rng(self.random_state).choice([-1.0, 1.0], size=(problem.n, probes))
        samples = problem.n * _lanczos_log(lambda V: half(problem.apply(half(V), ridges, K)), signs, steps)
        of_preconditioner = np.log(values + alpha).sum() + (problem.n - len(values)) * np.log(alpha)
        weights = 0.0 if problem.weights is None else np.log(problem.weights).sum()
        error = samples.std(ddof=1) / np.sqrt(probes)
        return float(of_preconditioner + samples.mean() - weights), float(error)


def _lanczos_log(apply: Any, V: np.ndarray, steps: int) -> np.ndarray:
    """v' log(M) v / v'v for each column v, by Gauss quadrature from Lanczos with full reorthogonalisation."""
    steps = min(steps, len(V))
    q, basis = V / np.linalg.norm(V, axis=0), []
    diagonal, off = np.zeros((steps, V.shape[1])), np.zeros((steps, V.shape[1]))
    for step in range(steps):
        basis.append(q)
        w = apply(q)
        diagonal[step] = np.einsum("ij,ij->j", q, w)
        for old in basis * 2:
            w -= old * np.einsum("ij,ij->j", old, w)
        off[step] = np.linalg.norm(w, axis=0)
        q = np.divide(w, off[step], out=np.zeros_like(w), where=off[step] > 1e-10)
    logs = []
    for j in range(V.shape[1]):
        used = int(np.argmax(off[:, j] <= 1e-10)) + 1 if np.any(off[:, j] <= 1e-10) else steps
        nodes, vectors = eigh_tridiagonal(diagonal[:used, j], off[: used - 1, j])
        logs.append(float(vectors[0] ** 2 @ np.log(np.maximum(nodes, np.finfo(np.float64).tiny))))
    return np.array(logs)
