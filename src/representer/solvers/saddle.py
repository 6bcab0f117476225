"""Kernel functions with a polynomial part: fits in the null space of the polynomials, where the kernel is definite."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import cho_solve, eigh, lapack, solve_triangular, svd
from sklearn.preprocessing import PolynomialFeatures

from representer.gram.tiled import Gram
from representer.result import Budget, Plan

way_out = "use fewer centers (such as centers=1000), or a larger memory="


@dataclass(frozen=True)
class Polynomials:
    """All monomials up to a degree in (x - shift) / scale, between -1 and 1 on the data; none for a degree below 0."""

    degree: int
    shift: np.ndarray
    scale: np.ndarray

    @classmethod
    def on(cls, X: np.ndarray, degree: int) -> Polynomials:
        """Shift and scale from the ranges of the columns."""
        low, high = X.min(axis=0), X.max(axis=0)
        return cls(degree, (high + low) / 2.0, np.where(high > low, (high - low) / 2.0, 1.0))

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """p_j(x_i), shape (n, n_polynomials)."""
        if self.degree < 0:
            return np.empty((len(X), 0))
        return PolynomialFeatures(self.degree).fit_transform((X - self.shift) / self.scale)

    def gradient(self, X: np.ndarray) -> np.ndarray:
        """dp_j / dx at each x, shape (n, n_polynomials, n_columns)."""
        if self.degree < 0:
            return np.empty((len(X), 0, X.shape[1]))
        powers = PolynomialFeatures(self.degree).fit(X[:1]).powers_
        T, parts = (X - self.shift) / self.scale, []
        for column, unit in enumerate(np.eye(X.shape[1], dtype=int)):
            lower = np.prod(T[:, None, :] ** np.maximum(powers - unit, 0), axis=2)
            parts.append(powers[:, column] * lower / self.scale[column])
        return np.stack(parts, axis=2)


class Saddle:
    r"""(K + alpha W^(-1)) a + P b = y and P'a = 0, for f = sum_i a_i k(x_i, .) + sum_j b_j p_j and P_ij = p_j(x_i).

    f minimises sum_i w_i (y_i - f(x_i))^2 + alpha a'Ka, and interpolates for alpha = 0. With D = W^(1/2) and D P = Q
    [R; 0], the condition P'a = 0 means a = D Q_2 c, where Q_2 are the last columns of Q, and what remains is a positive
    definite system, (Q_2' D K D Q_2 + alpha I) c = Q_2' D y.

    Parameters
    ----------
    gram : Gram
        Of a kernel that is conditionally positive definite of an order that the polynomials reach.
    P : array of shape (n, n_polynomials)
    weights : array of shape (n,), positive
    """

    name = "null_space_cholesky"

    @staticmethod
    def cost(n: int, path: bool, budget: Budget) -> Plan:
        """2 n^2 doubles and n^3 / 3 operations; for leave-one-out 4 n^2 and an eigendecomposition."""
        bytes_, seconds = 8 * n * n * (4 if path else 2), (1.5e-10 if path else 1.5e-11) * n**3 + 1e-8 * n**2
        plan = Plan(Saddle.name, "all points are centers", bytes_, n * (n + 1) // 2, seconds)
        return plan.within(budget.memory, way_out)

    def __init__(self, gram: Gram, P: np.ndarray, weights: np.ndarray) -> None:
        self.centers, self.sqrt_weights = gram, np.sqrt(weights)[:, None]
        self.rotation = self.outer = Rotation(self.sqrt_weights * P)
        K = gram.dense().astype(np.float64, copy=False)
        K *= self.sqrt_weights
        K *= self.sqrt_weights.ravel()
        # the transposed view is the same matrix, in LAPACK's column-major order
        self.K = self.rotation.back(self.rotation.back(K.T), side="R")
        self._factor: tuple[float, np.ndarray] | None = None

    def solve(self, alpha: float, Y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """a and b for each column of Y."""
        m = self.rotation.rank
        right = self.rotation.back(np.asfortranarray(self.sqrt_weights * Y))
        c = cho_solve((self._cholesky(alpha), True), right[m:])
        a = self.rotation.forward(np.concatenate([np.zeros((m, Y.shape[1])), c]))
        return self.sqrt_weights * a, self.rotation.solve(right[:m] - self.K[:m, m:] @ c)

    def _cholesky(self, alpha: float) -> np.ndarray:
        if self._factor is None or self._factor[0] != alpha:
            m = self.rotation.rank
            S = np.array(self.K[m:, m:], order="F")
            S.ravel(order="K")[:: len(S) + 1] += alpha
            self._factor = (alpha, _positive(S, "these points", "a larger alpha"))
        return self._factor[1]

    @cached_property
    def _spectrum(self) -> tuple[np.ndarray, np.ndarray]:
        """Eigenvalues of the system without alpha, and Q_2 times its eigenvectors."""
        m = self.rotation.rank
        values, vectors = eigh(self.K[m:, m:], check_finite=False)
        padded = np.concatenate([np.zeros((m, len(values))), vectors])
        return np.maximum(values, 0.0), self.rotation.forward(padded)

    def leave_one_out(self, alphas: np.ndarray, Y: np.ndarray) -> np.ndarray:
        """y_i minus its prediction by the fit without i, an array of shape (n_alphas, *Y.shape).

        This is a_i / G_ii, where G is the operator from y to a, and 0 for a point without which the polynomials are not
        determined.
        """
        values, vectors = self._spectrum
        inverse = 1.0 / (values[:, None] + alphas)
        inside = inverse[:, :, None] * (vectors.T @ (self.sqrt_weights * Y))[:, None]
        a = np.tensordot(vectors, inside, axes=1)
        G = (vectors**2 @ inverse * self.sqrt_weights)[:, :, None]
        decided = G / G.max(axis=0) > 1e-12
        return np.divide(a, G, out=np.zeros_like(a), where=decided).swapaxes(0, 1)


class Restricted:
    r"""The same functions on centres z_j other than the data: f = sum_j a_j k(z_j, .) + sum_j b_j p_j, P_z'a = 0.

    f minimises sum_i w_i (y_i - f(x_i))^2 + alpha a' K_z a. With a = Q_2 L'^(-1) c, L L' = Q_2' K_z Q_2, the penalty is
    alpha |c|^2, and the singular values of the part of D K_xz Q_2 L'^(-1) orthogonal to the polynomials give the
    solution for every alpha.

    Parameters
    ----------
    gram : Gram
        The matrix of the data against the centres, k(x_i, z_j).
    centers : Gram
        Of the centres.
    P, P_centers : arrays of shape (n, n_polynomials) and (n_centers, n_polynomials)
    weights : array of shape (n,), positive
    """

    name = "svd"

    @staticmethod
    def cost(n: int, m: int, budget: Budget) -> Plan:
        """4 n m + 4 m^2 doubles and some n m^2 operations, for m centres."""
        bytes_, seconds = 8 * (4 * n * m + 4 * m * m), 3e-10 * n * m * min(n, m) + 1e-8 * n * m
        plan = Plan(Restricted.name, "centers are not all points", bytes_, n * m + m * (m + 1) // 2, seconds)
        return plan.within(budget.memory, way_out)

    def __init__(self, gram: Gram, centers: Gram, P: np.ndarray, P_centers: np.ndarray, weights: np.ndarray) -> None:
        self.gram, self.centers, self.sqrt_weights = gram, centers, np.sqrt(weights)[:, None]
        self.rotation = Rotation(P_centers)
        m = self.rotation.rank
        square = self.rotation.back(self.rotation.back(centers.dense().T), side="R")[m:, m:]
        self.L = _positive(np.asfortranarray(square), "the centers", "fewer of them")
        B = self.rotation.back(gram.dense().T)[m:].T
        B = self.sqrt_weights * solve_triangular(self.L, B.T, lower=True).T
        self.outer = Rotation(self.sqrt_weights * P)
        self.polynomials = self.outer.forward(np.eye(len(B), self.outer.rank))
        B -= self.polynomials @ (self.polynomials.T @ B)
        self.U, self.values, self.V = svd(B, full_matrices=False, overwrite_a=True, check_finite=False)

    def _shrunk(self, alphas: np.ndarray) -> np.ndarray:
        """values / (values^2 + alpha), 0 in directions that the data do not see; one column for each alpha."""
        values = self.values[:, None]
        seen = values > len(values) * np.finfo(np.float64).eps * values.max(initial=0.0)
        shape = (len(values), len(alphas))
        return np.divide(values, values**2 + alphas, out=np.zeros(shape), where=np.broadcast_to(seen, shape))

    def solve(self, alpha: float, Y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """a and b for each column of Y."""
        Y, m = self.sqrt_weights * Y, self.rotation.rank
        c = self.V.T @ (self._shrunk(np.array([alpha])) * (self.U.T @ Y))
        inside = solve_triangular(self.L, c, lower=True, trans="T")
        a = self.rotation.forward(np.concatenate([np.zeros((m, Y.shape[1])), inside]))
        return a, self.outer.solve(self.polynomials.T @ (Y - self.sqrt_weights * (self.gram @ a)))

    def leave_one_out(self, alphas: np.ndarray, Y: np.ndarray) -> np.ndarray:
        """y_i minus its prediction by the fit without i, an array of shape (n_alphas, *Y.shape).

        This is the residual over one minus the leverage, and 0 for a point of leverage one.
        """
        Y, share = self.sqrt_weights * Y, self.values[:, None] * self._shrunk(alphas)
        inside = share[:, :, None] * (self.U.T @ Y)[:, None]
        residual = (Y - self.polynomials @ (self.polynomials.T @ Y))[:, None] - np.tensordot(self.U, inside, axes=1)
        leverage = (self.polynomials**2).sum(axis=1)[:, None] + self.U**2 @ share
        rest = ((1.0 - leverage) * self.sqrt_weights)[:, :, None]
        decided = rest > 1e-12 * self.sqrt_weights[:, :, None]
        return np.divide(residual, rest, out=np.zeros_like(residual), where=decided).swapaxes(0, 1)


def _positive(S: np.ndarray, where: str, remedy: str) -> np.ndarray:
    """The Cholesky factor of S, which is overwritten; raise if S is singular to rounding."""
    L, info = lapack.dpotrf(S, lower=1, overwrite_a=1, clean=1)
    # a factor that exists only thanks to rounding has no correct digits on its diagonal
    if info != 0 or (len(L) and L.diagonal().min() < 1e-8 * L.diagonal().max()):
        raise np.linalg.LinAlgError(
            f"The kernel matrix is singular to rounding on {where}; use {remedy}, a shorter length_scale, or a kernel "
            "that is less smooth, such as Polyharmonic(3)."
        )
    return L


class Rotation:
    """Q of P = Q [R; 0] as LAPACK's Householder reflections, which are applied and never formed.

    Where columns of P are linearly dependent on these points, R is that of an orthonormal basis of their span, and
    solutions have minimum norm.
    """

    def __init__(self, P: np.ndarray):
        _, values, V = svd(P, full_matrices=False) if P.size else (None, np.empty(0), np.empty((0, P.shape[1])))
        self.rank = int((values > 1e-10 * values.max(initial=0.0)).sum())
        self.basis = None if self.rank == P.shape[1] else V[: self.rank].T
        if self.rank:
            full = P if self.basis is None else P @ self.basis
            self.reflections, self.tau, _, _ = lapack.dgeqrf(np.asfortranarray(full))

    def back(self, C: np.ndarray, side: str = "L") -> np.ndarray:
        """Q'C, or C Q for side "R"; C is overwritten if it is column-major."""
        return self._apply(C, side, "T" if side == "L" else "N")

    def forward(self, C: np.ndarray) -> np.ndarray:
        """Q C."""
        return self._apply(np.asfortranarray(C), "L", "N")

    def _apply(self, C: np.ndarray, side: str, trans: str) -> np.ndarray:
        if not self.rank or not C.size:
            return C
        return lapack.dormqr(side, trans, self.reflections, self.tau, C, 64 * max(C.shape), overwrite_c=1)[0]

    def solve(self, C: np.ndarray) -> np.ndarray:
        """b with R b = C."""
        b = solve_triangular(self.reflections[: self.rank], C) if self.rank else C
        return b if self.basis is None else self.basis @ b
