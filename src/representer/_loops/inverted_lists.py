"""Products and minima of sparse rows by inverted lists: for each column, the rows that have an entry in it.

Two sets of rows are compared column by column, so that the work is the number of pairs with an entry in common. Columns
are identified by keys (unsigned 64-bit), in ascending order on both sides.
"""

import numpy as np

from representer._loops.jit import loop
from representer._loops.radix_sort import order


@loop
def invert(data, indices, starts, keys, frequent):
    """Inverted lists of a CSR matrix by the keys of its columns; frequent columns go to a dense array instead.

    ``keys`` are those of the columns; if empty, a column's number is its key. Returns the keys that occur, where the
    list of each starts, the concatenated rows and values of the lists, and the array, with a column for each frequent
    key.
    """
    first, n = starts[0], starts.size - 1
    size = starts[n] - first
    rows, columns = np.empty(size, np.int32), np.empty(size, np.uint64)
    for i in range(n):
        for p in range(starts[i] - first, starts[i + 1] - first):
            rows[p], columns[p] = i, np.uint64(indices[first + p])
    dense = np.zeros((n, frequent.size), data.dtype)
    found, begins = np.empty(size, np.uint64), np.empty(size + 1, np.int64)
    list_rows, values = np.empty(size, np.int32), np.empty(size, data.dtype)
    lists = filled = f = 0
    last = np.uint64(0)
    for number, p in enumerate(order(columns)):
        column = columns[p]
        key = keys[column] if keys.size else column
        while f < frequent.size and frequent[f] < key:
            f += 1
        if f < frequent.size and frequent[f] == key:
            dense[rows[p], f] = data[first + p]
            continue
        if number == 0 or lists == 0 or key != last:
            found[lists], begins[lists], last = key, filled, key
            lists += 1
        list_rows[filled], values[filled] = rows[p], data[first + p]
        filled += 1
    begins[lists] = filled
    return found[:lists].copy(), begins[: lists + 1].copy(), list_rows[:filled].copy(), values[:filled].copy(), dense


@loop
def shared(a_keys, b_keys):
    """The positions on either side of each key that both sides have."""
    places = np.empty((min(a_keys.size, b_keys.size), 2), np.int64)
    p = q = size = 0
    while p < a_keys.size and q < b_keys.size:
        if a_keys[p] == b_keys[q]:
            places[size, 0], places[size, 1] = p, q
            size += 1
        here, there = a_keys[p], b_keys[q]
        p += here <= there
        q += there <= here
    return places[:size]


@loop
def add_products(a_keys, a_starts, a_rows, a_values, b_keys, b_starts, b_rows, b_values, tile):
    """tile_ij += sum of a_if b_jf over the columns f of the lists; four rows of a at a time share an entry of b."""
    flat, width = tile.reshape(tile.size), np.uint64(tile.shape[1])  # unsigned indices need no test for negative ones
    for p, q in shared(a_keys, b_keys):
        begin, end, after = b_starts[q], b_starts[q + 1], a_starts[p + 1]
        last = after - (after - a_starts[p]) % 4
        for s in range(a_starts[p], last, 4):
            first, second = np.uint64(a_rows[s]) * width, np.uint64(a_rows[s + 1]) * width
            third, fourth = np.uint64(a_rows[s + 2]) * width, np.uint64(a_rows[s + 3]) * width
            u, v, x, y = a_values[s], a_values[s + 1], a_values[s + 2], a_values[s + 3]
            for t in range(begin, end):
                j, value = np.uint64(b_rows[t]), b_values[t]
                flat[first + j] += u * value
                flat[second + j] += v * value
                flat[third + j] += x * value
                flat[fourth + j] += y * value
        for s in range(last, after):
            row, u = np.uint64(a_rows[s]) * width, a_values[s]
            for t in range(begin, end):
                flat[row + np.uint64(b_rows[t])] += u * b_values[t]


@loop
def add_minima(a_keys, a_starts, a_rows, a_values, b_keys, b_starts, b_rows, b_values, tile):
    """tile_ij += sum of min(a_if, b_jf) over the columns f of the lists, for entries >= 0."""
    for p, q in shared(a_keys, b_keys):
        for s in range(a_starts[p], a_starts[p + 1]):
            row, value = tile[a_rows[s]], a_values[s]
            for t in range(b_starts[q], b_starts[q + 1]):
                row[b_rows[t]] += min(value, b_values[t])
