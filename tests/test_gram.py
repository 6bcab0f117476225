"""The Gram operator against dense matrices: products, rows, sums, contractions, chunks, threads and memory."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
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
    Periodic,
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


@pytest.mark.parametrize("n", [1, 2, 255, 256, 257, 700])
@pytest.mark.parametrize("case", CASES)
def test_square(rng, case, n):
    kernel, inputs = CASES[case]
    check_gram(kernel, inputs(rng, n))


@pytest.mark.parametrize(("n", "m"), [(1, 2), (257, 255), (800, 600)])
@pytest.mark.parametrize("case", CASES)
def test_rectangular(rng, case, n, m):
    kernel, inputs = CASES[case]
    check_gram(kernel, inputs(rng, n), inputs(rng, m))


@pytest.mark.parametrize("n", [1, 257, 700])
def test_precomputed(rng, n):
    X = dense(rng, n)
    check_gram(Precomputed(), RBF()(X))
    check_gram(Precomputed(), RBF()(dense(rng, 300), X), RBF()(X))


# ---- products ----


@pytest.mark.parametrize("columns", [3, 12])
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-12), (np.float32, 1e-5)])
@pytest.mark.parametrize("m", [None, 700])
def test_products_equal_those_of_the_formula(rng, columns, dtype, tolerance, m):
    X = dense(rng, 1000, columns, dtype)
    Y = None if m is None else dense(rng, m, columns, dtype)
    exact = np.exp(-0.5 * cdist(X.astype(np.float64), (X if Y is None else Y).astype(np.float64), "sqeuclidean"))
    K = Gram(RBF(), X, Y)
    for V in (rng.normal(size=exact.shape[1]), rng.normal(size=(exact.shape[1], 7))):
        assert np.linalg.norm(K @ V - exact @ V) < tolerance * np.linalg.norm(exact @ V)
    for W in (rng.normal(size=1000), rng.normal(size=(2, 1000))):
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


@pytest.mark.parametrize(
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
    # 0.1 added 20 000 times one by one in float32 is off by 2e-4; in tiles of 512 columns by a few units of rounding
    X = np.zeros((20_000, 1), np.float32)
    sums = Gram(RBF(), X) @ np.full(20_000, 0.1)
    np.testing.assert_allclose(sums, 20_000 * 0.1, rtol=3e-6)


def test_no_columns_give_no_columns(rng):
    assert (Gram(RBF(), dense(rng, 30)) @ np.empty((30, 0))).shape == (30, 0)


def test_strided_and_reversed_right_hand_sides(rng):
    X, V = dense(rng, 600), rng.normal(size=(6, 1200))
    K = Gram(RBF(), X)
    view = V[:, ::-2].T
    np.testing.assert_allclose(K @ view, K.dense() @ view, rtol=1e-12, atol=1e-11)


def test_transposed(rng):
    K = Gram(RBF(), dense(rng, 300), dense(rng, 500))
    V, W = rng.normal(size=(300, 2)), rng.normal(size=(2, 500))
    assert K.T.shape == (500, 300)
    assert K.T.T.shape == K.shape
    np.testing.assert_array_equal(K.T.dense(), K.dense().T)
    np.testing.assert_allclose(K.T @ V, K.dense().T @ V, atol=1e-11)
    np.testing.assert_allclose(W @ K.T, W @ K.dense().T, atol=1e-11)
    symmetric = Gram(RBF(), dense(rng, 10))
    assert symmetric.T is symmetric


# ---- entries ----


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("m", [None, 270])
@pytest.mark.parametrize(
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
    ids=str,
)
def test_rows(rng, transposed, m, index):
    K = Gram(RBF(), dense(rng, 300), None if m is None else dense(rng, m))
    K = K.T if transposed else K
    if isinstance(index, str):
        index = rng.random(K.shape[0]) < 0.2
    rows = K.rows(index)
    expected = np.atleast_2d(K.dense()[index])
    assert rows.shape == expected.shape
    np.testing.assert_allclose(rows, expected, rtol=1e-13, atol=0)


def test_sums(rng):
    K = Gram(RBF(), dense(rng, 300), dense(rng, 400))
    D = K.dense()
    np.testing.assert_allclose(K.sum(axis=1), D.sum(axis=1), rtol=1e-13)
    np.testing.assert_allclose(K.sum(axis=0), D.sum(axis=0), rtol=1e-13)
    np.testing.assert_allclose(K.T.sum(axis=0), D.sum(axis=1), rtol=1e-13)
    assert K.sum() == pytest.approx(D.sum(), rel=1e-13)
    assert np.isscalar(K.sum())


def test_diag_and_repr(rng):
    X = dense(rng, 300)
    K = Gram(Polynomial(2), X)
    np.testing.assert_allclose(K.diag(), (1 + (X**2).sum(axis=1)) ** 2, rtol=1e-14)
    assert repr(K) == "Gram(Polynomial(degree=2), shape=(300, 300), dtype=float64)"


# ---- contractions ----


def weights(rng, shape, kind):
    U, V = rng.normal(size=(shape[0], 3)), rng.normal(size=(shape[1], 3))
    return (U @ V.T, (U, V)) if kind == "factors" else (U @ V.T, U @ V.T)


@pytest.mark.parametrize("kind", ["array", "factors"])
@pytest.mark.parametrize("m", [None, 300])
@pytest.mark.parametrize("transposed", [False, True])
def test_contraction_of_rbf_by_hand(rng, kind, m, transposed):
    X, Y = dense(rng, 600), None if m is None else dense(rng, m)
    K = Gram(RBF(1.5), X, Y)
    K = K.T if transposed else K
    W, given = weights(rng, K.shape, kind)
    s = cdist(X, X if Y is None else Y, "sqeuclidean")
    s = s.T if transposed else s
    expected = np.vdot(W, np.exp(-0.5 * s / 1.5**2) * s / 1.5**3)
    (name, value), *others = K.contract(given).items()
    assert (name, others) == ("length_scale", [])
    assert value == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int64, np.float32])
def test_weights_of_any_dtype(rng, dtype):
    K = Gram(RBF(), dense(rng, 300))
    W = rng.integers(0, 2 if dtype is bool else 200, (300, 300)).astype(dtype)
    expected = K.contract(W.astype(np.float64))["length_scale"]
    assert K.contract(W)["length_scale"] == pytest.approx(expected, rel=1e-12)


def test_contraction_names_all_hyper_parameters(rng):
    kernel = 2.0 * RBF([1.0, 2.0, 3.0]) + Periodic(period=[2.0, 3.0, 4.0])
    gradients = Gram(kernel, dense(rng, 300)).contract((np.ones((300, 1)), np.ones((300, 1))))
    shapes = {name: np.shape(value) for name, value in gradients.items()}
    assert shapes == {
        "left__factor": (),
        "left__kernel__length_scale": (3,),
        "right__length_scale": (),
        "right__period": (3,),
    }


@pytest.mark.parametrize("kind", ["array", "factors"])
@pytest.mark.parametrize("m", [None, 300])
@pytest.mark.parametrize("transposed", [False, True])
def test_input_gradient_of_rbf_by_hand(rng, kind, m, transposed):
    X, Y = dense(rng, 600), None if m is None else dense(rng, m)
    K = Gram(RBF(1.5), X, Y)
    K = K.T if transposed else K
    W, given = weights(rng, K.shape, kind)
    A, B = X, X if Y is None else Y
    A, B = (B, A) if transposed else (A, B)
    G = -W * np.exp(-0.5 * cdist(A, B, "sqeuclidean") / 1.5**2) / 1.5**2
    expected = G.sum(axis=1)[:, None] * A - G @ B
    np.testing.assert_allclose(K.input_gradient(given), expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("threads", [1, 2])
def test_input_gradient_of_nested_kernels_equals_that_of_the_kernel(rng, threads):
    kernel, X, Y = 2.0 * RBF([1.0, 2.0, 3.0]) * (Polynomial(2) + 1.0), dense(rng, 600), dense(rng, 270)
    W = rng.normal(size=(600, 270))
    expected = kernel.input_gradient(X, Y, W)
    np.testing.assert_allclose(Gram(kernel, X, Y, threads=threads).input_gradient(W), expected, rtol=1e-9)
    single = Gram(kernel, X.astype(np.float32), Y.astype(np.float32)).input_gradient(W)
    np.testing.assert_allclose(single, expected, rtol=1e-3, atol=1e-4 * np.abs(expected).max())


def test_lower_triangle_of_symmetric_weights_is_enough(rng):
    X = dense(rng, 600)
    K, W = Gram(RBF(), X), rng.normal(size=(600, 600))
    W = W + W.T
    lower = np.tril(W) + np.triu(np.full_like(W, np.nan), 1)
    np.testing.assert_allclose(K.input_gradient(lower, lower=True), K.input_gradient(W), rtol=1e-9, atol=1e-9)
    with pytest.raises(ValueError, match="two different sets"):
        Gram(RBF(), X, X).input_gradient(W, lower=True)


def test_there_is_no_gradient_by_strings(rng):
    with pytest.raises(TypeError, match="not vectors"):
        Gram(Spectrum(2), strings(rng, 5)).input_gradient(np.ones((5, 5)))


# ---- chunks ----


@pytest.fixture(params=["f4", "f8"])
def on_disk(request, rng, tmp_path):
    """1100 rows of 200 columns: so wide that chunks of them are smaller than the dense matrix that memory allows."""
    X = rng.normal(size=(1100, 200)).astype(request.param)
    X.tofile(tmp_path / "X")
    return np.memmap(tmp_path / "X", request.param, "r", shape=X.shape), X


@pytest.mark.parametrize("other", ["itself", "in memory", "on disk"])
def test_chunks_equal_the_whole(on_disk, rng, other):
    kernel = 0.5 * Matern(15.0) + Normalized(Linear())
    X_disk, X = on_disk
    Y_disk, Y = {"itself": (None, None), "in memory": (X[:300], X[:300]), "on disk": (X_disk[:900], X[:900])}[other]
    chunked, whole = Gram(kernel, X_disk, Y_disk, memory=1250 * X.itemsize * 1000), Gram(kernel, X, Y)
    assert len(chunked._rows.chunks) > 1
    assert (len(chunked._columns.chunks) > 1) == (other != "in memory")
    assert len(whole._rows.chunks) == 1
    near = {"rtol": 0, "atol": 1e-12 if X.dtype == np.float64 else 2e-6}
    far = {"rtol": 0, "atol": 1100 * near["atol"]}
    for K, L in [(chunked, whole), (chunked.T, whole.T)][: 1 if other == "itself" else 2]:
        V, (W, factors) = rng.normal(size=(K.shape[1], 3)), weights(rng, K.shape, "factors")
        D = L.dense()
        np.testing.assert_allclose(K.dense(), D, **near)
        np.testing.assert_allclose(K.rows([0, -1, 280, 280]), D[[0, -1, 280, 280]], **near)
        np.testing.assert_allclose(K @ V, D @ V, **far)
        np.testing.assert_allclose(V.T @ K.T, (D @ V).T, **far)
        expected = L.contract(factors)
        for given in (W, factors):
            actual = K.contract(given)
            assert actual.keys() == expected.keys()
            for name, value in expected.items():
                np.testing.assert_allclose(actual[name], value, **far)
    if other == "itself":
        np.testing.assert_allclose(chunked.diag(), whole.diag(), **near)
        assert np.array_equal(chunked.dense(), chunked.dense().T)


@pytest.mark.parametrize("lower", [False, True])
def test_input_gradient_by_chunks(rng, lower):
    X = dense(rng, 1500)
    K, W = Gram(RBF(), X, memory=100_000), rng.normal(size=(1500, 1500))
    assert len(K._rows.chunks) > 1
    W = W + W.T
    expected = Gram(RBF(), X).input_gradient(W)
    np.testing.assert_allclose(K.input_gradient(W, lower=lower), expected, rtol=1e-9, atol=1e-9)


def test_large_arrays_in_memory_are_chunked_too(rng):
    X, v = dense(rng, 2000), rng.normal(size=2000)
    K = Gram(RBF(), X, memory=100_000)
    assert len(K._rows.chunks) == 4
    np.testing.assert_allclose(K @ v, Gram(RBF(), X) @ v, atol=1e-11)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_bad_value_in_the_last_chunk_is_found_at_once(rng, tmp_path, bad):
    X = np.memmap(tmp_path / "X", "f8", "w+", shape=(2000, 3))
    X[:] = rng.normal(size=X.shape)
    Gram(RBF(), X, memory=100_000)
    X[1999, 1] = bad
    with pytest.raises(ValueError, match=r"rows of X from 1536 .* the first at \(463, 1\)"):
        Gram(RBF(), X, memory=100_000)


# ---- repeatability, threads and memory ----


@pytest.mark.parametrize("m", [None, 900])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_products_are_the_same_bit_for_bit(rng, m, dtype):
    X, Y = dense(rng, 1100, dtype=dtype), None if m is None else dense(rng, m, dtype=dtype)
    V = rng.normal(size=(1100 if m is None else m, 2)).astype(dtype)
    first = Gram(RBF(), X, Y) @ V
    for threads in (None, 1, 2, 3, 8):
        K = Gram(RBF(), X, Y, threads=threads)
        assert np.array_equal(K @ V, first)
        assert np.array_equal(K @ V, first)


def test_two_python_threads_share_one_operator(rng):
    K = Gram(NESTED, dense(rng, 700))
    D = K.dense()
    jobs = [rng.normal(size=700) for _ in range(12)]
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
        *CASES.values(),
        (2.0 * Spectrum(2), strings),
        (Exp(0.1 * Pairwise(RBF(), ANCHORS)), dense),
        ((3.0 * Precomputed()) ** 2, lambda rng, n: RBF()(dense(rng, n))),
    ],
    ids=[*CASES, "scaled strings", "exp of a pairwise kernel", "power of a matrix"],
)
def test_use_changes_neither_kernel_nor_inputs_nor_answers(rng, kernel, inputs):
    X, before = inputs(rng, 300), clone(kernel)
    K, v = Gram(kernel, X), rng.normal(size=300)
    first, diagonal, D = K @ v, K.diag(), K.dense().copy()
    diagonal = diagonal.copy()
    K.contract((v[:, None], v[:, None]))
    K.rows(slice(3))
    assert kernel == before
    np.testing.assert_array_equal(K @ v, first)
    np.testing.assert_array_equal(K.diag(), diagonal)
    np.testing.assert_array_equal(K.dense(), D)
    np.testing.assert_array_equal(kernel(X), D)
    np.testing.assert_allclose(kernel.diag(X), diagonal, rtol=1e-6)


@pytest.mark.slow  # without the compiler
def test_product_stores_no_matrix(rng, peak_of):
    X, v = dense(rng, 20_000, dtype=np.float32), rng.normal(size=20_000)
    Gram(RBF(), X[:1000]) @ v[:1000]  # what compilation allocates is not meant
    peak, product = peak_of(lambda: Gram(RBF(), X) @ v)
    assert 20_000 * 8 < peak < 100e6  # the matrix has 1.6 GB
    some = np.exp(-0.5 * cdist(X[::4000].astype(np.float64), X.astype(np.float64), "sqeuclidean")) @ v
    np.testing.assert_allclose(product[::4000], some, atol=1e-5 * np.abs(some).max())


def test_dense_above_the_budget_names_its_size(rng):
    K = Gram(RBF(), dense(rng, 1000), memory=7_900_000)
    with pytest.raises(MemoryError, match=r"dense\(\) needs 0.008 GB for 1000 x 1000 .* budget of 0.0079 GB.* K @ V"):
        K.dense()
    with pytest.raises(MemoryError, match=r"rows\(\) needs 0.00792 GB for 990 x 1000"):
        K.rows(slice(990))
    assert K.rows(slice(10)).shape == (10, 1000)
    assert Gram(RBF(), dense(rng, 1000), memory=8_000_000).dense().shape == (1000, 1000)


# ---- errors ----


@pytest.mark.parametrize(
    "V", [np.ones(4), np.ones((4, 2)), np.ones((5, 1, 1)), np.float64(1.0), "abcde", np.ones((1, 5))], ids=np.shape
)
def test_wrong_shape_of_v(rng, V):
    with pytest.raises(ValueError, match=r"V has shape .*K has shape \(3, 5\); V needs one row for each column"):
        Gram(RBF(), dense(rng, 3), dense(rng, 5)) @ V


@pytest.mark.parametrize("V", [list("abc"), [1j, 0, 0], [None, 1, 2]], ids=repr)
def test_v_without_numbers(rng, V):
    with pytest.raises(TypeError, match=r"V holds .* real numbers"):
        Gram(RBF(), dense(rng, 3)) @ V


@pytest.mark.parametrize(
    "W",
    [
        np.ones((5, 3)),
        np.ones(15),
        (np.ones((3, 2)), np.ones((5, 3))),
        (np.ones((5, 2)), np.ones((3, 2))),
        (np.ones(3), np.ones(5)),
        (np.ones((3, 2)),),
        (np.ones((3, 2)), np.ones((5, 2)), np.ones(2)),
    ],
)
def test_wrong_shape_of_w(rng, W):
    with pytest.raises(ValueError, match=r"W has shape .*K has shape \(3, 5\); .*factors"):
        Gram(RBF(), dense(rng, 3), dense(rng, 5)).contract(W)


@pytest.mark.parametrize("W", [np.full((3, 5), "a"), np.full((3, 5), 1j), (np.full((3, 1), 1j), np.ones((5, 1)))])
def test_w_without_numbers(rng, W):
    with pytest.raises(TypeError, match=r"W holds .* real numbers"):
        Gram(RBF(), dense(rng, 3), dense(rng, 5)).contract(W)


@pytest.mark.parametrize("kernel", ["rbf", None, RBF, lambda x, y: 1.0])
def test_something_else_than_a_kernel(rng, kernel):
    with pytest.raises(TypeError, match=r"pass a kernel object such as RBF\(\), or wrap a function as Callable"):
        Gram(kernel, dense(rng, 3))


@pytest.mark.parametrize("memory", [0, -1, 1.5, "1 GB"])
def test_wrong_memory(rng, memory):
    with pytest.raises(ValueError, match=r"memory is .* whole number"):
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
