"""Squared Euclidean distances between the rows of two blocks, into a tile."""

import numpy as np

from representer._loops.jit import inlined_loop, inlined_summing_loop, loop, summing_loop
from representer._loops.simd.registers import BYTES, ROWS, VECTORS
from representer._loops.simd.skinny_products import multiply_rows

CLOSEST = 0.01  # squared distance, as a fraction of the squared norms, below which their difference loses digits


@loop
def centres(raw, shift):
    """shift_f <- the mean of column f, summed in float64, or 0 if more than half of the column is 0.

    Then zeros stay zero, and squared norms are at most twice those of centred columns.
    """
    sums, counts = np.zeros(raw.shape[1]), np.zeros(raw.shape[1])
    for i in range(raw.shape[0]):
        row = raw[i]
        for f in range(row.size):
            sums[f] += row[f]
            counts[f] += 1.0 if row[f] != 0.0 else 0.0
    for f in range(sums.size):
        shift[f] = sums[f] / raw.shape[0] if 2.0 * counts[f] >= raw.shape[0] else 0.0


@loop
def used_columns(values, used):
    """used_f <- whether column f has a nonzero entry."""
    used[:] = False
    for i in range(values.shape[0]):
        row = values[i]
        for f in range(row.size):
            used[f] |= row[f] != 0.0


@summing_loop
def shift_and_scale(raw, shift, scale, values, squares):
    """values_if <- (raw_if - shift_f) / scale_f and squares_i <- sum_f values_if^2."""
    for i in range(values.shape[0]):
        source, target = raw[i], values[i]
        total = values.dtype.type(0.0)
        for f in range(target.size):
            v = (source[f] - shift[f]) / scale[f]
            target[f] = v
            total += v * v
        squares[i] = total


@loop
def from_differences(A, columns, weights, tile):
    """tile_ij <- sum_f weights_f (A_if - columns_fj)^2: exact to rounding however close the points are.

    ``columns`` is the second block transposed and C-contiguous. Cheaper than a matrix product for few columns.
    """
    for i in range(A.shape[0]):
        differences(A[i], columns, weights, tile[i])


@loop
def differences_within(A, columns, weights, packed):
    """The same for rows of A, each pair once: the strict lower triangle, packed row by row.

    ``columns`` is A transposed and C-contiguous.
    """
    start = 0
    for i in range(A.shape[0]):
        differences(A[i], columns, weights, packed[start : start + i])
        start += i


@inlined_loop
def differences(x, columns, weights, row):
    d = x.size
    a0, b0, w0 = x[0], columns[0], weights[0]
    for j in range(row.size):
        t0 = a0 - b0[j]
        row[j] = w0 * t0 * t0
    f = 1
    while f + 3 < d:
        a0, a1, a2, a3 = x[f], x[f + 1], x[f + 2], x[f + 3]
        b0, b1, b2, b3 = columns[f], columns[f + 1], columns[f + 2], columns[f + 3]
        w0, w1, w2, w3 = weights[f], weights[f + 1], weights[f + 2], weights[f + 3]
        for j in range(row.size):
            t0, t1, t2, t3 = a0 - b0[j], a1 - b1[j], a2 - b2[j], a3 - b3[j]
            row[j] += w0 * t0 * t0 + w1 * t1 * t1 + w2 * t2 * t2 + w3 * t3 * t3
        f += 4
    while f < d:
        a0, b0, w0 = x[f], columns[f], weights[f]
        for j in range(row.size):
            t0 = a0 - b0[j]
            row[j] += w0 * t0 * t0
        f += 1


@summing_loop
def products_within(A, a, raw, weights, packed):
    """Distances as in `from_products`, of pairs packed as in `differences_within`.

    Blocks of rows and columns whose products fit the registers: BLAS would compute all pairs twice. There are at least
    ROWS rows.
    """
    n, wide = A.shape[0], VECTORS * BYTES // A.itemsize
    if n < ROWS:
        raise ValueError("too few rows")
    columns = np.zeros((n // wide + 1, A.shape[1], wide), A.dtype)  # columns that are read together are adjacent
    for i in range(n):
        group, row = columns[i // wide], A[i]
        for f in range(row.size):
            group[f, i % wide] = row[f]
    sums = np.empty((ROWS, wide), A.dtype)
    for start in range(0, n, ROWS):
        first = min(start, n - ROWS)  # the last rows overlap those before them
        for j in range(0, first + ROWS - 1, wide):
            multiply_rows(A, first, columns[j // wide], sums)
            for r in range(ROWS):
                i = first + r
                source, target = sums[r], packed[i * (i - 1) // 2 + j :]
                if j + wide <= i:  # a length known at compile time
                    for q in range(wide):
                        target[q] = source[q]
                else:
                    for q in range(i - j):
                        target[q] = source[q]
        for i in range(first, first + ROWS):
            from_norms(packed[i * (i - 1) // 2 : i * (i + 1) // 2], a[i], a, raw[i], raw, weights, 0)


@summing_loop
def from_products(A, B, a, b, raw_a, raw_b, weights, tile):
    """tile_ij <- a_i + b_j - 2 <A_i, B_j>, where a and b are the squared norms.

    The subtraction cancels when the squared distance of two points is below a hundredth of their squared norms; such
    distances are recomputed as sum_f weights_f (raw_a_if - raw_b_jf)^2 from the rows before shifting and scaling, so
    that near neighbours keep their digits.
    """
    np.dot(A, B.T, tile)
    for i in range(tile.shape[0]):  # the diagonal is the point itself, often the only one this near
        from_norms(tile[i], a[i], b, raw_a[i], raw_b, weights, i)


@inlined_summing_loop
def from_norms(row, a_i, b, x, raw_b, weights, likely):
    """Distances of one point from its products with others; the search for close ones starts at ``likely``."""
    closest, two = row.dtype.type(CLOSEST), row.dtype.type(2.0)
    zero, one = row.dtype.type(0.0), row.dtype.type(1.0)
    n_close = zero  # counted in the row's own type, which keeps the loop vectorised
    for j in range(row.size):
        size = a_i + b[j]
        s = size - two * row[j]
        row[j] = s
        n_close += one if s < closest * size else zero
    if n_close > zero:
        _compute_anew(row, n_close, a_i, b, x, raw_b, weights, likely % row.size)


@summing_loop
def _compute_anew(row, n_close, a_i, b, x, raw_b, weights, likely):
    """Recompute the distances of the ``n_close`` close points from differences."""
    for step in range(row.size):
        j = likely + step if likely + step < row.size else likely + step - row.size
        if row[j] < row.dtype.type(CLOSEST) * (a_i + b[j]):
            y = raw_b[j]
            s = row.dtype.type(0.0)
            for f in range(x.size):
                t = x[f] - y[f]
                s += weights[f] * t * t
            row[j] = s
            n_close -= row.dtype.type(1.0)
            if n_close == row.dtype.type(0.0):
                break
