"""The kernel of differences k(x, .) - k(y, .) of representers."""

from __future__ import annotations

from typing import Any

import numpy as np

from representer.kernels import checks
from representer.kernels.algebra import Pair, Wrapper
from representer.kernels.base import Kernel, require_kernel
from representer.kernels.tiles import new_tile


class Differences(Wrapper, Kernel):  # type: ignore[override]
    """h((x, y), (x', y')) = <k(x, .) - k(y, .), k(x', .) - k(y', .)>, a kernel on pairs of inputs.

    Parameters
    ----------
    kernel : Kernel
    """

    on_vectors = False

    def __init__(self, kernel: Kernel):
        self.kernel = require_kernel(kernel)

    def prepare(self, X: Any, like: Pair | None = None) -> Pair:
        """X is a pair of equally many inputs, prepared together: some kernels know only words that they have seen."""
        left, right = X
        both = self.kernel.prepare(checks.concatenate(left, right), like=None if like is None else like.left)
        n = checks.number_of(left)
        return Pair(both[:n], both[n:])

    @property
    def feature_rows(self) -> Any:  # type: ignore[override]
        """phi(x) - phi(y), where the kernel has features phi."""
        phi = self.kernel.feature_rows
        return None if phi is None else lambda A: phi(A.left) - phi(A.right)

    def fill(self, A: Pair, B: Pair, tile: np.ndarray) -> None:
        self.kernel.fill(A.left, B.left, tile)
        tile += new_tile(self.kernel, A.right, B.right)
        tile -= new_tile(self.kernel, A.left, B.right)
        tile -= new_tile(self.kernel, A.right, B.left)
