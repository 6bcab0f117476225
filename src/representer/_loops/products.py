"""Matrix products of tiles, which call BLAS from compiled code.

Each return to Python would wait for the GIL.
"""

from typing import Any

import numpy as np
from numba.core import types
from numba.core.typing.templates import signature
from numba.extending import overload

from representer._loops.jit import STRICT, loop
from representer._loops.simd import skinny_products

NARROW = 5, 48
"""Range of column counts for which BLAS is slower. With fewer, most of a group of columns would be padding."""


@loop
def inner_products(A, B, tile):
    """tile_ij <- <A_i, B_j>."""
    np.dot(A, B.T, tile)


@loop
def apply(tile, V, out):
    """out += tile V, for a vector or several columns; ``out`` is float64."""
    if V.ndim == 2 and NARROW[0] <= V.shape[1] <= NARROW[1]:
        skinny_products.add_product(tile[:, :], V, out)  # any layout, so that it is compiled only once
    else:
        out += np.dot(tile, V)


def apply_transposed(tile, V, out):
    """out += tile' V."""
    apply(tile.T, V, out)


@loop
def apply_both(tile, V, out, V_transposed, out_transposed):
    """out += tile V and out_transposed += tile' V_transposed, for a tile off the diagonal of a symmetric matrix."""
    apply(tile, V, out)
    apply(tile.T, V_transposed, out_transposed)


_CHAR, _INDEX = types.char, types.intp


def _gemm(number) -> Any:
    """BLAS gemm, as called by `np.dot` in compiled code."""
    pointer = types.CPointer(number)
    return types.ExternalFunction(
        "numba_xxgemm",
        signature(
            types.intc,
            *(_CHAR, _CHAR, _CHAR, _INDEX, _INDEX, _INDEX),  # type, transpositions, sizes
            *(pointer, pointer, _INDEX, pointer, _INDEX),  # a factor and two matrices, with leading dimensions
            *(pointer, pointer, _INDEX),  # the same for the result
        ),
    )


_GEMM = {types.float32: (_gemm(types.float32), ord("s"), 4), types.float64: (_gemm(types.float64), ord("d"), 8)}
_PLAIN, _TRANSPOSED = ord("n"), ord("t")


def _subtract(A, B, out):
    out -= A @ B.T


@overload(_subtract, jit_options={"fastmath": STRICT})
def _compiled_subtract(A, B, out):
    if A.dtype not in _GEMM or any(array.dtype != A.dtype or array.ndim != 2 for array in (A, B, out)):
        return None
    gemm, kind, size = _GEMM[A.dtype]

    def subtract(A, B, out):
        minus, one = np.full(1, -1.0, A.dtype), np.full(1, 1.0, A.dtype)
        (m, k), n = A.shape, len(B)
        steps = A.strides[0] // size, B.strides[0] // size, out.strides[0] // size
        # BLAS is column-major, so it sees the transposes: out' -= B A'
        right, left = (B.ctypes, steps[1]), (A.ctypes, steps[0])
        gemm(kind, _TRANSPOSED, _PLAIN, n, m, k, minus.ctypes, *right, *left, one.ctypes, out.ctypes, steps[2])

    return subtract


@loop
def _by_rows(A):
    return A.strides[1] == A.itemsize and A.strides[0] >= A.itemsize * A.shape[1]


@loop
def subtract_product(A, B, out):
    """out -= A B' in their common precision, for slices of C-contiguous arrays; the product is not stored."""
    if A.shape[1] != B.shape[1] or out.shape != (len(A), len(B)):
        raise ValueError("shapes do not match")
    if out.size == 0 or A.shape[1] == 0:
        return
    if not (_by_rows(A) and _by_rows(B) and _by_rows(out)):
        raise ValueError("A, B and out must have contiguous rows")
    _subtract(A, B, out)
