"""Patterns in graphs that are stored in one CSR matrix: subtrees, and pairs of nodes at a distance."""

import numpy as np

from representer._loops.jit import inlined_loop, loop
from representer._loops.words import joined, mixed


@loop
def refine(labels, indptr, indices, edge_labels):
    """A Weisfeiler-Lehman round: new labels from the old label of each node and the multiset of its neighbours'.

    With ``edge_labels``, one for each entry of ``indices``, from those as well.
    """
    out = np.empty(labels.size, np.uint64)
    for v in range(labels.size):
        around = np.uint64(0)
        for e in range(indptr[v], indptr[v + 1]):
            label = labels[indices[e]]
            around += joined(label, edge_labels[e]) if edge_labels.size else mixed(label)
        out[v] = joined(labels[v], around)
    return out


@inlined_loop
def slot(table, keys, key):
    """The slot of a key in a hash table, used or free; free slots hold -1."""
    place = np.int64(key & np.uint64(table.size - 1))
    while table[place] >= 0 and keys[table[place]] != key:
        place = (place + 1) & (table.size - 1)
    return place


@loop
def distances(labels, starts, indptr, indices):
    """Owner, key, count, and one example of each (label, number of steps, label), by breadth-first search.

    Pairs are counted in both directions. The example is a first node and a last node.
    """
    most = 0
    for g in range(starts.size - 1):
        most = max(most, starts[g + 1] - starts[g])
    steps, queue, capacity = np.empty(most, np.int64), np.empty(most, np.int64), 1024
    owners, keys, amounts = np.empty(capacity, np.int64), np.empty(capacity, np.uint64), np.empty(capacity)
    sources, targets, size = np.empty(capacity, np.int64), np.empty(capacity, np.int64), 0
    table = np.full(64, -1)
    for g in range(starts.size - 1):
        first, n, begin = starts[g], starts[g + 1] - starts[g], size
        for s in range(n):
            steps[:n] = -1
            steps[s], queue[0], head, tail = 0, s, 0, 1
            while head < tail:
                u = queue[head]
                head += 1
                for e in range(indptr[first + u], indptr[first + u + 1]):
                    v = indices[e] - first
                    if steps[v] < 0:
                        steps[v], queue[tail] = steps[u] + 1, v
                        tail += 1
                if u == s:
                    continue
                key = joined(joined(labels[first + s], np.uint64(steps[u])), labels[first + u])
                place = slot(table, keys, key)
                if table[place] >= 0:
                    amounts[table[place]] += 1.0
                    continue
                if size == capacity:
                    capacity *= 2
                    owners, keys = np.append(owners, owners), np.append(keys, keys)
                    amounts = np.append(amounts, amounts)
                    sources, targets = np.append(sources, sources), np.append(targets, targets)
                owners[size], keys[size], amounts[size] = g, key, 1.0
                sources[size], targets[size], table[place] = first + s, first + u, size
                size += 1
                if 2 * (size - begin) > table.size:  # a table twice as large, with the features of this graph
                    table = np.full(2 * table.size, -1)
                    for entry in range(begin, size):
                        table[slot(table, keys, keys[entry])] = entry
        for entry in range(begin, size):  # clear the table
            place = np.int64(keys[entry] & np.uint64(table.size - 1))
            while table[place] >= 0:
                table[place] = -1
                place = (place + 1) & (table.size - 1)
    return owners[:size].copy(), keys[:size].copy(), amounts[:size].copy(), sources[:size].copy(), targets[:size].copy()
