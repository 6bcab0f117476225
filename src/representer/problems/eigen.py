"""The leading eigenpairs of a Gram matrix, centred or not."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from representer import _parallel
from representer.gram.tiled import Gram
from representer.problems.judgement import Judgement

COLUMNS_AT_A_TIME = 256
"""Eigenvectors whose residuals are computed at a time, so that all of them need no n x n matrix."""


@dataclass(frozen=True)
class EigenProblem:
    """A u = lambda u, where A = P D K D P is the covariance of the k(x_i, .) in H, seen from the data.

    D = diag(d) holds the square roots of the weights, and P = I - d d' / |d|^2 removes the weighted mean; without
    centring P is I. A unit eigenvector u represents the function v = sum_i d_i u_i k(x_i, .) / sqrt(lambda), which has
    norm one in H. Solvers need only images K D u.

    Parameters
    ----------
    gram : Gram
    weights : array of shape (n,) or None
    center : bool
        Whether the mean of the k(x_i, .) is subtracted.
    n_components : int or None
        Eigenpairs that are wanted, those of the largest eigenvalues; all where it is None.
    """

    gram: Gram
    weights: np.ndarray | None = None
    center: bool = True
    n_components: int | None = None

    @property
    def n(self) -> int:
        return len(self.gram)

    @property
    def wanted(self) -> int:
        """How many eigenpairs are wanted."""
        return self.n if self.n_components is None else min(self.n_components, self.n)

    @cached_property
    def sqrt_weights(self) -> np.ndarray:
        """d, as a column."""
        return np.ones((self.n, 1)) if self.weights is None else np.sqrt(self.weights)[:, None]

    def project(self, U: np.ndarray) -> np.ndarray:
        """P U."""
        d = self.sqrt_weights
        return U - d * (d.T @ U / (d**2).sum()) if self.center else U

    def apply(self, images: np.ndarray) -> np.ndarray:
        """A U = P D (K D U) for U with P U = U, from its images K D U."""
        return self.project(self.sqrt_weights * images)

    @cached_property
    def total(self) -> float:
        """The sum of w_i k(x_i, x_i), the trace of D K D."""
        return float(self.sqrt_weights.ravel() ** 2 @ self.gram.diag().astype(np.float64))

    def trace(self, image_of_root: np.ndarray) -> float:
        """The trace of A, from the image K D d of d."""
        mean = (
            float(self.sqrt_weights.ravel() ** 2 @ image_of_root / (self.sqrt_weights**2).sum()) if self.center else 0.0
        )
        return self.total - mean

    def judge(self, vectors: np.ndarray, values: np.ndarray, images: np.ndarray, rounding: float = 0.0) -> Judgement:
        """|A u - lambda u| / lambda_1 for unit eigenvectors u, from their images K D u.

        Within that distance of each value, in units of lambda_1, lies an eigenvalue of A. ``rounding`` is the error of
        the images if they are not in float64; it is added to the residual.
        """
        largest, residuals = values.max(initial=np.finfo(np.float64).tiny), np.empty(len(values))
        for some in _parallel.split(len(values), COLUMNS_AT_A_TIME):
            rest = self.apply(images[:, some]) - vectors[:, some] * values[some]
            residuals[some] = np.linalg.norm(rest, axis=0) + rounding
        return Judgement(residuals / largest, "residual |A u - lambda u| / lambda_1")
