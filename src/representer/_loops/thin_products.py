"""Products of a tile with a few vectors, row by row: each number is read while it is in the cache.

BLAS packs the tile for a product with two or more columns, which takes longer than the product. Each return to Python
between two products would wait for the GIL, and find the data evicted from the cache.
"""

from representer._loops.jit import inlined_loop, inlined_summing_loop, loop


@inlined_summing_loop
def _inner_product(a, b):
    total = a.dtype.type(0.0)
    for j in range(a.size):
        total += a[j] * b[j]
    return total


@inlined_loop
def _add_rows(tile, V, t, sums):
    """sums += sum_i V_it tile_i; four rows at a time, so that sums are loaded and stored once for four."""
    whole = tile.shape[0] // 4 * 4
    number = tile.dtype.type
    for i in range(0, whole, 4):
        a, b, c, d = tile[i], tile[i + 1], tile[i + 2], tile[i + 3]
        p, q, r, s = number(V[i, t]), number(V[i + 1, t]), number(V[i + 2, t]), number(V[i + 3, t])
        for j in range(sums.size):
            sums[j] += (p * a[j] + q * b[j]) + (r * c[j] + s * d[j])
    for i in range(whole, tile.shape[0]):
        a, p = tile[i], number(V[i, t])
        for j in range(sums.size):
            sums[j] += p * a[j]


@loop
def forwards(tile, coef, out):
    """out_it <- <tile_i, coef_t>, for vectors as rows of coef."""
    for i in range(tile.shape[0]):
        for t in range(coef.shape[0]):
            out[i, t] = _inner_product(tile[i], coef[t])


@loop
def backwards(tile, V, sums, out):
    """out_t += sum_i V_it tile_i, summed over the tile in its own precision; ``sums`` is a buffer for a row."""
    for t in range(out.shape[0]):
        sums[:] = 0.0
        _add_rows(tile, V, t, sums)
        for j in range(sums.size):
            out[t, j] += sums[j]


@loop
def residuals(tile, coef, R, weights, sums, out):
    """R_it <- weights_i (R_it - <tile_i, coef_t>), and out_t += sum_i R_it tile_i with these."""
    for i in range(tile.shape[0]):
        for t in range(coef.shape[0]):
            R[i, t] = weights[i] * (R[i, t] - _inner_product(tile[i], coef[t]))
    backwards(tile, R, sums, out)
