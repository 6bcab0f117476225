import naive
import numpy as np
import pytest
from each_case import each
from scipy import sparse

from representer import SVC, Gram
from representer.kernels import Jaccard, MinMax, Spectrum, Tanimoto, WeisfeilerLehman
from representer.kernels.fingerprints import BitRows
from representer.kernels.prepared import SparseVectors
from representer.testing import check_gram, check_kernel

KERNELS = each("kernel", [Tanimoto(), MinMax()])


def fingerprints(n, d=70, seed=0):
    rng = np.random.default_rng(seed)
    X = (rng.random((n, d)) < 0.2).astype(float)
    X[0] = 0.0
    return X


def counts(n, seed=0):
    return np.random.default_rng(seed).poisson(1.0, (n, 9)).astype(float)


@KERNELS
@each("X", [fingerprints(12), counts(12)])
def test_equal_to_the_formula(kernel, X):
    expected = naive.matrix(kernel, X)
    for rows in (X, X.astype(np.float32), X.astype(int), sparse.csr_array(X)):
        np.testing.assert_allclose(kernel(rows), expected, rtol=1e-6)
        np.testing.assert_allclose(kernel(rows[:5], rows[3:]), expected[:5, 3:], rtol=1e-6)
    np.testing.assert_allclose(kernel(X), expected, rtol=1e-15)
    assert kernel(X.astype(np.float32)).dtype == np.float32


@KERNELS
def test_laws(kernel):
    check_kernel(kernel, np.random.default_rng(1).random((8, 3)) + 0.1)
    check_kernel(kernel, fingerprints(9), gradients=False)
    check_kernel(kernel, sparse.csr_array(counts(9)), gradients=False)
    check_gram(kernel, fingerprints(9))
    check_kernel(Tanimoto(), np.random.default_rng(2).normal(size=(8, 3)))  # any real numbers


@KERNELS
def test_bits_and_counts_on_two_sides(kernel):
    X, Y = fingerprints(5, 9), counts(6)
    assert isinstance(kernel.prepare(X), BitRows)
    np.testing.assert_allclose(kernel(X, Y), naive.matrix(kernel, X, Y), rtol=1e-14)
    np.testing.assert_allclose(kernel(Y, sparse.csr_array(X)), naive.matrix(kernel, Y, X), rtol=1e-14)


def test_of_bits_it_is_jaccard():
    X = fingerprints(12)
    sets = [set(np.flatnonzero(row)) for row in X]
    for kernel in (Tanimoto(), MinMax()):
        np.testing.assert_allclose(kernel(X), Jaccard()(sets), rtol=1e-15)


@pytest.mark.parametrize("columns", [1, 8, 64, 70, 2048])
def test_packed_bits(columns):
    X = fingerprints(6, columns)
    packed = np.packbits(X.astype(bool), axis=1)
    assert np.array_equal(Tanimoto(packed=True)(packed), Tanimoto()(X))
    assert np.array_equal(MinMax(packed=True)(packed[:2], packed), Tanimoto()(X[:2], X))


def test_packed_bits_in_an_estimator():
    X = fingerprints(40)
    y = X[:, :35].sum(axis=1) > X[:, 35:].sum(axis=1)
    packed = np.packbits(X.astype(bool), axis=1)
    model = SVC(kernel=Tanimoto(packed=True)).fit(packed, y)
    assert np.array_equal(model.predict(packed), SVC(kernel=Tanimoto()).fit(X, y).predict(X))


def test_comparing_counts():
    words = ["abab", "abc", "bcbca", ""]
    values, _ = Spectrum(2).features(words)
    for kernel in (Tanimoto(), MinMax()):
        K = Spectrum(2, compare=kernel)
        np.testing.assert_allclose(K(words), kernel(values), rtol=1e-15)
        check_kernel(K, words)
    assert WeisfeilerLehman(2, compare=MinMax()).definite


def test_many_tiles():
    X = fingerprints(700, 100)
    v = np.arange(700.0)
    np.testing.assert_allclose(Gram(Tanimoto(), X) @ v, Tanimoto()(X) @ v)


def test_bad_inputs():
    with pytest.raises(ValueError, match="MinMax compares histograms"):
        MinMax()([[-1.0, 2.0]])
    with pytest.raises(TypeError, match="packed=True takes rows of bytes"):
        Tanimoto(packed=True)(np.eye(3))
    with pytest.raises(ValueError, match="X has 2 bytes a row, and the other inputs 1"):
        Tanimoto(packed=True)(np.zeros((1, 2), np.uint8), np.zeros((1, 1), np.uint8))
    with pytest.raises(ValueError, match="3 columns where the other inputs of Tanimoto have 4"):
        Tanimoto()(np.eye(3), np.eye(4))


@KERNELS
def test_lists_of_ones_where_rows_share_few(kernel):
    X = np.random.default_rng(0).random((30, 2048)) < 0.01
    A = kernel.prepare(X)
    assert isinstance(A, SparseVectors)
    assert isinstance(kernel.prepare(~X[:3], like=A), SparseVectors)
    np.testing.assert_allclose(kernel(X), naive.matrix(kernel, X.astype(float), X.astype(float)), rtol=1e-15)
    assert np.array_equal(kernel(~X[:3], X), kernel(np.asarray(~X[:3]).astype(np.uint8), X))
