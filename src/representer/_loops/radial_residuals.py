"""Residuals of f = sum_j c_j phi(|x - z_j|^2) and their products with the same values, strip by strip.

A strip of values is filled, used twice and overwritten within one call. With a call for each of these steps, threads
spend as much time waiting for the GIL as computing.
"""

import numpy as np

from representer._loops import thin_products
from representer._loops.jit import inlined_loop, summing_loop
from representer._loops.radial import exponential, matern12, matern32, matern52
from representer._loops.squared_distances import differences, from_norms

EXPONENTIAL, MATERN12, MATERN32, MATERN52 = range(4)
"""Numbers of the functions phi: exp(-s / 2), and those of `radial`."""


@inlined_loop
def _apply(form, values):
    """s <- phi(s)."""
    if form == EXPONENTIAL:
        exponential(values, 0.5)
    elif form == MATERN12:
        matern12(values)
    elif form == MATERN32:
        matern32(values)
    else:
        matern52(values)


@summing_loop
def from_products(left, right, form, coef, R, weights, tile, out):
    """R_it <- weights_i (R_it - sum_j coef_tj phi_ij), and out_tj += sum_i R_it phi_ij with these.

    ``left`` are values, squared norms and raw rows as in `squared_distances.from_products`; ``right`` are these of the
    centres, and weights of columns. The rows of ``tile`` are those of a strip.
    """
    (A, a, raw_a), (B, b, raw_b, inverse) = left, right
    sums = np.empty(len(B), A.dtype)
    for start in range(0, len(A), len(tile)):
        rows = slice(start, min(start + len(tile), len(A)))
        strip = tile[: rows.stop - start]
        np.dot(A[rows], B.T, strip)
        for i in range(len(strip)):
            from_norms(strip[i], a[start + i], b, raw_a[start + i], raw_b, inverse, 0)
            _apply(form, strip[i : i + 1])
        thin_products.residuals(strip, coef, R[rows], weights[rows], sums, out)


@summing_loop
def from_differences(raw, columns, inverse, form, coef, R, weights, tile, out):
    """The same with distances as in `squared_distances.from_differences`, for few columns."""
    sums = np.empty(columns.shape[1], raw.dtype)
    for start in range(0, len(raw), len(tile)):
        rows = slice(start, min(start + len(tile), len(raw)))
        strip = tile[: rows.stop - start]
        for i in range(len(strip)):
            differences(raw[start + i], columns, inverse, strip[i])
            _apply(form, strip[i : i + 1])
        thin_products.residuals(strip, coef, R[rows], weights[rows], sums, out)
