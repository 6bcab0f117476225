from representer import Gram, _parallel
from representer.gram.stored import Packed
from representer.kernels import RBF
from representer.solvers.memory import (
    bytes_of_gradients,
    bytes_of_packed,
    bytes_of_tiles,
    stores_matrix,
    stores_tiles,
    working_memory,
)


def test_what_is_kept_takes_a_quarter_at_most():
    n, matrix = 1000, 4 * 1000**2
    assert stores_matrix(n, 4 * matrix)
    assert not stores_matrix(n, 4 * matrix - 1)
    assert stores_tiles(n, 2 * matrix)
    assert not stores_tiles(n, 2 * matrix - 1)


def test_half_of_the_memory_is_used_and_never_more_than_a_few_gigabytes():
    assert working_memory(10**9) == 5 * 10**8
    assert working_memory(10**12) == 4 * 10**9


def test_tiles_of_all_threads(monkeypatch):
    assert bytes_of_tiles(10**5, 3) == 3 * 3 * _parallel.TILE_BYTES // 2
    assert bytes_of_tiles(10, 3) == 3 * 3 * 800 // 2  # a small matrix is one small tile
    monkeypatch.setattr(_parallel, "default_threads", lambda: 5)
    assert bytes_of_tiles(10**5, None) == bytes_of_tiles(10**5, 5)


def test_gradients_take_four_tiles():
    assert bytes_of_gradients(10**4, 10**4, 3) == 3 * 4 * _parallel.TILE_BYTES
    assert bytes_of_gradients(10, 7, 3) == 4 * 8 * 70  # a single tile is one thread's


def test_packed_tiles_take_no_more_than_announced(rng):
    for n in (100, 1300):
        kept = sum(tile.nbytes for tile in Packed(Gram(RBF(1.0), rng.normal(size=(n, 1)))).values.values())
        assert 0.8 * bytes_of_packed(n) < kept <= bytes_of_packed(n)
