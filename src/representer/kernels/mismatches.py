"""String kernels whose words need not agree in all positions."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Any, ClassVar

import numpy as np

from representer._loops import gapped_words, words
from representer.kernels import checks
from representer.kernels.counts import Counted, Counts
from representer.kernels.implicit_rows import ImplicitRows
from representer.kernels.letters import Letters
from representer.kernels.prepared import Prepared
from representer.kernels.strings import reverse_complement

MOST_CHOICES = 20_000
"""Most choices of positions in a word that are tried one by one."""
FEW_WORDS = 2000
"""Words of a string up to which comparing all pairs is faster than sorting them for each choice of positions."""
NO_LETTER = 255
NO_PLACE = np.uint64(64)


@dataclass
class CodedWords(Prepared):
    """The words of some strings as integers, a few bits per letter, and those of the reverse complements."""

    starts: np.ndarray
    """Where the words of each string start."""
    ends: np.ndarray
    words: np.ndarray
    others: np.ndarray
    """The words of the other strand, as many as those of the strings; empty if it does not count."""
    per_row: ClassVar[tuple[str, ...]] = ("starts", "ends")

    def gathered(self, other_strand: bool) -> tuple[np.ndarray, np.ndarray]:
        """The words of these strings, and where those of each string start."""
        sizes = self.ends - self.starts
        begins = np.concatenate([[0], np.cumsum(sizes)])
        places = np.arange(begins[-1]) + np.repeat(self.starts - begins[:-1], sizes)
        return (self.others if other_strand else self.words)[places], begins


class GappedWords:
    """Mixin of kernels of words with gaps, besides `Counts`.

    k(s, t) = sum_j f_j G_j(s, t), G_j(s, t) = sum_m C(l - m, j) N_m, N_m the number of pairs of words of l letters, one
    of each string, that differ in m positions: G_j counts the pairs that agree in j positions, over all choices of
    these.
    """

    alphabet: str
    both_strands: bool
    compare: Any

    def _gaps(self) -> tuple[int, dict[int, float]]:
        """l, and f_j for each number j of positions that must agree."""
        raise NotImplementedError

    def check(self) -> None:
        checks.boolean(self.both_strands, "both_strands")
        alphabet = self.alphabet
        if not isinstance(alphabet, str) or not 2 <= len(alphabet) == len(set(alphabet)) <= NO_LETTER:
            raise ValueError(f"alphabet is {alphabet!r}; give all letters, at least two and each once, as a string.")
        length, factors = self._gaps()
        if length * self._bits > 64:
            raise ValueError(
                f"Words of {length} letters of an alphabet of {len(alphabet)} do not fit 64 bits; "
                f"use at most {64 // self._bits} letters."
            )
        if (number := sum(comb(length, j) for j in factors)) > MOST_CHOICES:
            raise ValueError(
                f"There are {number:,} choices of places in a word of {length} letters, which would take too long; "
                "use shorter words."
            )

    @property
    def _bits(self) -> int:
        return (len(self.alphabet) - 1).bit_length()

    def _coded(self, letters: Letters, length: int) -> np.ndarray:
        """The integer code of each word: its letters as digits."""
        table = np.full(int(max(letters.codes.max(initial=0), *map(ord, self.alphabet))) + 1, NO_LETTER, np.uint8)
        table[[ord(letter) for letter in self.alphabet]] = np.arange(len(self.alphabet))
        codes = table[letters.codes]
        if np.any(codes == NO_LETTER):
            place = int(np.argmax(codes == NO_LETTER))
            raise ValueError(
                f"String {int(np.searchsorted(letters.starts, place, 'right')) - 1} has the letter "
                f"{chr(int(letters.codes[place]))!r}, which is not in the alphabet {self.alphabet!r}; "
                "remove it, or give another alphabet."
            )
        begins = letters.begins(length)
        numbers = np.zeros(len(begins), np.uint64)
        for place in range(length):
            numbers = (numbers << np.uint64(self._bits)) | codes[begins + place].astype(np.uint64)
        return numbers

    def _choices(self) -> tuple[np.ndarray, np.ndarray]:
        """Bit shifts of the letters for all choices of positions, padded to one length, and the factors of choices."""
        length, factors = self._gaps()
        wide, rows, weights = max(factors), [], []
        for number, factor in factors.items():
            for places in combinations(range(length), number):
                shifts = [np.uint64(self._bits * (length - 1 - place)) for place in places]
                rows.append(shifts + [NO_PLACE] * (wide - number))
                weights.append(factor)
        return np.array(rows, np.uint64).reshape(len(rows), wide), np.array(weights, np.float64)

    def implicit_rows(self, X: Any, like: Any) -> ImplicitRows:
        letters, (length, _) = Letters.of(X, self), self._gaps()
        number = np.maximum(letters.lengths - length + 1, 0)
        ends = np.cumsum(number)
        coded = self._coded(letters, length)
        others = self._coded(reverse_complement(letters), length) if self.both_strands else coded[:0]
        A = CodedWords(ends - number, ends, coded, others)
        return ImplicitRows.of(A, self._own(A), self._multiply, self.compare)

    def _own(self, A: CodedWords) -> np.ndarray:
        """The product of each string with itself; for short strings from all pairs of their words."""
        length, factors = self._gaps()
        values = np.array([sum(f * comb(length - m, j) for j, f in factors.items()) for m in range(length + 1)])
        tile, own = np.empty((1, 1)), np.empty(len(A))
        for i, (start, end) in enumerate(zip(A.starts, A.ends, strict=True)):
            if end - start > FEW_WORDS:
                self._multiply(A[i : i + 1], A[i : i + 1], tile)
                own[i] = tile[0, 0]
                continue
            words_here = A.words[start:end]
            own[i] = gapped_words.own_values(words_here, words_here, values, np.uint64(self._bits))
            if self.both_strands:
                other = gapped_words.own_values(words_here, A.others[start:end], values, np.uint64(self._bits))
                own[i] = 2.0 * (own[i] + other)
        return own

    def _multiply(self, A: CodedWords, B: CodedWords, tile: np.ndarray) -> None:
        """tile_ij <- the sum over all pairs of words, one from each string."""
        tile[...] = 0.0
        (mine, begins), choices, factors = A.gathered(False), *self._choices()
        # all pairs of strands give twice the sum of one strand of the first string with both of the second
        sides = [B.gathered(strand) for strand in ((False, True) if self.both_strands else (False,))]
        theirs = np.concatenate([side[0] for side in sides])
        owners = np.concatenate([np.repeat(np.arange(len(B)), np.diff(side[1])) for side in sides])
        if self.both_strands:
            factors = 2.0 * factors
        gapped_words.add_pairs(mine, begins, theirs, owners, choices, factors, np.uint64(self._bits), tile)

    def _strands(self, X: Any) -> tuple[list[Letters], np.ndarray, np.ndarray]:
        """The strands, and the owner and the integer code of all words."""
        self.check()
        letters, length = Letters.of(X, self), self._gaps()[0]
        strands = [letters, reverse_complement(letters)] if self.both_strands else [letters]
        number = np.maximum(letters.lengths - length + 1, 0)
        owners = np.tile(np.repeat(np.arange(len(letters)), number), len(strands))
        return strands, owners, np.concatenate([self._coded(strand, length) for strand in strands])


class GappedKmer(GappedWords, Counts):
    """k(s, t) = sum_u count(u in s) count(u in t) over words u of ``length`` positions, some of them letters.

    ``informative`` positions are letters; the others match any letter. Pairs of words that differ in m positions count
    C(length - m, informative) times; all m count, so the kernel is positive semidefinite. (Tools that truncate m are
    not.)

    Parameters
    ----------
    length : int
        Positions in a word.
    informative : int
        How many of them are letters.
    alphabet : str
        All letters. Strings with others are refused.
    both_strands : bool
        Whether words of the reverse complement count as well.
    compare : Kernel, optional
        How counts are compared; by the inner product when not given. RBF() makes it the gkm-RBF kernel, whose length
        scale is in units of |phi(s) - phi(t)|, phi(s) the counts of s; with None estimators choose it.

    References
    ----------
    Ghandi et al., Enhanced regulatory sequence prediction using gapped k-mer features, PLoS Computational Biology 2014.

    Examples
    --------
    >>> from representer.kernels import GappedKmer
    >>> GappedKmer(3, 2)(["ACG", "ATG"])  # A.G is in both
    array([[3., 1.],
           [1., 3.]])
    """

    def __init__(
        self,
        length: int = 11,
        informative: int = 7,
        alphabet: str = "ACGT",
        both_strands: bool = False,
        compare: Any = None,
    ):
        self.length = length
        self.informative = informative
        self.alphabet = alphabet
        self.both_strands = both_strands
        self.compare = compare

    def _gaps(self) -> tuple[int, dict[int, float]]:
        length = checks.integer(self.length, "length")
        if checks.integer(self.informative, "informative") > length:
            raise ValueError(f"informative is {self.informative!r}; words of {length} places have at most {length}.")
        return length, {self.informative: 1.0}

    def _places(self) -> list[tuple[int, ...]]:
        return list(combinations(range(self.length), self.informative))

    def count(self, X: Any) -> Counted:
        _, owners, numbers = self._strands(X)
        choices, _ = self._choices()
        keys = [
            words.paired(np.stack([gapped_words.keys_of(numbers, row, np.uint64(self._bits)), marks], 1).ravel(), 1)[
                ::2
            ]
            for row, marks in ((row, np.full(len(numbers), i, np.uint64)) for i, row in enumerate(choices))
        ]
        return Counted(np.tile(owners, len(choices)), np.concatenate(keys))

    def names(self, X: Any, places: np.ndarray) -> list[str]:
        strands, owners, _ = self._strands(X)
        begins, each = strands[0].begins(self.length), len(owners)
        choices, names = self._places(), []
        for place in places:
            choice, word = divmod(int(place), each)
            strand, begin = strands[word // len(begins)], begins[word % len(begins)]
            text = strand.text(begin, begin + self.length)
            kept = set(choices[choice])
            names.append("".join(letter if p in kept else "." for p, letter in enumerate(text)))
        return names


class Mismatch(GappedWords, Counts):
    """k(s, t) = sum_u count(u in s) count(u in t) over all words u of k letters, counted with mismatches.

    A word of s counts for every word of the alphabet that differs from it in at most ``mismatches`` positions. The
    kernel is positive semidefinite for every number of mismatches, and with a ``compare`` that is.

    Parameters
    ----------
    k : int
        Letters of a word.
    mismatches : int
        The number of letters in which a word may differ.
    alphabet : str
        All letters. Strings with others are refused.
    both_strands : bool
        Whether words of the reverse complement count as well.
    compare : Kernel, optional
        How counts are compared, such as HistogramIntersection() or RBF(); by the inner product when not given.

    References
    ----------
    Leslie et al., Mismatch string kernels for discriminative protein classification, Bioinformatics 2004.

    Examples
    --------
    >>> from representer.kernels import Mismatch
    >>> Mismatch(4, 1)(["AAAA"], ["AAAA", "AAAC", "AACC", "ACCC"])
    array([[13.,  4.,  2.,  0.]])
    """

    def __init__(
        self,
        k: int = 3,
        mismatches: int = 1,
        alphabet: str = "ACGT",
        both_strands: bool = False,
        compare: Any = None,
    ):
        self.k = k
        self.mismatches = mismatches
        self.alphabet = alphabet
        self.both_strands = both_strands
        self.compare = compare

    def _gaps(self) -> tuple[int, dict[int, float]]:
        k = checks.integer(self.k, "k")
        most = checks.integer(self.mismatches, "mismatches", least=0, most=k)
        # values by the number of equal letters are sums of binomials, whose factors are finite differences of the
        # values
        values = [common_neighbours(k, k - equal, most, len(self.alphabet)) for equal in range(k + 1)]
        factors = {
            j: float(sum((-1) ** (j - i) * comb(j, i) * values[i] for i in range(j + 1)))
            for j in range(max(k - 2 * most, 0), k + 1)
        }
        return k, {j: factor for j, factor in factors.items() if factor}

    def count(self, X: Any) -> Counted:
        _, owners, numbers = self._strands(X)
        found = self._neighbours(numbers)
        return Counted(np.tile(owners, len(found)), np.concatenate(found))

    def _neighbours(self, numbers: np.ndarray) -> list[np.ndarray]:
        """Words with up to ``mismatches`` mismatches: an array for each choice of positions and replacements."""
        found, mask = [], np.uint64((1 << self._bits) - 1)
        for many in range(self.mismatches + 1):
            for places in combinations(range(self.k), many):
                for steps in np.ndindex(*[len(self.alphabet) - 1] * many):
                    changed = numbers
                    for place, step in zip(places, steps, strict=True):
                        shift = np.uint64(self._bits * (self.k - 1 - place))
                        letter = (changed >> shift) & mask
                        other = (letter + np.uint64(step + 1)) % np.uint64(len(self.alphabet))
                        changed = (changed & ~(mask << shift)) | (other << shift)
                    found.append(changed)
        return found

    def names(self, X: Any, places: np.ndarray) -> list[str]:
        keys, bits = self.count(X).key[places].tolist(), self._bits
        shifts, mask = [bits * (self.k - 1 - place) for place in range(self.k)], (1 << bits) - 1
        return ["".join(self.alphabet[key >> shift & mask] for shift in shifts) for key in keys]


def common_neighbours(k: int, apart: int, most: int, letters: int) -> int:
    """The number of words within ``most`` mismatches of each of two words of k letters at Hamming distance ``apart``.

    In the positions where the two differ, such a word has x letters of the first, y of the second and others in the
    rest; in z of the remaining positions it differs from both.
    """
    total = 0
    for x in range(apart + 1):
        for y in range(apart - x + 1):
            rest = apart - x - y
            here = comb(apart, x) * comb(apart - x, y) * (letters - 2) ** rest
            for z in range(k - apart + 1):
                if max(apart - x, apart - y) + z <= most:
                    total += here * comb(k - apart, z) * (letters - 1) ** z
    return total
