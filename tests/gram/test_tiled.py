"""The matrix that is computed anew, against dense matrices: products, entries, subsets, precisions, threads, memory."""

import _thread
import gc
from concurrent.futures import ThreadPoolExecutor
from threading import Timer
from time import perf_counter

import numpy as np
import pandas as pd
import pytest
from each_case import each
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.base import clone

from representer import Gram
from representer.kernels import (
    RBF,
    Exp,
    Jaccard,
    Linear,
    Matern,
    Normalized,
    On,
    Pairwise,
    Polynomial,
    Precomputed,
    RationalQuadratic,
    Spectrum,
)
from representer.testing import check_gram


def dense(rng, n, columns=3, dtype=np.float64):
    return rng.normal(size=(n, columns)).astype(dtype)


def csr(rng, n):
    return sparse.random_array((n, 50), density=0.1, rng=rng, format="csr")


def strings(rng, n):
    return ["".join(rng.choice(list("ACGT"), size)) for size in rng.integers(0, 12, n)]


def sets(rng, n):
    return [set(rng.choice(20, size).tolist()) for size in rng.integers(0, 8, n)]


def people(rng, n):
    return pd.DataFrame({"age": rng.normal(size=n), "word": strings(rng, n), "income": rng.normal(size=n)})


ANCHORS = np.random.default_rng(1).normal(size=(4, 3))
NESTED = (
    Exp(0.1 * RBF([1.0, 2.0, 3.0])) * (Linear() + 2.0)
    + 0.5 * Normalized(Polynomial(2)) ** 2
    + Pairwise(Matern(), ANCHORS)
)

CASES = {
    "narrow float64": (RBF(), dense),
    "narrow float32": (Matern(nu=2.5), lambda rng, n: dense(rng, n, dtype=np.float32)),
    "wide float64": (RationalQuadratic(3.0), lambda rng, n: dense(rng, n, 12)),
    "wide float32": (RBF(np.full(12, 3.0)), lambda rng, n: dense(rng, n, 12, np.float32)),
    "sparse": (RBF(2.0) + Linear(), csr),
    "strings": (Spectrum(2), strings),
    "sets": (Jaccard(), sets),
    "normalised strings": (Normalized(Spectrum(3)), strings),
    "table": (On(RBF(), ["age", "income"]) * (On(Spectrum(2), "word") + 1.0), people),
    "nested": (NESTED, dense),
}


@each("case", CASES)
def test_laws(rng, case):
    kernel, inputs = CASES[case]
    check_gram(kernel, inputs(rng, 270))
    check_gram(kernel, inputs(rng, 257), inputs(rng, 300))


@pytest.mark.parametrize(("n", "m"), [(1, 2), (256, 513)])  # one input, and tiles that end where a matrix does
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_laws_at_the_edges_of_tiles(rng, n, m, dtype):
    check_gram(RBF(), dense(rng, n, dtype=dtype))
    check_gram(RBF(), dense(rng, n, dtype=dtype), dense(rng, m, dtype=dtype))


def test_precomputed(rng):
    X = dense(rng, 257)
    check_gram(Precomputed(), RBF()(X))
    check_gram(Precomputed(), RBF()(dense(rng, 30), X), RBF()(X))


# ---- products ----


@each("columns", [3, 12])
@each(("dtype", "tolerance"), [(np.float64, 1e-12), (np.float32, 1e-5)])
@each("m", [None, 700])
def test_products_equal_those_of_the_formula(rng, columns, dtype, tolerance, m):
    X = dense(rng, 900, columns, dtype)
    Y = None if m is None else dense(rng, m, columns, dtype)
    exact = np.exp(-0.5 * cdist(X.astype(np.float64), (X if Y is None else Y).astype(np.float64), "sqeuclidean"))
    K = Gram(RBF(), X, Y)
    for V in (rng.normal(size=exact.shape[1]), rng.normal(size=(exact.shape[1], 7))):
        assert np.linalg.norm(K @ V - exact @ V) < tolerance * np.linalg.norm(exact @ V)
    for W in (rng.normal(size=900), rng.normal(size=(2, 900))):
        assert np.linalg.norm(W @ K - W @ exact) < tolerance * np.linalg.norm(W @ exact)
    assert np.linalg.norm(K.dense() - exact) < tolerance * np.linalg.norm(exact)


