"""How every loop is compiled: without the GIL, cached on disk, fused multiply-adds allowed.

Only those relaxations of IEEE arithmetic are switched on that keep the order of additions, so that a
loop gives the same bits on every run. Loops that sum many terms ask for ``reassociate`` on top.
"""

from numba import njit

STRICT = {"contract", "nsz", "arcp", "nnan"}
loop = njit(nogil=True, cache=True, fastmath=STRICT)
summing_loop = njit(nogil=True, cache=True, fastmath=STRICT | {"reassoc"})
