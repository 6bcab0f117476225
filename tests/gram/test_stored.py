import numpy as np
import pytest

from representer import Gram
from representer.gram.stored import COPIED_ROWS, Packed, Stored, lower_triangle, stored_if_small
from representer.kernels import RBF, Linear, Sigmoid, Spectrum
from representer.testing import check_operator


def dense(rng, n, dtype=np.float64):
    return rng.normal(size=(n, 3)).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_values_are_computed_once(rng, dtype):
    gram = Gram(RBF(), dense(rng, 40))
    for stored, kept in ((Stored.of(gram, dtype), dtype), (Packed(gram), np.float32)):
        before = gram.evaluations
        stored @ np.ones(40)
        assert (gram.evaluations - before, stored.dtype) == (0, kept)
    assert gram.evaluations == 2 * 40 * 41 // 2
    assert Stored.of(gram).dtype == np.float64


def test_a_subset_shares_the_values(rng):
    gram = Gram(RBF(), dense(rng, 300))
    K = Stored.of(gram)
    before, index = K.evaluations, rng.permutation(300)[: COPIED_ROWS + 9]
    part = K.take(index)
    assert part.stored is K.stored
    assert np.array_equal(part.places, index)
    check_operator(part, gram.dense()[np.ix_(index, index)])
    nested = part.take([5, 2])
    assert np.array_equal(nested.places, index[[5, 2]])
    first = K.evaluations
    np.testing.assert_array_equal(nested.dense(), gram.block(index[[5, 2]], index[[5, 2]]))
    assert K.evaluations == first + 4 > before  # those of gram.block alone


@pytest.mark.parametrize("memory", [None, 2 * 10**5], ids=["", "in chunks"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_lower_triangle(rng, memory, dtype):
    gram = Gram(RBF(), rng.normal(size=(700, 30)).astype(dtype), memory=memory)
    if memory is not None:
        assert gram.inputs is None
        with pytest.raises(MemoryError, match="dense"):
            lower_triangle(gram)
        return
    below, diagonal = lower_triangle(gram)
    assert gram.evaluations == 700 * 701 // 2
    assert below.dtype == diagonal.dtype == np.float64
    K = gram.astype(np.float64).dense()
    np.testing.assert_allclose(below, K[np.tril_indices(700, -1)], atol=1e-15)
    np.testing.assert_array_equal(diagonal, K.diagonal())


def test_a_block_is_a_copy(rng):
    K = Stored.of(Gram(RBF(), dense(rng, 9)))
    K.dense()[:] = K.block(slice(3), slice(3))[:] = 0.0
    np.testing.assert_array_equal(K.values, K.gram.dense())


def test_products_of_subsets_copy_some_rows_at_a_time(rng, peak_of):
    K = Stored.of(Gram(RBF(), dense(rng, 3000)))
    part, v = K.take(np.arange(2000)), np.ones(2000)
    peak, _ = peak_of(lambda: part @ v)
    assert peak < 2 * 8 * COPIED_ROWS * 2000


def test_values_among_others(rng):
    gram = Gram(RBF(), dense(rng, 5))
    larger = np.full((7, 7), np.nan)
    larger[:5, :5] = gram.dense()
    check_operator(Stored(gram, larger), gram.dense())


@pytest.mark.parametrize("n", [1, 255, 700])
def test_packed_tiles_take_half_of_a_matrix(rng, n):
    kernel, X, V = 0.5 * RBF(2.0) + Linear(), dense(rng, n), rng.normal(size=(n, 4))
    gram = Gram(kernel, X.astype(np.float32))
    packed, K = Packed(gram), kernel(X)
    np.testing.assert_allclose(packed @ V, K @ V, atol=3e-6 * np.linalg.norm(K, axis=1).max())
    assert 2 * n * n <= packed.nbytes - gram.nbytes <= 2 * n * n + 4 * 256 * n
    assert np.array_equal(packed @ V, Packed(gram.on_threads(1)) @ V)


def test_packed_inputs_in_chunks(rng):
    X = dense(rng, 1100)
    gram = Gram(RBF(), X, memory=50_000)
    assert gram.inputs is None
    check_operator(Packed(gram.on_threads(1)).take(np.arange(5)), RBF()(X[:5]))
    np.testing.assert_allclose(Packed(gram) @ X, RBF()(X) @ X, atol=1e-3)


def test_kernels_that_compute_in_double_precision():
    words = ["ACGT", "ACCA", "GTGT"]
    np.testing.assert_allclose(Packed(Gram(Spectrum(2), words)) @ np.eye(3), Spectrum(2)(words), rtol=1e-7)


def test_facts_are_those_of_the_matrix(rng):
    for kernel in (RBF(), Sigmoid()):
        gram = Gram(kernel, dense(rng, 4), threads=1)
        for stored in (Stored.of(gram), Packed(gram)):
            assert (stored.definite, stored.threads) == (kernel.definite, 1)
        assert Stored.of(gram).float32_error() == gram.float32_error()


def test_stored_where_a_quarter_of_the_memory_is_enough(rng):
    X = dense(rng, 100)
    assert isinstance(stored_if_small(Gram(RBF(), X, memory=4 * 80_000)), Stored)
    assert isinstance(stored_if_small(Gram(RBF(), X, memory=4 * 80_000 - 4)), Gram)
