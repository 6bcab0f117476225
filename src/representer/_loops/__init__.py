"""Every compiled loop of the library: arrays in, arrays out, no classes.

Loops may write into a caller's arrays. They are compiled by Numba on first use, release the GIL, and are kept in
Numba's cache on disk. Modules are executed on first use.
"""

from representer._loops.deferred import deferred

__getattr__ = deferred(__name__)
