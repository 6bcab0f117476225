"""A submatrix of K that grows and shrinks, and submatrices that pairs of classes share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from queue import SimpleQueue
from typing import Any

import numpy as np

from representer import _parallel
from representer._loops import symmetric
from representer.gram.stored import Stored
from representer.gram.tiled import Gram
from representer.kernels import tiles
from representer.kernels.prepared import Vectors

SLACK = 1 / 4
"""Room for new inputs, as a fraction of the submatrix; beyond it the submatrix is rebuilt."""
COARSE = 3e-6
"""Relative error of float32 kernel values above which even float32 matrices are computed from float64 inputs."""
FILL_TILE = (1024, 512)
"""Tile shape for vectors where values are only written: tiles need not fit a cache, and matrix products are a tenth
faster."""


class Submatrix:
    """K[index, index] in float32, in one reused buffer: touching fresh pages takes longer than computing kernel values.

    Parameters
    ----------
    gram : Gram or Stored
        In float32. A stored matrix is used as it is, and neither grows nor shrinks.
    """

    def __init__(self, gram: Any):
        self.gram, self.index = gram, np.empty(0, int)
        self._buffer: np.ndarray = np.empty(0)
        self.values: np.ndarray = np.empty((0, 0), np.float32)
        self.peak = 0

    @property
    def owned(self) -> bool:
        """Whether it owns its memory, so that it may shrink."""
        return len(self._buffer) > 0

    @property
    def columns(self) -> np.ndarray:
        """Row and column of ``values`` for each input of the index."""
        stored = self.gram.stored is not None
        return self.gram.places[self.index] if stored else np.arange(len(self.index))

    def restart(self, index: np.ndarray, most: int) -> None:
        """Rebuild with these inputs; there will be no more than ``most``.

        The buffer is large enough for the largest matrix from the start: most systems commit memory only where it is
        written.
        """
        self.index = index
        if self.gram.stored is not None:
            self.values = self.gram.stored
            return
        n, self.values = len(index), np.empty((0, 0), np.float32)
        width = _width(n, most)
        if len(self._buffer) < n * width:
            self._buffer = np.empty(0)  # free the old one first
            try:
                self._buffer = np.empty(most * most, np.float32)
            except MemoryError:  # where memory is committed when it is allocated
                self._buffer = np.empty(n * width, np.float32)
        self._fill(width, 0)

    def has_room_for(self, count: int) -> bool:
        """Whether ``count`` more inputs fit, and are few enough that growing is cheaper than rebuilding."""
        width, n = self.values.shape[1], len(self.index)
        return count <= SLACK * n and n + count <= min(width, len(self._buffer) // max(width, 1))

    def grow(self, new: np.ndarray) -> None:
        """Append inputs, and their rows and columns to the matrix."""
        if len(new):
            known, self.index = len(self.index), np.append(self.index, new)
            self._fill(self.values.shape[1], known)

    def shrink(self, kept: np.ndarray) -> None:
        """Keep only the rows and columns at these positions, which are in ascending order."""
        symmetric.compact(self.values, kept)
        self.index, self.values = self.index[kept], self.values[: len(kept)]

    def use(self, gram: Gram) -> None:
        """Compute values from another matrix from now on, and start empty."""
        self.gram, self.index, self.values = gram, np.empty(0, int), np.empty((0, 0), np.float32)

    def _fill(self, width: int, known: int) -> None:
        """Fill the front of the buffer, where the values of the first ``known`` inputs already are."""
        n = len(self.index)
        self.values = self._buffer[: n * width].reshape(n, width)
        self.peak = max(self.peak, self.values.nbytes)
        everything = n == len(self.gram) and bool(np.all(np.diff(self.index) == 1)) and self.gram.inputs is not None
        (self.gram if everything else self.gram.take(self.index)).into(self.values, known)


def _width(n: int, most: int) -> int:
    """Row length of the matrix of n inputs, with room for more unless n is the most that the memory allows.

    Rows must not all start at the same offset within a memory page, or they would evict each other from the cache.
    """
    width = n + int(SLACK * n)
    width += 16 if width % 1024 < 16 else 0
    return max(n, min(width, most * most // n))


def precise_enough(gram: Gram) -> Gram:
    """The matrix of float32 inputs, or of float64 ones where float32 is too coarse."""
    return gram.astype(np.float64 if gram.float32_error() > COARSE else np.float32)


def stored_precisely(gram: Gram, dtype: Any) -> Stored:
    """All kernel values in float64, or in float32 from sufficiently precise inputs."""
    source = gram.astype(np.float64) if dtype == np.float64 else precise_enough(gram)
    return Stored(gram, Stored.of(source, dtype).values)


def shared_bytes(gram: Gram, sizes: np.ndarray, threads: int) -> int:
    """Bytes of `ClassPairs` in float32: values within classes and of a pair for each thread, or the whole matrix."""
    pairs = min(threads, len(sizes) * (len(sizes) - 1) // 2)
    apart = int((sizes**2).sum()) + pairs * int(np.sort(sizes)[-2:].sum()) ** 2
    # inputs are kept class by class, which would copy a precomputed matrix
    return 4 * min(apart, len(gram) ** 2) if gram.kernel.rowwise else 4 * len(gram) ** 2


class ClassPairs:
    """Kernel matrices of all pairs of classes, without computing any value twice.

    Values within a class are kept, as all pairs with that class need them. Values between two classes are computed for
    their pair alone, in buffers that pairs use in turn: ten equal classes on two threads need a fifth of the whole
    matrix. The whole matrix is kept where that is smaller, as for three classes or one dominant class, and for kernels
    whose inputs cannot be split by rows; it is kept in float64 where each pair has few inputs.

    Parameters
    ----------
    gram : Gram
        Of all inputs, sorted by their class.
    edges : array of shape (n_classes + 1,)
        Where classes begin and end.
    threads : int
        Pairs that are solved at the same time.
    doubles : bool
        Whether to keep the whole matrix in float64.
    """

    def __init__(self, gram: Gram, edges: np.ndarray, threads: int, doubles: bool = False):
        self.gram, self.edges, sizes = gram, edges, np.diff(edges)
        self.whole: Any = None
        self.nbytes = 8 * len(gram) ** 2 if doubles else shared_bytes(gram, sizes, threads)
        if doubles:
            self.whole = Stored.of(gram.astype(np.float64), np.float64).values
        elif self.nbytes == 4 * len(gram) ** 2:
            self.whole = Stored.of(precise_enough(gram), np.float32).values
        if self.whole is not None:
            return
        self._within(precise_enough(gram), threads)
        self._free: SimpleQueue[tuple[np.ndarray, int]] = SimpleQueue()  # buffers, and the first class last held
        largest = int(np.sort(sizes)[-2:].sum())
        for _ in range(min(threads, len(sizes) * (len(sizes) - 1) // 2)):
            self._free.put((np.empty((largest, largest), np.float32), -1))

    def _within(self, gram: Gram, threads: int) -> None:
        """Inputs and values of each class."""

        def visit(run: Any) -> list[tuple[Any, np.ndarray]]:
            parts = [gram.take(np.arange(begin, end)).on_threads(1) for begin, end in run]
            return [(part.inputs, part.into(np.empty(part.shape, np.float32))) for part in parts]

        edges = list(pairwise(self.edges))
        found = [each for run in _parallel.map_tiles(edges, visit, threads=threads) for each in run]
        self._classes, self._squares = [inputs for inputs, _ in found], [K for _, K in found]
        vectors = isinstance(self._classes[0], Vectors)
        self._tile = FILL_TILE if vectors else _parallel.tile_shape(self._classes[0].dtype)

    @contextmanager
    def lent(self, a: int, b: int) -> Iterator[Stored]:
        """Lend out the matrix of classes a and b; inputs of class a come first."""
        index = np.concatenate([np.arange(self.edges[c], self.edges[c + 1]) for c in (a, b)])
        part = self.gram.take(index).on_threads(1)  # pairs are solved at the same time
        if self.whole is not None:
            pair = Stored(part, self.whole, index)
            yield pair.copied() if self.whole.dtype == np.float64 else pair
            return
        (memory, last), held = self._free.get(), -1
        try:
            self._fill(memory, a, b, last)
            held = a
            yield Stored(part, memory)
        finally:
            self._free.put((memory, held))

    def _fill(self, K: np.ndarray, a: int, b: int, last: int) -> None:
        """Write the values of both classes to the front of K, which holds those within class a if ``last`` is a."""
        kernel, dtype = self.gram.kernel, self._classes[0].dtype
        n, m, tile_of = len(self._squares[a]), len(self._squares[b]), _parallel.buffer(dtype, self._tile)
        if a != last:
            K[:n, :n] = self._squares[a]
        K[n : n + m, n : n + m] = self._squares[b]
        below, left = map(_parallel.parts, tiles.trimmed(self._classes[b], self._classes[a]))
        self.gram.meter.add(n * m)
        for rows, columns in _parallel.pairs(m, n, self._tile, False):
            tile = tile_of((rows, columns))
            kernel.fill(below(rows), left(columns), tile)
            symmetric.write_both(tile, K, n + rows.start, columns.start)
