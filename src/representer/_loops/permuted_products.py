"""Inner products of a matrix with permutations of another one."""

import numpy as np

from representer._loops.jit import summing_loop


@summing_loop
def inner_products(K, L, permutations, out):
    """out_b <- sum_{i > j} K_ij L_{p_i p_j} for each row p of the permutations, summed in float64.

    A row of L, which is read in random order, stays in the cache for all permutations; rows of K are read sequentially.
    """
    n, count = K.shape[0], out.size
    places = np.empty((count, n), permutations.dtype)
    for b in range(count):
        out[b] = 0.0
        for i in range(n):
            places[b, permutations[b, i]] = i
    for r in range(n):
        other = L[r]
        for b in range(count):
            i = places[b, r]
            row, p = K[i], permutations[b]
            total = K.dtype.type(0.0)
            for j in range(i):
                total += row[j] * other[p[j]]
            out[b] += total
