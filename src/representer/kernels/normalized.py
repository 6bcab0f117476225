"""Kernels whose representers have norm one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from representer import _parallel
from representer._loops import powers
from representer.kernels.algebra import Wrapper
from representer.kernels.base import Gradients, Kernel, add_gradients, require_kernel
from representer.kernels.named_features import Features, LinearForm, NamedFeatures
from representer.kernels.prepared import Prepared
from representer.kernels.tiles import new_tile


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


class Normalized(Wrapper, Kernel):  # type: ignore[override]
    """k(x, y) / sqrt(k(x, x) k(y, y)), so that every representer has norm one; zero where k(x, x) is zero."""

    def __init__(self, kernel: Kernel):
        self.kernel = require_kernel(kernel)

    @property
    def _inner(self) -> Kernel:
        """The kernel whose values are divided; it may be normalised already."""
        return self.kernel.normalized or self.kernel

    def prepare(self, X: Any, like: WithDiagonal | None = None) -> WithDiagonal:
        inputs = self._inner.prepare(X, like=None if like is None else like.inputs)
        diagonal = self._inner.diagonal(inputs)
        if np.any(diagonal < 0):
            raise ValueError(
                f"{self.kernel!r} has negative values k(x, x), so it cannot be normalised; "
                "use a positive semidefinite kernel."
            )
        root = np.sqrt(diagonal)
        return WithDiagonal(inputs, np.divide(1.0, root, out=np.zeros_like(root), where=root > 0).astype(inputs.dtype))

    def fill(self, A: WithDiagonal, B: WithDiagonal, tile: np.ndarray) -> None:
        self._inner.fill(A.inputs, B.inputs, tile)
        powers.scale_both(tile, A.inverse, B.inverse)

    @property
    def features(self) -> Features:
        return Features(self._named_features, self._linear_form, undivided=self.kernel.features)

    def _linear_form(self, A: WithDiagonal, C: np.ndarray) -> LinearForm | None:
        inner = self._inner.features.linear_form(A.inputs, C * A.inverse)
        return None if inner is None else lambda B: inner(B.inputs) * B.inverse

    def _named_features(self, X: Any) -> NamedFeatures:
        found = self.kernel.features.named(X)
        norms = np.sqrt(np.asarray(found.values.multiply(found.values).sum(axis=1)).ravel())
        return found.scaled(np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0))

    def diagonal(self, A: WithDiagonal) -> np.ndarray:
        return (A.inverse > 0).astype(A.dtype)

    def vjp(self, A: WithDiagonal, B: WithDiagonal, W: np.ndarray) -> Gradients:
        G = W * A.inverse[:, None] * B.inverse
        total = add_gradients({}, self._inner.vjp(A.inputs, B.inputs, G), "kernel__")
        if not total:  # a kernel without hyper-parameters, such as a spectrum kernel
            return total
        WK = G * new_tile(self._inner, A.inputs, B.inputs)
        for side, weights in ((A, WK.sum(axis=1)), (B, WK.sum(axis=0))):
            w = -0.5 * weights * side.inverse**2
            for i in _parallel.split(len(side), 16):
                add_gradients(total, self._inner.vjp(side.inputs[i], side.inputs[i], np.diag(w[i])), "kernel__")
        return total

    def input_vjp(self, A: WithDiagonal, B: WithDiagonal, W: np.ndarray) -> np.ndarray:
        G = W * A.inverse[:, None] * B.inverse
        # d k(x, x) / dx is twice the derivative by the first argument, by symmetry
        w = -np.einsum("ij,ij->i", G, new_tile(self._inner, A.inputs, B.inputs)) * A.inverse**2
        own = [self._inner.input_vjp(A.inputs[i], A.inputs[i], np.diag(w[i])) for i in _parallel.split(len(A), 16)]
        return self._inner.input_vjp(A.inputs, B.inputs, G) + np.concatenate(own)
