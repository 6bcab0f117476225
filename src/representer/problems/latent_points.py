"""Latent points and hyper-parameters of the highest likelihood."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from representer.problems.judgement import Judgement


@dataclass(frozen=True)
class LatentPoints:
    """maximise over x:  log p(Y | x),  x latent points and logarithms of hyper-parameters within ``bounds``.

    The likelihood has many local maxima.

    Parameters
    ----------
    bounds : array of shape (len(x), 2)
    size : int
        Number of entries of Y.
    """

    bounds: np.ndarray
    size: int

    def slope(self, x: np.ndarray, gradient: np.ndarray) -> float:
        """The largest entry of the gradient per entry of Y, where directions out of the bounds count as zero."""
        low, high = self.bounds.T
        blocked = ((x <= low) & (gradient < 0.0)) | ((x >= high) & (gradient > 0.0))
        return float(np.where(blocked, 0.0, np.abs(gradient)).max()) / self.size

    def judge(self, x: np.ndarray, gradient: np.ndarray, value: float) -> Judgement:
        """How far x is from a local maximum, by its gradient; minus the likelihood is the objective."""
        return Judgement(np.array([self.slope(x, gradient)]), "gradient", primal=-value)
