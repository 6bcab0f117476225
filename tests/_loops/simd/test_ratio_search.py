import numpy as np
import pytest
from each_case import each

from representer._loops.jit import loop
from representer._loops.simd import ratio_search

TYPES = [(np.float32, np.float32), (np.float32, np.float64), (np.float64, np.float64)]


@loop
def greatest_ratio(row, diagonal, own, g_down, low, small):
    return ratio_search.greatest_ratio(row, diagonal, own, g_down, low, small)


@loop
def any_equal(values, i, number):
    return ratio_search.any_equal(values, i, number)


def ratios(row, diagonal, own, g_down, low, small):
    gain = np.maximum(g_down - low, 0.0).astype(row.dtype)
    return gain * gain / np.maximum(own + diagonal - 2 * row, small)


@each("n", [1, 7, 8, 15, 16, 17, 31, 32, 50, 203])
@each("types", TYPES)
def test_greatest_ratio(types, n, rng):
    k, g = types
    rel = 4.0 * float(np.finfo(k).eps)
    for _ in range(10):
        g_down = np.where(rng.uniform(size=n) < 0.2, -np.inf, rng.normal(size=n)).astype(g)
        inputs = (
            rng.uniform(-1.0, 1.0, n).astype(k),
            rng.uniform(1.0, 2.0, n).astype(k),
            k(1.5),
            g_down,
            g(0.3),
            k(1e-12),
        )
        j, a, b = greatest_ratio(*inputs)
        every = ratios(*inputs)
        if j < 0:
            assert every.max() == 0.0
        else:
            assert every[j] == pytest.approx(every.max(), rel=rel)
            assert a / b == pytest.approx(every[j], rel=rel)


@pytest.mark.parametrize("n", [5, 16, 40])
def test_no_ratio_is_positive(n):
    zeros = np.zeros(n, np.float32)
    one, small = np.float32(1.0), np.float32(1e-12)
    assert greatest_ratio(zeros, zeros, one, zeros, one, small)[0] == -1


@pytest.mark.parametrize("place", [0, 3, 15, 16, 29, 38, 39])
def test_points_that_coincide_win(place):
    """Their distance is zero, so the least one that is allowed decides."""
    row, ones, g_down = np.zeros(40, np.float32), np.ones(40, np.float32), np.full(40, 2.0, np.float32)
    row[place] = 1.0
    one, small = np.float32(1.0), np.float32(1e-12)
    j, a, b = greatest_ratio(row, ones, one, g_down, one, small)
    assert (j, a, b) == (place, 1.0, small)


def test_rows_that_are_not_contiguous(rng):
    block = rng.uniform(-1.0, 1.0, (3, 80)).astype(np.float32)
    strided = [block[r, ::2] for r in range(3)]
    one, small = np.float32(3.0), np.float32(1e-12)
    expected = greatest_ratio(*(part.copy() for part in strided[:2]), one, strided[2].copy(), np.float32(0.0), small)
    assert greatest_ratio(*strided[:2], one, strided[2], np.float32(0.0), small) == expected
    assert any_equal(strided[0], 2, strided[0][33])
    assert not any_equal(strided[0], 2, strided[0][34])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("i", [0, 5])
def test_any_equal(i, dtype):
    values = np.arange(50, dtype=dtype)
    found = [bool(any_equal(values, i, dtype(v))) for v in range(50)]
    assert found == [i <= v < i + ratio_search.CHUNK for v in range(50)]
