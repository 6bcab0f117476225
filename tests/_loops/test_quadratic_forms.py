import numpy as np
import pytest
from each_case import each

from representer._loops import quadratic_forms

DTYPES = each("dtype", [np.float32, np.float64])


@DTYPES
@each("shape", [(1, 1), (3, 5), (20, 17)])
def test_centred_tile_and_its_sums(dtype, shape, rng):
    n, m = shape
    tile = rng.normal(size=shape).astype(dtype)
    a, b = rng.normal(size=n).astype(dtype), rng.normal(size=m).astype(dtype)
    s, t = rng.choice([-1, 1], n).astype(dtype), rng.choice([-1, 1], m).astype(dtype)
    h = tile.astype(float) - a[:, None] - b
    rounded = np.full(shape, np.nan, np.float32)
    sums, column_sums, own, column_own = np.ones(n), np.ones(m), np.ones(n), np.ones(m)
    quadratic_forms.centre(tile, a, b, s, t, dtype(0.5), rounded, sums, column_sums, own, column_own, False)
    close = {"rtol": 0, "atol": 60 * np.finfo(dtype).eps}
    np.testing.assert_allclose(rounded, 0.5 * h, atol=1e-6)
    np.testing.assert_allclose(sums, 1 + h.sum(axis=1), **close)
    np.testing.assert_allclose(column_sums, 1 + h.sum(axis=0), **close)
    np.testing.assert_allclose(own, 1 + s * (h @ t), **close)
    np.testing.assert_allclose(column_own, 1 + t * (h.T @ s), **close)


@DTYPES
def test_diagonal_is_left_out_and_rows_are_summed_once(dtype, rng):
    tile = rng.normal(size=(9, 9)).astype(dtype)
    tile = tile + tile.T
    a, s = rng.normal(size=9).astype(dtype), rng.choice([-1, 1], 9).astype(dtype)
    h = tile.astype(float) - a[:, None] - a
    np.fill_diagonal(h, 0.0)
    rounded, sums, own = np.empty((9, 9), np.float32), np.zeros(9), np.zeros(9)
    quadratic_forms.centre(tile, a, a, s, s, dtype(1.0), rounded, sums, sums, own, own, True)
    assert np.all(rounded.diagonal() == 0.0)
    close = {"rtol": 0, "atol": 60 * np.finfo(dtype).eps}
    np.testing.assert_allclose(rounded, h, atol=1e-6)
    np.testing.assert_allclose(sums, h.sum(axis=1), **close)
    np.testing.assert_allclose(own, s * (h @ s), **close)


@pytest.mark.parametrize("columns", [1, 4, 33])
def test_forms_are_added(columns, rng):
    tile = rng.normal(size=(6, 11)).astype(np.float32)
    R, C = (rng.choice([-1, 1], (n, columns)).astype(np.float32) for n in (6, 11))
    out = np.full(columns, 0.5)
    quadratic_forms.add_forms(tile, R, C, np.empty((6, columns), np.float32), 2.0, out)
    expected = 0.5 + 2.0 * np.einsum("ib,ij,jb->b", R.astype(float), tile.astype(float), C.astype(float))
    np.testing.assert_allclose(out, expected, atol=1e-5)
    assert out.dtype == np.float64
