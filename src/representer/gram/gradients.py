"""Derivatives of sum_ij W_ij k(x_i, y_j): computed tile by tile, without an n x n x p array."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from representer import _parallel
from representer.kernels.base import Gradients, add_gradients

Weights = Callable[[slice, slice], np.ndarray]
"""A tile of W from its rows and columns."""


def contract(K: Any, W: Any, lower: bool) -> Gradients:
    """sum_ij W_ij dk(x_i, y_j) / dtheta, see `Gram.contract`."""
    _require_symmetric(K, lower)
    weights = tiles_of(K, W)
    total: Gradients = {}
    for a, b in K.chunk_pairs():
        A, B = K.chunks(a, b)
        square = K.symmetric and a == b
        visit = _contraction(K, A, B, (a.start, b.start), weights, lower)
        tiles = _parallel.pairs(len(A), len(B), _parallel.tile_shape(K.dtype), square)
        for part in _parallel.map_tiles(tiles, visit, threads=K.threads):
            add_gradients(total, part)
    return total


def _contraction(K: Any, A: Any, B: Any, first: tuple[int, int], weights: Weights, lower: bool) -> Any:
    part_a, part_b = _parallel.parts(A), _parallel.parts(B)

    def visit(run: Any) -> Gradients:
        total: Gradients = {}
        for rows, columns in run:
            i, j = _moved(rows, first[0]), _moved(columns, first[1])
            W = weights(i, j).astype(K.dtype, copy=False)
            if lower:
                W = 2.0 * W if i != j else np.tril(W) + np.tril(W, -1).T
            elif K.symmetric and i != j:
                W = W + weights(j, i).T.astype(K.dtype, copy=False)
            add_gradients(total, K.kernel.vjp(part_a(rows), part_b(columns), W))
        return total

    return visit


def input_gradient(K: Any, W: Any, lower: bool) -> np.ndarray:
    """sum_j W_ij dk(x_i, y_j) / dx_i, see `Gram.input_gradient`."""
    _require_symmetric(K, lower)
    weights = tiles_of(K, W)
    own, other = (K.column_inputs, K.row_inputs) if K.transposed else (K.row_inputs, K.column_inputs)
    of = (lambda i, j: weights(j, i).T) if K.transposed else weights
    total: dict[int, np.ndarray] = {}
    for a in own.chunks:
        for b in other.chunks:
            if lower and b.start > a.start:
                continue
            A, B = own.chunk(a), other.chunk(b)
            K.meter.add(len(A) * len(B))
            visit = _input_vjps(K, A, B, (a.start, b.start), of, lower)
            tiles = _parallel.pairs(len(A), len(B), _parallel.tile_shape(K.dtype), lower and a == b)
            for part in _parallel.map_tiles(tiles, visit, threads=K.threads):
                for start, rows in part.items():
                    total[start] = total.get(start, 0.0) + rows
    return np.concatenate([total[start] for start in sorted(total)])


def _input_vjps(K: Any, A: Any, B: Any, first: tuple[int, int], weights: Weights, lower: bool) -> Any:
    part_a, part_b = _parallel.parts(A), _parallel.parts(B)

    def visit(run: Any) -> dict[int, np.ndarray]:
        total: dict[int, np.ndarray] = {}

        def add(start: int, gradients: np.ndarray) -> None:
            total[start] = total.get(start, 0.0) + gradients.astype(np.float64, copy=False)

        for rows, columns in run:
            i, j = _moved(rows, first[0]), _moved(columns, first[1])
            W = weights(i, j).astype(K.dtype, copy=False)
            if lower and i == j:
                W = np.tril(W) + np.tril(W, -1).T
            add(i.start, K.kernel.input_vjp(part_a(rows), part_b(columns), W))
            if lower and i != j:
                add(j.start, K.kernel.input_vjp(part_b(columns), part_a(rows), W.T))
        return total

    return visit


def _moved(part: slice, first: int) -> slice:
    return slice(part.start + first, part.stop + first)


def _require_symmetric(K: Any, lower: bool) -> None:
    if lower and not K.symmetric:
        raise ValueError("lower=True means a symmetric W, but this matrix pairs two different sets of inputs.")


def tiles_of(K: Any, W: Any) -> Weights:
    """W as a function of (rows, columns) of the matrix as it was built, before any transposition."""
    factors = W if isinstance(W, tuple) else (W,)
    arrays = [np.asarray(factor) for factor in factors]
    if any(array.dtype.kind not in "biuf" for array in arrays):
        raise TypeError(f"W holds {arrays[0].dtype}; a contraction needs real numbers.")
    shapes = tuple(array.shape for array in arrays)
    n, m = K.shape
    low_rank = len(arrays) == 2 and all(array.ndim == 2 for array in arrays) and shapes[0][1] == shapes[1][1]
    if not (low_rank and (shapes[0][0], shapes[1][0]) == (n, m)) and shapes != ((n, m),):
        raise ValueError(
            f"W has shape {shapes}, but K has shape {(n, m)}; "
            "give an array of that shape or factors (U, V) with W = U V'."
        )
    if K.transposed:
        arrays = arrays[::-1] if low_rank else [arrays[0].T]
    return (lambda i, j: arrays[0][i] @ arrays[1][j].T) if low_rank else (lambda i, j: arrays[0][i, j])
