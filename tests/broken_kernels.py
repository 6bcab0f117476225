"""Kernels that break a law on purpose."""

import numpy as np

from representer.kernels import RBF


class Broken(RBF):
    def __init__(self, length_scale=1.0):
        self.length_scale = length_scale


class ByPosition(Broken):
    """Larger away from the diagonal of each tile."""

    definite = False

    def fill(self, A, B, tile):
        super().fill(A, B, tile)
        tile += 0.1 * np.abs(np.arange(len(A))[:, None] - np.arange(len(B)))