@pytest.mark.parametrize("m", [None, 300])
def test_products_without_columns_of_zeros(rng, m):
    X = rng.normal(size=(700, 90)) * (np.arange(90) < 50)
    Y = None if m is None else rng.normal(size=(m, 90)) * (np.arange(90) >= 20)
    exact = np.exp(-0.5 * cdist(X, X if Y is None else Y, "sqeuclidean") / 64.0)
    K, v, w = Gram(RBF(8.0), X, Y), rng.normal(size=exact.shape[1]), rng.normal(size=700)
    np.testing.assert_allclose(K @ v, exact @ v, atol=1e-11)
    np.testing.assert_allclose(w @ K, w @ exact, atol=1e-11)


@each(
    ("of_kernel", "of_vector", "expected"),
    [
        ("f4", "f4", "f4"),
        ("f4", "f8", "f8"),
        ("f8", "f4", "f8"),
        ("f8", "f8", "f8"),
        ("f4", "f2", "f4"),
        ("f4", "i8", "f4"),
        ("f8", "i4", "f8"),
        ("f8", "?", "f8"),
    ],
)
def test_result_has_the_more_precise_dtype(rng, of_kernel, of_vector, expected):
    X, V = dense(rng, 20, dtype=of_kernel), np.arange(-10, 10).astype(of_vector)
    K = Gram(RBF(), X)
    assert K.dtype == of_kernel
    assert (K @ V).dtype == (V @ K).dtype == expected
    np.testing.assert_allclose(K @ V, RBF()(X.astype(np.float64)) @ V.astype(np.float64), atol=1e-5)


@pytest.mark.parametrize("first", ["f4", "f8"])
def test_two_dtypes_meet_in_float64_as_in_the_dense_block(rng, first):
    second = "f8" if first == "f4" else "f4"
    X, Y = dense(rng, 20, dtype=first), dense(rng, 30, dtype=second)
    K = Gram(RBF(), X, Y)
    assert K.dtype == RBF()(X, Y).dtype == np.float64
    np.testing.assert_allclose(K.dense(), RBF()(X, Y), rtol=1e-14)


@pytest.mark.slow  # without the compiler
def test_sums_in_float32_lose_nothing_over_many_tiles(rng):
    # 0.1 added 8,000 times one by one in float32 is off by 3e-5; in tiles of 512 columns by a few units of rounding
    X = np.zeros((8000, 1), np.float32)
    sums = Gram(RBF(), X) @ np.full(8000, 0.1)
    np.testing.assert_allclose(sums, 8000 * 0.1, rtol=3e-6)


def test_no_columns_give_no_columns(rng):
    assert (Gram(RBF(), dense(rng, 30)) @ np.empty((30, 0))).shape == (30, 0)


def test_strided_and_reversed_right_hand_sides(rng):
    X, V = dense(rng, 600), rng.normal(size=(6, 1200))
    K = Gram(RBF(), X)
    view = V[:, ::-2].T
    np.testing.assert_allclose(K @ view, K.dense() @ view, rtol=1e-12, atol=1e-11)


def test_transposed(rng):
    K = Gram(RBF(), dense(rng, 30), dense(rng, 50))
    assert K.T.T.shape == K.shape
    assert (K.T.take([1, 2], [3]).shape, K.T.take([1, 2], [3]).evaluations) == ((2, 1), 0)
    symmetric = Gram(RBF(), dense(rng, 10))
    assert symmetric.T is symmetric


# ---- entries ----


