from itertools import permutations

import numpy as np
import pytest
from each_case import each

from representer import Gram
from representer.features.pivoted_cholesky import STRIP_COLUMNS, pivoted_cholesky
from representer.kernels import RBF, Linear, Matern, Spectrum

KERNELS = each("kernel", [RBF(0.8), Matern(1.0, nu=0.5), Linear()])


def rows(n, width=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, width))


def factored(kernel, X, rank, **options):
    """The factorisation and the whole remainder."""
    low = pivoted_cholesky(Gram(kernel, X), rank, **options)
    F = low.factor.astype(np.float64)
    return low, kernel(X).astype(np.float64) - F.T @ F


def check_remainder(low, remainder, atol):
    """Positive semidefinite, zero at the pivots, with the diagonal that is told."""
    np.testing.assert_allclose(low.remainder, remainder.diagonal(), atol=atol)
    np.testing.assert_allclose(remainder[low.pivots], 0.0, atol=atol)
    assert np.linalg.eigvalsh(remainder)[0] >= -len(remainder) * atol
    assert len(np.unique(low.pivots)) == len(low.pivots) == len(low.factor)


@KERNELS
@each("rank", [1, 25])
def test_remainder(kernel, rank):
    low, remainder = factored(kernel, rows(60), rank)
    check_remainder(low, remainder, 1e-12)
    assert len(low.factor) == min(rank, 3 if isinstance(kernel, Linear) else rank)


@KERNELS
def test_float32(kernel):
    low, remainder = factored(kernel, rows(60).astype(np.float32), 40)
    assert low.factor.dtype == np.float32
    check_remainder(low, remainder, 2e-5)


def test_full_rank_is_exact():
    low, remainder = factored(Matern(0.5, nu=0.5), rows(50), 50)
    assert np.array_equal(np.sort(low.pivots), np.arange(50))
    np.testing.assert_allclose(remainder, 0.0, atol=1e-13)


def test_rank_is_at_most_the_number_of_inputs():
    assert factored(Matern(0.5, nu=0.5), rows(7), 100)[0].factor.shape == (7, 7)


@pytest.mark.parametrize(("kernel", "r"), [(RBF(0.8), 4), (Matern(1.0, nu=0.5), 5)], ids=repr)
def test_error_is_within_twice_the_best(kernel, r):
    """The mean trace of the remainder is at most twice the best of rank r at rank k >= r + r log(1 / eta).

    Where eta is the relative trace error of the best (Chen, Epperly, Tropp and Webber, theorem 5.1, epsilon = 1). At
    equal ranks it is so as well for these matrices.
    """
    X = rows(80)
    values = np.linalg.eigvalsh(kernel(X))[::-1]
    best = values[r:].sum()
    k = int(np.ceil(r + r * np.log(values.sum() / best)))
    assert k < 40

    def mean_error(rank):
        return np.mean([factored(kernel, X, rank, random_state=seed)[0].remainder.sum() for seed in range(12)])

    assert mean_error(k) <= 2.0 * best
    assert values[k:].sum() <= mean_error(k) <= 2.0 * values[k:].sum()


def test_law_is_that_of_drawing_one_by_one():
    """P(first i, then j) = K_ii / tr K times R_jj / tr R, R what is left of K after i; chi-square over all pairs."""
    gram, draws = Gram(Linear(), rows(4, 4), threads=1), 500
    K = gram.dense()
    expected = {}
    for i, j in permutations(range(4), 2):
        R = K - np.outer(K[i], K[i]) / K[i, i]
        expected[i, j] = draws * K[i, i] / K.trace() * R[j, j] / R.trace()
    counts = dict.fromkeys(expected, 0)
    rng = np.random.default_rng(0)
    for _ in range(draws):
        counts[tuple(map(int, pivoted_cholesky(gram, 2, random_state=rng).pivots))] += 1
    chi_square = sum((counts[pair] - e) ** 2 / e for pair, e in expected.items())
    assert chi_square < 31.3  # exceeded with probability 0.001 for 11 degrees of freedom


def test_weights():
    kernel, X = RBF(0.8), rows(40)
    d = np.where(np.arange(40) % 4 == 1, 0.0, np.random.default_rng(1).uniform(0.1, 3.0, 40))
    low = pivoted_cholesky(Gram(kernel, X), 15, weights=d)
    remainder = d[:, None] * kernel(X) * d - low.factor.T @ low.factor
    check_remainder(low, remainder, 1e-12)
    assert np.all(d[low.pivots] > 0)


def test_stop():
    kernel, X = RBF(2.0), rows(100)
    low, _ = factored(kernel, X, 100, stop=0.5)
    assert low.remainder.sum() <= 0.5
    assert len(low.factor) < 60
    assert factored(kernel, X, len(low.factor) // 2)[0].remainder.sum() > 0.5
    assert factored(kernel, X, 100, stop=100.0)[0].factor.shape == (0, 100)


@each("dtype", [np.float32, np.float64])
@each(
    ("kernel", "X", "true_rank"),
    [
        (RBF(0.5), np.repeat(rows(12), 5, axis=0), 12),
        (Linear(), rows(60, 1), 1),
        (Linear(), rows(300, 2), 2),
        (RBF(1.0), np.ones((30, 2)), 1),
        (Linear(), np.zeros((30, 2)), 0),
    ],
)
def test_matrices_of_low_rank(kernel, X, true_rank, dtype):
    X = X.astype(dtype)
    low, remainder = factored(kernel, X, 50)
    size = max(kernel.diag(X).max(), 1.0)
    assert np.all(np.isfinite(low.factor))
    assert len(low.factor) >= true_rank
    np.testing.assert_allclose(remainder, 0.0, atol=50 * np.finfo(dtype).eps * size)
    if dtype == np.float64:
        assert len(low.factor) == true_rank


def test_strings():
    rng = np.random.default_rng(3)
    words = ["".join(rng.choice(list("ACGT"), 12)) for _ in range(40)]
    full, remainder = factored(Spectrum(2), words, 40)
    assert len(full.factor) == np.linalg.matrix_rank(Spectrum(2)(words))
    np.testing.assert_allclose(remainder, 0.0, atol=1e-11)


def test_the_seed_decides_and_not_the_threads():
    gram = Gram(RBF(0.8), rows(4 * STRIP_COLUMNS + 3))
    first, second = (pivoted_cholesky(gram.on_threads(t), 12, random_state=4) for t in (1, 2))
    assert np.array_equal(first.pivots, second.pivots)
    assert np.array_equal(first.factor, second.factor)
    assert not np.array_equal(first.pivots, pivoted_cholesky(gram, 12, random_state=5).pivots)


def test_some_columns_are_computed_and_no_matrix(peak_of):
    """The proposed block and the columns of the pivots, in strips; the matrix would have 72 MB."""
    gram = Gram(RBF(0.8), rows(3000))
    peak, low = peak_of(lambda: pivoted_cholesky(gram, 20))
    assert low.rank == 20
    assert gram.evaluations == 128**2 + 20 * 3000
    assert peak < 4e6
