"""The Gram matrix of a kernel as a linear operator, which is never stored."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.base import clone

from representer import _parallel
from representer._loops import products
from representer.gram import gradients, through_features
from representer.gram.operator import Meter, Operator, require_columns
from representer.gram.sides import LONGEST_CHUNK, Given, Inputs, indices, is_all
from representer.kernels import checks
from representer.kernels.base import Gradients, Kernel, same_precision
from representer.kernels.tiles import block, fill_symmetric, trimmed


class Gram(Operator):
    """The matrix K_ij = k(x_i, y_j) as a linear operator: ``K @ V`` computes tiles, uses them and discards them.

    float32 inputs are computed in float32 and summed over tiles in float64; float64 stays float64. A symmetric matrix
    computes each pair once. Results are bit-for-bit the same on every call.

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
        a few megabytes more, and a copy of a chunk with many all-zero columns. The machine's memory when not given.
    on_demand : bool
        Whether rows of an array are prepared when they are used: less memory where each is used once.

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

    def __init__(
        self,
        kernel: Kernel,
        X: Any,
        Y: Any = None,
        *,
        threads: int | None = None,
        memory: int | None = None,
        on_demand: bool = False,
    ):
        if not isinstance(kernel, Kernel):
            raise TypeError(
                f"kernel is {kernel!r}; pass a kernel object such as RBF(), or wrap a function as Callable(function)."
            )
        self.kernel = clone(kernel)  # later changes to the user's object must not reach prepared inputs
        self.threads = None if threads is None else checks.integer(threads, "threads")
        self.memory = _parallel.machine_memory() if memory is None else checks.integer(memory, "memory")
        X, Y = (X, None) if Y is None else same_precision(X, Y)
        options: dict[str, Any] = {"memory": self.memory, "on_demand": on_demand}
        self.row_inputs: Inputs
        self.column_inputs: Inputs = Given(self.kernel, X if Y is None else Y, **options)
        self.row_inputs = self.column_inputs
        if Y is not None:
            self.row_inputs = Given(self.kernel, X, self.column_inputs.like, **options)
        self.transposed, self.meter = False, Meter()
        self._whole: Gram | None = None

    @classmethod
    def of(
        cls, kernel: Kernel, A: Any, B: Any = None, *, threads: int | None = None, memory: int | None = None
    ) -> Gram:
        """The Gram matrix of inputs that the kernel has prepared already."""
        self = cls.__new__(cls)
        self.kernel, self.threads, self.meter = kernel, threads, Meter()
        self.memory = _parallel.machine_memory() if memory is None else memory
        self.row_inputs = Inputs(kernel, A)
        self.column_inputs = self.row_inputs if B is None else Inputs(kernel, B)
        self.transposed, self._whole = False, None
        return self

    @property
    def shape(self) -> tuple[int, int]:
        shape = len(self.row_inputs), len(self.column_inputs)
        return shape[::-1] if self.transposed else shape

    @property
    def dtype(self) -> np.dtype:
        return self.row_inputs.dtype

    @property
    def symmetric(self) -> bool:
        """Whether both sides are the same inputs."""
        return self.row_inputs is self.column_inputs

    @property
    def definite(self) -> bool:
        return self.kernel.definite

    @property
    def nbytes(self) -> int:
        return self.row_inputs.nbytes + (0 if self.symmetric else self.column_inputs.nbytes)

    @property
    def X(self) -> Any:
        """The inputs as they were given; None for a subset and for inputs that came prepared."""
        return self.row_inputs.X

    @property
    def inputs(self) -> Any:
        """The prepared inputs of a symmetric matrix, for a function of the same kernel; None if they are in chunks."""
        return self.row_inputs.chunk(slice(0, len(self.row_inputs))) if len(self.row_inputs.chunks) == 1 else None

    @property
    def T(self) -> Gram:
        """The transposed operator; the same object for a symmetric matrix."""
        if self.symmetric:
            return self
        return self.alike(transposed=not self.transposed)

    def __repr__(self) -> str:
        return f"Gram({self.kernel!r}, shape={self.shape}, dtype={self.dtype})"

    # ---- subsets and precisions ----

    def take(self, rows: Any, columns: Any = None) -> Gram:
        """The matrix of some of the inputs; with ``columns``, that of some rows and columns."""
        if columns is None and not self.symmetric:
            raise ValueError(f"This {self.shape[0]} x {self.shape[1]} matrix is not symmetric; give rows and columns.")
        if self.transposed:
            return self.T.take(columns, rows).T
        other = self.alike()
        other.row_inputs = self.row_inputs.take(rows)
        other.column_inputs = other.row_inputs if columns is None else self.column_inputs.take(columns)
        other._whole = self._whole or self
        return other

    def on_threads(self, threads: int | None) -> Gram:
        """The same matrix, computed on this many threads."""
        return self.alike(threads=threads)

    def astype(self, dtype: Any) -> Gram:
        """The matrix in another precision, if inputs are numbers within its range; they are prepared once for each."""
        if self.dtype == dtype:
            return self
        other, dtype = self.alike(), np.dtype(dtype).type
        columns = self.column_inputs.astype(dtype)
        rows = columns if self.symmetric else self.row_inputs.astype(dtype, like=columns.like)
        if rows.dtype == columns.dtype:
            other.row_inputs, other.column_inputs = rows, columns
        return other

    def float32_error(self) -> float:
        """The error of float32 values k(x, y), relative to sqrt(k(x, x) k(y, y)).

        The root mean square over y for the worst of some 128 inputs x; measured once, on all inputs.
        """
        if self._whole is not None:
            return self._whole.float32_error()
        if self.meter.float32_error is None:
            some = np.arange(0, len(self), 1 + len(self) // 128)
            exact = self.astype(np.float64).take(some).dense()
            with np.errstate(over="ignore", invalid="ignore"):  # then the error is infinite
                rounded = self.astype(np.float32).take(some).dense().astype(np.float32)
            norms = np.sqrt(np.abs(exact.diagonal()))
            sizes = np.multiply.outer(norms, norms)
            errors = np.divide(rounded - exact, sizes, out=np.zeros(sizes.shape), where=sizes > 0.0)
            worst = float(np.sqrt((errors**2).mean(axis=1).max()))
            self.meter.float32_error = worst if np.isfinite(worst) else np.inf
        return self.meter.float32_error

    @property
    def has_float32_error(self) -> bool:
        """Whether `float32_error` has been measured."""
        return (self if self._whole is None else self._whole).meter.float32_error is not None

    # ---- products and sums ----

    def __matmul__(self, V: Any) -> np.ndarray:
        """K V in the more precise of their dtypes, accumulated in float64; through features where that is less work."""
        V = require_columns(V, self.shape)
        dtype = np.result_type(self.dtype, V.dtype if V.dtype.kind == "f" else self.dtype)
        if through_features.pays_for_a_term(self, V[:1].size):
            return through_features.sum_of_terms(self, V).astype(dtype, copy=False)
        small = np.require(V, self.dtype, ("C", "W"))
        if through_features.pays(self, V[:1].size):
            return through_features.product(self, small).astype(dtype, copy=False)
        forward, backward = not self.transposed, self.transposed or self.symmetric
        out = np.zeros((self.shape[0], *V.shape[1:]))
        for a, b in self.chunk_pairs():
            square = self.symmetric and a == b
            visit, tiles, runs = self._product(a, b, small)
            for sum_a, sum_b in _parallel.map_tiles(tiles, visit, threads=self.threads, runs=runs):
                if forward:
                    out[a] += sum_a
                if backward and not square:
                    out[b] += sum_b
        return out.astype(dtype, copy=False)

    def __rmatmul__(self, V: Any) -> np.ndarray:
        """V K, the transposed product."""
        return (self.T @ np.asarray(V).T).T

    def _product(self, a: slice, b: slice, V: np.ndarray) -> tuple[Any, list[_parallel.Tile], int]:
        """The function that multiplies and sums runs of tiles of a pair of chunks, the tiles, and the number of runs.

        A chunk below the diagonal of a symmetric matrix is used twice, once transposed.
        """
        square = self.symmetric and a == b
        forward, backward = not self.transposed, self.transposed or self.symmetric
        kernel, dtype, width = self.kernel, self.dtype, V.shape[1:]
        A, B = trimmed(*self.chunks(a, b))
        V_a, V_b = V[a] if backward else V, V[b] if forward else V
        part_a, part_b = _parallel.parts(A), _parallel.parts(B)

        def visit(run: Any) -> tuple[np.ndarray, np.ndarray]:
            tile_of = _parallel.buffer(dtype)
            sum_a = np.zeros((len(A) if forward else 0, *width))
            sum_b = sum_a if square else np.zeros((len(B) if backward else 0, *width))
            for rows, columns in run:
                tile = tile_of((rows, columns))
                if square and rows == columns:
                    fill_symmetric(kernel, part_a(rows), tile)
                    products.apply(tile, V_b[columns], sum_a[rows])
                    continue
                kernel.fill(part_a(rows), part_b(columns), tile)
                if forward and backward:
                    products.apply_both(tile, V_b[columns], sum_a[rows], V_a[rows], sum_b[columns])
                elif forward:
                    products.apply(tile, V_b[columns], sum_a[rows])
                else:
                    products.apply_transposed(tile, V_a[rows], sum_b[columns])
            return sum_a, sum_b

        sums = 8 * (len(A) * forward + len(B) * (backward and not square)) * int(np.prod(width, dtype=int))
        runs = max(1, min(_parallel.RUNS, self.memory // (8 * max(sums, 1))))
        return visit, _parallel.pairs(len(A), len(B), _parallel.tile_shape(dtype), square), runs

    def map_tiles(
        self,
        visit: Callable[[Any], Any],
        *,
        tiles: list[_parallel.Tile] | None = None,
        runs: int = _parallel.RUNS,
        fill: Callable[[Any, Any, np.ndarray], None] | None = None,
    ) -> Iterator[Any]:
        """Yield visit(run) for runs of (rows, columns, values), computed on all threads, in the order of the runs.

        Runs cover all tiles, or those given as (rows, columns); ``fill`` computes values other than the kernel's, such
        as the distances of a radial kernel.

        Tiles of a run share one buffer: the values of a tile are overwritten by the next one. For matrices that
        are not transposed and whose inputs are prepared in one chunk.
        """
        if tiles is None:
            tiles = _parallel.pairs(*self.shape, _parallel.tile_shape(self.dtype), False)
        sizes = [(rows.stop - rows.start, columns.stop - columns.start) for rows, columns in tiles]
        self.meter.add(sum(height * width for height, width in sizes))
        shape = max(height for height, _ in sizes), max(width for _, width in sizes)
        A = self.row_inputs.chunk(slice(0, len(self.row_inputs)))
        part_a, fill = _parallel.parts(A), fill or self.kernel.fill
        part_b = part_a if self.symmetric else _parallel.parts(self.column_inputs.chunk(slice(0, self.shape[1])))

        def filled(run: Any) -> Iterator[tuple[slice, slice, np.ndarray]]:
            tile_of = _parallel.buffer(A.dtype, shape)
            for rows, columns in run:
                tile = tile_of((rows, columns))
                fill(part_a(rows), part_b(columns), tile)
                yield rows, columns, tile

        yield from _parallel.map_tiles(tiles, lambda run: visit(filled(run)), threads=self.threads, runs=runs)

    def chunks(self, a: slice, b: slice) -> tuple[Any, Any]:
        """The prepared inputs of two chunks, whose kernel evaluations are counted."""
        square = self.symmetric and a == b
        A = self.row_inputs.chunk(a)
        B = A if square else self.column_inputs.chunk(b)
        self.meter.add(len(A) * (len(A) + 1) // 2 if square else len(A) * len(B))
        return A, B

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
        are formed. With ``lower``, W is symmetric and only its lower triangle is read, as LAPACK leaves it.
        """
        return gradients.contract(self, W, lower)

    def input_gradient(self, W: Any, *, lower: bool = False) -> np.ndarray:
        """sum_j W_ij dk(x_i, y_j) / dx_i, one row for each x_i, with all y_j held fixed.

        W is as in `contract`. Where both sides are the same inputs and W is symmetric, the gradient of sum_ij W_ij
        k(x_i, x_j) is twice this, because each x_i is then a y_i, too.
        """
        return gradients.input_gradient(self, W, lower)

    # ---- entries ----

    def diag(self) -> np.ndarray:
        """k(x_i, x_i), for a symmetric matrix."""
        if not self.symmetric:
            raise ValueError(
                f"This {self.shape[0]} x {self.shape[1]} matrix pairs two sets of inputs and has no diagonal "
                "k(x, x); use Gram(kernel, X)."
            )
        return np.concatenate([self.kernel.diagonal(self.row_inputs.chunk(a)) for a in self.row_inputs.chunks])

    def rows(self, index: Any) -> np.ndarray:
        """The rows at some indices (or a slice, or a mask), as a dense block."""
        index = np.atleast_1d(np.arange(self.shape[0])[index])
        self._require_memory((len(index), self.shape[1]), "rows")
        return self.block(index, slice(None))

    def block(self, rows: Any, columns: Any) -> np.ndarray:
        """The values of some rows and columns, as an array."""
        rows, columns = indices(rows, self.shape[0]), indices(columns, self.shape[1])
        own, other = (self.column_inputs, self.row_inputs) if self.transposed else (self.row_inputs, self.column_inputs)
        A = own.chunk(own.chunks[0]) if len(own.chunks) == 1 and is_all(rows, len(own)) else own.at(rows)
        every = is_all(columns, len(other))
        parts = other.chunks if every else _parallel.split(len(columns), LONGEST_CHUNK) or [slice(0, 0)]
        out: Any = None if len(parts) == 1 else np.empty((len(rows), len(columns)), self.dtype)
        for b in parts:
            B = other.chunk(b) if every else other.at(columns[b])
            self.meter.add(len(A) * len(B))
            # a precomputed kernel knows rows against columns only, so a transposed matrix is asked for columns
            values = block(self.kernel, *((B, A) if self.transposed else (A, B)), threads=self.threads)
            values = values.T if self.transposed else values
            if out is None:
                return values
            out[:, b] = values
        return out

    def dense(self) -> np.ndarray:
        """The whole matrix as an array, exactly symmetric for a symmetric operator."""
        self._require_memory(self.shape, "dense")
        if self.transposed:
            return self.T.dense().T
        single = len(self.row_inputs.chunks) == len(self.column_inputs.chunks) == 1
        if not self.symmetric and single:
            return self.block(slice(None), slice(None))
        return self.into(None if single else np.empty(self.shape, self.dtype))

    def into(self, out: Any, known: int = 0) -> np.ndarray:
        """Write the whole matrix to the first columns of ``out``, whose first ``known`` rows and columns are in place.

        A matrix that is not symmetric, or whose inputs are in chunks, is computed in full.
        """
        if self.inputs is not None and self.symmetric:
            n = len(self)
            self.meter.add(n * (n + 1) // 2 - known * (known + 1) // 2)
            return block(self.kernel, self.inputs, threads=self.threads, out=out, known=known)
        for a, b in self.chunk_pairs():
            square = self.symmetric and a == b
            A, B = self.chunks(a, b)
            out[a, b] = block(self.kernel, A, None if square else B, threads=self.threads)
            if self.symmetric and not square:
                out[b, a] = out[a, b].T
        return out

    def _require_memory(self, shape: tuple[int, int], what: str) -> None:
        needed = shape[0] * shape[1] * self.dtype.itemsize
        if needed > self.memory:
            raise MemoryError(
                f"{what}() needs {needed / 1e9:.3g} GB for {shape[0]} x {shape[1]} values, above the budget of "
                f"{self.memory / 1e9:.3g} GB; "
                "use products K @ V, which store no matrix, fewer rows, float32 inputs, or a larger memory=."
            )

    def chunk_pairs(self) -> Iterator[tuple[slice, slice]]:
        for a in self.row_inputs.chunks:
            for b in self.column_inputs.chunks:
                if not self.symmetric or b.start <= a.start:
                    yield a, b