@each(
    "index",
    [
        0,
        -1,
        259,
        [3],
        [5, -2, 5],
        np.array([7, 0]),
        slice(2, 260),
        slice(None, None, -50),
        "mask",
        [],
        slice(0, 0),
    ],
)
def test_rows(rng, index):
    rectangular = Gram(RBF(), dense(rng, 300), dense(rng, 270))
    for K in (Gram(RBF(), dense(rng, 300)), rectangular, rectangular.T):
        at = rng.random(K.shape[0]) < 0.2 if isinstance(index, str) else index
        expected = np.atleast_2d(K.dense()[at])
        assert K.rows(at).shape == expected.shape
        np.testing.assert_allclose(K.rows(at), expected, rtol=1e-13, atol=0)


def test_sums(rng):
    K = Gram(RBF(), dense(rng, 30), dense(rng, 40))
    assert K.sum() == pytest.approx(K.dense().sum(), rel=1e-13)
    assert np.isscalar(K.sum())


def test_values_are_computed_without_copies_of_the_matrix(rng, peak_of):
    """rows() and dense() of one piece hold their result, and little else."""
    X, Y = dense(rng, 1500), dense(rng, 1400)
    for K in (Gram(RBF(), X), Gram(RBF(), X, Y), Gram(RBF(), X, Y).T):
        K.rows(slice(3))  # what is computed once for all is not meant
        for compute in (K.dense, lambda K=K: K.rows(slice(None)), lambda K=K: K.block(slice(None), slice(None))):
            peak, values = peak_of(compute)
            assert values.nbytes <= peak <= values.nbytes + 4e6


def test_map_tiles_holds_tiles_and_counts_what_it_fills(rng, peak_of):
    K = Gram(RBF(), dense(rng, 3000))
    K @ np.ones(3000)
    before, visits = K.evaluations, []

    def visit(tiles):
        return sum(values.sum() for rows, columns, values in tiles if visits.append((rows, columns)) is None)

    peak, sums = peak_of(lambda: list(K.map_tiles(visit)))
    assert sum(sums) == pytest.approx(K.sum(), rel=1e-12)
    assert peak < 4e6  # the matrix has 72 MB
    assert K.evaluations - before == 3000**2 + 3000 * 3001 // 2
    before, some = K.evaluations, [(slice(5, 9), slice(0, 3)), (slice(0, 2), slice(1, 2))]
    (first, second) = K.map_tiles(visit, tiles=some, runs=2, fill=lambda A, B, tile: tile.fill(2.0))
    assert (first, second, visits[-2:]) == (24.0, 4.0, some)
    assert K.evaluations - before == 14


def test_diag_and_repr(rng):
    X = dense(rng, 300)
    K = Gram(Polynomial(2), X)
    np.testing.assert_allclose(K.diag(), (1 + (X**2).sum(axis=1)) ** 2, rtol=1e-14)
    assert repr(K) == "Gram(Polynomial(degree=2), shape=(300, 300), dtype=float64)"


# ---- repeatability, threads and memory ----


@pytest.mark.parametrize("m", [None, 900])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_products_are_the_same_bit_for_bit(rng, m, dtype):
    X, Y = dense(rng, 1100, dtype=dtype), None if m is None else dense(rng, m, dtype=dtype)
    V = rng.normal(size=(1100 if m is None else m, 2)).astype(dtype)
    K = Gram(RBF(), X, Y)
    first = K @ V
    for threads in (1, 2, 3, 8):
        assert np.array_equal(K.on_threads(threads) @ V, first)


def test_two_python_threads_share_one_operator(rng):
    K = Gram(NESTED, dense(rng, 300))
    D = K.dense()
    jobs = [rng.normal(size=300) for _ in range(6)]
    with ThreadPoolExecutor(2) as pool:
        results = list(pool.map(lambda v: (K @ v, K.rows([3]), K.sum()), jobs))
    for v, (product, row, total) in zip(jobs, results, strict=True):
        assert np.array_equal(product, K @ v)
        np.testing.assert_allclose(product, D @ v, atol=1e-11 * np.abs(D).max())
        np.testing.assert_allclose(row, D[[3]], atol=1e-14 * np.abs(D).max())
        assert total == pytest.approx(D.sum(), rel=1e-12)


