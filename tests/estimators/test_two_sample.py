"""The maximum mean discrepancy and its tests.

Tests of levels run 250 simulations with a fixed seed; a right test would fail them for one seed in a thousand.
"""

import _thread
import gc
import pickle
from dataclasses import replace
from threading import Timer
from time import process_time

import numpy as np
import pandas as pd
import pytest
from each_case import each
from scipy import sparse, stats
from sklearn.base import BaseEstimator

from representer import MMD, Nystroem, mean_embedding
from representer.estimators import resampling, two_sample
from representer.kernels import RBF, Callable, Laplacian, Linear, Matern, On, Sigmoid, Spectrum


def naive(kernel, X, Y, statistic="unbiased", paired=False):
    """MMD^2 by double loops over kernel values."""
    m, n = len(X), len(Y)
    K, L, M = (kernel(A, B).astype(float) for A, B in ((X, X), (Y, Y), (X, Y)))
    if statistic == "biased":
        return sum(K[i, j] for i in range(m) for j in range(m)) / m**2 + L.mean() - 2 * M.mean()
    first = sum(K[i, j] for i in range(m) for j in range(m) if i != j) / (m * (m - 1))
    second = sum(L[i, j] for i in range(n) for j in range(n) if i != j) / (n * (n - 1))
    pairs = [(i, j) for i in range(m) for j in range(n) if not paired or i != j]
    return first + second - 2 * sum(M[i, j] for i, j in pairs) / len(pairs)


def words(rng, n, letters="ACGT"):
    return ["".join(rng.choice(list(letters), size)) for size in rng.integers(3, 9, n)]


def frame(rng, n):
    return pd.DataFrame({"a": rng.normal(size=n), "w": words(rng, n)})


NESTED = Matern(2.0) * (Linear() + 1.0) + 0.5 * Laplacian(1.5)
CASES = {
    "vectors": (RBF(1.3), lambda rng, n: rng.normal(size=(n, 3))),
    "nested": (NESTED, lambda rng, n: rng.normal(size=(n, 2))),
    "wide": (RBF(4.0), lambda rng, n: rng.normal(size=(n, 12))),
    "sparse": (RBF(2.0), lambda rng, n: sparse.random_array((n, 9), density=0.4, rng=rng, format="csr")),
    "strings": (Spectrum(2), words),
    "table": (On(RBF(1.0), ["a"]) * On(Spectrum(1), "w"), frame),
}


def number(X):
    return X.shape[0] if hasattr(X, "shape") else len(X)


# ---- the statistic ----


@each("case", CASES)
@each("statistic", ["unbiased", "biased"])
@each("sizes", [(9, 14), (20, 20), (2, 3)])
def test_statistic_is_the_double_sum(case, statistic, sizes, rng):
    kernel, draw = CASES[case]
    X, Y = (draw(rng, n) for n in sizes)
    dense = (X, Y) if not sparse.issparse(X) else (X.toarray(), Y.toarray())
    outcome = MMD(kernel, statistic=statistic, n_permutations=3).test(X, Y)
    lists = [_Rows(part) for part in dense]
    expected = naive(lambda A, B: kernel(A.X, B.X), *lists, statistic)
    np.testing.assert_allclose(outcome.statistic, expected, rtol=1e-10, atol=1e-13)


class _Rows:
    def __init__(self, X):
        self.X = X

    def __len__(self):
        return number(self.X)


