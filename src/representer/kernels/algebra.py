"""Kernels built from kernels: sums, products, scale factors and integer powers, and what all nodes share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from representer.kernels import checks, laws, separated
from representer.kernels.base import (
    Gradients,
    Kernel,
    Radial,
    add_gradients,
    raise_to,
    require_definite,
    require_kernel,
)
from representer.kernels.basis import Basis, Both, Concatenated, Rescaled
from representer.kernels.candidates import Candidates
from representer.kernels.constant import Constant
from representer.kernels.named_features import Features, NamedFeatures
from representer.kernels.prepared import Prepared
from representer.kernels.tiles import new_tile


def node(operator: str, left: Any, right: Any) -> Kernel:
    """The kernel that ``left operator right`` stands for; numbers are constants, and factors of a product."""
    if operator == "**":
        return Power(left, right)
    if operator == "*" and isinstance(left, Real):
        return Scaled(right, float(left))
    if operator == "*" and isinstance(right, Real):
        return Scaled(left, float(right))
    left, right = (Constant(float(part)) if isinstance(part, Real) else part for part in (left, right))
    if not (isinstance(left, Kernel) and isinstance(right, Kernel)):
        return NotImplemented
    return Sum(left, right) if operator == "+" else Product(left, right)


Kernel._node = staticmethod(node)  # the base class does not know its subclasses


@dataclass
class Pair(Prepared):
    """The same inputs prepared by two kernels."""

    left: Any
    right: Any

    def __len__(self) -> int:
        return len(self.left)

    def __getitem__(self, index: Any) -> Pair:
        return Pair(self.left[index], self.right[index])

    @property
    def dtype(self) -> np.dtype:
        return np.result_type(self.left.dtype, self.right.dtype)


class _Binary(Kernel):
    """A node with two children, each of which prepares the inputs in its own way."""

    def __init__(self, left: Kernel, right: Kernel):
        self.left = require_kernel(left)
        self.right = require_kernel(right)

    @property
    def definite(self) -> bool:  # type: ignore[override]
        return self.left.definite and self.right.definite

    @property
    def rowwise(self) -> bool:  # type: ignore[override]
        return self.left.rowwise and self.right.rowwise

    @property
    def original(self) -> Kernel:
        left, right = self.left.original, self.right.original
        return self if left is self.left and right is self.right else type(self)(left, right)

    def prepare(self, X: Any, like: Pair | None = None) -> Pair:
        left, right = (None, None) if like is None else (like.left, like.right)
        if isinstance(X, Both):
            return Pair(self.left.prepare(X.left, like=left), self.right.prepare(X.right, like=right))
        return Pair(self.left.prepare(X, like=left), self.right.prepare(X, like=right))

    @property
    def on_vectors(self) -> bool:  # type: ignore[override]
        return self.left.on_vectors and self.right.on_vectors

    @property
    def candidates(self) -> Callable[[Any], Candidates | None] | None:
        known = [part.candidates for part in (self.left, self.right) if part.candidates is not None]
        return (lambda X: next(filter(None, (find(X) for find in known)), None)) if known else None

    @property
    def takes_missing(self) -> bool:  # type: ignore[override]
        return self.left.takes_missing and self.right.takes_missing

    @property
    def precomputed(self) -> bool:  # type: ignore[override]
        return self.left.precomputed or self.right.precomputed

    def with_default_scales(self, X: Any, weights: np.ndarray | None = None) -> Kernel:
        return type(self)(self.left.with_default_scales(X, weights), self.right.with_default_scales(X, weights))

    def _fill_left(self, A: Pair, B: Pair, tile: np.ndarray) -> np.ndarray:
        """Write the left child's values to the tile, and return the right child's in a new array."""
        if A.left.dtype == tile.dtype:
            self.left.fill(A.left, B.left, tile)
        else:
            tile[...] = new_tile(self.left, A.left, B.left)
        return new_tile(self.right, A.right, B.right, tile.dtype)


class Sum(_Binary):
    """(k + l)(x, y) = k(x, y) + l(x, y), written ``k + l``."""

    _precedence = 1
    summands = "left", "right"
    law = laws.Parts()
    separated = separated.of_sum

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        return f"{self.left._printed_inside(1)} + {self.right._printed_inside(2)}"

    @property
    def conditional_order(self) -> int | None:
        orders = self.left.conditional_order, self.right.conditional_order
        return None if orders[0] is None or orders[1] is None else max(orders[0], orders[1])

    @property
    def projects(self) -> bool:  # type: ignore[override]
        return all(part.projects or part.original is part for part in (self.left, self.right))

    @property
    def basis(self) -> Callable[[Any], Basis] | None:  # type: ignore[override]
        left, right = self.left.basis, self.right.basis
        return None if left is None or right is None else lambda X: Concatenated(self, left(X), right(X))

    def fill(self, A: Pair, B: Pair, tile: np.ndarray) -> None:
        tile += self._fill_left(A, B, tile)

    def diagonal(self, A: Pair) -> np.ndarray:
        return self.left.diagonal(A.left) + self.right.diagonal(A.right)

    @property
    def features(self) -> Features:
        return self.left.features.beside(self.right.features)

    def vjp(self, A: Pair, B: Pair, W: np.ndarray) -> Gradients:
        total = add_gradients({}, self.left.vjp(A.left, B.left, W.astype(A.left.dtype, copy=False)), "left__")
        return add_gradients(total, self.right.vjp(A.right, B.right, W.astype(A.right.dtype, copy=False)), "right__")

    def input_vjp(self, A: Pair, B: Pair, W: np.ndarray) -> np.ndarray:
        return self.left.input_vjp(A.left, B.left, W) + self.right.input_vjp(A.right, B.right, W)


class Product(_Binary):
    """(k l)(x, y) = k(x, y) l(x, y), written ``k * l``; its Gram matrix is the Hadamard product."""

    _precedence = 2
    law = laws.Factors()
    separated = separated.of_product

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        return f"{self.left._printed_inside(2)} * {self.right._printed_inside(3)}"

    def fill(self, A: Pair, B: Pair, tile: np.ndarray) -> None:
        tile *= self._fill_left(A, B, tile)

    def diagonal(self, A: Pair) -> np.ndarray:
        return self.left.diagonal(A.left) * self.right.diagonal(A.right)

    def _pass_on(self, A: Pair, B: Pair, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """W times the other child's values, for the left and for the right child."""
        for_left = new_tile(self.right, A.right, B.right, A.left.dtype)
        for_right = new_tile(self.left, A.left, B.left, A.right.dtype)
        for_left *= W
        for_right *= W
        return for_left, for_right

    def vjp(self, A: Pair, B: Pair, W: np.ndarray) -> Gradients:
        for_left, for_right = self._pass_on(A, B, W)
        total = add_gradients({}, self.left.vjp(A.left, B.left, for_left), "left__")
        return add_gradients(total, self.right.vjp(A.right, B.right, for_right), "right__")

    def input_vjp(self, A: Pair, B: Pair, W: np.ndarray) -> np.ndarray:
        for_left, for_right = self._pass_on(A, B, W)
        return self.left.input_vjp(A.left, B.left, for_left) + self.right.input_vjp(A.right, B.right, for_right)


