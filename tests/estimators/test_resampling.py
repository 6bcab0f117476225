import numpy as np
import pytest
from each_case import each

from representer import Gram
from representer.estimators.resampling import Outcome, combine, dot, forms, forms_of_features
from representer.kernels import RBF, Linear, Spectrum


def signs_of(rng, n, columns):
    return rng.choice(np.array([-1, 1], np.int8), (n, columns))


def naive_forms(H, S):
    H = H - np.diag(H.diagonal())
    S = S.astype(float)
    return np.einsum("ib,ij,jb->b", S, H, S), H.sum(axis=1), S[:, 0] * (H @ S[:, 0])


@each("dtype", [np.float32, np.float64])
@each("n", [2, 30, 300, 700])
@each("shifted", [False, True])
def test_forms_are_those_of_the_dense_matrix(dtype, n, shifted, rng):
    X = rng.normal(size=(n, 3)).astype(dtype)
    kernel = RBF(1.5) * (Linear() + 2.0)
    S = signs_of(rng, n, 7)
    K = kernel(X.astype(float))
    shift = K.mean(axis=1) if shifted else None
    H = K - shift[:, None] - shift if shifted else K
    result = forms(Gram(kernel, X), S, shift=shift)
    values, sums, own = naive_forms(H, S)
    size = np.abs(H).max()
    np.testing.assert_allclose(result.values, values, atol=1e-6 * size * n)
    tolerance = 20 * np.finfo(dtype).eps * size * n
    np.testing.assert_allclose(result.sums, sums, atol=tolerance)
    np.testing.assert_allclose(result.own, own, atol=tolerance)


@pytest.mark.parametrize("block", [2, 3, 33, 100, 300])
def test_forms_of_blocks(block, rng):
    n = 600 // block * block
    X, S = rng.normal(size=(n, 2)), signs_of(rng, n, 3)
    inside = np.equal.outer(np.arange(n) // block, np.arange(n) // block)
    result = forms(Gram(RBF(), X), S, block=block)
    values, _, own = naive_forms(RBF()(X) * inside, S)
    np.testing.assert_allclose(result.values, values, rtol=1e-5, atol=1e-5 * n)
    np.testing.assert_allclose(result.own, own, atol=1e-12 * n)


@pytest.mark.parametrize("block", [None, 5])
def test_forms_of_features_are_those_of_their_matrix(block, rng):
    phi, signs = rng.normal(size=(20, 3)), (2 * rng.integers(0, 2, (20, 4)) - 1).astype(np.int8)
    H = phi @ phi.T
    np.fill_diagonal(H, 0.0)
    if block:
        H *= np.equal.outer(np.arange(20) // block, np.arange(20) // block)
    found, S = forms_of_features(phi, signs, block), signs.astype(float)
    np.testing.assert_allclose(found.values, np.einsum("ib,ij,jb->b", S, H, S), atol=1e-12)
    np.testing.assert_allclose(found.sums, H.sum(axis=1), atol=1e-12)
    np.testing.assert_allclose(found.own, S[:, 0] * (H @ S[:, 0]), atol=1e-12)


def test_results_do_not_depend_on_threads(rng):
    X, S = rng.normal(size=(900, 2)), signs_of(rng, 900, 5)
    one, two = (forms(Gram(RBF(), X, threads=t), S) for t in (1, 2))
    np.testing.assert_array_equal(one.values, two.values)
    np.testing.assert_array_equal(one.own, two.own)


def test_whole_numbers_are_exact(rng):
    words = ["".join(rng.choice(list("ab"), 6)) for _ in range(40)]
    S = signs_of(rng, 40, 6)
    S[:, 3] = S[:, 0]
    S[:, 4] = -S[:, 0]
    result = forms(Gram(Spectrum(2), words), S)
    values, _, _ = naive_forms(Spectrum(2)(words), S)
    np.testing.assert_array_equal(result.values, values)


def test_large_means_are_taken_off_before_rounding(rng):
    """Inputs far from the origin: the linear kernel is about 1e8, the signed sums about 1."""
    X = rng.normal(size=(400, 1)) + 1e4
    S = rng.permuted(np.tile(np.repeat(np.array([1, -1], np.int8), 200), (5, 1)), axis=1).T.copy()
    shift = X.ravel() * X.mean() - X.mean() ** 2 / 2
    values = forms(Gram(Linear(), X), S, shift=shift).values
    C = X - X.mean()
    np.testing.assert_allclose(values, naive_forms(C @ C.T, S)[0], rtol=1e-4, atol=1e-4)


def test_dot(rng):
    v, S = rng.normal(size=(2, 5000)), signs_of(rng, 5000, 3)
    np.testing.assert_allclose(dot(v, S), v @ S.astype(float), atol=1e-10)


def test_pvalue_of_one_row_counts_ties(rng):
    null = np.array([[0.0, 1.0, 2.0, 3.0]])
    slack = np.zeros(1)
    for statistic, expected in [(4.0, 1), (3.0, 2), (2.5, 2), (0.0, 5), (-1.0, 5)]:
        pvalue, pvalues = combine(null, np.array([statistic]), slack)
        assert pvalue == pvalues[0] == expected / 5
    assert combine(null, np.array([3.0 + 1e-9]), slack)[0] == 2 / 5  # rounding does not break a tie
    assert combine(null, np.array([3.0 + 0.1]), np.array([0.2]))[0] == 2 / 5


@pytest.mark.parametrize("observed", [0.5, 1.5, 5.0])
def test_smallest_pvalue_by_counting(observed, rng):
    everything = rng.normal(size=(3, 40)) * np.array([[1.0], [10.0], [0.1]])
    everything[1, 0] = 10.0 * observed
    pvalue, pvalues = combine(everything[:, 1:], everything[:, 0], np.zeros(3))
    ranks = np.array([[np.mean(row >= value) for value in row] for row in everything])
    np.testing.assert_allclose(pvalues, ranks[:, 0])
    z = (everything - everything.mean(axis=1, keepdims=True)) / everything.std(axis=1, keepdims=True)
    keys = []  # the smallest p-value, and among equal ones the largest score
    for b in range(40):
        best = ranks[:, b].min()
        keys.append((best, -max(z[r, b] for r in range(3) if ranks[r, b] == best)))
    assert pvalue == np.mean([key <= keys[0] for key in keys])
    assert pvalue >= pvalues.min()


def test_rows_that_say_the_same_change_nothing(rng):
    null = rng.normal(size=99)
    one = combine(null[None], np.array([1.0]), np.zeros(1))[0]
    assert combine(np.stack([null, 3.0 * null]), np.array([1.0, 3.0]), np.zeros(2))[0] == one
    assert combine(np.stack([null, 0.0 * null]), np.array([1.0, 0.0]), np.zeros(2))[0] == one


def test_outcome_prints():
    text = str(Outcome(0.123456, 0.01, np.zeros(99), RBF(2.0), "99 resamples"))
    assert text == "statistic 0.1235, p = 0.01 (99 resamples; RBF(length_scale=2.0))"