@pytest.mark.parametrize("statistic", ["unbiased", "biased"])
@pytest.mark.parametrize("sizes", [(300, 300), (320, 250)])
def test_null_is_the_double_sum_of_permuted_samples(statistic, sizes, rng):
    """Over several tiles; the permutations are found again from the seed."""
    X, Y = rng.normal(size=(sizes[0], 2)), rng.normal(size=(sizes[1], 2)) + 0.3
    kernel = RBF(1.5)
    outcome = MMD(kernel, statistic=statistic, n_permutations=4, random_state=3).test(X, Y)
    Z = np.concatenate([X, Y])
    signs = np.tile(np.repeat(np.array([1, -1], np.int8), sizes), (4, 1))
    np.random.default_rng(3).permuted(signs, axis=1, out=signs)
    K, diagonal = kernel(Z), statistic == "biased"
    for value, s in zip(outcome.null, signs, strict=True):
        A, B, C = (K[np.ix_(s == p, s == q)] for p, q in ((1, 1), (-1, -1), (1, -1)))
        m, n = len(A), len(B)
        first, second = (
            (part.sum() - (0 if diagonal else part.trace())) / (size * (size - (not diagonal)))
            for part, size in ((A, m), (B, n))
        )
        np.testing.assert_allclose(value, first + second - 2 * C.mean(), atol=3e-8)


@pytest.mark.parametrize("statistic", ["unbiased", "biased"])
def test_wild_bootstrap_is_the_double_sum_of_exchanged_pairs(statistic, rng):
    X, Y = rng.normal(size=(300, 2)), rng.normal(size=(300, 2)) + 0.3
    outcome = MMD(RBF(1.5), statistic=statistic, null="wild_bootstrap", n_permutations=3, random_state=5).test(X, Y)
    np.testing.assert_allclose(outcome.statistic, naive(RBF(1.5), X, Y, statistic, paired=True), atol=1e-13)
    signs = np.random.default_rng(5).integers(0, 2, (300, 4), np.int8)[:, 1:]
    for value, s in zip(outcome.null, signs.T, strict=True):
        A, B = np.where(s[:, None], X, Y), np.where(s[:, None], Y, X)
        np.testing.assert_allclose(value, naive(RBF(1.5), A, B, statistic, paired=True), atol=3e-8)


@pytest.mark.parametrize("block", [2, 7, 40])
def test_block_statistic_is_the_mean_over_blocks(block, rng):
    X, Y = rng.normal(size=(103, 2)), rng.normal(size=(103, 2)) + 0.5
    starts = range(0, 103 - block + 1, block)
    parts = [naive(RBF(1.5), X[i : i + block], Y[i : i + block], paired=True) for i in starts]
    for null in ("wild_bootstrap", "normal"):
        outcome = MMD(RBF(1.5), block_size=block, null=null, n_permutations=9).test(X, Y)
        np.testing.assert_allclose(outcome.statistic, np.mean(parts), rtol=1e-10)
    z = np.mean(parts) / (np.std(parts, ddof=1) / np.sqrt(len(parts)))
    np.testing.assert_allclose(outcome.pvalue, stats.norm.sf(z), rtol=1e-9)
    assert outcome.null is None


def test_linear_time_statistic_of_gretton(rng):
    X, Y = rng.normal(size=(40, 1)), rng.normal(size=(40, 1))
    k = RBF(1.0)
    h = [
        (k(X[i : i + 1], X[i + 1 : i + 2]) + k(Y[i : i + 1], Y[i + 1 : i + 2]))
        - (k(X[i : i + 1], Y[i + 1 : i + 2]) + k(X[i + 1 : i + 2], Y[i : i + 1]))
        for i in range(0, 40, 2)
    ]
    np.testing.assert_allclose(MMD(k, block_size=2, n_permutations=1).test(X, Y).statistic, np.mean(h), rtol=1e-12)


