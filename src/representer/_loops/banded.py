"""Substitution with a banded triangular factor, four rows at a time so that what is loaded is used four times."""

import numpy as np

from representer._loops.jit import loop


@loop
def column_norms(L, Q, out):
    """out_c <- |(L^(-1) Q)_c|^2 for a banded lower triangular L of b + 1 diagonals; of L^(-1) Q only b rows are kept.

    Rows of L come in groups of four that share their columns: L[i, s] is the entry of row i in column
    4 (i // 4) - b + s, zero where that is left of the band. The number of rows and b are multiples of four.
    """
    n, b = L.shape[0], L.shape[1] - 4
    window, rest = np.zeros((2 * b, Q.shape[1])), np.empty((4, Q.shape[1]))
    out[:] = 0.0
    at = b
    for i in range(0, n, 4):
        rest[:] = Q[i : i + 4]
        for s in range(0, b, 4):
            _subtract(L[i : i + 4, s : s + 4], window[at - b + s : at - b + s + 4], rest)
        _substitute(L[i : i + 4, b:], rest, window[at : at + 4], out)
        at += 4
        if at == 2 * b:
            window[:b] = window[b:]
            at = b


@loop
def _subtract(L, known, rest):
    """rest -= L known, L of shape (4, 4)."""
    k0, k1, k2, k3 = known[0], known[1], known[2], known[3]
    r0, r1, r2, r3 = rest[0], rest[1], rest[2], rest[3]
    l00, l01, l02, l03 = L[0, 0], L[0, 1], L[0, 2], L[0, 3]
    l10, l11, l12, l13 = L[1, 0], L[1, 1], L[1, 2], L[1, 3]
    l20, l21, l22, l23 = L[2, 0], L[2, 1], L[2, 2], L[2, 3]
    l30, l31, l32, l33 = L[3, 0], L[3, 1], L[3, 2], L[3, 3]
    for c in range(len(r0)):
        a, b, d, e = k0[c], k1[c], k2[c], k3[c]
        r0[c] = r0[c] - l00 * a - l01 * b - l02 * d - l03 * e
        r1[c] = r1[c] - l10 * a - l11 * b - l12 * d - l13 * e
        r2[c] = r2[c] - l20 * a - l21 * b - l22 * d - l23 * e
        r3[c] = r3[c] - l30 * a - l31 * b - l32 * d - l33 * e


@loop
def _substitute(L, rest, found, out):
    """found <- L^(-1) rest, L lower triangular of shape (4, 4); out += the squares of its rows."""
    r0, r1, r2, r3 = rest[0], rest[1], rest[2], rest[3]
    f0, f1, f2, f3 = found[0], found[1], found[2], found[3]
    d0, d1, d2, d3 = 1.0 / L[0, 0], 1.0 / L[1, 1], 1.0 / L[2, 2], 1.0 / L[3, 3]
    l10, l20, l21, l30, l31, l32 = L[1, 0], L[2, 0], L[2, 1], L[3, 0], L[3, 1], L[3, 2]
    for c in range(len(r0)):
        a = r0[c] * d0
        b = (r1[c] - l10 * a) * d1
        d = (r2[c] - l20 * a - l21 * b) * d2
        e = (r3[c] - l30 * a - l31 * b - l32 * d) * d3
        f0[c], f1[c], f2[c], f3[c] = a, b, d, e
        out[c] += a * a + b * b + d * d + e * e
