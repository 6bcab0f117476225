"""Dense blocks k(a_i, b_j) of prepared inputs, tile by tile on all cores.

A tile fits the L2 cache. A kernel fills it (`Kernel.fill`); this module chooses the tiles, and makes those on the
diagonal of a symmetric matrix exactly symmetric.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from representer import _parallel
from representer._loops import symmetric
from representer.kernels.prepared import Vectors

ONE_TILE_ROWS = 384
"""Vectors up to which a symmetric matrix is one tile: computing values twice is cheaper than two more tiles."""
ONE_TILE_PAIRS = 512
"""The same where each pair is computed once."""
ONE_TILE_BYTES = 2**22
"""The same for kernels with a cheap phi: one thread is done before two have divided the tiles."""


def new_tile(kernel: Any, A: Any, B: Any, dtype: Any = None) -> np.ndarray:
    """A new array with k(a_i, b_j), converted if the kernel computes in another dtype than requested."""
    tile = np.empty((len(A), len(B)), A.dtype)
    kernel.fill(A, B, tile)
    return tile if dtype is None else tile.astype(dtype, copy=False)


def fill_symmetric(kernel: Any, A: Any, tile: np.ndarray) -> None:
    """tile_ij <- k(a_i, a_j), exactly symmetric, with exact values k(a_i, a_i)."""
    if isinstance(A, Vectors) and A.each_pair_once and kernel.of_squared_distance:
        kernel.fill(A, A, tile)  # writes both triangles, and needs no BLAS
        return
    with _parallel.one_blas_thread():
        kernel.fill(A, A, tile)
    symmetric.mirror(tile, kernel.diagonal(A).astype(tile.dtype, copy=False))


def trimmed(A: Any, B: Any) -> tuple[Any, Any]:
    """Both sides without columns that are all zero on one side, where only products of rows are needed."""
    plain = type(A) is type(B) is Vectors and A.plain and B.plain
    return A.meeting(B) if plain else (A, B)


def block(
    kernel: Any, A: Any, B: Any = None, *, threads: int | None = None, out: np.ndarray | None = None, known: int = 0
) -> np.ndarray:
    """The dense matrix of prepared inputs; B is A when not given.

    It is written to the first columns of ``out``, which for a symmetric matrix may already hold the values between its
    first ``known`` inputs.
    """
    same = B is None
    A, B = trimmed(A, A if same else B)
    if out is None:
        out = np.empty((len(A), len(B)), A.dtype)
    shape = _parallel.tile_shape(A.dtype)
    in_place = out.dtype == A.dtype and out.flags.c_contiguous and out.shape == (len(A), len(B)) and not known
    if same and not known and _is_one_tile(kernel, A):
        shape = len(A), len(A)
    tiles = _parallel.pairs(len(A), len(B), shape, same, known)
    if len(tiles) == 1 and in_place:
        if same:
            fill_symmetric(kernel, A, out)
        else:
            with _parallel.one_blas_thread():
                kernel.fill(A, B, out)
        return out
    part_a = _parallel.parts(A)
    part_b = part_a if same else _parallel.parts(B)

    def visit(run: Any) -> None:
        tile_of = _parallel.buffer(A.dtype, shape)
        for rows, columns in run:
            tile = tile_of((rows, columns))
            if same and rows == columns:
                fill_symmetric(kernel, part_a(rows), tile)
                out[rows, columns] = tile
                continue
            kernel.fill(part_a(rows), part_b(columns), tile)
            if same:
                symmetric.write_both(tile, out, rows.start, columns.start)
            else:
                out[rows, columns] = tile

    # dispatching a run takes as long as a tile
    runs = min(_parallel.RUNS, max(2 * (threads or _parallel.default_threads()), len(tiles) // 8))
    for _ in _parallel.map_tiles(tiles, visit, threads=threads, runs=runs):
        pass
    return out


def lower_triangle(kernel: Any, A: Any, threads: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """k(a_i, a_j) for j < i, row by row, and the diagonal k(a_i, a_i)."""
    if _is_one_tile(kernel, A) and A.each_pair_once and kernel.of_squared_distance:
        values = np.empty((1, len(A) * (len(A) - 1) // 2), A.dtype)
        A.distances_within(values[0])
        kernel.phi(values)
        return values[0], kernel.diagonal(A)
    K = block(kernel, A, threads=threads)
    return symmetric.half(K, np.arange(len(K))), K.diagonal().copy()


def _is_one_tile(kernel: Any, A: Any) -> bool:
    """Whether a symmetric matrix is filled as one tile, by the calling thread."""
    if not isinstance(A, Vectors) or not len(A):
        return False
    if not A.each_pair_once:
        return len(A) <= ONE_TILE_ROWS
    return len(A) <= ONE_TILE_PAIRS or (kernel.cheap and len(A) ** 2 * A.dtype.itemsize <= ONE_TILE_BYTES)