class Wrapper:
    """Mixin of nodes with one child, whose properties they inherit."""

    kernel: Kernel

    @property
    def definite(self) -> bool:
        return self.kernel.definite

    @property
    def rowwise(self) -> bool:
        return self.kernel.rowwise

    @property
    def on_vectors(self) -> bool:
        return self.kernel.on_vectors

    @property
    def candidates(self) -> Callable[[Any], Candidates | None] | None:
        """The child's candidates, if both take the same inputs."""
        return self.kernel.candidates

    @property
    def takes_missing(self) -> bool:
        return self.kernel.takes_missing

    @property
    def precomputed(self) -> bool:
        return self.kernel.precomputed

    def with_default_scales(self, X: Any, weights: np.ndarray | None = None) -> Kernel:
        return clone(self).set_params(kernel=self.kernel.with_default_scales(X, weights))


class Unary(Wrapper, Kernel):  # type: ignore[override]
    """g(k(x, y)) for a scalar function g. Subclasses define g and its derivative on a tile."""

    @property
    def original(self) -> Kernel:
        kernel = self.kernel.original
        return self if kernel is self.kernel else clone(self).set_params(kernel=kernel)

    def outer(self, values: np.ndarray) -> None:
        """k <- g(k), in place."""
        raise NotImplementedError

    def outer_derivative(self, values: np.ndarray) -> None:
        """k <- g'(k), in place."""
        raise NotImplementedError

    def outer_gradients(self, values: np.ndarray, W: np.ndarray) -> Gradients:
        """sum_ij W_ij dg(k_ij) / dtheta for g's own hyper-parameters."""
        return {}

    def prepare(self, X: Any, like: Any = None) -> Any:
        self.check()
        return self.kernel.prepare(X, like=like)

    def check(self) -> None:
        """Raise if a parameter is out of its range."""

    def fill(self, A: Any, B: Any, tile: np.ndarray) -> None:
        self.kernel.fill(A, B, tile)
        self.outer(tile)

    def diagonal(self, A: Any) -> np.ndarray:
        values = self.kernel.diagonal(A).copy()  # a child may return an array that it stores
        self.outer(values)
        return values

    def vjp(self, A: Any, B: Any, W: np.ndarray) -> Gradients:
        values = new_tile(self.kernel, A, B)
        total = dict(self.outer_gradients(values, W))
        self.outer_derivative(values)
        values *= W
        return add_gradients(total, self.kernel.vjp(A, B, values), "kernel__")

    def input_vjp(self, A: Any, B: Any, W: np.ndarray) -> np.ndarray:
        values = new_tile(self.kernel, A, B)
        self.outer_derivative(values)
        values *= W
        return self.kernel.input_vjp(A, B, values)


