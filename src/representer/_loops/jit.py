"""How every loop is compiled: without the GIL, cached on disk, fused multiply-adds allowed.

Only those relaxations of IEEE arithmetic are switched on that keep the order of additions, so that a
loop gives the same bits on every run. Loops that sum many terms ask for ``reassociate`` on top.
Short parts of a loop that runs for less than a microsecond are inlined: handing over arrays takes part of that.
"""

from numba import njit

STRICT = {"contract", "nsz", "arcp", "nnan"}
loop = njit(nogil=True, cache=True, fastmath=STRICT)
inlined_loop = njit(nogil=True, cache=True, fastmath=STRICT, forceinline=True)
summing_loop = njit(nogil=True, cache=True, fastmath=STRICT | {"reassoc"})
inlined_summing_loop = njit(nogil=True, cache=True, fastmath=STRICT | {"reassoc"}, forceinline=True)
