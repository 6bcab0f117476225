"""One side of a Gram matrix: inputs that a kernel prepares once for each precision."""

from __future__ import annotations

from typing import Any
from weakref import ref

import numpy as np
from scipy import sparse

from representer import _parallel
from representer.kernels import checks
from representer.kernels.prepared import Prepared

SAMPLE = 128
"""Rows sampled for what all on-demand rows share, such as a mean that is subtracted."""
LONGEST_CHUNK, SHORTEST_CHUNK = 2**16, 512
"""Bounds on the rows of a chunk, whatever the memory."""


class Inputs:
    """n inputs as a kernel has prepared them.

    Parameters
    ----------
    kernel : Kernel
    prepared : what ``kernel.prepare`` returns
    """

    X: Any = None
    """The inputs as they were given, where they are known."""
    on_demand = False

    def __init__(self, kernel: Any, prepared: Any):
        self.kernel, self.like, self._whole = kernel, prepared, prepared
        self.chunks = [slice(0, len(prepared))]
        """Slices of rows that are prepared together."""

    def __len__(self) -> int:
        return self.chunks[-1].stop

    @property
    def dtype(self) -> np.dtype:
        return self.like.dtype

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays that are held for these inputs, beyond the inputs themselves."""
        return sum(array.nbytes for array in _arrays(self._whole).values() if array is not self.X)

    def chunk(self, rows: slice) -> Any:
        """The prepared inputs of one chunk."""
        return self._whole

    def at(self, index: Any) -> Any:
        """The prepared inputs at some indices."""
        return self._whole[index]

    def take(self, index: Any) -> Inputs:
        """The inputs at some indices (or a slice, or a mask), prepared when needed; ``slice(None)`` is this object."""
        everything = isinstance(index, slice) and index == slice(None)
        return self if everything else self._take(indices(index, len(self)))

    def _take(self, index: np.ndarray) -> Inputs:
        return Subset(self, index)

    def astype(self, dtype: Any, like: Any = None) -> Inputs:
        """The same inputs in another precision; this object where they cannot be converted or are out of its range."""
        return self


class Given(Inputs):
    """Inputs that a kernel prepares all at once, in chunks, or row by row on demand.

    Parameters
    ----------
    kernel : Kernel
    X : inputs of the kernel
    like : prepared inputs, optional
        The other side of the matrix, which these inputs are paired with.
    memory : int
        Bytes, a quarter of which prepared inputs may take; larger arrays and memory maps are prepared in chunks.
    on_demand : bool
        Whether rows of an array are prepared only when they are used: less memory where each is needed once.
    dtype : numpy type, optional
        Precision to which numbers are converted before they are prepared.
    """

    def __init__(
        self, kernel: Any, X: Any, like: Any = None, *, memory: int, on_demand: bool = False, dtype: Any = None
    ):
        self.kernel, self.X, self._memory, self._dtype = kernel, X, memory, dtype
        self._precisions: dict[Any, Inputs | None] = {}
        self._origin: Any = None
        """A weak reference to the inputs that these were converted from, if any: a cycle would keep both alive."""
        self.on_demand, n = on_demand and kernel.rowwise and isinstance(X, np.ndarray), checks.number_of(X)
        self.chunks = _parallel.split(n, n if self.on_demand else self._chunk_size(n))
        self._whole: Any = None
        if self.on_demand:
            self.like = self._prepared(slice(None, None, 1 + n // SAMPLE), like)
        elif len(self.chunks) == 1:
            self.like = self._whole = self._prepared(None, like)
        else:
            self.like = self._check_chunks(like)

    def _prepared(self, rows: Any, like: Any) -> Any:
        X = self.X if rows is None else self.X[rows]
        return self.kernel.prepare(X if self._dtype is None else X.astype(self._dtype), like=like)

    def _chunk_size(self, n: int) -> int:
        X = self.X
        if not (self.kernel.rowwise and isinstance(X, np.ndarray) and X.ndim == 2):
            return n
        if not isinstance(X, np.memmap) and X.nbytes <= self._memory // 4:
            return n
        per_row = 8 * 3 * X.shape[1]  # values, their layout for speed, and a temporary, in float64
        return max(SHORTEST_CHUNK, min(LONGEST_CHUNK, self._memory // (4 * per_row)))

    def _check_chunks(self, like: Any) -> Any:
        """Try every chunk now, so that a bad row does not fail an hour later; return what rows are prepared like."""
        for chunk in self.chunks:
            try:
                part = self._prepared(chunk, like)
            except ValueError as error:
                if chunk.start == 0:
                    raise
                raise ValueError(f"In the rows of X from {chunk.start} on (counted from there): {error}") from None
            like = part[np.zeros(1, int)] if like is None else like
        return like

    def chunk(self, rows: slice) -> Any:
        return self._prepared(rows, self.like) if self._whole is None else self._whole

    def at(self, index: Any) -> Any:
        if self._whole is not None:
            return self._whole[index]
        return self._prepared(index, self.like) if len(index) else self.like[:0]

    def astype(self, dtype: Any, like: Any = None) -> Inputs:
        if self.dtype == dtype or not _is_numeric(self.X) or not _fits(self.X, dtype):
            return self
        if not self.kernel.on_vectors and self.X.dtype.kind != "f":  # letters or bits are not numbers to round
            return self
        origin = None if self._origin is None else self._origin()
        if origin is not None and origin.dtype == dtype:
            return origin
        if dtype not in self._precisions:
            options: dict[str, Any] = {"memory": self._memory, "on_demand": self.on_demand, "dtype": dtype}
            try:
                found = Given(self.kernel, self.X, like, **options)
                found._origin = ref(self)
                self._precisions[dtype] = found
            except ValueError:  # squared distances are out of the range of float32
                self._precisions[dtype] = None
        other = self._precisions[dtype]
        return self if other is None else other

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_origin": None}


class Subset(Inputs):
    """The inputs at some indices of other inputs, prepared when first needed, and kept."""

    def __init__(self, parent: Inputs, index: np.ndarray):
        self.kernel, self.like, self.on_demand = parent.kernel, parent.like, parent.on_demand
        self._parent, self._index, self._whole = parent, index, None
        self.chunks = [slice(0, len(index))]

    def chunk(self, rows: slice) -> Any:
        if self._whole is None:
            self._whole = self._parent.at(self._index)
        return self._whole

    def at(self, index: Any) -> Any:
        return self._parent.at(self._index[index]) if self._whole is None else self._whole[index]

    def _take(self, index: np.ndarray) -> Inputs:
        return Subset(self._parent, self._index[index])

    def astype(self, dtype: Any, like: Any = None) -> Inputs:
        parent = self._parent.astype(dtype, like)
        return self if parent is self._parent else Subset(parent, self._index)


class Term(Inputs):
    """The inputs as they are prepared for one term of a sum of kernels."""

    def __init__(self, parent: Inputs, kernel: Any, name: str):
        self.kernel, self.like, self.chunks = kernel, getattr(parent.like, name), parent.chunks
        self._parent, self._name = parent, name

    def chunk(self, rows: slice) -> Any:
        return getattr(self._parent.chunk(rows), self._name)

    def at(self, index: Any) -> Any:
        return getattr(self._parent.at(index), self._name)


def indices(index: Any, n: int) -> np.ndarray:
    """Indices among n inputs as an array, from an array, a number, a slice or a mask."""
    if isinstance(index, np.ndarray) and index.dtype.kind == "i" and index.ndim == 1:
        return index
    return np.atleast_1d(np.arange(n)[index])


def is_all(index: np.ndarray, n: int) -> bool:
    """Whether these are the indices 0, 1, ..., n - 1."""
    return len(index) == n and bool(np.array_equal(index, np.arange(n)))


def _is_numeric(X: Any) -> bool:
    return sparse.issparse(X) or (isinstance(X, np.ndarray) and X.dtype.kind in "biuf")


def _fits(X: Any, dtype: Any) -> bool:
    """Whether the largest absolute value neither overflows nor underflows in a dtype."""
    entries, limits = X.data if sparse.issparse(X) else X, np.finfo(dtype)
    largest = max(float(entries.max(initial=0.0)), -float(entries.min(initial=0.0)))
    return largest == 0.0 or float(limits.tiny) <= largest <= float(limits.max)


def _arrays(prepared: Any) -> dict[int, np.ndarray]:
    """The arrays that prepared inputs and their parts hold, each once."""
    if isinstance(prepared, np.ndarray):
        return {id(prepared): prepared}
    if sparse.issparse(prepared):
        parts = [prepared.data, prepared.indices, prepared.indptr]
    else:
        parts = list(vars(prepared).values()) if isinstance(prepared, Prepared) else []
    arrays: dict[int, np.ndarray] = {}
    for part in parts:
        if isinstance(part, np.ndarray):
            arrays[id(part)] = part
        elif isinstance(part, Prepared) or sparse.issparse(part):
            arrays |= _arrays(part)
    return arrays
