"""Kernels of two inputs through anchor points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from representer import _parallel
from representer.kernels import tiles
from representer.kernels.algebra import Wrapper
from representer.kernels.base import Gradients, Kernel, add_gradients, require_kernel
from representer.kernels.prepared import Vectors


@dataclass
class Through(Vectors):
    """Rows k(x, z) over all z in Z, with the inputs and the Z that they came from."""

    inputs: Any = None
    anchors: Any = None
    per_row = (*Vectors.per_row, "inputs")


class Pairwise(Wrapper, Kernel):  # type: ignore[override]
    """sum_z k(x, z) k(z, y) over the z in Z; with Z = X its Gram matrix is K^2.

    Parameters
    ----------
    kernel : Kernel
        It need not be positive semidefinite.
    Z : inputs of the kernel
    """

    def __init__(self, kernel: Kernel, Z: Any):
        self.kernel = require_kernel(kernel)
        self.Z = Z

    definite = True

    def prepare(self, X: Any, like: Through | None = None) -> Through:
        anchors = self.kernel.prepare(self.Z) if like is None else like.anchors
        inputs = self.kernel.prepare(X, like=anchors)
        needed = len(inputs) * len(anchors) * inputs.dtype.itemsize
        if needed > _parallel.machine_memory():
            raise MemoryError(
                f"Pairwise needs {needed / 1e9:.3g} GB for kernel values of {len(inputs)} inputs and {len(anchors)} "
                "points of Z, more than this machine has; use fewer points in Z."
            )
        return Through.of(tiles.block(self.kernel, inputs, anchors), inputs=inputs, anchors=anchors)

    def fill(self, A: Through, B: Through, tile: np.ndarray) -> None:
        A.products(B, tile)

    def diagonal(self, A: Through) -> np.ndarray:
        return A.squared_norms

    def vjp(self, A: Through, B: Through, W: np.ndarray) -> Gradients:
        total = add_gradients({}, self.kernel.vjp(A.inputs, A.anchors, B.combine(W)), "kernel__")
        return add_gradients(total, self.kernel.vjp(B.inputs, B.anchors, A.combine(W.T)), "kernel__")

    def input_vjp(self, A: Through, B: Through, W: np.ndarray) -> np.ndarray:
        return self.kernel.input_vjp(A.inputs, A.anchors, B.combine(W))
