"""Squared Euclidean distances between the rows of two blocks, into a tile."""

import numpy as np

from representer._loops.jit import loop, summing_loop


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
    d = A.shape[1]
    for i in range(A.shape[0]):
        row = tile[i]
        a0, b0, w0 = A[i, 0], columns[0], weights[0]
        for j in range(row.size):
            t0 = a0 - b0[j]
            row[j] = w0 * t0 * t0
        f = 1
        while f + 3 < d:
            a0, a1, a2, a3 = A[i, f], A[i, f + 1], A[i, f + 2], A[i, f + 3]
            b0, b1, b2, b3 = columns[f], columns[f + 1], columns[f + 2], columns[f + 3]
            w0, w1, w2, w3 = weights[f], weights[f + 1], weights[f + 2], weights[f + 3]
            for j in range(row.size):
                t0, t1, t2, t3 = a0 - b0[j], a1 - b1[j], a2 - b2[j], a3 - b3[j]
                row[j] += w0 * t0 * t0 + w1 * t1 * t1 + w2 * t2 * t2 + w3 * t3 * t3
            f += 4
        while f < d:
            a0, b0, w0 = A[i, f], columns[f], weights[f]
            for j in range(row.size):
                t0 = a0 - b0[j]
                row[j] += w0 * t0 * t0
            f += 1


@summing_loop
def from_products(A, B, a, b, raw_a, raw_b, weights, tile):
    """tile_ij <- a_i + b_j - 2 <A_i, B_j>, where a and b are the squared norms.

    The subtraction cancels when the squared distance of two points is below a hundredth of their squared norms; such
    distances are computed anew as sum_f weights_f (raw_a_if - raw_b_jf)^2 from the rows before they were shifted and
    scaled, so that near neighbours keep their digits.
    """
    np.dot(A, B.T, tile)
    closest = tile.dtype.type(0.01)
    zero, one, two = tile.dtype.type(0.0), tile.dtype.type(1.0), tile.dtype.type(2.0)
    for i in range(tile.shape[0]):
        row = tile[i]
        a_i = a[i]
        n_close = zero  # counted in the tile's own type, which keeps the loop vectorised
        for j in range(row.size):
            size = a_i + b[j]
            s = size - two * row[j]
            row[j] = s
            n_close += one if s < closest * size else zero
        if n_close > zero:
            x, start = raw_a[i], i % row.size  # a point meets itself on the diagonal, and often no other this near
            for step in range(row.size):
                if n_close == zero:
                    break
                j = start + step if start + step < row.size else start + step - row.size
                if row[j] < closest * (a_i + b[j]):
                    y = raw_b[j]
                    s = zero
                    for f in range(x.size):
                        t = x[f] - y[f]
                        s += weights[f] * t * t
                    row[j] = s
                    n_close -= one
