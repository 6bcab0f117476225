"""One side of a matrix: laid out at once, in chunks, on demand, or a subset; once for each precision."""

import gc
import pickle
from weakref import ref

import numpy as np
import pytest
from scipy import sparse

from representer import Gram
from representer.gram.sides import LONGEST_CHUNK, SAMPLE, Given, Inputs, indices
from representer.kernels import RBF, Callable, Linear, Matern, Normalized, Periodic, Precomputed, Spectrum
from representer.testing import check_operator

KERNEL = 0.5 * Matern(15.0) + Normalized(Linear())


def dense(rng, n, columns=3):
    return rng.normal(size=(n, columns))


@pytest.fixture
def on_disk(rng, tmp_path):
    """Rows so wide that chunks of them are smaller than the dense matrix that memory allows."""
    X = dense(rng, 800, 200)
    X.tofile(tmp_path / "X")
    return np.memmap(tmp_path / "X", "f8", "r", shape=X.shape), X


@pytest.mark.parametrize("other", ["itself", "in memory", "on disk"])
def test_chunks_equal_the_whole(on_disk, rng, other):
    X_disk, X = on_disk
    Y_disk, Y = {"itself": (None, None), "in memory": (X[:300], X[:300]), "on disk": (X_disk[:530], X[:530])}[other]
    K = Gram(KERNEL, X_disk, Y_disk, memory=1250 * 8000)
    assert len(K.row_inputs.chunks) > 1
    assert (len(K.column_inputs.chunks) > 1) == (other != "in memory")
    assert K.inputs is None
    D = KERNEL(X) if Y is None else KERNEL(X, Y)
    check_operator(K, D)
    if Y is not None:
        check_operator(K.T, D.T)
        return
    assert np.array_equal(K.dense(), K.dense().T)
    out = np.full((800, 801), np.nan)
    np.testing.assert_allclose(K.into(out)[:, :800], D, atol=1e-12)
    assert np.isnan(out[:, 800]).all()


