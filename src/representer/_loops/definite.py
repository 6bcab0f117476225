"""The inverse of a positive definite matrix by LAPACK, without the GIL.

SciPy's wrappers hold the GIL while LAPACK runs, so that threads with a matrix each would wait for each other. Here
ctypes calls the same routines, and releases it.
"""

from ctypes import CFUNCTYPE, POINTER, byref, c_char, c_int, c_void_p

import numpy as np
from numba.extending import get_cython_function_address

from representer._loops.symmetric import mirror

_ROUTINE = CFUNCTYPE(None, POINTER(c_char), POINTER(c_int), c_void_p, POINTER(c_int), POINTER(c_int))
_FACTOR, _INVERT = (_ROUTINE(get_cython_function_address("scipy.linalg.cython_lapack", f"dpotr{c}")) for c in "fi")


def invert(A: np.ndarray) -> bool:
    """A <- A^(-1) for a symmetric float64 matrix in C order; False if not positive definite, which destroys A."""
    if A.dtype != np.float64 or not A.flags.c_contiguous or A.shape != (len(A), len(A)):
        raise ValueError("a square float64 matrix in C order is needed")
    n, info = c_int(len(A)), c_int(0)
    for routine in (_FACTOR, _INVERT):
        # LAPACK is column-major: its upper triangle is the lower one here
        routine(byref(c_char(b"U")), byref(n), A.ctypes.data, byref(n), byref(info))
        if info.value != 0:
            return False
    mirror(A, A.diagonal().copy())
    return True
