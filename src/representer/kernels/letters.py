"""Strings as kernels read them: concatenated code points, and the k-mers in them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from representer._loops import words
from representer.kernels import checks


@dataclass(frozen=True)
class Letters:
    """n strings: the code points of all of them, and where each starts."""

    codes: np.ndarray
    starts: np.ndarray

    @classmethod
    def of(cls, X: Any, kernel: Any) -> Letters:
        """From a list or column of str, or a table of bytes with a string in each row."""
        if _is_bytes(X):
            codes = np.ascontiguousarray(X, np.uint32).ravel()
            return cls(codes, np.arange(checks.number_of(X) + 1) * X.shape[1])
        strings = strings_of(X, kernel)
        letters = bytearray("".join(strings).encode("utf-32-le", "surrogatepass"))
        codes = np.frombuffer(letters, np.uint32)
        return cls(codes, np.concatenate([[0], np.cumsum([len(s) for s in strings])]).astype(np.int64))

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def lengths(self) -> np.ndarray:
        """The number of letters of each string."""
        return np.diff(self.starts)

    def text(self, begin: int, end: int) -> str:
        """The text between two positions."""
        return self.codes[begin:end].tobytes().decode("utf-32-le", "surrogatepass")

    def words(self, length: int) -> tuple[np.ndarray, np.ndarray]:
        """The owner and the key of each word of ``length`` letters, see `_loops.words`."""
        if length > self.lengths.max(initial=0):
            return np.empty(0, np.int64), np.empty(0, np.uint64)
        packed = length <= words.PACKED and self.codes.max(initial=0) < 128
        hashes = np.empty(0, np.uint64) if packed else self._hashes(length)
        return words.keys(self.codes, self.starts, length, hashes)

    def begins(self, length: int) -> np.ndarray:
        """Where each of those words starts."""
        number = np.maximum(self.lengths - length + 1, 0)
        return np.arange(number.sum()) + np.repeat(self.starts[:-1] - np.cumsum(number) + number, number)

    def _hashes(self, length: int) -> np.ndarray:
        """A hash of the word that starts at each letter, even where it extends into the next string.

        A word of up to twice as many letters is hashed as the pair of its prefix and its suffix.
        """
        hashes, reached = words.scattered(self.codes), 1
        while reached < length:
            step = min(reached, length - reached)
            hashes = words.paired(hashes, step)
            reached += step
        return hashes


def _is_bytes(X: Any) -> bool:
    return isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype == np.uint8


def unwrapped(X: Any) -> Any:
    """A table with a single column of objects as that column; anything else as it is."""
    return X[:, 0] if isinstance(X, np.ndarray) and X.shape[1:] == (1,) and X.dtype.kind not in "biuf" else X


def strings_of(X: Any, kernel: Any) -> list[str]:
    """The inputs of a string kernel as a list of str; raise if one is anything else."""
    name = type(kernel).__name__
    if _is_bytes(X):
        return [row.tobytes().decode("latin-1") for row in X]
    strings = checks.objects(unwrapped(X), name)
    for i, x in enumerate(strings):
        if not isinstance(x, str):
            missing = x is None or type(x).__name__ == "NAType" or (isinstance(x, float) and x != x)
            remedy = f"use Missing({kernel!r}) or drop it" if missing else "convert it with str() or use another kernel"
            raise TypeError(f"{name} needs a list of str, but input {i} is {x!r}; {remedy}.")
    return strings
