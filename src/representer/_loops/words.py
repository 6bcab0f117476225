"""Keys of words: all substrings of k letters of a text, as unsigned 64-bit numbers that depend on the word alone.

Up to eight letters below 128 are packed, seven bits each after a leading one; other words are hashed, with the highest
bit set. Two different hashed words have the same key with probability 2^-63.
"""

import numpy as np

from representer._loops.jit import inlined_loop, loop

PACKED = 8
"""Letters that fit into a key, seven bits each."""
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
"""2^64 divided by the golden ratio, and odd: multiples of it are spread evenly."""
HASHED = np.uint64(1 << 63)


@inlined_loop
def mixed(x):
    """A bijective mix of 64 bits: each bit of the result depends on all bits of x."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@inlined_loop
def joined(a, b):
    """A number for the pair (a, b), in this order."""
    return mixed(a * GOLDEN + mixed(b + GOLDEN))


@loop
def scattered(numbers):
    """`mixed` numbers, such as code points or labels."""
    out = np.empty(numbers.size, np.uint64)
    for i in range(numbers.size):
        out[i] = mixed(np.uint64(numbers[i]) + GOLDEN)
    return out


@loop
def paired(hashes, step):
    """The hash of each entry paired with the one ``step`` further on."""
    out = np.empty(max(hashes.size - step, 0), np.uint64)
    for i in range(out.size):
        out[i] = joined(hashes[i], hashes[i + step])
    return out


@loop
def keys(letters, starts, length, hashes):
    """The owner and the key of each word of ``length`` letters, string by string.

    String i has the letters from starts[i] to starts[i + 1]. ``hashes`` are those of the words that start at each
    letter, not needed where all words are packed.
    """
    size = 0
    for i in range(starts.size - 1):
        size += max(starts[i + 1] - starts[i] - length + 1, 0)
    owners, found = np.empty(size, np.int64), np.empty(size, np.uint64)
    packed, lead = length <= PACKED, np.uint64(1) << np.uint64(7 * min(length, PACKED))
    size = 0
    for i in range(starts.size - 1):
        key, plain = np.uint64(0), 0
        for p in range(starts[i], starts[i + 1]):
            letter = np.uint64(letters[p])
            plain = plain + 1 if letter < np.uint64(128) else 0
            key = (key << np.uint64(7) | letter) & (lead - np.uint64(1))
            begin = p - length + 1
            if begin < starts[i]:
                continue
            owners[size] = i
            found[size] = key | lead if packed and plain >= length else hashes[begin] | HASHED
            size += 1
    return owners, found
