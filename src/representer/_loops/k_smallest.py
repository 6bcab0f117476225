"""The smallest entries of each row, found tile by tile."""

from representer._loops.jit import loop


@loop
def keep_smallest(tile, first, values, indices):
    """Merge the entries of a tile into the sorted ``values`` and ``indices`` of the smallest ones, row by row.

    ``first`` is the index of the tile's first column. Of equal entries the earlier one stays first.
    """
    k = values.shape[1]
    for i in range(tile.shape[0]):
        row, best, where = tile[i], values[i], indices[i]
        last = best[k - 1]
        for j in range(row.size):
            if row[j] < last:
                p = k - 1
                while p > 0 and best[p - 1] > row[j]:
                    best[p], where[p] = best[p - 1], where[p - 1]
                    p -= 1
                best[p], where[p] = row[j], first + j
                last = best[k - 1]
