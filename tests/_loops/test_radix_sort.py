import numpy as np
import pytest

from representer._loops import radix_sort


@pytest.mark.parametrize("bits", [1, 12, 40, 64])
@pytest.mark.parametrize("n", [0, 1, 2, 5000])
def test_order(n, bits, rng):
    """Keys of few bits repeat, and repeated ones stay in their order."""
    keys = rng.integers(0, 2**bits - 1, n, np.uint64, endpoint=True)
    assert np.array_equal(radix_sort.order(keys), np.argsort(keys, kind="stable"))
