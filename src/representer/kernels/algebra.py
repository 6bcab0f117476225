"""More operations on kernels: exp, power series, normalisation, and sums over third points. All of them nest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from representer import _tiles
from representer.kernels.base import Gradients, Kernel, Unary, Wrapper, add_gradients, require_kernel
from representer.kernels.prepared import Prepared, Vectors


class Exp(Unary):
    """exp(k(x, y)), the limit of sums of products of k."""

    def __init__(self, kernel: Kernel):
        self.kernel = require_kernel(kernel)

    def outer(self, values: np.ndarray) -> None:
        np.exp(values, out=values)

    def outer_slope(self, values: np.ndarray) -> None:
        np.exp(values, out=values)


class PowerSeries(Unary):
    """sum_p coefficients_p k(x, y)^p, with coefficients that are not negative, from p = 0 on.

    Parameters
    ----------
    kernel : Kernel
    coefficients : array of shape (degree + 1,)
    """

    def __init__(self, kernel: Kernel, coefficients: Any = (1.0, 1.0)):
        self.kernel = require_kernel(kernel)
        self.coefficients = coefficients

    def check(self) -> None:
        c = np.asarray(self.coefficients, np.float64)
        if c.ndim != 1 or not len(c) or not np.all(np.isfinite(c)) or np.any(c < 0):
            raise ValueError(
                f"coefficients is {self.coefficients!r}; give a list of numbers that are zero or positive."
            )

    def outer(self, values: np.ndarray) -> None:
        _horner(values, np.asarray(self.coefficients, np.float64))

    def outer_slope(self, values: np.ndarray) -> None:
        c = np.asarray(self.coefficients, np.float64)
        _horner(values, c[1:] * np.arange(1, len(c)) if len(c) > 1 else np.zeros(1))

    def outer_gradients(self, values: np.ndarray, W: np.ndarray) -> Gradients:
        sums, power = [], W.copy()
        for _ in self.coefficients:
            sums.append(power.sum(dtype=np.float64))
            power *= values
        return {"coefficients": np.array(sums)}


def _horner(values: np.ndarray, coefficients: np.ndarray) -> None:
    base = values.copy()
    values[...] = coefficients[-1]
    for c in coefficients[-2::-1]:
        values *= base
        values += c


@dataclass
class WithDiagonal(Prepared):
    """Prepared inputs together with k(x, x)^(-1/2), zero where k(x, x) is zero."""

    inputs: Any
    inverse: np.ndarray

    def __len__(self) -> int:
        return len(self.inputs)

    def __getitem__(self, index: Any) -> WithDiagonal:
        return WithDiagonal(self.inputs[index], self.inverse[index])

    @property
    def dtype(self) -> np.dtype:
        return self.inputs.dtype


class Normalized(Wrapper):
    """k(x, y) / sqrt(k(x, x) k(y, y)), so that every representer has norm one; zero where k(x, x) is zero."""

    def __init__(self, kernel: Kernel):
        self.kernel = require_kernel(kernel)

    def prepare(self, X: Any, like: WithDiagonal | None = None) -> WithDiagonal:
        inputs = self.kernel.prepare(X, like=None if like is None else like.inputs)
        diagonal = self.kernel.diagonal(inputs)
        if np.any(diagonal < 0):
            raise ValueError(
                f"{self.kernel!r} has negative values k(x, x), so it cannot be normalised; "
                "use a positive semidefinite kernel."
            )
        root = np.sqrt(diagonal)
        return WithDiagonal(inputs, np.divide(1.0, root, out=np.zeros_like(root), where=root > 0).astype(inputs.dtype))

    def fill(self, A: WithDiagonal, B: WithDiagonal, tile: np.ndarray) -> None:
        self.kernel.fill(A.inputs, B.inputs, tile)
        tile *= A.inverse[:, None]
        tile *= B.inverse

    def diagonal(self, A: WithDiagonal) -> np.ndarray:
        return (A.inverse > 0).astype(A.dtype)

    def pull(self, A: WithDiagonal, B: WithDiagonal, W: np.ndarray) -> Gradients:
        G = W * A.inverse[:, None] * B.inverse
        WK = G * self.kernel._tile(A.inputs, B.inputs)
        total = add_gradients({}, self.kernel.pull(A.inputs, B.inputs, G), "kernel__")
        for side, weights in ((A, WK.sum(axis=1)), (B, WK.sum(axis=0))):
            w = -0.5 * weights * side.inverse**2
            for i in _tiles.split(len(side), 16):
                add_gradients(total, self.kernel.pull(side.inputs[i], side.inputs[i], np.diag(w[i])), "kernel__")
        return total

    def pull_input(self, A: WithDiagonal, B: WithDiagonal, W: np.ndarray) -> np.ndarray:
        G = W * A.inverse[:, None] * B.inverse
        # d k(x, x) / dx is twice the derivative of the first argument, by symmetry
        w = -np.einsum("ij,ij->i", G, self.kernel._tile(A.inputs, B.inputs)) * A.inverse**2
        own = [self.kernel.pull_input(A.inputs[i], A.inputs[i], np.diag(w[i])) for i in _tiles.split(len(A), 16)]
        return self.kernel.pull_input(A.inputs, B.inputs, G) + np.concatenate(own)


@dataclass
class Through(Vectors):
    """Rows k(x, z) over all z in Z, with the inputs and the Z that they came from."""

    inputs: Any = None
    anchors: Any = None
    per_row = (*Vectors.per_row, "inputs")


class Pairwise(Wrapper):
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
        return Through.of(self.kernel.block(inputs, anchors), inputs=inputs, anchors=anchors)

    def fill(self, A: Through, B: Through, tile: np.ndarray) -> None:
        A.products(B, tile)

    def diagonal(self, A: Through) -> np.ndarray:
        return A.squares

    def pull(self, A: Through, B: Through, W: np.ndarray) -> Gradients:
        total = add_gradients({}, self.kernel.pull(A.inputs, A.anchors, B.combine(W)), "kernel__")
        return add_gradients(total, self.kernel.pull(B.inputs, B.anchors, A.combine(W.T)), "kernel__")

    def pull_input(self, A: Through, B: Through, W: np.ndarray) -> np.ndarray:
        return self.kernel.pull_input(A.inputs, A.anchors, B.combine(W))
