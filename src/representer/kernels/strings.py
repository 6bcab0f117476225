"""String kernels by counts of words of k letters (k-mers)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from representer.kernels import checks
from representer.kernels.counts import Counted, Counts
from representer.kernels.letters import Letters
from representer.kernels.named_features import Features

PAIRED = "ACGTURYKMBVDHSWN", "TGCAAYRMKVBHDSWN"
"""Letters of nucleotides, ambiguity codes included, and their complements."""


class Spectrum(Counts):
    """k(s, t) = sum_u count(u in s) count(u in t) over all words u of k letters.

    With weights, words of 1, ..., k letters count: k(s, t) = sum_j w_j sum over words u of j letters (blended
    spectrum). Time and memory grow with the total length of the strings, and hardly with k. The kernel is positive
    semidefinite for all k and weights, and with a ``compare`` that is.

    Parameters
    ----------
    k : int
        Length of the words. A string shorter than k has none, and its kernel values are zero.
    weights : array of shape (k,), optional
        A weight for each length of words from 1 to k, none negative; it has a gradient.
    both_strands : bool
        Whether strings are DNA or RNA, and words of the reverse complement count as well.
    compare : Kernel, optional
        How counts are compared; by the inner product when not given. Any kernel on rows that depends on products,
        distances or minima will do, such as HistogramIntersection(), Tanimoto() or RBF().

    Examples
    --------
    >>> from representer.kernels import Spectrum
    >>> Spectrum(3)(["ACGT", "ACGA"])
    array([[2., 1.],
           [1., 2.]])
    >>> Spectrum(2, weights=[1.0, 1.0])(["aba"], ["ab"])
    array([[4.]])
    """

    def __init__(self, k: int = 3, weights: Any = None, both_strands: bool = False, compare: Any = None):
        self.k = k
        self.weights = weights
        self.both_strands = both_strands
        self.compare = compare

    def check(self) -> None:
        checks.integer(self.k, "k")
        checks.boolean(self.both_strands, "both_strands")

    @property
    def n_levels(self) -> int:
        return self.k

    @property
    def features(self) -> Features:
        return replace(super().features, window=self.k)

    def _strands(self, X: Any) -> list[Letters]:
        letters = Letters.of(X, self)
        return [letters, reverse_complement(letters)] if self.both_strands else [letters]

    @property
    def _lengths(self) -> list[int]:
        return [self.k] if self.weights is None else list(range(1, self.k + 1))

    def count(self, X: Any) -> Counted:
        strands = self._strands(X)
        parts = [(*strand.words(length), length) for length in self._lengths for strand in strands]
        if len(parts) == 1:
            return Counted(*parts[0][:2], level=self.k - 1)
        owners, keys, lengths = zip(*parts, strict=True)
        levels = np.repeat(np.array(lengths) - 1, [len(key) for key in keys])
        return Counted(np.concatenate(owners), np.concatenate(keys), level=levels)

    def names(self, X: Any, places: np.ndarray) -> list[str]:
        strands = self._strands(X)
        parts = [(strand, length, strand.begins(length)) for length in self._lengths for strand in strands]
        ends = np.cumsum([len(begins) for _, _, begins in parts])
        names = []
        for place in places:
            part = int(np.searchsorted(ends, place, "right"))
            strand, length, begins = parts[part]
            begin = begins[place - ends[part] + len(begins)]
            names.append(strand.text(begin, begin + length))
        return names


def reverse_complement(letters: Letters) -> Letters:
    """Each string reversed, with every nucleotide replaced by its complement; case is kept."""
    partners = np.zeros(128, np.uint32)
    for one, other in zip(*PAIRED, strict=True):
        partners[ord(one)], partners[ord(one.lower())] = ord(other), ord(other.lower())
    known = (letters.codes < 128) & (partners[np.minimum(letters.codes, 127)] > 0)
    if not known.all():
        place = int(np.argmin(known))
        raise ValueError(
            f"String {int(np.searchsorted(letters.starts, place, 'right')) - 1} has the letter "
            f"{chr(int(letters.codes[place]))!r}, which is not a nucleotide, so it has no complement; "
            "use both_strands=False or remove it."
        )
    ends = np.repeat(letters.starts[1:] + letters.starts[:-1] - 1, letters.lengths)
    return Letters(partners[letters.codes[ends - np.arange(len(letters.codes))]], letters.starts)
