import numpy as np
from each_case import each

from representer._loops import radix_sort


@each("bits", [1, 12, 40, 64])
@each("n", [0, 1, 2, 5000])
def test_order(n, bits, rng):
    """Keys of few bits repeat, and repeated ones stay in their order."""
    keys = rng.integers(0, 2**bits - 1, n, np.uint64, endpoint=True)
    assert np.array_equal(radix_sort.order(keys), np.argsort(keys, kind="stable"))
