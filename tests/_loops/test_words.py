import numpy as np

from representer._loops import words

NONE = np.empty(0, np.uint64)


def test_packed_words():
    """Seven bits a letter behind a leading one, so that words of different lengths differ."""
    letters = np.array([1, 2, 3, 9, 4], np.uint32)
    owners, keys = words.keys(letters, np.array([0, 3, 3, 4, 5]), 2, NONE)
    assert owners.tolist() == [0, 0]
    assert keys.tolist() == [(1 << 14) + (1 << 7) + 2, (1 << 14) + (2 << 7) + 3]
    assert words.keys(letters, np.array([0, 5]), 1, NONE)[1].tolist() == [128 + letter for letter in (1, 2, 3, 9, 4)]


def test_words_with_other_letters_are_hashed():
    letters, hashes = np.array([65, 66, 200, 67, 68], np.uint32), np.arange(4, dtype=np.uint64)
    keys = words.keys(letters, np.array([0, 5]), 2, hashes)[1]
    assert (keys >> np.uint64(63)).tolist() == [0, 1, 1, 0]
    assert (keys[1:3] & np.uint64(3)).tolist() == [1, 2]


def test_hashes_of_pairs():
    """All pairs of 500 numbers, in either order, have hashes of their own."""
    single = words.scattered(np.arange(500))
    pairs = np.concatenate([words.paired(np.roll(np.tile(single, 2), shift), 500)[:500] for shift in range(500)])
    assert len(set(single.tolist())) == 500
    grid = words.paired(np.concatenate([[a, b] for a in single[:60] for b in single[:60]]), 1)[::2]
    assert len(set(grid.tolist())) == 3600
    assert len(set(pairs.tolist())) == 500
