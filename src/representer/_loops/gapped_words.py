"""Pairs of words of l letters that agree in k chosen positions, for all choices, summed by pairs of strings.

A word is an integer with ``bits`` bits per letter. For each choice of positions one side is sorted by the letters
there, and the other looks up its own letters, so that the work is the number of pairs that agree: for random words over
four letters with 6 of 10 positions, one pair in twenty for all 210 choices together.
"""

import numpy as np

from representer._loops.jit import inlined_loop, loop
from representer._loops.radix_sort import order
from representer._loops.simd.bit_counts import ones

DIRECT = 16
"""Bits of the chosen letters up to which every possible key has its own list."""


@inlined_loop
def chosen(word, shifts, bits):
    """The letters of a word in the chosen positions, concatenated."""
    mask, key = (np.uint64(1) << bits) - np.uint64(1), np.uint64(0)
    for shift in shifts:
        key = (key << bits) | ((word >> shift) & mask)
    return key


@loop
def keys_of(words, shifts, bits):
    """`chosen` letters of all words."""
    keys = np.empty(words.size, np.uint64)
    for p in range(words.size):
        keys[p] = chosen(words[p], shifts, bits)
    return keys


@loop
def add_pairs(a_words, a_starts, b_words, b_owners, choices, factors, bits, tile):
    """tile_ij += sum over choices of positions of their factor times the number of pairs of words that agree there.

    Row i has the words from a_starts[i] to a_starts[i + 1]; word q of the other side belongs to column b_owners[q].
    ``choices`` holds the bit shifts of the chosen letters, one choice per row, padded with 64.
    """
    counts = np.zeros(tile.shape[1], np.int64)  # two strings of 50,000 equal letters have 2.5e9 pairs
    owners = np.empty(b_words.size, np.uint32)  # unsigned, so that no index wraps around
    for c in range(choices.shape[0]):
        taken = 0
        while taken < choices.shape[1] and choices[c, taken] < np.uint64(64):
            taken += 1
        shifts = choices[c, :taken]
        keys = keys_of(b_words, shifts, bits)
        direct = np.int64(bits) * taken <= DIRECT
        size = 1 << (np.int64(bits) * taken if direct else DIRECT)
        tail = np.uint64(0) if direct else np.uint64(np.int64(bits) * taken - DIRECT)
        begins = np.zeros(size + 1, np.int64)
        for key in keys:
            begins[(key >> tail) + np.uint64(1)] += 1
        for b in range(size):
            begins[b + 1] += begins[b]
        if direct:
            ends = begins[:-1].copy()
            for q in range(keys.size):
                owners[ends[keys[q]]] = np.uint32(b_owners[q])
                ends[keys[q]] += 1
        else:
            sequence = order(keys)
            for q in range(keys.size):
                owners[q] = np.uint32(b_owners[sequence[q]])
            keys = keys[sequence]
        for i in range(tile.shape[0]):
            for p in range(a_starts[i], a_starts[i + 1]):
                key = chosen(a_words[p], shifts, bits)
                low, high = begins[key >> tail], begins[(key >> tail) + np.uint64(1)]
                if direct:
                    for q in range(low, high):
                        counts[owners[q]] += 1
                else:
                    for q in range(low, high):
                        if keys[q] == key:
                            counts[owners[q]] += 1
            for j in range(tile.shape[1]):
                tile[i, j] += factors[c] * counts[j]
                counts[j] = 0


@loop
def own_values(words, others, values, bits):
    """The sum of values[m] over all pairs of words, one of each list, that differ in m positions."""
    low, last = np.uint64(0), np.uint64(64) // bits
    for place in range(last):  # the lowest bit of each letter
        low |= np.uint64(1) << (bits * np.uint64(place))
    total = 0.0
    for word in words:
        for other in others:
            apart = word ^ other
            any_bit = apart
            for shift in range(np.uint64(1), bits):
                any_bit |= apart >> np.uint64(shift)
            total += values[ones(any_bit & low)]
    return total
