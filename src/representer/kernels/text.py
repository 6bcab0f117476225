"""Text kernels by n-grams of words or letters, with idf weights."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from representer._loops import tokens
from representer.kernels import checks
from representer.kernels.base import Kernel
from representer.kernels.counts import Counted, Counts
from representer.kernels.letters import Letters, strings_of
from representer.kernels.named_features import Features


@dataclass(frozen=True)
class DocumentFrequencies:
    """idf(u) = log((1 + n) / (1 + n_u)) + 1, where n_u of n texts have the feature u: scikit-learn's smooth idf.

    It is fitted state of a kernel, and immutable.
    """

    keys: np.ndarray
    idf: np.ndarray
    n: float

    def __deepcopy__(self, memo: Any) -> DocumentFrequencies:
        return self

    def __repr__(self) -> str:
        return f"<idf of {len(self.keys)} features>"

    def of(self, keys: np.ndarray) -> np.ndarray:
        """idf of features, including those that no text had."""
        places = np.minimum(np.searchsorted(self.keys, keys), max(len(self.keys) - 1, 0))
        unseen = np.log(1.0 + self.n) + 1.0
        if not len(self.keys):
            return np.full(len(keys), unseen)
        return np.where(self.keys[places] == keys, self.idf[places], unseen)


class TextKernel:
    """Mixin of text kernels, besides `Counts`: n-gram lengths, and idf."""

    ngrams: Any
    idf: Any
    lowercase: bool

    def check(self) -> None:
        low, high = self._range
        checks.integer(low, "ngrams")
        checks.integer(high, "ngrams", least=low)
        checks.boolean(self.lowercase, "lowercase")
        if not isinstance(self.idf, DocumentFrequencies):
            checks.boolean(self.idf, "idf")

    @property
    def _range(self) -> tuple[Any, Any]:
        """The shortest and the longest n-grams that count."""
        if isinstance(self.ngrams, tuple | list) and len(self.ngrams) == 2:
            return self.ngrams[0], self.ngrams[1]
        return self.ngrams, self.ngrams

    @property
    def n_levels(self) -> int:
        return self._range[1] - self._range[0] + 1

    @property
    def _lengths(self) -> range:
        return range(self._range[0], self._range[1] + 1)

    def _letters(self, X: Any) -> Letters:
        strings = strings_of(X, self)
        return Letters.of([s.lower() for s in strings] if self.lowercase else strings, self)

    def _parts(self, X: Any) -> list[tuple[np.ndarray, np.ndarray]]:
        """Owner and key of all features, a pair for each length."""
        raise NotImplementedError

    def count(self, X: Any) -> Counted:
        parts = self._parts(X)
        keys = np.concatenate([part[1] for part in parts])
        owners = np.concatenate([part[0] for part in parts])
        levels = np.repeat(np.arange(len(parts)), [len(part[1]) for part in parts])
        amounts = self.idf.of(keys) if isinstance(self.idf, DocumentFrequencies) else 1.0
        return Counted(owners, keys, amounts, levels)

    def with_default_scales(self, X: Any, weights: np.ndarray | None = None) -> Kernel:
        kernel: Any = self
        if self.idf is True:
            counts, keys, _, _ = kernel._counts(X)
            share = np.ones(counts.shape[0]) if weights is None else np.asarray(weights, np.float64)
            texts = np.bincount(counts.indices, np.repeat(share, np.diff(counts.indptr)), counts.shape[1])
            idf = np.log((1.0 + share.sum()) / (1.0 + texts)) + 1.0
            kernel = clone(kernel).set_params(idf=DocumentFrequencies(keys, idf, float(share.sum())))
        return Counts.with_default_scales(kernel, X, weights)


class Words(TextKernel, Counts):
    """k(s, t) = sum_u idf(u)^2 count(u in s) count(u in t) over words u: the bag of words.

    Words are runs of two or more letters, digits and underscores, as in scikit-learn's vectorisers. Divide by the
    lengths of texts with ``Normalized(Words())``. The kernel is positive semidefinite for all weights, with idf or
    without, and with a ``compare`` that is.

    Parameters
    ----------
    ngrams : int or pair of int
        Length of word n-grams: one length, or a range from the first to the second.
    idf : bool
        Whether rare words weigh more: idf(u) = log((1 + n) / (1 + n_u)) + 1, where n_u of the n texts have the word.
        Estimators compute it from their training texts, and ``with_default_scales(X)`` from X; used by itself, the
        kernel has idf = 1.
    lowercase : bool
        Whether capitals count as small letters.
    weights : array, optional
        A nonnegative weight for each n-gram length; it has a gradient.
    compare : Kernel, optional
        How counts are compared, such as RBF(); by the inner product when not given.

    Examples
    --------
    >>> from representer.kernels import Words
    >>> Words()(["the cat sat", "the cat and the dog"])
    array([[3., 3.],
           [3., 7.]])
    """

    def __init__(
        self, ngrams: Any = 1, idf: Any = True, lowercase: bool = True, weights: Any = None, compare: Any = None
    ):
        self.ngrams = ngrams
        self.idf = idf
        self.lowercase = lowercase
        self.weights = weights
        self.compare = compare

    def _tokens(self, X: Any) -> tuple[Letters, tuple[np.ndarray, ...]]:
        letters = self._letters(X)
        is_letter = np.zeros(int(letters.codes.max(initial=0)) + 1, bool)
        present = np.flatnonzero(np.bincount(letters.codes, minlength=1))
        is_letter[present] = [re.match(r"\w", chr(code)) is not None for code in present]
        return letters, tokens.tokens(letters.codes, letters.starts, is_letter)

    def _parts(self, X: Any) -> list[tuple[np.ndarray, np.ndarray]]:
        owners, hashes = self._tokens(X)[1][:2]
        rows = [tokens.rows_of(hashes, owners, length) for length in self._lengths]
        return [(owners[places], keys) for places, keys in rows]

    def names(self, X: Any, places: np.ndarray) -> list[str]:
        letters, (owners, hashes, begins, ends) = self._tokens(X)
        firsts = [tokens.rows_of(hashes, owners, length)[0] for length in self._lengths]
        lengths = np.repeat(self._lengths, [len(first) for first in firsts])[places]
        spans = zip(np.concatenate(firsts)[places], lengths, strict=True)
        return [
            " ".join(letters.text(begins[word], ends[word]) for word in range(first, first + length))
            for first, length in spans
        ]


class Characters(TextKernel, Counts):
    """k(s, t) = sum_u idf(u)^2 count(u in s) count(u in t) over letter n-grams u, spaces included.

    It is positive semidefinite for all weights, with idf or without, and with a ``compare`` that is.

    Parameters
    ----------
    ngrams : int or pair of int
        Length of letter n-grams: one length, or a range from the first to the second.
    idf : bool
        Whether rare n-grams weigh more, as in `Words`.
    lowercase : bool
        Whether capitals count as small letters.
    weights : array, optional
        A nonnegative weight for each n-gram length; it has a gradient.
    compare : Kernel, optional
        How counts are compared, such as RBF(); by the inner product when not given.
    """

    def __init__(
        self, ngrams: Any = 3, idf: Any = False, lowercase: bool = True, weights: Any = None, compare: Any = None
    ):
        self.ngrams = ngrams
        self.idf = idf
        self.lowercase = lowercase
        self.weights = weights
        self.compare = compare

    @property
    def features(self) -> Features:
        # small letters may depend on what follows: a capital sigma at the end of a word has one of its own
        return super().features if self.lowercase else replace(super().features, window=self._range[1])

    def _parts(self, X: Any) -> list[tuple[np.ndarray, np.ndarray]]:
        letters = self._letters(X)
        return [letters.words(length) for length in self._lengths]

    def names(self, X: Any, places: np.ndarray) -> list[str]:
        letters = self._letters(X)
        begins = [letters.begins(length) for length in self._lengths]
        lengths = np.repeat(self._lengths, [len(part) for part in begins])[places]
        return [letters.text(b, b + n) for b, n in zip(np.concatenate(begins)[places], lengths, strict=True)]
