import pickle

import naive
import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from representer import _parallel
from representer.kernels import RBF, Intersection, Linear, Pairwise, Sigmoid, Spectrum, Subset
from representer.testing import check_kernel


def rows(n, width=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, width))


L, Z = np.linspace(0.8, 2.0, 3), rows(4, seed=3)
CASES = [
    lambda Z: Pairwise(RBF(L), Z),
    lambda Z: Pairwise(Sigmoid(0.3, 0.1), Z),  # which is not positive semidefinite itself
    lambda Z: Pairwise(0.5 * Pairwise(Linear(L), Z), Z),
]


@pytest.mark.parametrize("case", CASES, ids=["rbf", "indefinite", "nested"])
def test_formulas_and_laws(case):
    naive.check_formulas(case(Z), rows(4), rows(3, seed=1), low_dtype=np.float64)  # anchors are float64
    check_kernel(case(Z), rows(14))
    check_kernel(case(Z.astype(np.float32)), rows(14).astype(np.float32))
    assert case(Z).definite


def test_more_values_than_memory_are_refused(monkeypatch):
    monkeypatch.setattr(_parallel, "machine_memory", lambda: 8 * 7 * 4)
    assert Pairwise(RBF(1.0), Z)(rows(7)).shape == (7, 7)
    with pytest.raises(MemoryError, match="of 8 inputs and 4 points of Z, more than this machine has"):
        Pairwise(RBF(1.0), Z)(rows(8))


def test_sparse():
    X, Y = rows(7), rows(4, seed=1)
    X[np.abs(X) < 0.4] = Y[np.abs(Y) < 0.4] = 0.0
    naive.check_sparse(Pairwise(RBF(L), Z), X, Y, low_dtype=np.float64)


def test_through_all_inputs_it_is_the_square():
    X = rows(8)
    K = RBF(1.3)(X)
    np.testing.assert_allclose(Pairwise(RBF(1.3), X)(X), K @ K, rtol=1e-12)
    np.testing.assert_allclose(Pairwise(Pairwise(RBF(1.3), X), X)(X), K @ K @ K @ K, rtol=1e-12)


def test_strings_and_sets():
    for kernel, X in ((Spectrum(2), ["abab", "bab", "ba", "xyz"]), (Subset(), [{1, 2}, {2}, {3}])):
        assert np.array_equal(Pairwise(kernel, X)(X), kernel(X) @ kernel(X))


def test_anchors_of_the_wrong_width():
    with pytest.raises(ValueError, match="X has 3 columns where the other inputs of RBF have 2"):
        Pairwise(RBF(), rows(4, 2))(rows(3, 3))


@pytest.mark.parametrize(
    ("kernel", "anchors"),
    [
        (RBF(1.5), rows(3)),
        (RBF(), sparse.csr_array(rows(3))),
        (Spectrum(2), ["ab", "abc"]),
        (Intersection(), [{1}, {1, 2}]),
        (Intersection(), [[1], [1, 2]]),
    ],
    ids=["array", "sparse", "strings", "sets", "lists"],
)
def test_clone_and_pickle(kernel, anchors):
    node = Pairwise(kernel, anchors)
    assert clone(node) == pickle.loads(pickle.dumps(node)) == node
    assert node != Pairwise(kernel, anchors[:1])
