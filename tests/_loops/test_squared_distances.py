import numpy as np
import pytest
from each_case import each

from representer._loops import squared_distances

SHAPES = [
    (1, 1, 1),
    (3, 1, 2),
    (1, 9, 4),
    (5, 7, 5),
    (4, 8, 6),
    (2, 17, 8),
    (3, 15, 9),
    (7, 16, 13),
]  # rows, rows, columns


def exact(A, B, scale=1.0):
    differences = (A.astype(np.longdouble)[:, None] - B.astype(np.longdouble)[None]) / scale
    return (differences * differences).sum(axis=2)


def measured(loop, A, B, scale=1.0):
    """Distances of A / scale and B / scale; the rows as they are serve as raw rows."""
    weights = np.broadcast_to(np.asarray(scale, float) ** -2.0, A.shape[1]).astype(A.dtype)
    tile = np.full((len(A), len(B)), np.nan, A.dtype)
    if loop is squared_distances.from_differences:
        loop(A, np.ascontiguousarray(B.T), weights, tile)
    else:
        a, b = ((X / scale).astype(A.dtype) for X in (A, B))
        loop(a, b, (a * a).sum(axis=1), (b * b).sum(axis=1), A, B, weights, tile)
    return tile


def measured_within(loop, A, scale=1.0):
    """Distances of the rows of A / scale, each pair once."""
    weights = np.broadcast_to(np.asarray(scale, float) ** -2.0, A.shape[1]).astype(A.dtype)
    packed = np.full(len(A) * (len(A) - 1) // 2, np.nan, A.dtype)
    if loop is squared_distances.differences_within:
        loop(A, np.ascontiguousarray(A.T), weights, packed)
    else:
        a = (A / scale).astype(A.dtype)
        loop(a, (a * a).sum(axis=1), A, weights, packed)
    return packed


WITHIN = each("loop", [squared_distances.differences_within, squared_distances.products_within])


@pytest.mark.parametrize("n", [1, 2, 3])
def test_few_points(n, rng):
    A = rng.normal(size=(n, 12))
    np.testing.assert_allclose(
        measured_within(squared_distances.differences_within, A), exact(A, A)[np.tril_indices(n, -1)], rtol=1e-13
    )
    with pytest.raises(ValueError, match="too few rows"):
        measured_within(squared_distances.products_within, A)


def test_no_point_on_one_side(rng):
    A = rng.normal(size=(5, 12))
    assert measured(squared_distances.from_products, A, A[:0]).shape == (5, 0)
    assert measured(squared_distances.from_products, A[:0], A).shape == (0, 5)


@WITHIN
@each("shape", [(4, 3), (5, 1), (9, 4), (17, 5), (30, 8), (15, 13), (40, 20), (75, 9), (98, 32)])
@each("dtype", [np.float32, np.float64])
def test_each_pair_once(loop, dtype, shape, rng):
    A, scale = rng.normal(size=shape).astype(dtype), rng.uniform(0.5, 2.0, shape[1])
    below = np.tril_indices(len(A), -1)
    packed, rtol = measured_within(loop, A, scale), 500 * np.finfo(dtype).eps
    np.testing.assert_allclose(packed, exact(A, A, scale)[below], rtol=rtol)


@WITHIN
@each("dtype", [np.float32, np.float64])
def test_pairs_of_close_and_equal_points(loop, dtype, rng):
    A = (100.0 + rng.normal(size=(3, 12))).astype(dtype)
    A = np.concatenate([A, A + dtype(1e-3), A * dtype(1.5), A, A])
    below = np.tril_indices(len(A), -1)
    expected = exact(A, A, 0.37)[below]
    assert np.count_nonzero(expected == 0.0) == 9
    np.testing.assert_allclose(measured_within(loop, A, 0.37), expected, rtol=500 * np.finfo(dtype).eps)


BOTH = each("loop", [squared_distances.from_differences, squared_distances.from_products])


@BOTH
@each("shape", SHAPES)
@each("dtype", [np.float32, np.float64])
def test_equal_to_naive(loop, dtype, shape, rng):
    n, m, d = shape
    A, B = rng.normal(size=(n, d)).astype(dtype), rng.normal(size=(m, d)).astype(dtype)
    # distances from products lose up to a factor 100 against the norms before they are computed anew
    np.testing.assert_allclose(measured(loop, A, B), exact(A, B), rtol=500 * np.finfo(dtype).eps)
    scale = rng.uniform(0.5, 2.0, d)
    np.testing.assert_allclose(measured(loop, A, B, scale), exact(A, B, scale), rtol=500 * np.finfo(dtype).eps)


@BOTH
@each("gap", [1e-1, 1e-3, 1e-5])
@each("dtype", [np.float32, np.float64])
def test_close_points_far_from_the_origin_keep_their_digits(loop, dtype, gap, rng):
    A = (100.0 + rng.normal(size=(3, 12))).astype(dtype)
    B = np.concatenate([A + dtype(gap), A * dtype(1.5), A])
    tile = measured(loop, A, B)
    assert np.all(tile.diagonal(offset=6) == 0.0)
    np.testing.assert_allclose(tile, exact(A, B), rtol=500 * np.finfo(dtype).eps)
    np.testing.assert_allclose(measured(loop, A, B, 0.37), exact(A, B, 0.37), rtol=500 * np.finfo(dtype).eps)


@BOTH
def test_opposite_points(loop):
    A = np.array([[3.0, 4.0]])
    assert measured(loop, A, -A) == 100.0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_zero_rows(dtype):
    A = np.zeros((2, 11), dtype)
    assert np.array_equal(measured(squared_distances.from_products, A, A), np.zeros((2, 2)))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(1, 1), (5, 3), (4, 17)])
def test_shift_and_scale(dtype, shape, rng):
    raw = (10.0 + rng.normal(size=shape)).astype(dtype)
    shift, scale = raw.mean(axis=0), rng.uniform(0.5, 2.0, shape[1]).astype(dtype)
    values, squares = np.full(shape, np.nan, dtype), np.full(shape[0], np.nan, dtype)
    squared_distances.shift_and_scale(raw, shift, scale, values, squares)
    np.testing.assert_allclose(values, (raw - shift) / scale, rtol=4 * np.finfo(dtype).eps)
    np.testing.assert_allclose(squares, (values.astype(float) ** 2).sum(axis=1), rtol=20 * np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_centres_are_means_summed_in_float64(dtype, rng):
    raw, shift = (1e4 + rng.normal(size=(3000, 5))).astype(dtype), np.empty(5, dtype)
    squared_distances.centres(raw, shift)
    np.testing.assert_allclose(shift, raw.astype(np.longdouble).mean(axis=0), rtol=max(np.finfo(dtype).eps, 1e-13))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_columns_of_zeros_for_the_most_part_have_the_centre_zero(dtype, rng):
    raw = rng.uniform(1.0, 2.0, (10, 4)).astype(dtype)
    raw[:6, 0] = raw[:5, 1] = raw[:, 2] = 0.0
    shift = np.full(4, np.nan, dtype)
    squared_distances.centres(raw, shift)
    assert np.array_equal(shift == 0.0, [True, False, True, False])
    centred = raw[:, 0] - raw[:, 0].mean()
    assert (raw[:, 0] ** 2).sum() <= 2.0 * (centred**2).sum()
    used = np.ones(4, bool)
    squared_distances.used_columns(raw, used)
    assert used.tolist() == [True, True, False, True]
    squared_distances.used_columns(raw[:0], used)
    assert not used.any()
