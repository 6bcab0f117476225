"""Kernel functions on centres with a polynomial part, and the squared loss."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from representer.gram.tiled import Gram
from representer.problems.judgement import Judgement


@dataclass(frozen=True)
class NetworkProblem:
    """minimise over a with P_z'a = 0, and b:  sum_i w_i (y_i - f(x_i))^2 + alpha a' K_z a,  f(x_i) = (K_xz a + P b)_i.

    With r = y - f(x), a solution has P'W r = 0, and K_xz' W r - alpha K_z a in the range of P_z. Where the centres z
    are the data, that is (K + alpha W^(-1)) a + P b = y.

    Parameters
    ----------
    gram, centers : Gram
        Gram matrices of the data against the centres, and of the centres; the same object where the centres are the
        data.
    P, P_centers : arrays of shape (n, n_polynomials) and (n_centers, n_polynomials)
    targets : array of shape (n, n_targets)
    weights : array of shape (n,), positive
    alpha : float
    """

    gram: Gram
    centers: Gram
    P: np.ndarray
    P_centers: np.ndarray
    targets: np.ndarray
    weights: np.ndarray
    alpha: float

    @property
    def at_data(self) -> bool:
        """Whether the centres are the data."""
        return self.gram is self.centers

    def judge(self, a: np.ndarray, b: np.ndarray) -> Judgement:
        """Residuals of the conditions above, each relative to the size of its terms, for each target.

        No bound on the error is known, as polynomials have no norm.
        """
        rest = self.targets - self.gram @ a - self.P @ b
        off = _share(self.P_centers.T @ a, np.linalg.norm(self.P_centers) * np.linalg.norm(a, axis=0))
        parts = (self._of_system(rest, a),) if self.at_data else self._of_gradients(rest, a)
        return Judgement(np.max([off, *parts], axis=0), "relative residual")

    def _of_system(self, rest: np.ndarray, a: np.ndarray) -> np.ndarray:
        """|D (y - K a - P b) - alpha D^(-1) a| / |D y|, D the square roots of the weights."""
        root = np.sqrt(self.weights)[:, None]
        return _share(root * rest - self.alpha * a / root, np.linalg.norm(root * self.targets, axis=0))

    def _of_gradients(self, rest: np.ndarray, a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Relative norms of both gradients; the one by a without its part in the range of P_z."""
        forces, forces_at_zero = self.weights[:, None] * rest, self.weights[:, None] * self.targets
        sums, at_zero = np.split(self.gram.T @ np.concatenate([forces, forces_at_zero], axis=1), 2, axis=1)
        by_a = sums - self.alpha * (self.centers @ a)
        by_a -= self.P_centers @ np.linalg.lstsq(self.P_centers, by_a, rcond=1e-10)[0]
        of_polynomials = np.linalg.norm(self.P) * np.linalg.norm(forces_at_zero, axis=0)
        return _share(by_a, np.linalg.norm(at_zero, axis=0)), _share(self.P.T @ forces, of_polynomials)


def _share(vectors: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """The norm of each column, relative to its size unless that is zero."""
    norms = np.linalg.norm(vectors, axis=0)
    return np.divide(norms, sizes, out=norms.copy(), where=sizes > 0)
