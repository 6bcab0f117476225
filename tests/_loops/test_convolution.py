import numpy as np
import pytest
from each_case import each

from representer._loops import convolution

DTYPES = each("dtype", [np.float32, np.float64])


def tile_of(dtype, n=5, m=40, size=4.0, seed=0):
    return np.random.default_rng(seed).uniform(0, size, (n, m)).astype(dtype)


@DTYPES
@each("size", [4.0, 1e3])
def test_decaying_sums_over_tiles(dtype, size):
    S = tile_of(dtype, size=size)
    V = np.random.default_rng(1).normal(size=(40, 2)).astype(dtype)
    rates = np.array([0.1, 3.0], dtype)
    least, sums = np.full(5, np.inf, dtype), np.zeros((2, 5, 2))
    for part in (slice(0, 10), slice(10, 25), slice(25, 40)):
        tile = np.ascontiguousarray(S[:, part])
        convolution.decaying_sums(tile, V[part], rates, least, sums, np.empty_like(tile))
    np.testing.assert_array_equal(least, S.min(axis=1))
    exact = S.astype(np.float64)
    expected = np.exp(-rates[:, None, None] * (exact - exact.min(axis=1, keepdims=True))) @ V.astype(np.float64)
    np.testing.assert_allclose(
        sums, expected, rtol=1e-4 if dtype == np.float32 else 1e-12, atol=1e-5 * (dtype == np.float32)
    )


@DTYPES
def test_infinite_entries_count_as_nothing(dtype):
    S = tile_of(dtype)
    S[0, 3] = S[1] = np.inf
    V = np.ones((40, 1), dtype)
    rates = np.array([1.0], dtype)
    least, sums = np.full(5, np.inf, dtype), np.zeros((1, 5, 1))
    for _ in range(2):
        convolution.decaying_sums(S, V, rates, least, sums, np.empty_like(S))
    assert sums[0, 1, 0] == 0.0
    finite = S[0][np.isfinite(S[0])].astype(np.float64)
    assert sums[0, 0, 0] == pytest.approx(2 * np.exp(finite.min() - finite).sum(), rel=1e-5)


@DTYPES
@each("power", [1, 2, 3])
@each("exponent", [0, 1, 2, 3])
def test_truncated(dtype, power, exponent):
    S = tile_of(dtype)
    S[0, 0], S[0, 1], S[0, 2] = 0.0, 2.0, np.inf
    out = np.empty_like(S)
    convolution.truncated(S, dtype(0.5), power, exponent, out)
    r = np.sqrt(S.astype(np.float64) / 2)
    with np.errstate(invalid="ignore"):
        expected = np.where(r < 1, (1 - r**power) ** exponent, 0.0)
    np.testing.assert_allclose(out, expected, atol=1e-5 if dtype == np.float32 else 1e-14)
    assert out[0, :3].tolist() == [1.0, 0.0, 0.0]


@DTYPES
def test_cosine(dtype):
    S = tile_of(dtype)
    S[0, 0], S[0, 1], S[0, 2] = 0.0, 2.0, np.inf
    out = np.empty_like(S)
    convolution.cosine(S, dtype(0.5), out)
    with np.errstate(invalid="ignore"):
        r = np.sqrt(S.astype(np.float64) / 2)
        expected = np.where(r < 1, np.cos(np.pi * np.minimum(r, 1) / 2), 0.0)
    np.testing.assert_allclose(out, expected, atol=1e-5 if dtype == np.float32 else 1e-14)
