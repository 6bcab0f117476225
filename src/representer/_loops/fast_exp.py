"""exp(-x) in a form that compilers turn into vector instructions.

With y = -x log2(e) = n + f, n an integer and |f| <= 1/2, a polynomial gives 2^f (a minimax fit, whose constant term
rounds to exactly 1, so that exp(0) is 1), and n is added to the exponent bits. Numba has no vectorised exp of its own,
and the C library's costs ten times as much per element. The power is kept above 2^-100 (float32) or 2^-900 (float64),
so that no product of results is subnormal.
"""

import numpy as np
from numba.extending import overload

from representer._loops.jit import STRICT

_LOG2E32, _LOG2E64 = np.float32(-1.4426950408889634), -1.4426950408889634
_LEAST32, _LEAST64 = np.float32(-100.0), -900.0
# adding 1.5 * 2^(bits of the mantissa) rounds to an integer, which is then in the lowest bits
_ROUND32, _ROUND64 = np.float32(1.5 * 2.0**23), 1.5 * 2.0**52


def _decay32(x):
    y = max(x * _LOG2E32, _LEAST32)
    t = y + _ROUND32
    f = y - (t - _ROUND32)
    p = np.float32(0.00015345812158740183)
    p = p * f + np.float32(0.001339993120947414)
    p = p * f + np.float32(0.009618488956522791)
    p = p * f + np.float32(0.055503287769976636)
    p = p * f + np.float32(0.24022646890639573)
    p = p * f + np.float32(0.6931472057372526)
    p = p * f + np.float32(1.0)
    power = np.int32(np.float32(t).view(np.int32) << np.int32(23))
    return np.int32(np.float32(p).view(np.int32) + power).view(np.float32)


def _decay64(x):
    y = max(x * _LOG2E64, _LEAST64)
    t = y + _ROUND64
    f = y - (t - _ROUND64)
    p = 4.4352809446103363e-10
    p = p * f + 7.074105626245659e-09
    p = p * f + 1.0178198033328528e-07
    p = p * f + 1.321543308959463e-06
    p = p * f + 1.5252733489960805e-05
    p = p * f + 0.00015403530462514614
    p = p * f + 0.001333355814678995
    p = p * f + 0.009618129107588335
    p = p * f + 0.055504108664819925
    p = p * f + 0.24022650695910155
    p = p * f + 0.6931471805599453
    p = p * f + 1.0
    power = np.int64(np.float64(t).view(np.int64) << np.int64(52))
    return np.int64(np.float64(p).view(np.int64) + power).view(np.float64)


def decay(x):
    """exp(-x) of one number x >= 0, float32 or float64, for use inside loops."""
    return _decay32(x) if isinstance(x, np.float32) else _decay64(x)


@overload(decay, jit_options={"fastmath": STRICT})
def _compiled_decay(x):
    return _decay32 if x.bitwidth == 32 else _decay64
