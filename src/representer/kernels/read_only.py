"""Views of read-only memory, such as columns of a data frame or memory maps, for loops that only read."""

from __future__ import annotations

import numpy as np


class _Memory:
    """The memory of an array, as described to NumPy."""

    def __init__(self, array: np.ndarray):
        pointer, _ = array.__array_interface__["data"]
        self.__array_interface__ = {**array.__array_interface__, "data": (pointer, False)}
        self.array = array


def readable(array: np.ndarray) -> np.ndarray:
    """The array, or a view of a read-only one that NumPy takes for writable.

    Loops do not write to inputs, and would be recompiled for read-only ones, such as columns of a data frame.
    """
    return array if array.flags.writeable else np.asarray(_Memory(array))
