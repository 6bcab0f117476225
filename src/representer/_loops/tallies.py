"""Counted features: one entry for each key and owner, from a list of keys that may repeat."""

import numpy as np

from representer._loops.jit import loop
from representer._loops.radix_sort import order
from representer._loops.words import ODD


@loop
def tally(owners, keys, amounts, n):
    """The sums of amounts by owner and key, as a CSR matrix of n rows whose columns are the keys in rising order.

    One amount alone is that of each. Returned are data, indices and starts of the rows, the keys of the columns, and
    for each column the place of its first entry in the list.
    """
    places, starts = by_owner(owners, n)
    found, sums, first = aggregated(places, starts, keys, amounts)
    size = starts[n]  # of different keys of an owner now
    sequence = order(found)
    row = np.empty(size, np.int32)
    for i in range(n):
        row[starts[i] : starts[i + 1]] = i
    filled = starts[:-1].copy()
    indices, data = np.empty(size, np.int32), np.empty(size, np.float64)
    names, examples, column = np.empty(size, np.uint64), np.empty(size, np.int32), -1
    for p in sequence:
        if column < 0 or found[p] != names[column]:
            column += 1
            names[column], examples[column] = found[p], first[p]
        examples[column] = min(examples[column], first[p])
        end = filled[row[p]]
        indices[end], data[end] = column, sums[p]
        filled[row[p]] = end + 1
    return data, indices, starts, names[: column + 1].copy(), examples[: column + 1].copy()


@loop
def by_owner(owners, n):
    """The places of the list owner by owner, in the order of the list, and where those of each owner begin."""
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
def aggregated(places, starts, keys, amounts):
    """The different keys of each owner, the sums of their amounts, and the first place of each, owner by owner.

    The starts become those of the different keys.
    """
    several, most = amounts.size > 1, 0
    for i in range(starts.size - 1):
        most = max(most, starts[i + 1] - starts[i])
    large = 4
    while large < 2 * most:
        large *= 2
    table = np.full(large, -1, np.int32)
    slots = np.empty(most, np.int32)
    found, sums = np.empty(places.size, np.uint64), np.empty(places.size, np.float64)
    first = np.empty(places.size, np.int32)
    size = 0
    for i in range(starts.size - 1):
        begin, end, starts[i] = starts[i], starts[i + 1], size
        shift, small = np.uint64(62), 4
        while small < 2 * (end - begin):  # as much of the table as this owner needs
            shift, small = shift - np.uint64(1), 2 * small
        for q in range(begin, end):
            p = places[q]
            key, amount = keys[p], amounts[p if several else 0]
            slot = np.int64((key * ODD) >> shift)
            while table[slot] >= 0 and found[table[slot]] != key:
                slot = (slot + 1) & (small - 1)
            if table[slot] >= 0:
                sums[table[slot]] += amount
            else:
                found[size], sums[size], first[size], slots[size - starts[i]] = key, amount, p, slot
                table[slot] = size
                size += 1
        for q in range(size - starts[i]):
            table[slots[q]] = -1
    starts[starts.size - 1] = size
    return found[:size].copy(), sums[:size].copy(), first[:size].copy()