@pytest.mark.parametrize(
    ("n", "columns", "memory", "chunk"),
    [
        (1000, 3, 4 * 72 * 700, 700),  # a quarter of the memory, 72 bytes a row
        (1000, 3, 100, 512),  # at least so many rows
        (LONGEST_CHUNK + 5, 1, 10**12, LONGEST_CHUNK),  # at most so many
    ],
)
def test_rows_of_a_chunk(tmp_path, n, columns, memory, chunk):
    X = np.memmap(tmp_path / "X", "f4", "w+", shape=(n, columns))
    inputs = Given(RBF(), X, memory=memory)
    assert inputs.chunks[0] == slice(0, chunk)
    assert (len(inputs.chunks), len(inputs)) == (-(-n // chunk), n)


def test_arrays_in_memory_are_chunked_only_if_they_are_large(rng):
    X = dense(rng, 1000)
    assert len(Given(RBF(), X, memory=4 * X.nbytes).chunks) == 1
    assert len(Given(RBF(), X, memory=4 * X.nbytes - 4).chunks) == 2
    for kernel, inputs in ((Precomputed(), X @ X.T), (Spectrum(2), ["ab"] * 1000), (RBF(), sparse.csr_array(X))):
        assert len(Given(kernel, inputs, memory=1000).chunks) == 1  # they cannot be taken apart


def test_a_memory_map_is_never_copied_whole(rng, tmp_path, peak_of):
    X = np.memmap(tmp_path / "X", "f8", "w+", shape=(20_000, 20))
    X[:] = dense(rng, 20_000, 20)
    memory = X.nbytes
    for dtype in (np.float64, np.float32):
        K = Gram(Linear(), X, memory=memory).astype(dtype)
        peak, product = peak_of(lambda K=K: K.take(np.arange(3), slice(None)) @ np.ones(20_000))
        assert peak < 0.8 * memory
        np.testing.assert_allclose(product, X[:3] @ X.sum(axis=0), rtol=1e-4)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_bad_value_in_the_last_chunk_is_found_at_once(rng, tmp_path, bad):
    X = np.memmap(tmp_path / "X", "f8", "w+", shape=(2000, 3))
    X[:] = dense(rng, 2000)
    Gram(RBF(), X, memory=100_000)
    X[1999, 1] = bad
    with pytest.raises(ValueError, match=r"rows of X from 1536 .* the first at \(463, 1\)"):
        Gram(RBF(), X, memory=100_000)
    X[0, 0] = bad
    with pytest.raises(ValueError, match=r"^X has .* the first at \(0, 0\)"):
        Gram(RBF(), X, memory=100_000)


# ---- rows on demand ----


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kernel", [RBF(2.0), Matern(3.0) * Periodic() + Linear()], ids=str)
def test_rows_on_demand_are_the_same(kernel, dtype, rng):
    X = dense(rng, 300, 12)
    K = Gram(kernel, X, on_demand=True).astype(dtype)
    assert (K.shape, K.dtype, K.nbytes) == ((300, 300), dtype, 0)
    index, exact = np.array([299, 0, 7, 7]), kernel(X)
    close = {"rtol": 3e-5 if dtype == np.float32 else 1e-12}
    np.testing.assert_allclose(K.block(slice(5, 40), index), exact[5:40][:, index], **close)
    np.testing.assert_allclose(K.take(index).dense(), exact[np.ix_(index, index)], **close)
    assert K.block(slice(3), []).shape == (3, 0)


def test_rows_are_prepared_when_they_are_asked_for(rng):
    seen = []

    class Counting(RBF):
        def prepare(self, X, like=None):
            seen.append(len(X))
            return super().prepare(X, like)

    X = dense(rng, 3 * SAMPLE - 1)
    K = Gram(Counting(), X, on_demand=True)
    part = K.take(np.arange(7))
    assert seen == [SAMPLE]
    part @ np.ones(7)
    part.dense()
    assert seen == [SAMPLE, 7]  # kept for the next product


def test_only_rows_of_arrays_can_wait():
    for kernel, X in ((Precomputed(), np.eye(4)), (Spectrum(1), ["a", "b"]), (RBF(), sparse.csr_array(np.eye(4)))):
        assert not Given(kernel, X, memory=10**6, on_demand=True).on_demand


# ---- subsets, bytes and precisions ----


def test_subsets_are_taken_of_the_whole(rng):
    A = Inputs(RBF(), RBF().prepare(dense(rng, 9)))
    part = A.take([5, 3, 1])
    assert (len(part), len(part.take([2]))) == (3, 1)
    np.testing.assert_array_equal(part.at(np.array([1])).values, A.at(np.array([3])).values)
    np.testing.assert_array_equal(part.take([2, 0]).chunk(slice(0, 2)).values, A.at(np.array([1, 5])).values)
    assert part.chunk(slice(0, 3)) is part.chunk(slice(0, 3))
    assert A.take(slice(None)) is A
    assert A.astype(np.float32) is A  # the numbers that it was prepared from are not known


def test_bytes_count_each_array_of_nested_inputs_once(rng):
    X = dense(rng, 100)
    rbf, linear = Gram(RBF(), X).nbytes, Gram(Linear(), X).nbytes
    assert X.nbytes + 800 <= rbf <= X.nbytes + 1000  # scaled rows and squared norms, but not the caller's own rows
    assert Gram(RBF() + RBF(2.0) * Linear(), X).nbytes == 2 * rbf + linear
    assert Gram(RBF(), X, X[:50]).nbytes > rbf
    thin = Gram(Linear(), sparse.csr_array(X)).nbytes
    assert thin >= X.nbytes


def test_integers_have_two_precisions_too():
    X = np.arange(12).reshape(6, 2)
    K = Gram(RBF(3.0), X)
    assert (K.dtype, K.astype(np.float32).dtype) == (np.float64, np.float32)
    np.testing.assert_allclose(K.astype(np.float32).dense(), K.dense(), rtol=1e-6)


@pytest.mark.parametrize(
    ("index", "expected"),
    [
        (np.array([2, -1]), [2, -1]),
        ([1, 3], [1, 3]),
        (2, [2]),
        (slice(1, None), [1, 2, 3]),
        (np.array([True, False, False, True]), [0, 3]),
        ([], []),
    ],
    ids=str,
)
def test_indices(index, expected):
    assert indices(index, 4).tolist() == expected


def test_functions_of_lists_are_prepared_once():
    K = Gram(Callable(lambda X, Y: np.array([[float(len(x) * len(y)) for y in Y] for x in X])), ["a", "bb"])
    assert K.astype(np.float32).dense().tolist() == [[1.0, 2.0], [2.0, 4.0]]


def test_precisions_keep_no_inputs_in_memory(rng):
    """No cycle between a matrix and those in other precisions: their memory is free with the last reference."""
    gc.disable()
    try:
        K = Gram(RBF(), dense(rng, 20))
        single = K.astype(np.float32)
        assert single.astype(np.float64).row_inputs is K.row_inputs
        kept = [ref(K.row_inputs), ref(single.row_inputs)]
        del K, single
        assert [inputs() for inputs in kept] == [None, None]
    finally:
        gc.enable()
    only = Gram(RBF(), dense(rng, 20)).astype(np.float32)  # the matrix that it was made of is gone
    assert only.astype(np.float64).dtype == np.float64
    assert pickle.loads(pickle.dumps(only)).dense() == pytest.approx(only.dense())
