"""Words of texts: runs of letters, with a hash for each."""

import numpy as np

from representer._loops.jit import loop
from representer._loops.words import GOLDEN, HASHED, joined, mixed

SHORTEST_WORD = 2
"""Letters of the shortest word, as in scikit-learn's vectorisers."""


@loop
def tokens(letters, starts, is_letter):
    """Owner, hash, start and end of each run of at least two code points that are letters, text by text."""
    owners, hashes = (
        np.empty(letters.size // SHORTEST_WORD + 1, np.int64),
        np.empty(letters.size // SHORTEST_WORD + 1, np.uint64),
    )
    begins, ends = np.empty_like(owners), np.empty_like(owners)
    size = 0
    for i in range(starts.size - 1):
        p, end = starts[i], starts[i + 1]
        while p < end:
            begin, value = p, GOLDEN
            while p < end and is_letter[letters[p]]:
                value = joined(value, np.uint64(letters[p]))
                p += 1
            if p - begin >= SHORTEST_WORD:
                owners[size], hashes[size], begins[size], ends[size] = i, value | HASHED, begin, p
                size += 1
            p += 1
    return owners[:size].copy(), hashes[:size].copy(), begins[:size].copy(), ends[:size].copy()


@loop
def rows_of(hashes, owners, length):
    """The first word of each n-gram of ``length`` words of one text, and a hash of the n-gram."""
    places, found = np.empty(hashes.size, np.int64), np.empty(hashes.size, np.uint64)
    size = 0
    for p in range(hashes.size - length + 1):
        if owners[p] != owners[p + length - 1]:
            continue
        value = mixed(np.uint64(length))
        for q in range(p, p + length):
            value = joined(value, hashes[q])
        places[size], found[size] = p, value | HASHED
        size += 1
    return places[:size].copy(), found[:size].copy()
