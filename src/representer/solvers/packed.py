"""A Gram matrix in memory as the float32 tiles of its lower triangle: half of a matrix, for repeated block products."""

from __future__ import annotations

from typing import Any

import numpy as np

from representer import _tiles
from representer._loops import products
from representer.kernels.base import Kernel

RUNS = 8


class PackedGram:
    """K V for a symmetric K whose tiles are computed once and kept.

    Each tile of the lower triangle serves both of its sides, and products are summed over tiles in float64.

    Parameters
    ----------
    kernel : Kernel
    inputs : prepared inputs
    threads : int, optional
    """

    dtype = np.dtype(np.float32)

    def __init__(self, kernel: Kernel, inputs: Any, threads: int | None = None):
        self.threads, self.n = threads, len(inputs)
        self.tiles = _tiles.pairs(self.n, self.n, _tiles.tile_shape(self.dtype), True)
        sizes = [(i.stop - i.start) * (j.stop - j.start) for i, j in self.tiles]
        # one piece of memory, which the system gives in large pages: products are a third faster
        pieces = np.split(np.empty(sum(sizes), self.dtype), np.cumsum(sizes[:-1]))
        self.values: dict[tuple[int, int], np.ndarray] = {
            (i.start, j.start): piece.reshape(i.stop - i.start, -1)
            for (i, j), piece in zip(self.tiles, pieces, strict=True)
        }
        part = _tiles.parts(inputs)

        def visit(run: list[_tiles.Tile]) -> None:
            for i, j in run:
                kept = self.values[i.start, j.start]
                tile = kept if inputs.dtype == self.dtype else np.empty(kept.shape, inputs.dtype)
                kernel.fill_tile(part(i), part(j), tile, diagonal=i == j)
                if tile is not kept:
                    kept[:] = tile

        for _ in _tiles.walk(self.tiles, visit, threads=threads):
            pass

    @property
    def nbytes(self) -> int:
        return sum(tile.nbytes for tile in self.values.values())

    def __matmul__(self, V: np.ndarray) -> np.ndarray:
        """K V in float64, for several columns V, which are rounded to float32."""
        small = np.ascontiguousarray(V, self.dtype)

        def visit(run: list[_tiles.Tile]) -> np.ndarray:
            total = np.zeros(V.shape)
            for i, j in run:
                tile = self.values[i.start, j.start]
                if i == j:
                    products.apply(tile, small[j], total[i])
                else:
                    products.apply_both(tile, small[j], total[i], small[i], total[j])
            return total

        out = np.zeros(V.shape)
        for part in _tiles.walk(self.tiles, visit, threads=self.threads, runs=RUNS):
            out += part
        return out
