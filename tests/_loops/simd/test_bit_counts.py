import numpy as np
from each_case import each

from representer._loops.jit import loop
from representer._loops.simd.bit_counts import ones


@loop
def counted(words, counts):
    for i in range(words.size):
        counts[i] = ones(words[i])


@each("dtype", [np.uint64, np.uint8])
def test_compiled_counts_are_the_plain_ones(dtype):
    most = np.iinfo(dtype).max
    words = np.append(np.random.default_rng(0).integers(0, most, 20, dtype), np.array([0, 1, most], dtype))
    counts = np.empty_like(words)
    counted(words, counts)
    plain = [ones(word) for word in words]
    assert np.array_equal(counts, plain)
    assert plain == [bin(word).count("1") for word in words]
    assert plain[0].dtype == dtype
