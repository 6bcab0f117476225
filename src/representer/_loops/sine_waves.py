"""cos and sin of many angles, in a form that compilers turn into vector instructions.

With x = k pi/2 + r, k an integer and |r| <= pi/4, two polynomials give sin r and cos r, and the last two bits of k
select which of them, with which sign, are cos x and sin x. k pi/2 is subtracted in three parts, whose products with k
are exact. The C library takes several times as long for each angle.
"""

import numpy as np
from numba.extending import overload

from representer._loops.jit import STRICT, loop

FARTHEST32, FARTHEST64 = np.float32(8192.0), 1e6
"""Angles up to which products with k are exact; rows with larger ones use the C library."""
_TURNS32, _TURNS64 = np.float32(2.0 / np.pi), 2.0 / np.pi
# adding 1.5 * 2^(bits of the mantissa) rounds to an integer, which is then in the lowest bits
_WHOLE32, _WHOLE64 = np.float32(1.5 * 2.0**23), 1.5 * 2.0**52


def _both32(x):
    t = x * _TURNS32 + _WHOLE32
    k = t - _WHOLE32
    r = ((x - k * np.float32(1.5703125)) - k * np.float32(4.837512969970703e-4)) - k * np.float32(7.549789948768648e-8)
    z = r * r
    s = np.float32(-1.9515295891e-4) * z + np.float32(8.3321608736e-3)
    s = r + r * z * (s * z + np.float32(-1.6666654611e-1))
    c = np.float32(2.443315711809948e-5) * z + np.float32(-1.388731625493765e-3)
    c = (np.float32(1.0) - np.float32(0.5) * z) + z * z * (c * z + np.float32(4.166664568298827e-2))
    q = np.float32(t).view(np.int32)
    odd = (q & np.int32(1)) != np.int32(0)
    cosine, sine = (s if odd else c), (c if odd else s)
    turned = np.int32(((q + np.int32(1)) & np.int32(2)) << np.int32(30))
    cosine = np.int32(np.float32(cosine).view(np.int32) ^ turned).view(np.float32)
    sine = np.int32(np.float32(sine).view(np.int32) ^ np.int32((q & np.int32(2)) << np.int32(30))).view(np.float32)
    return cosine, sine


def _both64(x):
    t = x * _TURNS64 + _WHOLE64
    k = t - _WHOLE64
    r = ((x - k * 1.57079632673412561417) - k * 6.07710050630396597660e-11) - k * 2.02226624879595063154e-21
    z = r * r
    s = 1.58969099521155010221e-10 * z - 2.50507602534068634195e-08
    s = s * z + 2.75573137070700676789e-06
    s = s * z - 1.98412698298579493134e-04
    s = s * z + 8.33333333332248946124e-03
    s = r + r * z * (s * z - 1.66666666666666324348e-01)
    c = -1.13596475577881948265e-11 * z + 2.08757232129817482790e-09
    c = c * z - 2.75573143513906633035e-07
    c = c * z + 2.48015872894767294178e-05
    c = c * z - 1.38888888888741095749e-03
    c = (1.0 - 0.5 * z) + z * z * (c * z + 4.16666666666666019037e-02)
    q = np.float64(t).view(np.int64)
    odd = (q & 1) != 0
    cosine, sine = (s if odd else c), (c if odd else s)
    cosine = np.int64(np.float64(cosine).view(np.int64) ^ (((q + 1) & 2) << 62)).view(np.float64)
    sine = np.int64(np.float64(sine).view(np.int64) ^ ((q & 2) << 62)).view(np.float64)
    return cosine, sine


def both(x):
    """(cos x, sin x) of one number, float32 or float64, for use inside loops."""
    return np.cos(x), np.sin(x)


@overload(both, jit_options={"fastmath": STRICT})
def _compiled_both(x):
    return _both32 if x.bitwidth == 32 else _both64


def farthest(x):
    """The largest angle that `both` takes."""
    return FARTHEST32 if x.dtype == np.float32 else FARTHEST64


@overload(farthest)
def _compiled_farthest(x):
    limit = FARTHEST32 if x.dtype.bitwidth == 32 else FARTHEST64
    return lambda x: limit


@loop
def waves(angles, factor, out):
    """out_ij <- factor cos(angles_ij) for all p columns, and out_i(p + j) <- factor sin(angles_ij) for the rest."""
    p, limit, c = angles.shape[1], farthest(angles), out.dtype.type(factor)
    sines = out.shape[1] - p
    for i in range(angles.shape[0]):
        row, cosines, others = angles[i], out[i, :p], out[i, p:]
        largest = out.dtype.type(0.0)
        for j in range(p):
            largest = max(largest, abs(row[j]))
        if largest <= limit:
            for j in range(sines):
                x, y = both(row[j])
                cosines[j], others[j] = c * x, c * y
            for j in range(sines, p):
                cosines[j] = c * both(row[j])[0]
        else:
            for j in range(p):
                cosines[j] = c * np.cos(row[j])
            for j in range(sines):
                others[j] = c * np.sin(row[j])
