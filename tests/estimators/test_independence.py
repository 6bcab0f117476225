"""The Hilbert-Schmidt independence criterion and its test."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from each_case import each
from scipy import stats

from representer import HSIC, Nystroem
from representer.estimators import independence
from representer.kernels import RBF, Laplacian, Linear, Matern, On, Precomputed, Sigmoid, Spectrum


def naive(K, L, statistic):
    """By sums over pairs, triples and quadruples of different indices, or of all."""
    n = len(K)
    K, L = K.astype(float), L.astype(float)
    if statistic == "biased":
        H = np.eye(n) - 1.0 / n
        return np.trace(K @ H @ L @ H) / n**2
    different = np.ones((n, n, n, n))
    for a in range(4):
        for b in range(a):
            shape = [1] * 4
            shape[a] = shape[b] = n
            different = different * (1 - np.eye(n).reshape(shape))
    two = np.einsum("ij,ij->", K - np.diag(K.diagonal()), L) / (n * (n - 1))
    four = np.einsum("ij,kl,ijkl->", K, L, different) / different.sum()
    three = np.einsum("ij,ik,ijkl->", K, L, different) / different.sum()
    return two + four - 2 * three


def words(rng, n):
    return ["".join(rng.choice(list("AC"), size)) for size in rng.integers(3, 9, n)]


CASES = {
    "vectors": (RBF(1.3), Laplacian(0.8), lambda rng: (rng.normal(size=(12, 3)), rng.normal(size=(12, 1)))),
    "nested": (Matern(2.0) * (Linear() + 1.0), Linear(), lambda rng: rng.normal(size=(2, 12, 2))),
    "strings": (RBF(1.0), Spectrum(2), lambda rng: (rng.normal(size=(12, 2)), words(rng, 12))),
    "float32": (RBF(1.0), Linear(), lambda rng: rng.normal(size=(2, 12, 2)).astype(np.float32)),
    "table": (
        On(RBF(1.0), ["a"]),
        RBF(2.0),
        lambda rng: (pd.DataFrame({"a": rng.normal(size=12)}), rng.normal(size=(12, 1))),
    ),
}


@each("case", CASES)
@each("statistic", ["biased", "unbiased"])
@each("method", ["dense", "low_rank", "auto"])
def test_statistic_and_null_are_the_sums(case, statistic, method, rng):
    kernel_x, kernel_y, draw = CASES[case]
    X, Y = draw(rng)
    outcome = HSIC(
        kernel_x, kernel_y, statistic=statistic, method=method, tol=1e-12, n_permutations=3, random_state=2
    ).test(X, Y)
    K, L = kernel_x(X), kernel_y(Y)
    tolerance = 1e-6 if case == "float32" else 1e-10
    np.testing.assert_allclose(outcome.statistic, naive(K, L, statistic), atol=tolerance * abs(K).max() * abs(L).max())
    if method == "dense":
        permutations = np.tile(np.arange(12, dtype=np.int32), (3, 1))
        np.random.default_rng(2).permuted(permutations, axis=1, out=permutations)
        expected = [naive(K, L[np.ix_(p, p)], statistic) for p in permutations]
        np.testing.assert_allclose(outcome.null, expected, atol=tolerance * abs(K).max() * abs(L).max())


def test_biased_is_the_squared_norm_of_the_cross_covariance(rng):
    """With linear kernels HSIC is the sum of squared covariances."""
    X, Y = rng.normal(size=(50, 3)), rng.normal(size=(50, 2))
    Y[:, 0] += X[:, 1]
    outcome = HSIC("linear", "linear", n_permutations=99).test(X, Y)
    C = (X - X.mean(axis=0)).T @ (Y - Y.mean(axis=0)) / 50
    np.testing.assert_allclose(outcome.statistic, np.sum(C**2), rtol=1e-10)
    assert "factors of rank 3 and 2" in outcome.method


@pytest.mark.parametrize("statistic", ["biased", "unbiased"])
@pytest.mark.parametrize("rank", [2, 5, 12])
def test_error_bound_of_factors_holds(statistic, rank, rng):
    X, Y = rng.normal(size=(60, 2)), rng.normal(size=(60, 2))
    options = {"statistic": statistic, "n_permutations": 5}
    exact = HSIC(method="dense", **options).test(X, Y)
    low = HSIC(method="low_rank", rank=rank, tol=1e-12, **options).test(X, Y)
    assert exact.error_bound == 0.0
    assert 0 < abs(exact.statistic - low.statistic) <= low.error_bound


def test_auto_takes_factors_where_they_are_small(rng):
    X = rng.normal(size=(400, 1))
    low = HSIC(n_permutations=99).test(X, X + 5 * rng.normal(size=(400, 1)))
    assert "factors" in low.method
    dense = HSIC(n_permutations=99).test(rng.normal(size=(300, 20)), X[:300])
    assert "dense" in dense.method


def test_factors_and_matrices_give_the_same_test(rng):
    X = rng.normal(size=(200, 1))
    Y = np.sin(3 * X) + rng.normal(size=(200, 1))
    dense, low = (HSIC(method=m, tol=1e-10, n_permutations=300).test(X, Y) for m in ("dense", "low_rank"))
    np.testing.assert_allclose(low.statistic, dense.statistic, rtol=1e-6)
    # the permutations differ, because factors use random numbers, too
    np.testing.assert_allclose(np.median(low.null), np.median(dense.null), rtol=0.1)


@pytest.mark.parametrize("method", ["dense", "low_rank"])
@pytest.mark.parametrize("statistic", ["biased", "unbiased"])
def test_a_constant_depends_on_nothing(method, statistic, rng):
    X, Y = rng.normal(size=(40, 2)), np.full((40, 1), 0.3)
    outcome = HSIC(method=method, statistic=statistic, n_permutations=99).test(X, Y)
    assert abs(outcome.statistic) < 1e-14
    assert outcome.pvalue == 1.0


@pytest.mark.parametrize("method", ["dense", "low_rank", "auto"])
def test_a_kernel_that_is_zero(method, rng):
    outcome = HSIC("linear", "linear", method=method, n_permutations=9).test(np.zeros((6, 1)), rng.normal(size=(6, 1)))
    assert (outcome.statistic, outcome.pvalue, outcome.error_bound) == (0.0, 1.0, 0.0)


@pytest.mark.parametrize(
    "test", [HSIC(method="dense"), HSIC(method="low_rank"), HSIC(method="dense", statistic="unbiased")], ids=str
)
def test_pvalues_are_uniform_if_there_is_nothing_to_find(test):
    """200 simulations with a fixed seed; a right test would fail for one seed in a thousand."""
    rng = np.random.default_rng(0)
    test = replace(test, n_permutations=49)
    p = [
        replace(test, random_state=i).test(rng.exponential(size=(12, 1)), rng.normal(size=(12, 2))).pvalue
        for i in range(200)
    ]
    assert stats.kstest(p, "uniform", method="asymp").pvalue > 1e-3
    for level in (0.05, 0.1, 0.5):
        assert np.sum(np.array(p) <= level) <= stats.binom.isf(1e-3, 200, level)


def test_dependence_without_correlation_is_found(rng):
    angle = rng.uniform(0, 2 * np.pi, 150)
    X, Y = np.cos(angle)[:, None], np.sin(angle)[:, None]
    assert HSIC("linear", "linear", n_permutations=199).test(X, Y).pvalue > 0.05
    assert HSIC(n_permutations=199).test(X, Y).pvalue == 1 / 200


def test_strings_against_numbers(rng):
    strings = words(rng, 80)
    Y = np.array([[s.count("A") / len(s)] for s in strings]) + 0.1 * rng.normal(size=(80, 1))
    assert HSIC(Spectrum(1), RBF(), n_permutations=199).test(strings, Y).pvalue == 1 / 200


def test_gram_matrices(rng):
    X, Y = rng.normal(size=(30, 2)), rng.normal(size=(30, 1))
    direct = HSIC(RBF(1.0), RBF(1.0), method="dense", n_permutations=50).test(X, Y)
    given = HSIC("precomputed", Precomputed(), method="dense", n_permutations=50).test(RBF(1.0)(X), RBF(1.0)(Y))
    np.testing.assert_allclose(given.null, direct.null, rtol=1e-10)


def test_many_permutations_come_in_parts(rng, monkeypatch):
    X, Y = rng.normal(size=(2, 30, 1))
    monkeypatch.setattr(independence, "PERMUTATION_BYTES", 4 * 30 * 7)
    outcome = HSIC(n_permutations=20, method="dense").test(X, Y)
    assert outcome.null.shape == (20,)
    assert len(np.unique(outcome.null)) == 20


OK = np.arange(12.0).reshape(6, 2)


@each(
    ("options", "X", "Y", "error", "message"),
    [
        ({}, OK, OK[:5], ValueError, "6 inputs and Y has 5"),
        ({}, OK[:3], OK[:3], ValueError, "at least four"),
        ({}, OK, np.where(OK == 3, np.nan, OK), ValueError, "NaN"),
        ({"statistic": "bias"}, OK, OK, ValueError, "statistic is 'bias'; use one of 'biased', 'unbiased'"),
        ({"method": "lowrank"}, OK, OK, ValueError, "method is 'lowrank'; use one of"),
        ({"rank": 3}, OK, OK, ValueError, "method='low_rank'"),
        ({"n_permutations": 0}, OK, OK, ValueError, "n_permutations"),
        ({"tol": 0.0}, OK, OK, ValueError, "tol"),
        ({"kernel_y": "rfb"}, OK, OK, ValueError, "kernel is 'rfb'"),
        ({"kernel_x": Sigmoid()}, OK, OK, ValueError, "not positive semidefinite"),
        ({"method": "dense", "memory": 100}, OK, OK, MemoryError, "low_rank"),
        ({"method": "low_rank", "rank": 6, "memory": 1000}, OK, OK, MemoryError, "smaller rank"),
        ({"memory": 50}, OK, OK, MemoryError, "smaller rank or a larger memory"),
        ({}, OK, list("abcdef"), TypeError, "needs numbers"),
    ],
)
def test_bad_input_is_named(options, X, Y, error, message):
    with pytest.raises(error, match=message):
        HSIC(**options).test(X, Y)


def test_numbers_are_one_column(rng):
    x, y = rng.normal(size=(2, 30))
    test = HSIC(n_permutations=19, random_state=0)
    columns = test.test(x[:, None], y[:, None])
    for outcome in (test.test(x, y), test.test(x.tolist(), pd.Series(y))):
        assert (outcome.statistic, outcome.pvalue) == (columns.statistic, columns.pvalue)


@pytest.mark.parametrize("statistic", ["biased", "unbiased"])
def test_factors_of_kernels_with_few_features_are_these(rng, statistic):
    X, Y = rng.normal(size=(90, 2)), rng.normal(size=(90, 1))
    kernels = [Nystroem(RBF(), 12).with_default_scales(Z) for Z in (X, Y)]
    ours, whole = (
        HSIC(*kernels, statistic=statistic, n_permutations=49, method=method).test(X, Y) for method in ("auto", "dense")
    )
    assert "factors of rank 12" in ours.method
    assert ours.error_bound == 0.0
    np.testing.assert_allclose(ours.statistic, whole.statistic, rtol=1e-10)
    np.testing.assert_allclose(ours.null, whole.null, rtol=1e-9)
