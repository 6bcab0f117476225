"""Matrices of several isotropic kernels from the same squared distances."""

from __future__ import annotations

from typing import Any

import numpy as np

from representer import _parallel
from representer.gram.stored import Stored
from representer.gram.submatrix import stored_precisely
from representer.gram.tiled import Gram

DISTANCE_ROWS = 64
"""Rows whose values are computed at a time."""


class SharedDistances:
    """K_ij = phi(|x_i - x_j|^2 / length_scale^2) for any isotropic kernel, from distances that are computed once.

    Parameters
    ----------
    gram : Gram
        Squared distances: of a `SquaredDistance`, whose length scale is the unit of length.
    dtype : dtype
        Of all values.
    """

    def __init__(self, gram: Gram, dtype: Any):
        self.squares, self.unit = stored_precisely(gram, dtype).values, float(gram.kernel.length_scale)

    def matrix(self, gram: Gram) -> Stored:
        """The matrix of another kernel on the same inputs."""
        kernel: Any = gram.kernel
        K, factor = np.empty_like(self.squares), (self.unit / kernel.length_scale) ** 2

        def visit(run: Any) -> None:
            for rows, _ in run:
                kernel.phi(np.multiply(self.squares[rows], factor, out=K[rows]))

        tiles = [(rows, rows) for rows in _parallel.split(len(K), DISTANCE_ROWS)]
        for _ in _parallel.map_tiles(tiles, visit, threads=gram.threads):
            pass
        return Stored(gram, K)
