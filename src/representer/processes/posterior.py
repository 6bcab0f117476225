"""The posterior of a Gaussian process: coefficients of its mean, explained variances and the likelihood.

By a float64 Cholesky factor, or iteratively, without an n x n matrix and with an error bound on each result;
`single_precision` uses a float32 factor.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import blas, eigh
from scipy.stats import norm, t

from representer import _parallel
from representer._loops import symmetric
from representer.gram.tiled import Gram
from representer.kernels.base import Kernel
from representer.problems.ridge import RidgeProblem
from representer.processes.likelihood import Factor, log_density, log_evidence
from representer.processes.quadrature import LogForms, log_forms
from representer.result import Budget, Certificate, Progress, Result
from representer.solvers import conjugate_gradient
from representer.solvers.memory import bytes_of_packed, stores_tiles

PROBES = 16
"""Probe vectors per block product in the stochastic estimate of a log determinant."""
OF_VARIANCES = 1000
"""Relative error allowed in a variance, as a multiple of the tolerance."""
ROUGH = 0.03
"""Relative residual of the first solve for variances, and the factor by which it is tightened each time."""
STEPS = 25
"""Products that a log determinant may spend on further probe vectors, where each of these needs only a few."""


@dataclass(frozen=True)
class Conditioned:
    """Coefficients of the posterior mean, their certificate, and the log likelihood with its standard error."""

    coef: np.ndarray
    certificate: Certificate
    log_likelihood: float
    error: float


class ExactPosterior:
    """A = K + diag(noise) on inputs X by its Cholesky factor.

    Parameters
    ----------
    kernel : Kernel
    X : inputs of the kernel
    noise : array of shape (n,)
    tol : float
        Relative residual at which a solve has converged.
    threads : int, optional
    """

    at_once = 2048
    """Columns k that `explained` is best given at a time."""

    def __init__(self, kernel: Kernel, X: Any, noise: np.ndarray, *, tol: float = 1e-6, threads: int | None = None):
        self.inputs, self.noise, self.tol = kernel.prepare(X), noise, tol
        self.factor = Factor(kernel, self.inputs, noise, threads)

    def condition(self, Y: np.ndarray, progress: Progress | None = None) -> Conditioned:
        """The posterior given targets of shape (n, n_targets)."""
        value, coef = log_evidence(self.factor, Y)
        return Conditioned(coef, self.factor.certificate(coef, Y, self.noise, self.tol), value, 0.0)

    def coefficients(self, Y: np.ndarray) -> np.ndarray:
        """A^(-1) Y."""
        return self.factor.solve(Y)

    def explained(self, columns: np.ndarray, prior: np.ndarray | None = None) -> np.ndarray:
        """k' A^(-1) k for each column k of an input with this prior variance; the columns are overwritten."""
        half = self.factor.half_solve(columns, overwrite=True)
        return np.einsum("ij,ij->j", half, half)

    def explained_bounds(self, columns: np.ndarray, prior: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper bounds on `explained`: equal here, as it is exact to rounding."""
        value = self.explained(columns, prior)
        return value, value

    def subtract_explained(self, columns: np.ndarray, out: np.ndarray) -> None:
        """out <- out - C' A^(-1) C for a symmetric array and the matrix C of the columns, which are overwritten."""
        half = self.factor.half_solve(columns, overwrite=True)
        blas.dsyrk(-1.0, half, beta=1.0, c=out.T, trans=1, lower=0, overwrite_c=1)
        symmetric.mirror(out, out.diagonal().copy())


class CorrectedPosterior:
    """A = K + diag(noise) on inputs X by solves that are corrected with float64 residuals, which bound their errors.

    With D^2 = alpha / noise, B = D A D = D K D + alpha I is a weighted ridge problem; alpha is the mean noise.

    Parameters
    ----------
    kernel : Kernel
    X : inputs of the kernel
    noise : array of shape (n,), positive
    tol : float
        Relative residual of all solves, and a thousandth of the relative error allowed in variances.
    memory : int
    random_state : int
        Seed of the probe vectors.
    threads : int, optional
    """

    at_once = 64

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
        gram = Gram(kernel, X, threads=threads)
        self.problem = RidgeProblem(gram, np.zeros((len(noise), 1)), np.array([self.alpha]), weights)
        self.noise, self.memory, self.random_state = noise, memory, random_state
        self.budget = Budget(2 * memory, tol, threads=threads, random_state=random_state)

    def solve(self, Y: np.ndarray, progress: Progress | None = None) -> Result:
        """A^(-1) Y as the coefficients of the result."""
        raise NotImplementedError

    def log_determinant(self, steps: int = 400) -> tuple[float, float]:
        """log |A| and its standard error."""
        raise NotImplementedError

    @property
    def inputs(self) -> Any:
        """The inputs prepared in float64."""
        return self.problem.gram.astype(np.float64).inputs

    def condition(self, Y: np.ndarray, progress: Progress | None = None) -> Conditioned:
        """The posterior given targets of shape (n, n_targets)."""
        result = self.solve(Y, progress)
        return Conditioned(result.coef, result.certificate, *self.log_likelihood(Y, result))

    def coefficients(self, Y: np.ndarray) -> np.ndarray:
        """A^(-1) Y."""
        return self.solve(Y).coef

    def explained(self, columns: np.ndarray, prior: np.ndarray | None = None) -> np.ndarray:
        """k' A^(-1) k for each column k, too small by at most |r|^2 / alpha for a residual r."""
        return self.explained_bounds(columns, prior)[0]

    def explained_bounds(self, columns: np.ndarray, prior: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper bounds on k' A^(-1) k, for each column k of an input with this prior variance."""
        value, missing = self._squares(columns, self.solve(columns))
        return value, value + missing

    def subtract_explained(self, columns: np.ndarray, out: np.ndarray) -> None:
        """out <- out - C' A^(-1) C for a symmetric array and the matrix C of the columns, as precise as `explained`."""
        Z = np.empty(columns.shape, order="F")
        for i in range(0, columns.shape[1], self.at_once):
            part, to = slice(i, i + self.at_once), min(i + self.at_once, columns.shape[1])
            Z[:, part], residual = self._scaled(self.solve(columns[:, part]))
            # the residual of one side times the solution of the other, so that errors enter to second order only
            out[part, :to] -= (self.problem.sqrt_weights * Z[:, part]).T @ columns[:, :to] + residual.T @ Z[:, :to]
        symmetric.mirror(out, out.diagonal().copy())

    def _problem_of(self, Y: np.ndarray) -> RidgeProblem:
        return replace(self.problem, targets=Y, alpha=np.full(Y.shape[1], self.alpha))

    def _scaled(self, result: Result) -> tuple[np.ndarray, np.ndarray]:
        """z = D^(-1) coef and the residual D k - B z, which the solver has computed in float64."""
        return result.coef / self.problem.sqrt_weights, np.asarray(result.residual)

    def _squares(self, columns: np.ndarray, result: Result) -> tuple[np.ndarray, np.ndarray]:
        """A lower bound on k' A^(-1) k from the solution for k, and a bound on how far below it is.

        For z near B^(-1) D k with residual r, the value 2 k' D z - z' B z = k' D z + z' r is too small by r' B^(-1) r,
        at most |r|^2 / alpha: errors of the solve enter to second order only.
        """
        Z, residual = self._scaled(result)
        value = np.einsum("ij,ij->j", self.problem.sqrt_weights * columns + residual, Z)
        return value, (residual**2).sum(axis=0) / self.alpha

    def log_likelihood(self, Y: np.ndarray, result: Result) -> tuple[float, float]:
        """`log_density` from the solutions for Y, and its error.

        The error includes the residuals of the solutions and the error of `log_determinant`, which may take as many
        products as the solutions took.
        """
        squares, missing = self._squares(Y, result)
        determinant, error = self.log_determinant(max(STEPS, result.certificate.iterations))
        value = log_density(float((squares + 0.5 * missing).sum()), determinant, *Y.shape)
        return value, 0.5 * (0.5 * float(missing.sum()) + Y.shape[1] * error)

    @property
    def _log_weights(self) -> float:
        """log |D^2|, by which log |B| is above log |A|."""
        return 0.0 if self.problem.weights is None else float(np.log(self.problem.weights).sum())


class IterativePosterior(CorrectedPosterior):
    """Conjugate gradients with one low-rank preconditioner for all right-hand sides; no n x n matrix is needed.

    Variances come from the low-rank factor, corrected by as many iterations as their bounds require.
    """

    def __init__(self, kernel: Kernel, X: Any, noise: np.ndarray, **options: Any):
        super().__init__(kernel, X, noise, **options)
        single = self.problem.gram.astype(np.float32)
        self.low_rank = conjugate_gradient.approximate(self.problem, single, self.memory // 4, self.random_state)

    @staticmethod
    def cost(n: int, targets: int, memory: int) -> tuple[int, int]:
        """Upper bound on the bytes of solves and likelihood for n inputs, and their approximate kernel values."""
        rank = min(n, 2000, max(100, n // 12), max(memory // (20 * n), 50))
        stored = stores_tiles(n, memory)
        solving = 16 * rank**2 + 128 * n * targets + bytes_of_packed(n) * stored
        likelihood = 8 * n * rank + 32 * rank**2 + 120 * n * PROBES
        return 4 * n * rank + max(solving, likelihood), (STEPS + (2 if stored else 30)) * n * (n + 1) // 2

    def solve(self, Y: np.ndarray, progress: Progress | None = None) -> Result:
        """A^(-1) Y as the coefficients of the result."""
        return self._solve(Y, replace(self.budget, progress=progress))

    def _solve(self, Y: np.ndarray, budget: Budget, start: Any = None) -> Result:
        problem, reason = self._problem_of(Y), "n is beyond the direct range"
        known: Any = {"low_rank": self.low_rank, "precondition": self._precondition}
        return conjugate_gradient.solve(problem, budget, reason, start, **known)

    @cached_property
    def _precondition(self) -> conjugate_gradient.Preconditioner:
        with _parallel.one_blas_thread():
            return conjugate_gradient.Preconditioner(self.low_rank, self.problem.ridges, self.budget.threads)

    def explained_bounds(self, columns: np.ndarray, prior: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper bounds on k' A^(-1) k, for each column k of an input with this prior variance.

        Solves are no more precise than needed: the tolerance is tightened until the bounds are within OF_VARIANCES tol
        of the variance, relatively; without prior variances it is the posterior's own.
        """
        if prior is None:
            return super().explained_bounds(columns)
        value, missing = np.zeros((2, columns.shape[1]))
        left, tol, start = np.arange(columns.shape[1]), max(self.budget.tol, ROUGH), None
        while len(left):
            result = self._solve(columns[:, left], replace(self.budget, tol=tol), start)
            value[left], missing[left] = self._squares(columns[:, left], result)
            wide = missing[left] > OF_VARIANCES * self.budget.tol * (prior[left] - value[left])
            if tol <= self.budget.tol:
                break
            left, start, tol = left[wide], result.warm_start[:, wide], max(self.budget.tol, ROUGH * tol)
        return value, value + missing

    def log_determinant(self, steps: int = 400) -> tuple[float, float]:
        """log |A| and its standard error, by stochastic Lanczos quadrature with float64 products.

        log |B| = log |P| + tr log M with M = P^(-1/2) B P^(-1/2) and the preconditioner P = F'F + alpha I. The trace
        is the mean of v' log(M) v over random sign vectors v, with a variance that is small where P is near B. Each
        form lies between two bounds, whose distance enters the error; products continue, up to ``steps`` of them, until
        the bounds differ by less than the spread over the v. B - P is positive semidefinite, so no eigenvalue of M is
        below 1.

        Three standard errors have the coverage of a normal estimate, although the spread is estimated from few v.
        """
        n, ridges, rng = self.problem.n, np.full(PROBES, self.alpha), np.random.default_rng(self.random_state)
        root, of_preconditioner, rounding = self._preconditioner_root()
        K = self.problem.gram.astype(np.float64)

        def more() -> LogForms:
            return log_forms(
                lambda V: root(self.problem.apply(root(V), ridges, K)),
                rng.choice([-1.0, 1.0], size=(n, PROBES)),
                0.9,
                most=steps,
                enough=lambda forms: _is_narrow(n, forms),
            )

        with _parallel.one_blas_thread():
            forms = more()
            first = forms.products
            while forms.products + first <= STEPS and sum(_trace(n, forms)[1:]) > 0.1:  # negligible in a likelihood
                forms += more()
        trace, spread, bias = _trace(n, forms)
        return of_preconditioner + trace - self._log_weights, spread + bias + rounding

    def _preconditioner_root(self) -> tuple[Callable[[np.ndarray], np.ndarray], float, float]:
        """P^(-1/2) as a function of vectors, log |P|, and what rounding adds to the error of log |B|.

        P = U' diag(values) U + alpha I with orthonormal rows of U. The factor is computed in float64: with a float32
        one, B - P would have eigenvalues far below zero where the noise is small.
        """
        n, alpha, K = self.problem.n, self.alpha, self.problem.gram.astype(np.float64)
        U = conjugate_gradient.approximate(self.problem, K, self.memory // 4, self.random_state).factor
        trace = float(np.einsum("ij,ij->", U, U))
        values, vectors = eigh(U @ U.T)
        kept = values > 1e-10 * values.max(initial=0.0)
        values, turn = values[kept], (vectors[:, kept] / np.sqrt(values[kept])).T
        for columns in _parallel.split(n, 2048):  # in place
            U[: len(values), columns] = turn @ U[:, columns]
        U = U[: len(values)]
        shrink = (1.0 - np.sqrt(alpha / (values + alpha)))[:, None]
        determinant = float(np.log(values + alpha).sum()) + (n - len(values)) * float(np.log(alpha))
        rounding = 2 * np.finfo(np.float64).eps * (trace / alpha + abs(determinant) + n)
        return lambda V: (V - U.T @ (shrink * (U @ V))) / np.sqrt(alpha), determinant, rounding


def _trace(n: int, forms: LogForms) -> tuple[float, float, float]:
    """tr log M from forms of random sign vectors, with its standard error and half the distance between its bounds.

    The variance of a form is at most 2 ||log M - c I||^2 for any c. This bound replaces the sample variance where a few
    eigenvalues make up the trace: the forms are then skewed, and a sample mean that is too small comes with a sample
    variance that is too small as well.
    """
    middle = np.where(np.isfinite(forms.lower), 0.5 * (forms.lower + forms.upper), forms.upper)
    mean, square, variance = middle.mean(), forms.squares.mean(), n * middle.var(ddof=1)
    if n * mean**2 < 100 * square:
        variance = max(variance, 2.0 * (square - mean**2))
    spread = of_few(len(middle)) * np.sqrt(n * variance / len(middle))
    return n * float(mean), float(spread), 0.5 * n * float((forms.upper - forms.lower).mean())


def of_few(samples: int) -> float:
    """Factor on a standard error from few samples, so that three of it cover as much as with a known variance."""
    return float(t.ppf(norm.cdf(3.0), samples - 1) / 3.0)


def _is_narrow(n: int, forms: LogForms) -> bool:
    """Whether the bounds are so close that the spread of the samples is most of the error."""
    _, spread, bias = _trace(n, forms)
    return bias <= 0.2 * spread
