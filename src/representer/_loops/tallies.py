"""Counted features: one entry for each key and owner, from a list of keys that may repeat."""

import numpy as np

from representer._loops.jit import loop
from representer._loops.radix_sort import order


@loop
def tally(owners, keys, amounts, n):
    """The sums of amounts by owner and key, as a CSR matrix of n rows whose columns are the keys in rising order.

    One amount alone is that of each. Returned are data, indices and starts of the rows, the keys of the columns, and
    for each column the place of its first entry in the list.
    """
    size, several = keys.size, amounts.size > 1
    sequence = order(keys)
    starts = np.zeros(n + 1, np.int32)
    for owner in owners:
        starts[owner + 1] += 1
    for i in range(n):
        starts[i + 1] += starts[i]
    filled = starts[:-1].copy()
    indices, data = np.empty(size, np.int32), np.empty(size, np.float64)
    names, first = np.empty(size, np.uint64), np.empty(size, np.int32)
    column = -1
    for p in sequence:
        if column < 0 or keys[p] != names[column]:
            column += 1
            names[column], first[column] = keys[p], p
        owner = owners[p]
        end = filled[owner]
        if end > starts[owner] and indices[end - 1] == column:
            data[end - 1] += amounts[p if several else 0]
        else:
            indices[end], data[end] = column, amounts[p if several else 0]
            filled[owner] = end + 1
    total = 0
    for i in range(n):  # rows without the places of repeated keys
        begin, starts[i] = starts[i], total
        for p in range(begin, filled[i]):
            indices[total], data[total] = indices[p], data[p]
            total += 1
    starts[n] = total
    return data[:total].copy(), indices[:total].copy(), starts, names[: column + 1].copy(), first[: column + 1].copy()
