"""Float32 kernel values for box-constrained duals: how exact they are, and matrices that several problems share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from queue import SimpleQueue
from typing import Any

import numpy as np

from representer import _tiles
from representer._loops import symmetric
from representer.kernels.base import Kernel
from representer.kernels.prepared import Vectors
from representer.problem import BoxProblem
from representer.solvers.box import FEW_BYTES

COARSE = 3e-6
"""Relative error of float32 kernel values above which even steps need float64 inputs."""

TILE = (1024, 512)
"""Shape of tiles of vectors that are only filled: no cache need hold them, and matrix products are a tenth faster."""


def rounding_of(problem: BoxProblem) -> float:
    """The size of errors of float32 kernel values k(x, y), relative to the root of k(x, x) k(y, y).

    It is their root mean square over y, for the worst of some 128 points x.
    """
    if problem.rounding is None:
        index = np.arange(0, problem.n, 1 + problem.n // 128)
        fast, exact = (problem.kernel.block(problem.at(inputs, index)) for inputs in (problem.fast, problem.exact))
        root = np.sqrt(np.abs(exact.diagonal()))
        scale = np.multiply.outer(root, root)
        errors = np.divide(fast.astype(np.float32) - exact, scale, out=np.zeros(scale.shape), where=scale > 0.0)
        problem.rounding = float(np.sqrt((errors**2).mean(axis=1).max()))
    return problem.rounding


def is_coarse(problem: BoxProblem) -> bool:
    """Whether kernel values of float32 inputs are too coarse for steps."""
    return rounding_of(problem) > COARSE


def matrix_of(problem: BoxProblem, number: Any = np.float32) -> np.ndarray:
    """The kernel matrix of all inputs, in float32 or float64."""
    index = np.arange(problem.n)
    points = problem.at(problem.exact, index) if number == np.float64 else _points(problem, index)
    return _matrix(problem.kernel, points, problem.threads, number)


def _points(problem: BoxProblem, index: np.ndarray) -> Any:
    """Some of the inputs, in float32 unless that is too coarse."""
    return problem.at(problem.exact if is_coarse(problem) else problem.fast, index)


def _matrix(kernel: Kernel, points: Any, threads: int | None, number: Any = np.float32) -> np.ndarray:
    return kernel.block(points, threads=threads, out=np.empty((len(points), len(points)), number))


class PairMatrices:
    """Kernel matrices of all pairs of classes, for which no value is computed twice.

    Values within a class are kept, as all pairs with that class need them. Values between two classes are computed for
    their pair alone, in memory that pairs take in turns: ten equal classes on two threads need a fifth of the whole
    matrix. It is the whole one that is kept where that is smaller, for three classes, or one that outweighs all others,
    and for kernels whose inputs cannot be taken apart; and in float64 where each pair has few points.

    Parameters
    ----------
    problem : BoxProblem
        Of all points, sorted by their class.
    edges : array of shape (n_classes + 1,)
        Where classes begin and end.
    threads : int
        Pairs that are solved at the same time.
    few : bool
        Whether each pair has so few points that a float64 matrix saves time.
    """

    def __init__(self, problem: BoxProblem, edges: np.ndarray, threads: int, few: bool = False):
        self.few, self.kernel, self.edges, sizes = few, problem.kernel, edges, np.diff(edges)
        largest, threads = int(np.sort(sizes)[-2:].sum()), min(threads, len(sizes) * (len(sizes) - 1) // 2)
        self.bytes = 4 * int((sizes**2).sum() + threads * largest**2)
        self.whole = None
        if few:
            self.whole = matrix_of(problem, np.float64)
            self.bytes = self.whole.nbytes + threads * FEW_BYTES * largest**2
            return
        # inputs are kept by classes, which for a precomputed matrix would be a copy of it
        if self.bytes > 4 * problem.n**2 or not problem.kernel.sliced:
            self.bytes, self.whole = 4 * problem.n**2, matrix_of(problem)
            return

        def visit(run: list[tuple[int, int]]) -> list[tuple[Any, np.ndarray]]:
            classes = [_points(problem, np.arange(begin, end)) for begin, end in run]
            return [(points, _matrix(self.kernel, points, 1)) for points in classes]

        is_coarse(problem)  # known before threads ask for it
        found = [each for run in _tiles.walk(list(pairwise(edges)), visit, threads=threads) for each in run]
        self.classes, self.squares = [points for points, _ in found], [K for _, K in found]
        self.dtype = self.classes[0].dtype
        self.tile = TILE if isinstance(self.classes[0], Vectors) else _tiles.tile_shape(self.dtype)
        self.free: SimpleQueue[tuple[np.ndarray, int]] = SimpleQueue()  # memory, and the first class of its last pair
        for _ in range(threads):
            self.free.put((np.empty((largest, largest), np.float32), -1))

    @contextmanager
    def lent_to(self, problem: BoxProblem, a: int, b: int) -> Iterator[None]:
        """The problem of classes a and b has its matrix for a while."""
        memory, last = self.free.get() if self.whole is None else (self.whole, -1)
        problem.matrix, held = memory, -1
        try:
            if self.whole is None:
                self._fill(memory, a, b, last)
                held = a
            else:
                problem.columns = np.r_[self.edges[a] : self.edges[a + 1], self.edges[b] : self.edges[b + 1]]
            yield
        finally:
            problem.matrix = problem.columns = None
            if self.whole is None:
                self.free.put((memory, held))

    def _fill(self, K: np.ndarray, a: int, b: int, last: int) -> None:
        """Values of both classes into the front of K, which has those of class a alone if it is the last one's, too."""
        n, m, tile_of = len(self.squares[a]), len(self.squares[b]), _tiles.buffer(self.dtype, self.tile)
        if a != last:
            K[:n, :n] = self.squares[a]
        K[n : n + m, n : n + m] = self.squares[b]
        below, left = map(_tiles.parts, self.kernel.between(self.classes[b], self.classes[a]))
        for rows, columns in _tiles.pairs(m, n, self.tile, False):
            tile = tile_of((rows, columns))
            self.kernel.fill_tile(below(rows), left(columns), tile, diagonal=False)
            symmetric.write_both(tile, K, n + rows.start, columns.start)
