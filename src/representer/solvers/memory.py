"""How much memory iterative solvers may use, and what they keep in it."""

from __future__ import annotations

import numpy as np

from representer import _parallel


def working_memory(memory: int) -> int:
    """How much of the memory an iterative solver may use."""
    return min(memory // 2, 4 * 10**9)


def stores_matrix(n: int, memory: int) -> bool:
    """Whether a float32 kernel matrix takes less than a quarter of the memory; products with it are twice as fast."""
    return 4 * n * n <= memory // 4


def stores_tiles(n: int, memory: int) -> bool:
    """Whether the float32 tiles of a lower triangle take less than a quarter of the memory."""
    return 2 * n * n <= memory // 4


def bytes_of_packed(n: int) -> int:
    """Upper bound for the float32 tiles of a lower triangle: those on the diagonal are stored in full."""
    return 2 * n * (n + min(n, max(_parallel.tile_shape(np.dtype(np.float32)))))


def bytes_of_tiles(n: int, threads: int | None) -> int:
    """One tile per thread, and half as much again for what kernels need to fill it."""
    return 3 * min(_parallel.TILE_BYTES, 8 * n * n) // 2 * (threads or _parallel.default_threads())


def bytes_of_gradients(rows: int, columns: int, threads: int | None) -> int:
    """Four tiles for each thread at work: values, distances, derivatives, and their weights."""
    height, width = _parallel.tile_shape(np.dtype(np.float64))
    tile = 8 * min(rows, height) * min(columns, width)
    several = rows * columns > 4 * height * width  # fewer tiles stay on one thread
    return 4 * tile * ((threads or _parallel.default_threads()) if several else 1)
