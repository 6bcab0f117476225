"""Random walks on two graphs at once, into a tile."""

import numpy as np

from representer._loops.jit import dividing_loop, loop

MOST_STEPS = 2000
"""Steps after which a linear solve is faster than the fixed-point iteration."""


@dividing_loop
def by_eigenvalues(a, a_starts, b_values, b_weights, b_starts, decay, squared, tile):
    """tile_ij <- sum_pq u_p v_q / (1 - decay s_p t_q), s and t eigenvalues and u and v weights of a_i and b_j.

    The denominator may be squared: with weights u s and v t this is the derivative by the decay.
    """
    for i in range(tile.shape[0]):
        for j in range(tile.shape[1]):
            total = 0.0
            for p in range(a_starts[i], a_starts[i + 1]):
                rate, part = decay * a[p, 0], 0.0
                for q in range(b_starts[j], b_starts[j + 1]):
                    rest = 1.0 - rate * b_values[q]
                    part += b_weights[q] / (rest * rest if squared else rest)
                total += a[p, 1] * part
            tile[i, j] = total


@loop
def product_graph(starts, indptr, indices, nodes, edges, i, starts2, indptr2, indices2, nodes2, edges2, j):
    """Row pointers and columns of a product graph: pairs of nodes with equal labels, joined by equal edges."""
    first, second = starts[i], starts2[j]
    n, m = starts[i + 1] - first, starts2[j + 1] - second
    number = np.full((n, m), -1)
    count = 0
    for u in range(n):
        for v in range(m):
            if nodes[first + u] == nodes2[second + v]:
                number[u, v] = count
                count += 1
    pointers = np.zeros(count + 1, np.int64)
    columns = np.empty(0, np.int64)
    for fill in range(2):  # count, then write
        place = 0
        for u in range(n):
            for v in range(m):
                if number[u, v] < 0:
                    continue
                for e in range(indptr[first + u], indptr[first + u + 1]):
                    for f in range(indptr2[second + v], indptr2[second + v + 1]):
                        to = number[indices[e] - first, indices2[f] - second]
                        if to >= 0 and edges[e] == edges2[f]:
                            if fill:
                                columns[place] = to
                            place += 1
                pointers[number[u, v] + 1] = place
        if not fill:
            columns = np.empty(place, np.int64)
    return pointers, columns


@loop
def total_walks(pointers, columns, decay, tol):
    """1'(I - decay A)^(-1) 1 of a product graph by z <- 1 + decay A z, and its derivative with respect to the decay.

    NaN where the iteration has not converged, as it takes the more steps the closer the decay is to its bound.
    """
    count = len(pointers) - 1
    z, new = np.ones(count), np.empty(count)
    y, changed = np.zeros(count), np.empty(count)
    for _ in range(MOST_STEPS):
        worst = 0.0
        for u in range(count):
            s, t = 0.0, 0.0
            for e in range(pointers[u], pointers[u + 1]):
                s += z[columns[e]]
                t += y[columns[e]]
            new[u] = 1.0 + decay * s
            changed[u] = s + decay * t
            worst = max(worst, (new[u] - z[u]) / new[u], (changed[u] - y[u]) / (1.0 + changed[u]))
        z, new, y, changed = new, z, changed, y
        if worst <= tol:
            return z.sum(), y.sum()
    return np.nan, np.nan


@loop
def by_product_graphs(A, B, same, decay, tol, tile, slopes):
    """Both for all pairs of graphs; A and B are tuples (starts, indptr, indices, node labels, edge labels)."""
    for i in range(tile.shape[0]):
        for j in range(i + 1 if same else tile.shape[1]):
            pointers, columns = product_graph(A[0], A[1], A[2], A[3], A[4], i, B[0], B[1], B[2], B[3], B[4], j)
            tile[i, j], slopes[i, j] = total_walks(pointers, columns, decay, tol)
            if same:
                tile[j, i], slopes[j, i] = tile[i, j], slopes[i, j]
