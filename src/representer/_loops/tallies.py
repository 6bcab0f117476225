"""Counted features: one entry for each key and owner, from a list of keys that may repeat."""

import numpy as np

from representer._loops.jit import inlined_loop, loop
from representer._loops.radix_sort import order
from representer._loops.simd.bit_counts import ones
from representer._loops.words import GOLDEN


@loop
def tally(owners, keys, amounts, n):
    """The sums of amounts by owner and key, as a CSR matrix of n rows whose columns are the keys in ascending order.

    A single amount applies to all. Returns data, indices and starts of the rows, the keys of the columns, and for each
    column the index of its first entry in the list.
    """
    columns, names, examples = numbered(keys)
    places, starts = by_owner(owners, n)
    sums, several, size = np.zeros(names.size), amounts.size > 1, 0
    # a bitmap of the columns of a row, and a bitmap of its nonzero words, so that few words are scanned
    found, words = np.zeros(names.size // 64 + 1, np.uint64), np.zeros(names.size // 4096 + 1, np.uint64)
    indices, data = np.empty(keys.size, np.int32), np.empty(keys.size, np.float64)
    for i in range(n):
        begin, starts[i] = starts[i], size
        for p in places[begin : starts[i + 1]]:
            column = columns[p]
            sums[column] += amounts[p if several else 0]
            found[column >> 6] |= np.uint64(1) << np.uint64(column & 63)
            words[column >> 12] |= np.uint64(1) << np.uint64((column >> 6) & 63)
        for w in range(words.size):
            while words[w]:
                word = (w << 6) + np.int64(lowest(words[w]))
                while found[word]:
                    column = (word << 6) + np.int64(lowest(found[word]))
                    indices[size], data[size], sums[column] = column, sums[column], 0.0
                    size += 1
                    found[word] &= found[word] - np.uint64(1)
                words[w] &= words[w] - np.uint64(1)
    starts[n] = size
    return data[:size].copy(), indices[:size].copy(), starts, names, examples


@inlined_loop
def lowest(word):
    """The index of the lowest set bit."""
    return ones(~word & (word - np.uint64(1)))


@loop
def by_owner(owners, n):
    """The indices of the list grouped by owner, in the order of the list, and where those of each owner start."""
    starts = np.zeros(n + 1, np.int32)
    for owner in owners:
        starts[owner + 1] += 1
    for i in range(n):
        starts[i + 1] += starts[i]
    filled, places = starts[:-1].copy(), np.empty(owners.size, np.int32)
    for p in range(owners.size):
        places[filled[owners[p]]] = p
        filled[owners[p]] += 1
    return places, starts


@loop
def numbered(keys):
    """The rank of each key among the distinct ones, these in ascending order, and the first index of each.

    Distinct keys are found by a hash table of twice their number, and only those are sorted.
    """
    shift, size, most = np.uint64(52), 0, 2048
    table = np.full(2 * most, -1, np.int32)
    numbers, names = np.empty(keys.size, np.int32), np.empty(most, np.uint64)
    first = np.empty(most, np.int32)
    for p in range(keys.size):
        key = keys[p]
        slot = (key * GOLDEN) >> shift
        while table[slot] >= 0 and names[table[slot]] != key:
            slot = (slot + np.uint64(1)) & np.uint64(table.size - 1)
        if table[slot] < 0:
            table[slot], names[size], first[size] = size, key, p
            size += 1
        numbers[p] = table[slot]
        if size == most:
            names, first = np.append(names, np.empty_like(names)), np.append(first, np.empty_like(first))
            shift, most = shift - np.uint64(1), 2 * most
            table = filled_table(names[:size], shift, most)
    sequence, ranks = order(names[:size]), np.empty(size, np.int32)
    for rank, number in enumerate(sequence):
        ranks[number] = rank
    for p in range(keys.size):
        numbers[p] = ranks[numbers[p]]
    return numbers, names[sequence], first[sequence]


@loop
def filled_table(names, shift, most):
    """A hash table of twice ``most`` slots from names to their numbers."""
    table = np.full(2 * most, -1, np.int32)
    for number, name in enumerate(names):
        slot = (name * GOLDEN) >> shift
        while table[slot] >= 0:
            slot = (slot + np.uint64(1)) & np.uint64(table.size - 1)
        table[slot] = number
    return table
