from collections import Counter
from itertools import combinations, product

import numpy as np
import pytest
from each_case import each

from representer.kernels import GappedKmer, Mismatch, Normalized, mismatches
from representer.kernels.mismatches import common_neighbours
from representer.testing import check_gram, check_kernel

STRINGS = ["ACGTACGT", "ACGA", "", "TTTTTT", "GATTACA", "CCGTAGG", "AC"]


def complement(s):
    return s[::-1].translate(str.maketrans("ACGT", "TGCA"))


def words(s, length, both):
    strands = [s, complement(s)] if both else [s]
    return [x[i : i + length] for x in strands for i in range(len(x) - length + 1)]


def gapped(s, kernel):
    """Every word with all choices of places blotted out."""
    found = Counter()
    for word in words(s, kernel.length, kernel.both_strands):
        for kept in combinations(range(kernel.length), kernel.informative):
            found["".join(letter if p in kept else "." for p, letter in enumerate(word))] += 1
    return found


def neighbours(s, kernel):
    """Every word of the alphabet, counted where it is near enough."""
    found = Counter()
    for word in words(s, kernel.k, kernel.both_strands):
        for other in product(kernel.alphabet, repeat=kernel.k):
            if sum(a != b for a, b in zip(word, other, strict=True)) <= kernel.mismatches:
                found["".join(other)] += 1
    return found


KERNELS = each(
    ("kernel", "features"),
    [
        (GappedKmer(4, 2), gapped),
        (GappedKmer(3, 3), gapped),
        (GappedKmer(5, 3, both_strands=True), gapped),
        (GappedKmer(4, 3, alphabet="ACGTNRYKMSWBDHVXZ"), gapped),
        (Mismatch(3, 1), neighbours),
        (Mismatch(4, 2), neighbours),
        (Mismatch(2, 0), neighbours),
        (Mismatch(2, 2, alphabet="ACGTN"), neighbours),
        (Mismatch(3, 1, both_strands=True), neighbours),
    ],
)


@KERNELS
def test_equal_to_enumeration(kernel, features):
    counted = [features(s, kernel) for s in STRINGS]
    expected = np.array([[sum(n * b[u] for u, n in a.items()) for b in counted] for a in counted], float)
    assert np.array_equal(kernel(STRINGS), expected)
    assert np.array_equal(kernel(STRINGS[:3], STRINGS[2:]), expected[:3, 2:])
    assert np.array_equal(kernel.diag(STRINGS), expected.diagonal())
    values, names = kernel.features(STRINGS)
    assert np.array_equal((values @ values.T).toarray(), expected)
    assert [{u: n for u, n in zip(names, row, strict=True) if n} for row in values.toarray()] == counted


@KERNELS
def test_laws(kernel, features):
    check_kernel(kernel, STRINGS)


def test_of_many_tiles(monkeypatch):
    rng = np.random.default_rng(0)
    strings = ["".join(rng.choice(list("ACGT"), 12)) for _ in range(300)]
    check_gram(Normalized(GappedKmer(6, 4)), strings[:9])
    K = GappedKmer(6, 4)(strings)
    monkeypatch.setattr(mismatches, "FEW_WORDS", 3)
    assert np.array_equal(GappedKmer(6, 4).diag(strings[:20]), K.diagonal()[:20])
    values, _ = GappedKmer(6, 4).features(strings)
    assert np.array_equal(K, (values @ values.T).toarray())


def test_values_by_the_number_of_mismatches():
    """Leslie et al.: 13, 4, 2 and 0 common neighbours of words of four nucleotides."""
    assert [common_neighbours(4, apart, 1, 4) for apart in range(5)] == [13, 4, 2, 0, 0]


def test_cutting_off_distant_pairs_would_not_be_definite():
    """The eigenvalues of f(number of differing places) over all words are sums of Krawtchouk polynomials."""
    from math import comb

    def eigenvalues(values, length=10):
        return [
            sum(
                value * sum((-1) ** i * 3 ** (m - i) * comb(j, i) * comb(length - j, m - i) for i in range(m + 1))
                for m, value in enumerate(values)
            )
            for j in range(length + 1)
        ]

    full = [comb(10 - m, 6) for m in range(11)]
    assert min(eigenvalues(full)) >= 0
    cut = eigenvalues([value if m <= 3 else 0 for m, value in enumerate(full)])
    assert (min(cut), max(cut)) == (-210, 36750)


@each(
    ("kernel", "error"),
    [
        (GappedKmer(5, 6), "informative is 6"),
        (GappedKmer(40, 3), "do not fit 64 bits; use at most 32 letters"),
        (GappedKmer(30, 15), "choices of places"),
        (Mismatch(3, 4), "mismatches is 4"),
        (Mismatch(0), "k is 0"),
        (Mismatch(3, alphabet="AA"), "alphabet is 'AA'"),
        (Mismatch(3, both_strands="no"), "both_strands is 'no'"),
        (Mismatch(3, alphabet="AC"), "String 0 has the letter 'G', which is not in the alphabet 'AC'"),
    ],
)
def test_bad_parameters(kernel, error):
    with pytest.raises(ValueError, match=error):
        kernel(STRINGS)
