import numpy as np

from representer._loops.alignment import LANES
from representer.kernels.ragged import Ragged, fill_by_lanes, gathered


def inputs(n):
    return Ragged.of([np.arange(2.0 * i).reshape(i, 2) + i for i in range(1, n + 1)], np.float64, -1)


def test_gathered_rows():
    starts, places = gathered(np.array([0, 2, 2, 5]), np.array([2, 0, 1]))
    assert starts.tolist() == [0, 3, 5, 5]
    assert places.tolist() == [2, 3, 4, 0, 1]


def test_slices():
    part = inputs(5)[np.array([3, 0])]
    assert part.lengths.tolist() == [4, 1]
    assert part.values[:, 0].tolist() == [4, 6, 8, 10, 1]


def test_lanes_are_interleaved_and_filled():
    first, second = inputs(LANES + 3)[::-1].lanes
    assert first.longest == LANES
    assert len(second.members) == 3
    values = first.values.reshape(2, LANES, LANES)
    for k in range(LANES):
        assert values[0, : k + 1, k].tolist() == [k + 1 + 2 * t for t in range(k + 1)]
        assert np.all(values[:, k + 1 :, k] == -1)


def test_all_pairs_are_filled():
    A, B = inputs(LANES + 2), inputs(3)

    def product(x, y):
        return (x.lengths * y.lengths * 1.0,)

    for one, other in ((A, B), (B, A), (A, A)):
        tile = np.full((len(one), len(other)), np.nan)
        fill_by_lanes(one, other, product, tile)
        assert np.array_equal(tile, np.outer(one.lengths, other.lengths))
    assert A.on_lanes(lambda group: group.lengths * 2.0).tolist() == (2 * A.lengths).tolist()
