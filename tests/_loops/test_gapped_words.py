from itertools import combinations

import numpy as np
import pytest

from representer._loops import gapped_words


@pytest.mark.parametrize(("bits", "length", "taken"), [(2, 5, 3), (5, 6, 4)])
def test_pairs_that_agree(bits, length, taken, rng):
    """With 6 bits of letters there is a list for each word, with 20 several words share one."""
    letters = {n: rng.integers(0, 3, (n, length)) for n in (9, 7)}
    a, b = (rows @ (1 << bits * np.arange(length)[::-1]) for rows in letters.values())
    starts, owners = np.array([0, 4, 4, 9]), np.array([0, 1, 1, 0, 2, 2, 1])
    places = [*combinations(range(length), taken), (0, 1)]
    choices = np.full((len(places), taken), 64, np.uint64)
    for row, chosen in zip(choices, places, strict=True):
        row[: len(chosen)] = [bits * (length - 1 - place) for place in chosen]
    factors, tile = rng.normal(size=len(places)), np.ones((3, 3))
    arguments = choices, factors, np.uint64(bits), tile
    gapped_words.add_pairs(a.astype(np.uint64), starts, b.astype(np.uint64), owners, *arguments)
    expected = np.ones((3, 3))
    for p, x in enumerate(letters[9]):
        for q, y in enumerate(letters[7]):
            agree = [
                factor for factor, chosen in zip(factors, places, strict=True) if all(x[c] == y[c] for c in chosen)
            ]
            expected[np.searchsorted(starts, p, "right") - 1, owners[q]] += sum(agree)
    np.testing.assert_allclose(tile, expected)


@pytest.mark.slow
def test_pairs_of_long_strings_of_one_letter():
    """More pairs than 32 bits count."""
    n, tile = 46_500, np.zeros((1, 1))
    word, choices = np.zeros(n, np.uint64), np.zeros((1, 1), np.uint64)
    gapped_words.add_pairs(word, np.array([0, n]), word, np.zeros(n, int), choices, np.ones(1), np.uint64(2), tile)
    assert tile[0, 0] == n**2


@pytest.mark.parametrize("bits", [1, 2, 5])
def test_values_of_all_pairs(bits, rng):
    letters = rng.integers(0, 2**bits, (11, 6))
    words = (letters @ (1 << bits * np.arange(6)[::-1])).astype(np.uint64)
    values = rng.normal(size=7)
    apart = (letters[:5, None] != letters[None, 5:]).sum(axis=2)
    total = gapped_words.own_values(words[:5], words[5:], values, np.uint64(bits))
    assert total == pytest.approx(values[apart].sum())