@pytest.mark.parametrize(
    ("kernel", "inputs"),
    [
        (NESTED, dense),
        (2.0 * Spectrum(2), strings),
        (Exp(0.1 * Pairwise(RBF(), ANCHORS)), dense),
        ((3.0 * Precomputed()) ** 2, lambda rng, n: RBF()(dense(rng, n))),
    ],
    ids=["nested", "strings", "pairwise", "precomputed"],
)
def test_use_changes_neither_kernel_nor_inputs_nor_answers(rng, kernel, inputs):
    X, before = inputs(rng, 40), clone(kernel)
    K, v = Gram(kernel, X), rng.normal(size=40)
    first, diagonal, D = K @ v, K.diag().copy(), K.dense().copy()
    K.contract((v[:, None], v[:, None]))
    K.rows(slice(3))
    assert kernel == before
    np.testing.assert_array_equal(K @ v, first)
    np.testing.assert_array_equal(K.diag(), diagonal)
    np.testing.assert_array_equal(K.dense(), D)
    np.testing.assert_array_equal(kernel(X), D)


def test_later_changes_of_the_kernel_do_not_reach_the_matrix(rng):
    kernel, X = RBF(1.0), dense(rng, 5)
    K = Gram(kernel, X)
    kernel.set_params(length_scale=3.0)
    np.testing.assert_array_equal(K.dense(), RBF(1.0)(X))


@pytest.mark.parametrize("threads", [1, 2])
def test_a_product_ends_soon_after_an_interrupt(rng, threads):
    K, v = Gram(Matern(1.0, nu=0.8), dense(rng, 25_000), threads=threads), np.ones(25_000)
    K.take(np.arange(300)) @ v[:300]  # compiles
    timer = Timer(0.3, _thread.interrupt_main)
    gc.disable()  # an interrupt within a collector's callback would be ignored
    try:
        begin = perf_counter()
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            K @ v
        assert perf_counter() - begin < 1.5
    finally:
        gc.enable()
    np.testing.assert_allclose(K.take(np.arange(9)) @ v[:9], K.block(slice(9), slice(9)).sum(axis=1), rtol=1e-13)


# ---- subsets and precisions ----


def test_subsets(rng):
    X, Y = dense(rng, 20), dense(rng, 30)
    K, L = Gram(RBF(), X), Gram(RBF(), X, Y)
    mask = rng.random(20) < 0.5
    for index in ([3, 1], slice(2, 9), mask, -1, slice(None)):
        np.testing.assert_allclose(K.take(index).dense(), RBF()(np.atleast_2d(X[index])), rtol=1e-14)
    assert K.take([]).shape == (K.take([]) @ np.empty((0, 0))).shape == (0, 0)
    np.testing.assert_allclose(L.take(mask, [4, 4, 0]).dense(), RBF()(X[mask], Y[[4, 4, 0]]), rtol=1e-14)
    assert K.take(slice(None)).symmetric
    assert K.take([1, 2]).symmetric
    assert not K.take([1, 2], slice(None)).symmetric
    assert (K.X is X, K.take([1]).X) == (True, None)
    with pytest.raises(ValueError, match="20 x 30 matrix is not symmetric; give rows and columns"):
        L.take([1])


@pytest.mark.parametrize("width", [3, 12])
def test_both_sides_of_a_subset_are_prepared_alike_in_another_precision(rng, width):
    X, Y = dense(rng, 20, width), 5.0 + dense(rng, 30, width)
    part = Gram(RBF(3.0), X, Y).take([0, 5, 7], [1, 2]).astype(np.float32)
    assert part.dtype == np.float32
    np.testing.assert_allclose(part.dense(), RBF(3.0)(X[[0, 5, 7]], Y[[1, 2]]), rtol=1e-5)


def test_precisions_are_prepared_once(rng):
    K = Gram(RBF(), dense(rng, 20))
    assert K.astype(np.float32).inputs is K.astype("f4").inputs
    assert K.astype(np.float32).astype(np.float64).inputs is K.inputs
    assert K.astype(np.float64).inputs is K.inputs
    words = Gram(Spectrum(2), ["ab", "bc"])
    assert words.astype(np.float32).inputs is words.inputs


