"""The posterior of a Gaussian process by a float32 Cholesky factor, with float64 corrections."""

from __future__ import annotations

from functools import cached_property
from time import perf_counter
from typing import Any

import numpy as np
from scipy.linalg import lapack

from representer.kernels.base import Kernel
from representer.processes.posterior import OF_VARIANCES, PROBES, CorrectedPosterior, of_few
from representer.result import Progress, Result, Work, certify
from representer.solvers import cholesky

CHECKED = 32
"""Inputs at which the factor's precision is checked."""


class SinglePosterior(CorrectedPosterior):
    """L L' = B up to float32 rounding: half the memory and half the time of a float64 factor.

    Solutions are refined with float64 residuals, and the determinant is corrected with random probe vectors. Variances
    come from the factor alone where that is `precise`, and from refined solutions elsewhere.
    """

    at_once = 2048

    def __init__(self, kernel: Kernel, X: Any, noise: np.ndarray, **options: Any):
        started = perf_counter()
        super().__init__(kernel, X, noise, **options)
        self.L: Any = cholesky.factor(self.problem, self.alpha, np.float32)
        self.seconds = perf_counter() - started

    @staticmethod
    def cost(n: int, targets: int) -> tuple[int, int]:
        """Bytes of the factor and of the right-hand sides solved with it, and the number of kernel values."""
        columns = max(targets, PROBES, CHECKED)
        return 4 * n * n + 64 * n * columns, 5 * n * (n + 1) // 2

    @cached_property
    def usable(self) -> bool:
        """Whether the factorisation succeeded, and refinement with it converges at a sample of the inputs."""
        return self.L is not None and self._checked[0].certificate.converged

    @cached_property
    def imprecision(self) -> float:
        """The largest relative error of variances from the factor alone at a sample of inputs, relative to the allowed.

        The variance is smallest at training inputs, and so the fraction of it due to rounding is largest there.
        """
        if not self.usable:
            return np.inf
        result, columns, prior = self._checked
        exact, missing = self._squares(columns, result)
        error = np.abs(self._by_factor(columns) - exact) + missing
        allowed = OF_VARIANCES * self.budget.tol * (prior - exact)
        return float((error / allowed).max()) if np.all(allowed > 0.0) else np.inf

    @property
    def precise(self) -> bool:
        """Whether variances from the factor alone are precise enough."""
        return self.imprecision <= 1.0

    @property
    def _checked(self) -> tuple[Result, np.ndarray, np.ndarray]:
        """Refined solutions for the columns of some inputs, those columns, and their prior variances."""
        K = self.problem.gram.astype(np.float64)
        some = np.unique(np.linspace(0, len(K) - 1, CHECKED).astype(int))
        columns = K.block(slice(None), some).astype(np.float64, copy=False)
        return self.solve(columns), columns, K.diag()[some].astype(np.float64)

    def solve(self, Y: np.ndarray, progress: Progress | None = None) -> Result:
        """A^(-1) Y as the coefficients of the result, refined until the residual is below the tolerance."""
        started, problem = perf_counter(), self._problem_of(Y)
        Z, residual, steps = cholesky.refine(problem, self.alpha, self.L, problem.right_hand_sides, self.budget.tol)
        if progress is not None:
            progress("refinement", cholesky.relative_size(residual, problem.right_hand_sides))
        coef, intercept, _ = problem.finish(Z)
        seconds = self.seconds + perf_counter() - started
        reason, precision = "a float32 factor fits the memory", "float32 factor, float64 residuals"
        work = Work("Cholesky", reason, steps, self.L.nbytes, seconds, precision)
        certificate = certify(problem, coef, intercept, work, self.budget.tol, residual=residual)
        return Result(coef, intercept, certificate, residual=residual)

    def explained(self, columns: np.ndarray, prior: np.ndarray | None = None) -> np.ndarray:
        """k' A^(-1) k for each column k: |L^(-1) D k|^2 where that is `precise`, else corrected."""
        return self._by_factor(columns) if self.precise else super().explained(columns, prior)

    def _by_factor(self, columns: np.ndarray) -> np.ndarray:
        scaled = np.asfortranarray(self.problem.sqrt_weights * columns, np.float32)
        half, _ = lapack.strtrs(self.L, scaled, lower=1, overwrite_b=1)
        return np.einsum("ij,ij->j", half, half, dtype=np.float64)

    def log_determinant(self, steps: int = 400) -> tuple[float, float]:
        """log |A| and its standard error: log |L L'| + tr log M with M = B (L L')^(-1) near I.

        M v = v - r for the residual r of a solution for v, so the trace is about the mean of -v'r over random sign
        vectors v, with an error of at most |r|^2 where that is small. One product with K serves all v.
        """
        n, ridges = self.problem.n, np.full(PROBES, self.alpha)
        V = np.random.default_rng(self.random_state).choice([-1.0, 1.0], size=(n, PROBES))
        U = lapack.spotrs(self.L, np.asfortranarray(V, np.float32), lower=1)[0].astype(np.float64)
        R = V - self.problem.apply(U, ridges, self.problem.gram.astype(np.float64))
        forms, bias = -np.einsum("ij,ij->j", V, R), float((R**2).sum(axis=0).mean())
        spread = of_few(PROBES) * float(np.sqrt(forms.var(ddof=1) / PROBES))
        determinant = 2.0 * float(np.log(self.L.diagonal().astype(np.float64)).sum())
        rounding = np.finfo(np.float64).eps * (abs(determinant) + n)
        return determinant + float(forms.mean()) - self._log_weights, spread + bias + rounding
