"""Kernels of strings, given as a list of str."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from representer.kernels import checks
from representer.kernels.base import Gradients, Kernel
from representer.kernels.prepared import SparseVectors

Tables = tuple[np.ndarray, ...]
"""Sorted numbers that stand for letters, for different words of a few letters, of more, and of k letters."""


class Spectrum(Kernel):
    """k(s, t) = sum_u count(u in s) count(u in t) over all words u of k letters.

    Time and memory grow with the total length of the strings, and hardly with k.

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

    rowwise = False
    on_vectors = False

    def __init__(self, k: int = 3):
        self.k = k

    def prepare(self, X: Any, like: SparseVectors | None = None) -> SparseVectors:
        checks.integer(self.k, "k")
        strings = checks.objects(X, "Spectrum")
        for i, x in enumerate(strings):
            if not isinstance(x, str):
                raise TypeError(
                    f"Spectrum needs a list of str, but input {i} is {x!r}; "
                    "convert it with str() or use another kernel."
                )
        text = Text.of(strings, self.k)
        tables, columns = rank_words(text, self.k)
        counts = text.counts(tables, columns)
        squares = np.asarray(counts.multiply(counts).sum(axis=1)).ravel()
        if like is not None:
            # words that the other side has never seen count for k(s, s) only
            tables, columns = rank_words(text, self.k, like.vocabulary)
            counts = text.counts(tables, columns)
        return SparseVectors(counts, squares, vocabulary=tables)

    def fill(self, A: SparseVectors, B: SparseVectors, tile: np.ndarray) -> None:
        A.products(B, tile)

    def diagonal(self, A: SparseVectors) -> np.ndarray:
        return A.squared_norms

    def vjp(self, A: SparseVectors, B: SparseVectors, W: np.ndarray) -> Gradients:
        return {}


@dataclass(frozen=True)
class Text:
    """Strings one after the other as code points, and all words of k letters in them: where they start, in which one.

    A string that is shorter than k has no words, and adds no letters.
    """

    letters: np.ndarray
    starts: np.ndarray
    owners: np.ndarray
    n_strings: int

    @classmethod
    def of(cls, strings: list[str], k: int) -> Text:
        """The text of some strings."""
        owners = np.array([i for i, s in enumerate(strings) if len(s) >= k], np.int64)
        lengths = np.array([len(strings[i]) for i in owners], np.int64)
        letters = "".join(strings[i] for i in owners).encode("utf-32-le", "surrogatepass")
        number = lengths - k + 1
        # each string before this one has k - 1 more letters than words
        starts = np.arange(number.sum()) + np.repeat((k - 1) * np.arange(len(owners)), number)
        return cls(np.frombuffer(letters, np.uint32), starts, np.repeat(owners, number), len(strings))

    def counts(self, tables: Tables, columns: np.ndarray) -> Any:
        """How often each string has each word of the tables (CSR), from the column of each word, -1 for none."""
        known = columns >= 0
        entries = np.ones(np.count_nonzero(known)), (self.owners[known], columns[known])
        counts = sparse.csr_array(entries, shape=(self.n_strings, max(len(tables[-1]), 1)))
        counts.sum_duplicates()
        return counts


def rank_words(text: Text, k: int, like: Tables | None = None) -> tuple[Tables, np.ndarray]:
    """Tables of the words of k letters in a text, and the rank of each word of the text in the last table.

    With ``like`` the tables are those of another text, and the rank of a word that it does not have is -1. No word is
    written out: a few letters are a number in base |alphabet|, and a word of up to twice as many is the pair of the
    ranks of its first and of its last letters. That is log k sorts of as many numbers as there are letters.
    """
    tables: list[np.ndarray] = []

    def ranks(numbers: np.ndarray) -> np.ndarray:
        table, found = _ranked(numbers, None if like is None else like[len(tables)])
        tables.append(table)
        return found

    digits = ranks(text.letters)
    base = max(len(tables[0]), 2)
    length = min(k, int(62 / np.log2(base)))
    numbers = _in_base(base, digits, length)
    while length < k:
        step = min(length, k - length)
        numbers = _pairs(ranks(numbers), step, len(tables[-1]))
        length += step
    columns = ranks(numbers[text.starts])
    return tuple(tables), columns


def _ranked(numbers: np.ndarray, table: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """A sorted table, by default of all different numbers, and the rank of each number in it, -1 for none."""
    if table is None:
        return np.unique(numbers, return_inverse=True)
    if not len(table):
        return table, np.full(len(numbers), -1)
    ranks = np.minimum(np.searchsorted(table, numbers), len(table) - 1)
    return table, np.where(table[ranks] == numbers, ranks, -1)


def _in_base(base: int, digits: np.ndarray, length: int) -> np.ndarray:
    """The number that the ``length`` digits from each place on make, -1 where one of them is -1."""
    n = max(len(digits) - length + 1, 0)
    numbers, missing = np.zeros(n, np.int64), np.zeros(n, bool)
    for position in range(length):
        digit = digits[position : position + n]
        numbers *= base
        numbers += digit
        missing |= digit < 0
    numbers[missing] = -1
    return numbers


def _pairs(ranks: np.ndarray, step: int, base: int) -> np.ndarray:
    """A number for each rank and the rank ``step`` places further on, -1 where one of them is -1."""
    n = max(len(ranks) - step, 0)
    first, last = ranks[:n], ranks[step : step + n]
    return np.where((first < 0) | (last < 0), -1, first * base + last)
