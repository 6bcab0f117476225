import numpy as np
from each_case import each
from scipy import sparse

from representer._loops import tallies


@each(("size", "different"), [(0, 20), (1, 20), (300, 20), (20_000, 9000)])
@each("several", [False, True])
def test_sums_by_owner_and_key(size, different, several, rng):
    """So many different keys that the table of keys grows, and that a row's columns are looked for in several words."""
    owners, keys = rng.integers(0, 7, size), rng.integers(2**63, 2**63 + different, size, np.uint64)
    amounts = rng.integers(1, 5, size).astype(float) if several and size else np.array([2.0])
    data, indices, starts, names, first = tallies.tally(owners, keys, amounts, 8)
    expected, columns = np.zeros((8, len(names))), np.unique(keys, return_inverse=True)
    np.add.at(expected, (owners, columns[1]), np.broadcast_to(amounts, (size,)))
    rows = sparse.csr_array((data, indices, starts), shape=expected.shape)
    assert np.array_equal(names, columns[0])
    assert rows.has_canonical_format
    assert np.array_equal(rows.toarray(), expected)
    assert np.array_equal(first, np.unique(keys, return_index=True)[1])