class Scaled(Unary):
    """factor k(x, y), written ``2.0 * k``."""

    _precedence = 2
    law = laws.Multiple()
    separated = separated.of_multiple

    def __init__(self, kernel: Kernel, factor: float = 1.0):
        self.kernel = require_kernel(kernel)
        self.factor = factor

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        return f"{self.factor!r} * {self.kernel._printed_inside(3)}"

    @property
    def projects(self) -> bool:  # type: ignore[override]
        return self.kernel.projects

    @property
    def unscaled(self) -> tuple[Kernel, float]:
        kernel, factor = self.kernel.unscaled
        return kernel, factor * self.factor

    @property
    def definite(self) -> bool:  # type: ignore[override]
        return self.kernel.definite and self.factor >= 0

    @property
    def conditional_order(self) -> int | None:
        return self.kernel.conditional_order if self.factor >= 0 else None

    def check(self) -> None:
        checks.real(self.factor, "factor")

    @property
    def basis(self) -> Callable[[Any], Basis] | None:  # type: ignore[override]
        part = self.kernel.basis if self.factor > 0.0 else None
        return None if part is None else lambda X: Rescaled(self, part(X), self.factor)

    @property
    def feature_rows(self) -> Callable[[Any], Any] | None:  # type: ignore[override]
        rows = self.kernel.feature_rows if self.factor > 0.0 else None
        return None if rows is None else lambda A: rows(A) * float(np.sqrt(self.factor))

    def outer(self, values: np.ndarray) -> None:
        values *= self.factor

    @property
    def features(self) -> Features:
        part = self.kernel.features

        def named(X: Any) -> NamedFeatures:
            require_definite(self, "a feature")
            return part.named(X).scaled(np.sqrt(self.factor))

        return Features(named, lambda A, C: part.linear_form(A, self.factor * C), part.window)

    @property
    def radial(self) -> Radial | None:  # type: ignore[override]
        inner, factor = self.kernel.radial, self.factor
        if inner is None or factor <= 0:
            return None
        log = None if inner.log is None else (lambda d, log=inner.log: log(d) + np.log(factor))
        return Radial(inner.fill, lambda d: factor * inner.squared(d), log)

    def outer_derivative(self, values: np.ndarray) -> None:
        values[...] = self.factor

    def outer_gradients(self, values: np.ndarray, W: np.ndarray) -> Gradients:
        return {"factor": np.vdot(W, values)}

    def vjp(self, A: Any, B: Any, W: np.ndarray) -> Gradients:
        if self.kernel.feature_rows is None or sparse.issparse(phi := self.kernel.feature_rows(A)):
            return super().vjp(A, B, W)
        total = {"factor": np.vdot(phi, W @ self.kernel.feature_rows(B))}  # <W, phi phi'>, without a tile of values
        return add_gradients(total, self.kernel.vjp(A, B, self.factor * W), "kernel__")


class Power(Unary):
    """k(x, y)^exponent for an integer exponent, written ``k ** 3``."""

    _precedence = 3
    law = laws.Factors()
    separated = separated.of_power

    def __init__(self, kernel: Kernel, exponent: int = 2):
        self.kernel = require_kernel(kernel)
        self.exponent = exponent

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        return f"{self.kernel._printed_inside(4)} ** {self.exponent!r}"

    def check(self) -> None:
        checks.integer(self.exponent, "exponent")

    def outer(self, values: np.ndarray) -> None:
        raise_to(values, self.exponent)

    def outer_derivative(self, values: np.ndarray) -> None:
        raise_to(values, self.exponent - 1)
        values *= self.exponent
