"""Every compiled loop of the library: arrays in, arrays out, no classes.

Functions of this package are the only ones that write into a caller's array. They are compiled
by Numba on first use, release the GIL, and are kept in Numba's cache on disk.
"""
