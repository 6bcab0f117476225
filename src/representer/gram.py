"""The Gram matrix of a kernel as a linear operator, which is never stored."""

from __future__ import annotations

import os
from collections.abc import Iterator
from copy import copy
from functools import lru_cache
from typing import Any

import numpy as np
from sklearn.base import clone

from representer import _tiles
from representer._loops import products
from representer.kernels import checks
from representer.kernels.base import Gradients, Kernel, add_gradients, same_precision


class Gram:
    """The matrix K_ij = k(x_i, y_j) as a linear operator: ``K @ V`` computes tiles, uses them and forgets them.

    float32 inputs are computed in float32 and summed over tiles in float64; float64 stays float64. A symmetric matrix
    computes each pair once. Results are the same bit for bit on every call.

    Parameters
    ----------
    kernel : Kernel
    X : inputs of the kernel
        Not to be changed afterwards. A memory-mapped array is read in chunks and never copied whole.
    Y : inputs of the kernel, optional
        X when not given; then the matrix is symmetric.
    threads : int, optional
        As many as cores when not given.
    memory : int, optional
        Bytes that `dense` and `rows` may return, and that bound the chunks in which inputs are prepared; products need
        some megabytes beyond it, and a copy of a chunk that has many columns of zeros. The machine's memory when not
        given.

    Examples
    --------
    >>> import numpy as np
    >>> from representer import Gram
    >>> from representer.kernels import RBF
    >>> X = np.random.default_rng(0).normal(size=(1000, 3))
    >>> K = Gram(RBF(), X)
    >>> K.shape, (K @ np.ones(1000)).shape
    ((1000, 1000), (1000,))
    """

    __array_ufunc__ = None  # numpy arrays leave `V @ K` to this class

    def __init__(self, kernel: Kernel, X: Any, Y: Any = None, *, threads: int | None = None, memory: int | None = None):
        if not isinstance(kernel, Kernel):
            raise TypeError(
                f"kernel is {kernel!r}; pass a kernel object such as RBF(), or wrap a function as Callable(function)."
            )
        self.kernel = clone(kernel)  # later changes of the user's object do not reach prepared inputs
        self.threads = None if threads is None else checks.whole(threads, "threads")
        self.memory = machine_memory() if memory is None else checks.whole(memory, "memory")
        X, Y = (X, None) if Y is None else same_precision(X, Y)
        self._columns = _Inputs(kernel, X if Y is None else Y, None, self.memory)
        self._rows = self._columns if Y is None else _Inputs(kernel, X, self._columns.like, self.memory)
        self._transposed = False

    @classmethod
    def of(
        cls, kernel: Kernel, A: Any, B: Any = None, *, threads: int | None = None, memory: int | None = None
    ) -> Gram:
        """The Gram matrix of inputs that the kernel has prepared already."""
        self = cls.__new__(cls)
        self.kernel, self.threads = kernel, threads
        self.memory = machine_memory() if memory is None else memory
        self._rows = _Inputs.prepared(A)
        self._columns = self._rows if B is None else _Inputs.prepared(B)
        self._transposed = False
        return self

    @property
    def shape(self) -> tuple[int, int]:
        shape = len(self._rows), len(self._columns)
        return shape[::-1] if self._transposed else shape

    @property
    def dtype(self) -> np.dtype:
        return self._rows.like.dtype

    @property
    def symmetric(self) -> bool:
        """Whether both sides are the same inputs."""
        return self._rows is self._columns

    @property
    def T(self) -> Gram:
        """The transposed operator; the same object for a symmetric matrix."""
        if self.symmetric:
            return self
        other = copy(self)
        other._transposed = not self._transposed
        return other

    def __repr__(self) -> str:
        return f"Gram({self.kernel!r}, shape={self.shape}, dtype={self.dtype})"

    # ---- products and sums ----

    def __matmul__(self, V: Any) -> np.ndarray:
        """K V for a vector or several columns.

        Tiles are multiplied in K's dtype, to which V is rounded, and summed in float64; the result has the more precise
        of the dtypes of K and V.
        """
        V = np.asarray(V)
        if V.ndim not in (1, 2) or V.shape[0] != self.shape[1]:
            raise ValueError(
                f"V has shape {V.shape}, but K has shape {self.shape}; V needs one row for each column of K."
            )
        if V.dtype.kind not in "biuf":
            raise TypeError(f"V holds {V.dtype}; a product with K needs real numbers.")
        out = np.zeros((self.shape[0], *V.shape[1:]))
        small = np.ascontiguousarray(V, self.dtype)
        for a, b in self._chunk_pairs():
            self._multiply(a, b, small, out)
        return out.astype(np.result_type(self.dtype, V.dtype if V.dtype.kind == "f" else self.dtype), copy=False)

    def __rmatmul__(self, V: Any) -> np.ndarray:
        """V K, the transposed product."""
        return (self.T @ np.asarray(V).T).T

    def _multiply(self, a: slice, b: slice, V: np.ndarray, out: np.ndarray) -> None:
        """Add the products of one pair of chunks to ``out``.

        A chunk below the diagonal of a symmetric matrix serves both of its sides.
        """
        square = self.symmetric and a == b
        forward, backward = not self._transposed, self._transposed or self.symmetric
        A, B = self.kernel.between(self._rows.chunk(a), self._columns.chunk(b))
        V_a, V_b = V[a] if backward else V, V[b] if forward else V
        part_a, part_b = _tiles.parts(A), _tiles.parts(B)
        width = V.shape[1:]

        def visit(run: list[_tiles.Tile]) -> tuple[np.ndarray, np.ndarray]:
            tile_of = _tiles.buffer(self.dtype)
            sum_a = np.zeros((len(A) if forward else 0, *width))
            sum_b = sum_a if square else np.zeros((len(B) if backward else 0, *width))
            for rows, columns in run:
                tile = tile_of((rows, columns))
                on_diagonal = square and rows == columns
                self.kernel.fill_tile(part_a(rows), part_b(columns), tile, diagonal=on_diagonal)
                if forward and backward and not on_diagonal:
                    products.apply_both(tile, V_b[columns], sum_a[rows], V_a[rows], sum_b[columns])
                elif forward:
                    products.apply(tile, V_b[columns], sum_a[rows])
                else:
                    products.apply_transposed(tile, V_a[rows], sum_b[columns])
            return sum_a, sum_b

        tiles = _tiles.pairs(len(A), len(B), _tiles.tile_shape(self.dtype), square)
        sums = 8 * (len(A) * forward + len(B) * (backward and not square)) * int(np.prod(width, dtype=int))
        runs = max(1, min(_tiles.RUNS, self.memory // (8 * max(sums, 1))))
        for sum_a, sum_b in _tiles.walk(tiles, visit, threads=self.threads, runs=runs):
            if forward:
                out[a] += sum_a
            if backward and not square:
                out[b] += sum_b

    def sum(self, axis: int | None = None) -> Any:
        """The sums of rows (axis 1), of columns (axis 0), or of all entries."""
        if axis not in (None, 0, 1):
            raise ValueError(
                f"axis is {axis!r}; use 0 for sums of columns, 1 for sums of rows, or None for the sum of all."
            )
        K = self.T if axis == 0 else self
        sums = K @ np.ones(K.shape[1])
        return sums.sum() if axis is None else sums

    def contract(self, W: Any, *, lower: bool = False) -> Gradients:
        """sum_ij W_ij dk(x_i, y_j) / dtheta for each hyper-parameter, by name.

        W is an array of K's shape, or a pair (U, V) of thin factors with W = U V'. Only tiles of W and of derivatives
        are made. With ``lower`` W is symmetric and only its lower triangle is read, as LAPACK leaves it.
        """
        if lower and not self.symmetric:
            raise ValueError("lower=True means a symmetric W, but this matrix pairs two different sets of inputs.")
        weights = self._weights(W)
        total: Gradients = {}
        for a, b in self._chunk_pairs():
            A, B = self._rows.chunk(a), self._columns.chunk(b)
            square = self.symmetric and a == b
            visit = self._contraction(A, B, a.start, b.start, weights, lower)
            tiles = _tiles.pairs(len(A), len(B), _tiles.tile_shape(self.dtype), square)
            for part in _tiles.walk(tiles, visit, threads=self.threads):
                add_gradients(total, part)
        return total

    def _contraction(self, A: Any, B: Any, first_row: int, first_column: int, weights: Any, lower: bool) -> Any:
        part_a, part_b = _tiles.parts(A), _tiles.parts(B)

        def visit(run: list[_tiles.Tile]) -> Gradients:
            total: Gradients = {}
            for rows, columns in run:
                i = slice(rows.start + first_row, rows.stop + first_row)
                j = slice(columns.start + first_column, columns.stop + first_column)
                W = weights(i, j).astype(self.dtype, copy=False)
                if lower:
                    W = 2.0 * W if i != j else np.tril(W) + np.tril(W, -1).T
                elif self.symmetric and i != j:
                    W = W + weights(j, i).T.astype(self.dtype, copy=False)
                add_gradients(total, self.kernel.pull(part_a(rows), part_b(columns), W))
            return total

        return visit

    def input_gradient(self, W: Any, *, lower: bool = False) -> np.ndarray:
        """sum_j W_ij dk(x_i, y_j) / dx_i, a row of numbers for each x_i, with all y_j held.

        W is as in `contract`. Where both sides are the same inputs and W is symmetric, sum_ij W_ij k(x_i, x_j) changes
        by twice this, because each x_i is then a y_i, too.
        """
        if lower and not self.symmetric:
            raise ValueError("lower=True means a symmetric W, but this matrix pairs two different sets of inputs.")
        weights = self._weights(W)
        own, other = (self._columns, self._rows) if self._transposed else (self._rows, self._columns)
        of = (lambda i, j: weights(j, i).T) if self._transposed else weights
        total: dict[int, np.ndarray] = {}
        for a in own.chunks:
            for b in other.chunks:
                if lower and b.start > a.start:
                    continue
                A, B = own.chunk(a), other.chunk(b)
                visit = self._input_pulls(A, B, a.start, b.start, of, lower)
                tiles = _tiles.pairs(len(A), len(B), _tiles.tile_shape(self.dtype), lower and a == b)
                for part in _tiles.walk(tiles, visit, threads=self.threads):
                    for start, rows in part.items():
                        total[start] = total.get(start, 0.0) + rows
        return np.concatenate([total[start] for start in sorted(total)])

    def _input_pulls(self, A: Any, B: Any, first_row: int, first_column: int, weights: Any, lower: bool) -> Any:
        part_a, part_b = _tiles.parts(A), _tiles.parts(B)

        def visit(run: list[_tiles.Tile]) -> dict[int, np.ndarray]:
            total: dict[int, np.ndarray] = {}

            def add(start: int, pulls: np.ndarray) -> None:
                total[start] = total.get(start, 0.0) + pulls.astype(np.float64, copy=False)

            for rows, columns in run:
                i = slice(rows.start + first_row, rows.stop + first_row)
                j = slice(columns.start + first_column, columns.stop + first_column)
                W = weights(i, j).astype(self.dtype, copy=False)
                if lower and i == j:
                    W = np.tril(W) + np.tril(W, -1).T
                add(i.start, self.kernel.pull_input(part_a(rows), part_b(columns), W))
                if lower and i != j:
                    add(j.start, self.kernel.pull_input(part_b(columns), part_a(rows), W.T))
            return total

        return visit

    def _weights(self, W: Any) -> Any:
        """W as a function of (rows, columns) of the matrix as it was built, before any transposition."""
        factors = W if isinstance(W, tuple) else (W,)
        arrays = [np.asarray(factor) for factor in factors]
        if any(array.dtype.kind not in "biuf" for array in arrays):
            raise TypeError(f"W holds {arrays[0].dtype}; a contraction needs real numbers.")
        shapes = tuple(array.shape for array in arrays)
        n, m = self.shape
        low_rank = len(arrays) == 2 and all(array.ndim == 2 for array in arrays) and shapes[0][1] == shapes[1][1]
        if not (low_rank and (shapes[0][0], shapes[1][0]) == (n, m)) and shapes != ((n, m),):
            raise ValueError(
                f"W has shape {shapes}, but K has shape {(n, m)}; "
                "give an array of that shape or factors (U, V) with W = U V'."
            )
        if self._transposed:
            arrays = arrays[::-1] if low_rank else [arrays[0].T]
        return (lambda i, j: arrays[0][i] @ arrays[1][j].T) if low_rank else (lambda i, j: arrays[0][i, j])

    # ---- entries ----

    def diag(self) -> np.ndarray:
        """k(x_i, x_i), for a symmetric matrix."""
        if not self.symmetric:
            raise ValueError(
                f"This {self.shape[0]} x {self.shape[1]} matrix pairs two sets of inputs and has no diagonal "
                "k(x, x); use Gram(kernel, X)."
            )
        return np.concatenate([self.kernel.diagonal(self._rows.chunk(a)) for a in self._rows.chunks])

    def rows(self, index: Any) -> np.ndarray:
        """The rows at some indices (or a slice, or a mask), as a dense block."""
        index = np.atleast_1d(np.arange(self.shape[0])[index])
        self._announce((len(index), self.shape[1]), "rows")
        own, other = (self._columns, self._rows) if self._transposed else (self._rows, self._columns)
        A = own.at(index)
        if len(other.chunks) == 1 and not self._transposed:
            return self.kernel.block(A, other.chunk(other.chunks[0]), threads=self.threads)
        out = np.empty((len(index), self.shape[1]), self.dtype)
        for b in other.chunks:
            # a precomputed kernel knows rows against columns only, so a transposed matrix is asked for columns
            pair = (other.chunk(b), A) if self._transposed else (A, other.chunk(b))
            block = self.kernel.block(*pair, threads=self.threads)
            out[:, b] = block.T if self._transposed else block
        return out

    def dense(self) -> np.ndarray:
        """The whole matrix as an array, exactly symmetric for a symmetric operator."""
        self._announce(self.shape, "dense")
        if self.symmetric and len(self._rows.chunks) == 1:
            return self.kernel.block(self._rows.chunk(self._rows.chunks[0]), threads=self.threads)
        out = np.empty((len(self._rows), len(self._columns)), self.dtype)
        for a, b in self._chunk_pairs():
            square = self.symmetric and a == b
            out[a, b] = self.kernel.block(
                self._rows.chunk(a), None if square else self._columns.chunk(b), threads=self.threads
            )
            if self.symmetric and not square:
                out[b, a] = out[a, b].T
        return out.T if self._transposed else out

    def _announce(self, shape: tuple[int, int], what: str) -> None:
        needed = shape[0] * shape[1] * self.dtype.itemsize
        if needed > self.memory:
            raise MemoryError(
                f"{what}() needs {needed / 1e9:.3g} GB for {shape[0]} x {shape[1]} values, above the budget of "
                f"{self.memory / 1e9:.3g} GB; "
                "use products K @ V, which store no matrix, fewer rows, float32 inputs, or a larger memory=."
            )

    def _chunk_pairs(self) -> Iterator[tuple[slice, slice]]:
        for a in self._rows.chunks:
            for b in self._columns.chunks:
                if not self.symmetric or b.start <= a.start:
                    yield a, b


class _Inputs:
    """One side of a Gram matrix: prepared once, or in chunks whenever they are needed if it is too large for that."""

    def __init__(self, kernel: Kernel, X: Any, like: Any, memory: int):
        self._kernel, self._X, self._n = kernel, X, checks.number_of(X)
        streamed = kernel.sliced and isinstance(X, np.ndarray) and X.ndim == 2
        per_row = 8 * 3 * X.shape[1] if streamed else 1  # values, their layout for speed, and a temporary, in float64
        size = max(512, min(2**16, memory // (4 * per_row)))
        if not streamed or not (isinstance(X, np.memmap) or X.nbytes > memory // 4) or size >= self._n:
            self.chunks = [slice(0, self._n)]
            self.like = self._whole = kernel.prepare(X, like=like)
            return
        self.chunks = _tiles.split(self._n, size)
        self._whole = None
        first = kernel.prepare(X[self.chunks[0]], like=like)
        self.like = first[:1] if like is None else like
        for chunk in self.chunks[1:]:  # bad values in the last rows are found now and not after an hour
            try:
                kernel.prepare(X[chunk], like=self.like)
            except ValueError as error:
                raise ValueError(f"In the rows of X from {chunk.start} on (counted from there): {error}") from None

    @classmethod
    def prepared(cls, inputs: Any) -> _Inputs:
        """Inputs that a kernel has prepared already."""
        self = cls.__new__(cls)
        self._n, self.like, self._whole = len(inputs), inputs, inputs
        self.chunks = [slice(0, len(inputs))]
        return self

    def __len__(self) -> int:
        return self._n

    def chunk(self, rows: slice) -> Any:
        """The prepared inputs of one chunk."""
        return self._whole if self._whole is not None else self._kernel.prepare(self._X[rows], like=self.like)

    def at(self, index: np.ndarray) -> Any:
        """The prepared inputs at some indices."""
        return self._whole[index] if self._whole is not None else self._kernel.prepare(self._X[index], like=self.like)


@lru_cache(maxsize=1)  # asking takes a tenth of a millisecond
def machine_memory() -> int:
    """The machine's memory in bytes, or 16 GB where the system does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 16 * 10**9