@pytest.mark.parametrize("width", [3, 12])
@pytest.mark.parametrize("unit", [1e-60, 1e60])
def test_numbers_out_of_the_range_of_float32_stay_float64(rng, unit, width):
    X, Y = unit * dense(rng, 20, width), unit * dense(rng, 10, width)
    for K in (Gram(RBF(unit), X), Gram(RBF(unit), X, Y), Gram(RBF(unit), X, Y).T):
        assert K.astype(np.float32).dtype == np.float64
        np.testing.assert_array_equal(K.astype(np.float32).dense(), K.dense())


def test_errors_of_float32(rng):
    X = dense(rng, 300)
    near = Gram(RBF(), X).float32_error()
    assert 1e-9 < near < 1e-6
    far = Gram(RBF(), 1e4 + X)
    assert 1e2 * near < far.take([0, 1, 2]).float32_error() == far.float32_error() < 1.0
    assert Gram(Polynomial(3), np.append(X, [[1e15] * 3], axis=0)).float32_error() == np.inf
    assert Gram(Linear(), np.zeros((4, 2))).float32_error() == 0.0


@pytest.mark.slow  # without the compiler
def test_product_stores_no_matrix(rng, peak_of):
    X, v = dense(rng, 8000, dtype=np.float32), rng.normal(size=8000)
    Gram(RBF(), X[:1000]) @ v[:1000]  # what compilation allocates is not meant
    peak, product = peak_of(lambda: Gram(RBF(), X) @ v)
    assert 8000 * 8 < peak < 16e6  # the matrix has 256 MB
    some = np.exp(-0.5 * cdist(X[::2000].astype(np.float64), X.astype(np.float64), "sqeuclidean")) @ v
    np.testing.assert_allclose(product[::2000], some, atol=1e-5 * np.abs(some).max())


def test_dense_above_the_budget_names_its_size(rng):
    K = Gram(RBF(), dense(rng, 1000), memory=7_900_000)
    with pytest.raises(MemoryError, match=r"dense\(\) needs 0.008 GB for 1000 x 1000 .* budget of 0.0079 GB.* K @ V"):
        K.dense()
    with pytest.raises(MemoryError, match=r"rows\(\) needs 0.00792 GB for 990 x 1000"):
        K.rows(slice(990))
    assert K.rows(slice(10)).shape == (10, 1000)
    assert Gram(RBF(), dense(rng, 1000), memory=8_000_000).dense().shape == (1000, 1000)


# ---- errors ----


@pytest.mark.parametrize("kernel", ["rbf", None, RBF, lambda x, y: 1.0])
def test_something_else_than_a_kernel(rng, kernel):
    with pytest.raises(TypeError, match=r"pass a kernel object such as RBF\(\), or wrap a function as Callable"):
        Gram(kernel, dense(rng, 3))


@pytest.mark.parametrize("memory", [0, -1, 1.5, "1 GB"])
def test_wrong_memory(rng, memory):
    with pytest.raises(ValueError, match=r"memory is .* integer"):
        Gram(RBF(), dense(rng, 3), memory=memory)


def test_other_errors(rng):
    K = Gram(RBF(), dense(rng, 3), dense(rng, 5))
    with pytest.raises(ValueError, match=r"axis is 2; use 0 .* 1 .* None"):
        K.sum(axis=2)
    with pytest.raises(ValueError, match=r"3 x 5 matrix .* no diagonal .* Gram\(kernel, X\)"):
        K.diag()
    with pytest.raises(IndexError, match="3 is out of bounds"):
        K.rows(3)
    with pytest.raises(ValueError, match="X has 2 columns where the other inputs of RBF have 3"):
        Gram(RBF(), dense(rng, 3, 2), dense(rng, 3, 3))
    with pytest.raises(ValueError, match="X is empty"):
        Gram(RBF(), np.empty((0, 3)))
    with pytest.raises(TypeError, match="RBF needs numbers, but X holds strings"):
        Gram(RBF(), ["ACGT", "ACGA"])
