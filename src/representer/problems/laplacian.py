"""The graph whose edges are kernel values, and eigenvectors of its normalised Laplacian."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from representer.gram.operator import Operator
from representer.problems.judgement import Judgement

ALONE = 1e-14
"""Fraction of the largest degree, or kernel value, up to which a degree is zero up to rounding."""


@dataclass(frozen=True)
class LaplacianProblem:
    """N u = lambda u for N = D^(-1/2) A D^(-1/2), A_ij = k(x_i, x_j) without its diagonal, D the degrees sum_j A_ij.

    The normalised Laplacian is I - N. An isolated input is a connected component by itself, as if it were its own
    neighbour: N_ii = 1.

    Parameters
    ----------
    gram : Gram, or another `Operator`
    """

    gram: Operator

    @cached_property
    def diagonal(self) -> np.ndarray:
        """k(x_i, x_i) in float64."""
        return self.gram.diag().astype(np.float64)

    @cached_property
    def degrees(self) -> np.ndarray:
        """The sum of the edge weights of each input."""
        return self.gram @ np.ones(len(self.gram)) - self.diagonal

    @cached_property
    def isolated(self) -> np.ndarray:
        """Whether an input has no edges."""
        return self.degrees <= ALONE * max(np.abs(self.diagonal).max(), self.degrees.max())

    @cached_property
    def root(self) -> np.ndarray:
        """Square roots of the degrees; 1 for isolated inputs."""
        return np.sqrt(np.where(self.isolated, 1.0, self.degrees))

    def apply(self, V: np.ndarray) -> np.ndarray:
        """N V, for a vector or several columns."""
        column = (slice(None),) + (None,) * (V.ndim - 1)
        scaled = V / self.root[column]
        return (self.gram @ scaled - self.diagonal[column] * scaled) / self.root[column] + self.isolated[column] * V

    def judge(self, vectors: np.ndarray, values: np.ndarray) -> Judgement:
        """|N u - lambda u| for eigenvectors u, relative to the largest eigenvalue, which is one, from K in float64.

        Within that distance of each value lies an eigenvalue of N.
        """
        exact = LaplacianProblem(self.gram.astype(np.float64))
        residuals = np.linalg.norm(exact.apply(vectors) - vectors * values, axis=0) / np.linalg.norm(vectors, axis=0)
        return Judgement(residuals, "residual |N u - lambda u|")
