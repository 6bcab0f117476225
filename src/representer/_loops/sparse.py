"""Inner products and squared distances of sparse rows (CSR with sorted indices), into a tile."""

from representer._loops.jit import summing_loop


@summing_loop
def products(a_data, a_indices, a_starts, b_data, b_indices, b_starts, scratch, tile):
    """tile_ij <- <a_i, b_j>. ``scratch`` has one zero per column and is zero again afterwards."""
    for i in range(tile.shape[0]):
        for p in range(a_starts[i], a_starts[i + 1]):
            scratch[a_indices[p]] = a_data[p]
        for j in range(tile.shape[1]):
            s = tile.dtype.type(0.0)
            for q in range(b_starts[j], b_starts[j + 1]):
                s += scratch[b_indices[q]] * b_data[q]
            tile[i, j] = s
        for p in range(a_starts[i], a_starts[i + 1]):
            scratch[a_indices[p]] = tile.dtype.type(0.0)


@summing_loop
def squared_distances(a_data, a_indices, a_starts, b_data, b_indices, b_starts, a, b, tile):
    """tile_ij <- a_i + b_j - 2 tile_ij; close pairs are recomputed from differences, as for dense rows."""
    closest, two = tile.dtype.type(0.01), tile.dtype.type(2.0)
    for i in range(tile.shape[0]):
        for j in range(tile.shape[1]):
            size = a[i] + b[j]
            s = size - two * tile[i, j]
            if s < closest * size:
                s = tile.dtype.type(0.0)
                p, q = a_starts[i], b_starts[j]
                while p < a_starts[i + 1] or q < b_starts[j + 1]:
                    left = p < a_starts[i + 1] and (q == b_starts[j + 1] or a_indices[p] <= b_indices[q])
                    right = q < b_starts[j + 1] and (p == a_starts[i + 1] or b_indices[q] <= a_indices[p])
                    t = tile.dtype.type(0.0)
                    if left:
                        t += a_data[p]
                        p += 1
                    if right:
                        t -= b_data[q]
                        q += 1
                    s += t * t
            tile[i, j] = s


@summing_loop
def absolute_differences(a_data, a_indices, a_starts, b_data, b_indices, b_starts, scratch, tile):
    """tile_ij <- sum_f |a_if - b_jf|: the sum of |a_i|, corrected where b_j has an entry."""
    for i in range(tile.shape[0]):
        total = tile.dtype.type(0.0)
        for p in range(a_starts[i], a_starts[i + 1]):
            scratch[a_indices[p]] = a_data[p]
            total += abs(a_data[p])
        for j in range(tile.shape[1]):
            s = total
            for q in range(b_starts[j], b_starts[j + 1]):
                x = scratch[b_indices[q]]
                s += abs(x - b_data[q]) - abs(x)
            tile[i, j] = max(s, tile.dtype.type(0.0))
        for p in range(a_starts[i], a_starts[i + 1]):
            scratch[a_indices[p]] = tile.dtype.type(0.0)


@summing_loop
def minima(a_data, a_indices, a_starts, b_data, b_indices, b_starts, scratch, tile):
    """tile_ij <- sum_f min(a_if, b_jf), for entries >= 0."""
    for i in range(tile.shape[0]):
        for p in range(a_starts[i], a_starts[i + 1]):
            scratch[a_indices[p]] = a_data[p]
        for j in range(tile.shape[1]):
            s = tile.dtype.type(0.0)
            for q in range(b_starts[j], b_starts[j + 1]):
                s += min(scratch[b_indices[q]], b_data[q])
            tile[i, j] = s
        for p in range(a_starts[i], a_starts[i + 1]):
            scratch[a_indices[p]] = tile.dtype.type(0.0)


@summing_loop
def chi_squares(a_data, a_indices, a_starts, b_data, b_indices, b_starts, scratch, tile):
    """tile_ij <- sum_f (a_if - b_jf)^2 / (a_if + b_jf), for entries >= 0: the term is a_if where b_jf is zero."""
    tiny = tile.dtype.type(1e-30)
    for i in range(tile.shape[0]):
        total = tile.dtype.type(0.0)
        for p in range(a_starts[i], a_starts[i + 1]):
            scratch[a_indices[p]] = a_data[p]
            total += a_data[p]
        for j in range(tile.shape[1]):
            s = total
            for q in range(b_starts[j], b_starts[j + 1]):
                x, y = scratch[b_indices[q]], b_data[q]
                s += (x - y) * (x - y) / (x + y + tiny) - x
            tile[i, j] = max(s, tile.dtype.type(0.0))
        for p in range(a_starts[i], a_starts[i + 1]):
            scratch[a_indices[p]] = tile.dtype.type(0.0)
