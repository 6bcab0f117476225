import numpy as np
import pytest

from representer._loops.simd.transposition import write_transposed

SHAPES = [(2, 2), (2, 5), (8, 8), (16, 16), (17, 15), (33, 2), (15, 34), (41, 57)]


def part_of(tile, step):
    """The tile as a part of a larger array, which the compiler sees as one type whatever its layout."""
    larger = np.zeros((len(tile), step * tile.shape[1] + 1), tile.dtype)
    larger[:, :-1:step] = tile
    return larger[:, :-1:step]


@pytest.mark.parametrize("dtypes", [(np.float32,) * 2, (np.float64,) * 2, (np.float64, np.float32)], ids=str)
def test_transposed_into_a_part_of_an_array(dtypes, rng):
    """Also where squares do not fill the tile, and what is around the part stays as it is."""
    for h, w in SHAPES:
        tile, around = rng.normal(size=(h, w)).astype(dtypes[0]), np.zeros((w + 2, h + 3), dtypes[1])
        expected = around.copy()
        expected[1:-1, 1:-2] = tile.T
        write_transposed(part_of(tile, 1), around[1:-1, 1:-2])
        assert np.array_equal(around, expected)


def test_rows_that_are_not_contiguous(rng):
    tile, around = rng.normal(size=(18, 18)), np.zeros((18, 36))
    write_transposed(part_of(tile, 2), around[:, ::2])
    assert np.array_equal(around[:, ::2], tile.T)
    assert not around[:, 1::2].any()
