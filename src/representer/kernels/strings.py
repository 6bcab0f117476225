"""Kernels of strings, given as a list of str."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy import sparse

from representer.kernels import checks
from representer.kernels.base import Gradients, Kernel
from representer.kernels.prepared import SparseVectors


class Spectrum(Kernel):
    """k(s, t) = sum_u count(u in s) count(u in t) over all words u of k letters.

    Parameters
    ----------
    k : int
        Length of the words. A string shorter than k has none, and its kernel values are zero.

    Examples
    --------
    >>> from representer.kernels import Spectrum
    >>> Spectrum(3)(["ACGT", "ACGA"])
    array([[2., 1.],
           [1., 2.]])
    """

    sliced = False
    on_vectors = False

    def __init__(self, k: int = 3):
        self.k = k

    def prepare(self, X: Any, like: SparseVectors | None = None) -> SparseVectors:
        checks.whole(self.k, "k")
        strings = checks.objects(X, "Spectrum")
        for i, x in enumerate(strings):
            if not isinstance(x, str):
                raise TypeError(
                    f"Spectrum needs a list of str, but input {i} is {x!r}; "
                    "convert it with str() or use another kernel."
                )
        words, counts = count_words(strings, self.k)
        squares = np.asarray(counts.multiply(counts).sum(axis=1)).ravel()
        if like is not None:
            # words that the other side has never seen count for k(s, s) only
            column = np.searchsorted(like.vocabulary, words)
            known = np.flatnonzero(like.vocabulary[np.minimum(column, len(like.vocabulary) - 1)] == words)
            counts = counts[:, known]
            shape = len(strings), len(like.vocabulary)
            words, counts = (
                like.vocabulary,
                sparse.csr_array((counts.data, column[known][counts.indices], counts.indptr), shape=shape),
            )
        return SparseVectors(counts, squares, vocabulary=words)

    def fill(self, A: SparseVectors, B: SparseVectors, tile: np.ndarray) -> None:
        A.products(B, tile)

    def diagonal(self, A: SparseVectors) -> np.ndarray:
        return A.squares

    def pull(self, A: SparseVectors, B: SparseVectors, W: np.ndarray) -> Gradients:
        return {}


def count_words(strings: list[str], k: int) -> tuple[np.ndarray, Any]:
    """The sorted words of k letters that occur, and how often in each string (CSR, one column per word)."""
    lengths = np.array([len(s) for s in strings])
    owner = np.repeat(np.arange(len(strings)), np.maximum(lengths - k + 1, 0))
    if not len(owner):
        return np.array([" " * k]), sparse.csr_array((len(strings), 1))
    letters = np.frombuffer("".join(strings).encode("utf-32-le", "surrogatepass"), np.uint32)
    ends_in = np.repeat(np.cumsum(lengths), lengths)
    starts = np.flatnonzero(np.arange(len(letters)) + k <= ends_in)
    windows = sliding_window_view(letters, k)
    alphabet, ranks = np.unique(letters, return_inverse=True)
    if (
        len(alphabet) ** k < 2**62
    ):  # a word is a number in base |alphabet|, which sorts fast and in the order of the letters
        keys = np.zeros(len(starts), np.int64)
        for position in range(k):
            keys *= len(alphabet)
            keys += ranks[starts + position]
    else:
        keys = np.ascontiguousarray(windows[starts]).view(f"<U{k}").ravel()
    _, first, column = np.unique(keys, return_index=True, return_inverse=True)
    words = np.ascontiguousarray(windows[starts[first]]).view(f"<U{k}").ravel()
    counts = sparse.csr_array((np.ones(len(column)), (owner, column)), shape=(len(strings), len(words)))
    counts.sum_duplicates()
    return words, counts
