import numpy as np
import pytest

from representer import Gram
from representer.kernels import RBF, Linear, Sigmoid, Spectrum
from representer.kernels.differences import Differences


def rows(n, seed=0):
    return np.random.default_rng(seed).normal(size=(n, 2))


@pytest.mark.parametrize(
    ("kernel", "X", "Y"),
    [(RBF(0.8), rows(5), rows(5, seed=1)), (Spectrum(1), ["ab", "b", "aa"], ["c", "abc", "b"])],
    ids=["rows", "strings"],
)
def test_inner_products_of_differences(kernel, X, Y):
    h = Differences(kernel)
    expected = kernel(X) + kernel(Y) - kernel(X, Y) - kernel(Y, X)
    np.testing.assert_allclose(h((X, Y)), expected, atol=1e-14)
    A = h.prepare((X, Y))
    np.testing.assert_allclose(h.diagonal(A), expected.diagonal(), atol=1e-14)
    np.testing.assert_allclose(Gram.of(h, A[:2], A).dense(), expected[:2], atol=1e-14)
    assert np.linalg.eigvalsh(h((X, Y)))[0] > -1e-13


def test_strings_that_were_prepared_apart():
    A, B = (Spectrum(1).prepare(words) for words in (["ab"], ["abc"]))
    assert Gram.of(Spectrum(1), A, B).dense().tolist() == [[2.0]]


def test_of_two_sets_of_pairs():
    (X, Y), (U, V) = (rows(4), rows(4, 1)), (rows(3, 2), rows(3, 3))
    K = Differences(Linear())((X, Y), (U, V))
    np.testing.assert_allclose(K, (X - Y) @ (U - V).T, atol=1e-14)


def test_facts():
    assert not Differences(RBF()).on_vectors
    assert Differences(RBF()).definite
    assert not Differences(Sigmoid()).definite