def test_biased_statistic_is_the_distance_of_mean_embeddings(rng):
    X, Y = rng.normal(size=(50, 2)), rng.normal(size=(70, 2)) + 1.0
    outcome = MMD(statistic="biased", n_permutations=5).test(X, Y)
    k = outcome.kernel
    assert k == RBF().with_default_scales(np.concatenate([X, Y]))
    distance = mean_embedding(k, X).distance(mean_embedding(k, Y))
    np.testing.assert_allclose(np.sqrt(outcome.statistic), distance, rtol=1e-12)
    witness = MMD().witness(X, Y)
    np.testing.assert_allclose(witness.norm(), distance, rtol=1e-12)
    # the witness has means over X and Y that differ by MMD^2, more than any other function of its norm
    np.testing.assert_allclose(witness(X).mean() - witness(Y).mean(), distance**2, rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_zero_for_identical_samples(dtype, rng):
    X = rng.normal(size=(60, 2)).astype(dtype)
    outcome = MMD(statistic="biased", n_permutations=99).test(X, X[::-1].copy())
    assert abs(outcome.statistic) < 4 * np.finfo(dtype).eps
    assert outcome.pvalue == 1.0


@pytest.mark.parametrize("null", ["permutation", "wild_bootstrap"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_inputs_all_alike_give_pvalue_one(null, dtype):
    X = np.full((30, 3), 0.1, dtype)
    for kernel in (RBF(0.3), Linear() + 0.7, Matern(0.2) * 3.3):
        assert MMD(kernel, null=null, n_permutations=99).test(X, X).pvalue == 1.0


def test_float32_agrees_with_float64(rng):
    X, Y = rng.normal(size=(400, 5)), rng.normal(size=(300, 5)) + 0.1
    double = MMD(RBF(2.0), n_permutations=200).test(X, Y)
    single = MMD(RBF(2.0), n_permutations=200).test(X.astype(np.float32), Y.astype(np.float32))
    np.testing.assert_allclose(single.statistic, double.statistic, atol=1e-7)
    np.testing.assert_allclose(single.null, double.null, atol=1e-7)
    mixed = MMD(RBF(2.0), n_permutations=200).test(X.astype(np.float32), Y)
    np.testing.assert_allclose(mixed.statistic, double.statistic, atol=1e-7)


def test_inputs_far_from_the_origin_lose_nothing(rng):
    X, Y = rng.normal(size=(80, 1)), rng.normal(size=(90, 1)) + 0.4
    near = MMD("linear", n_permutations=300).test(X, Y)
    far = MMD("linear", n_permutations=300).test(X + 1e5, Y + 1e5)
    np.testing.assert_allclose(far.null, near.null, atol=1e-5)
    assert far.pvalue == near.pvalue


@each("null", ["permutation", "wild_bootstrap"])
@each("factor", [1e-60, 1e-25, 1e25, 1e60])
def test_values_out_of_the_range_of_float32(null, factor, rng):
    X, Y = rng.normal(size=(40, 2)), rng.normal(size=(40, 2)) + 0.3
    test = MMD("linear", null=null, n_permutations=99)
    expected, scaled = test.test(X, Y), test.test(factor * X, factor * Y)
    np.testing.assert_allclose(scaled.null / factor**2, expected.null, atol=1e-6)
    assert scaled.pvalue == expected.pvalue


def test_values_that_overflow_are_refused(rng):
    X = (1e15 * rng.normal(size=(20, 2))).astype(np.float32)
    with np.errstate(over="ignore", invalid="ignore"), pytest.raises(ValueError, match="too large for their dtype"):
        MMD("poly", n_permutations=9).test(X, X)


def test_wild_bootstrap_of_strings_with_words_of_their_own(rng):
    X, Y = words(rng, 30, "AC"), words(rng, 30, "GT")
    outcome = MMD(Spectrum(1), null="wild_bootstrap", n_permutations=99).test(X, Y)
    np.testing.assert_allclose(outcome.statistic, naive(Spectrum(1), X, Y, paired=True), rtol=1e-12)
    assert outcome.pvalue == 0.01


# ---- p-values ----


def test_ties_count_against_the_observed_statistic():
    """Six inputs have 20 splits; the observed one and its mirror image are two of them, so p is about 2 / 20."""
    X, Y = np.array([[0.0], [0.1], [0.2]]), np.array([[5.0], [5.1], [5.3]])
    outcome = MMD(RBF(1.0), n_permutations=4000, random_state=1).test(X, Y)
    assert abs(outcome.pvalue - 0.1) < 4 * np.sqrt(0.1 * 0.9 / 4000)
    signs = np.tile(np.repeat(np.array([1, -1], np.int8), 3), (4000, 1))
    np.random.default_rng(1).permuted(signs, axis=1, out=signs)
    same = np.all(signs[:, :3] == signs[:, :1], axis=1)
    assert outcome.pvalue == (1 + same.sum()) / 4001


def pvalues(test, draw, simulations=250, seed=0):
    rng = np.random.default_rng(seed)
    return np.array([replace(test, random_state=i).test(*draw(rng)).pvalue for i in range(simulations)])


@pytest.mark.parametrize(
    ("test", "sizes"),
    [
        (MMD(n_permutations=99), (8, 11)),
        (MMD(n_permutations=99, statistic="biased"), (5, 12)),
        (MMD(n_permutations=99, null="wild_bootstrap"), (12, 12)),
        (MMD(n_permutations=99, block_size=4), (20, 20)),
        (MMD(n_permutations=99, bandwidths=[0.3, 1.0]), (8, 9)),
    ],
    ids=["permutation", "biased", "wild bootstrap", "blocks", "aggregated"],
)
def test_pvalues_are_uniform_if_there_is_nothing_to_find(test, sizes):
    p = pvalues(test, lambda rng: [rng.standard_t(3, size=(n, 2)) for n in sizes])
    assert stats.kstest(p, "uniform").pvalue > 1e-3
    # P(p <= u) <= u: a binomial count that a right test exceeds once in a thousand
    for level in (0.05, 0.1, 0.5):
        assert np.sum(p <= level) <= stats.binom.isf(1e-3, len(p), level)


def test_normal_law_has_about_its_level():
    p = pvalues(MMD(block_size=2, null="normal"), lambda rng: rng.normal(size=(2, 200, 1)))
    assert stats.kstest(p, "uniform").pvalue > 1e-3


@pytest.mark.parametrize(
    "test",
    [
        MMD(n_permutations=199),
        MMD(n_permutations=199, statistic="biased"),
        MMD(n_permutations=199, null="wild_bootstrap"),
        MMD(n_permutations=199, bandwidths=5),
        MMD(n_permutations=199, block_size=20),
        MMD(block_size=20, null="normal"),
    ],
    ids=str,
)
def test_a_shift_is_found(test, rng):
    X, Y = rng.normal(size=(200, 2)), rng.normal(size=(200, 2)) + 0.7
    assert test.test(X, Y).pvalue <= 0.01


def test_strings_are_told_apart(rng):
    X, Y = words(rng, 40), words(rng, 50, "AACG")
    assert MMD(Spectrum(2), n_permutations=199).test(X, Y).pvalue == 1 / 200


def test_several_bandwidths_find_what_one_misses():
    """Waves of a short period on a wide line: the typical length scale cannot see them."""
    Y = np.linspace(0, 10, 600)[:, None]
    X = Y // 1 + Y % 1 / 2  # the first half of each unit
    one, many = (MMD(bandwidths=b, n_permutations=199).test(X, Y) for b in (None, [1.0, 0.1, 0.02]))
    assert one.pvalue > 0.05
    assert many.pvalue <= 0.01
    assert len(many.parts) == 3
    assert many.kernel.length_scale == pytest.approx(0.02 * one.kernel.length_scale)
    assert many.pvalue >= min(part.pvalue for part in many.parts)
    assert many.statistic == many.parts[2].statistic


def test_a_list_of_kernels_is_aggregated(rng):
    X, Y = rng.normal(size=(40, 2)), 2.0 * rng.normal(size=(40, 2))
    both = MMD(["linear", RBF()], n_permutations=199).test(X, Y)
    alone = [MMD(k, n_permutations=199).test(X, Y) for k in ("linear", RBF())]
    for part, single in zip(both.parts, alone, strict=True):
        assert (part.statistic, part.pvalue) == (single.statistic, single.pvalue)
        np.testing.assert_array_equal(part.null, single.null)
    assert both.kernel == alone[1].kernel
    number_of_bandwidths = MMD(bandwidths=4, n_permutations=9).test(X, Y).parts
    scales = np.array([part.kernel.length_scale for part in number_of_bandwidths])
    np.testing.assert_allclose(
        scales / RBF().with_default_scales(np.concatenate([X, Y])).length_scale, 2.0 ** np.arange(-4, 3, 2)
    )


def test_many_resamples_take_several_passes(rng, monkeypatch):
    X, Y = rng.normal(size=(20, 2)), rng.normal(size=(30, 2))
    whole = MMD(n_permutations=20).test(X, Y)
    monkeypatch.setattr(two_sample, "SIGN_BYTES", 50 * 7)
    parts = MMD(n_permutations=20).test(X, Y)
    # means of float32 values of at most one, whose order in a sum is BLAS's and depends on the number of columns
    np.testing.assert_allclose(parts.null, whole.null, rtol=0.0, atol=2.0**-24)
    assert parts.pvalue == whole.pvalue


def test_the_same_seed_gives_the_same_result(rng):
    X, Y = rng.normal(size=(300, 2)), rng.normal(size=(300, 2))
    one, two, other = (
        MMD(n_permutations=50, random_state=s, threads=t).test(X, Y) for s, t in [(1, 1), (1, 2), (2, 2)]
    )
    np.testing.assert_array_equal(one.null, two.null)
    assert not np.array_equal(two.null, other.null)


# ---- contract and errors ----


def test_parameters_and_pickle(rng):
    test = MMD([RBF(), Linear()], statistic="biased", n_permutations=19, random_state=4)
    assert not isinstance(test, BaseEstimator)  # it has nothing to fit
    with pytest.raises(AttributeError, match="cannot assign"):
        test.kernel = "linear"
    again = pickle.loads(pickle.dumps(test))
    assert again.kernel == test.kernel
    X, Y = rng.normal(size=(10, 2)), rng.normal(size=(12, 2))
    assert again.test(X, Y).pvalue == test.test(X, Y).pvalue
    outcome = pickle.loads(pickle.dumps(test.test(X, Y)))
    assert outcome.pvalue == test.test(X, Y).pvalue
    assert test.kernel[0].length_scale is None


def test_a_gram_matrix_is_tested_by_its_indices(rng):
    X, Y = rng.normal(size=(15, 2)), rng.normal(size=(12, 2))
    K = RBF(1.0)(np.concatenate([X, Y]))
    by_index = MMD(Callable(lambda i, j: K[np.ix_(i, j)]), n_permutations=50).test(np.arange(15), np.arange(15, 27))
    assert by_index.pvalue == MMD(RBF(1.0), n_permutations=50).test(X, Y).pvalue


OK = np.arange(8.0).reshape(4, 2)


@each(
    ("options", "X", "Y", "message"),
    [
        ({}, OK[:1], OK, "1 and 4 inputs; a two-sample test needs at least two"),
        ({}, OK, OK[:, :1], "same columns"),
        ({}, OK, np.where(OK == 3, np.nan, OK), "Y has 1 entries that are NaN"),
        ({}, OK[:0], OK, "empty"),
        ({}, OK.ravel(), OK.ravel(), "reshape"),
        ({"statistic": "unbaised"}, OK, OK, "statistic is 'unbaised'; use one of 'unbiased', 'biased'"),
        ({"null": "permutations"}, OK, OK, "null is 'permutations'; use one of 'auto', 'permutation'"),
        ({"n_permutations": 0}, OK, OK, "n_permutations"),
        ({"kernel": "rfb"}, OK, OK, "kernel is 'rfb'"),
        ({"kernel": []}, OK, OK, "empty list"),
        ({"kernel": "precomputed"}, np.eye(4), np.eye(4), "Callable"),
        ({"kernel": Sigmoid()}, OK, OK, "not positive semidefinite"),
        ({"null": "wild_bootstrap"}, OK, OK[:3], "pairs x_i with y_i"),
        ({"null": "normal"}, OK, OK, "give a block_size"),
        ({"block_size": 1}, OK, OK, "block_size is 1"),
        ({"block_size": 5}, OK, OK, "smaller blocks"),
        ({"block_size": 3, "null": "normal"}, OK, OK, "smaller blocks"),
        ({"block_size": 2, "null": "permutation"}, OK, OK, "'wild_bootstrap' or 'normal'"),
        ({"block_size": 2, "statistic": "biased"}, OK, OK, "the statistic is 'unbiased'"),
        ({"block_size": 2, "null": "normal", "bandwidths": 2}, OK, OK, "single kernel"),
        ({"bandwidths": [1.0, -1.0]}, OK, OK, "positive multiples"),
        ({"bandwidths": []}, OK, OK, "give a number of them"),
        ({"bandwidths": "auto"}, OK, OK, "give a number of them"),
        ({}, pd.DataFrame(OK, columns=["a", "b"]), pd.DataFrame(OK, columns=["a", "c"]), "has the columns b"),
        ({"bandwidths": 1}, OK, OK, "bandwidths is 1; it must be an integer, at least 2"),
        ({"bandwidths": 10**8}, OK, OK, "bandwidths is 100000000, .* use at most 1,000"),
        ({"bandwidths": np.ones(10**5)}, OK, OK, "number of bandwidths is 100000, .* at most 1,000"),
        ({"n_permutations": 10**9}, OK, OK, "n_permutations is 1000000000, .* use at most 10,000,000"),
        ({"bandwidths": 3, "kernel": "linear"}, OK, OK, "no length scale"),
        ({"threads": 0}, OK, OK, "threads"),
    ],
)
def test_bad_input_is_named(options, X, Y, message):
    with pytest.raises(ValueError, match=message):
        MMD(**options).test(X, Y)


def test_strings_for_a_kernel_of_numbers():
    with pytest.raises(TypeError, match="needs numbers"):
        MMD().test(["a", "b"], ["c", "d"])


def test_witness_of_several_kernels():
    with pytest.raises(ValueError, match="choose one"):
        MMD(bandwidths=2).witness(OK, OK)


@pytest.mark.parametrize("null", ["permutation", "wild_bootstrap"])
def test_a_test_with_many_resamples_ends_soon_after_an_interrupt(null, rng):
    X, Y = rng.normal(size=(2, 1000, 2))
    MMD(null=null, n_permutations=9).test(X[:300], Y[:300])  # compiles
    timer = Timer(0.2, _thread.interrupt_main)
    gc.disable()  # an interrupt within a collector's callback would be ignored
    try:
        begin = process_time()  # other processes may keep the cores busy
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            MMD(null=null, n_permutations=99_999).test(X, Y)
        assert process_time() - begin < 1.5
    finally:
        gc.enable()


def test_drawing_in_parts_is_drawing_at_once(monkeypatch, rng):
    X, Y = rng.normal(size=(2, 30, 2))
    outcomes = {}
    for drawn in (2**22, 100):
        monkeypatch.setattr(resampling, "DRAWN", drawn)
        monkeypatch.setattr(two_sample, "DRAWN", drawn)
        monkeypatch.setattr(resampling, "COLUMNS_OF_SIGNS", min(drawn, 16))
        for null in ("permutation", "wild_bootstrap"):
            outcomes[drawn, null] = MMD(null=null, n_permutations=49, random_state=0).test(X, Y).null
    for null in ("permutation", "wild_bootstrap"):
        np.testing.assert_allclose(outcomes[100, null], outcomes[2**22, null], rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize(
    "options", [{}, {"statistic": "biased"}, {"null": "wild_bootstrap"}, {"block_size": 10}], ids=str
)
def test_kernels_with_few_features_need_no_matrix(rng, monkeypatch, options):
    X, Y = rng.normal(size=(60, 2)), rng.normal(size=(60, 2)) + 0.3
    kernel = Nystroem(RBF(), 8).with_default_scales(X)
    whole = MMD(Callable(lambda A, B: kernel(A, B)), n_permutations=49, **options).test(X, Y)
    monkeypatch.setattr(two_sample, "forms", None)
    ours = MMD(kernel, n_permutations=49, **options).test(X, Y)
    np.testing.assert_allclose(ours.statistic, whole.statistic, rtol=1e-12)
    np.testing.assert_allclose(ours.null, whole.null, atol=1e-6 * np.abs(whole.null).max())  # theirs are float32
    assert ours.pvalue == whole.pvalue
