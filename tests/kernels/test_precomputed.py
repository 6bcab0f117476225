import numpy as np
import pandas as pd
import pytest
from each_case import each
from scipy import sparse

from representer import SVC, KernelRidge
from representer.kernels import RBF, Callable, FeatureMap, On, Precomputed
from representer.kernels.tiles import block
from representer.testing import check_kernel


def rows(n, width=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, width))


@pytest.fixture
def K():
    return RBF(1.3)(rows(8))


# ---- a Gram matrix ----


def test_laws(K):
    check_kernel(Precomputed(), K)
    check_kernel(Precomputed(), K.astype(np.float32))
    check_kernel(0.5 * Precomputed() ** 2 + 1.0, K)


def test_values_are_those_given(K):
    assert np.array_equal(Precomputed()(K), K)
    assert np.array_equal(Precomputed().diag(K), K.diagonal())
    assert np.array_equal(Precomputed()(K[:3], K), K[:3])
    assert Precomputed()(K.astype(np.float32)).dtype == np.float32
    assert np.array_equal(Precomputed()(sparse.csr_array(K)), K)
    assert np.array_equal(Precomputed()(K.tolist()), K)


def test_rows_of_training_inputs_slice(K):
    """As in cross-validation: some training inputs in any order, and new inputs against them."""
    prepared = Precomputed().prepare(K)
    some, others = np.array([5, 0, 3]), np.array([1, 7])
    assert np.array_equal(block(Precomputed(), prepared[some]), K[np.ix_(some, some)])
    assert np.array_equal(block(Precomputed(), prepared[others], prepared[some]), K[np.ix_(others, some)])
    assert np.array_equal(Precomputed().diagonal(prepared[some]), K.diagonal()[some])
    new = RBF(1.3)(rows(2, seed=1), rows(8))
    assert np.array_equal(Precomputed()(new, K), new)


def test_the_users_matrix_is_left_alone(K):
    before = K.copy()
    kernel = 3.0 * Precomputed()
    kernel.diag(K)
    kernel(K)
    assert np.array_equal(K, before)
    one = np.array([[2.0]])
    assert kernel.diag(one) == 6.0
    assert one == 2.0


def test_what_is_not_known(K):
    kernel = Precomputed()
    new = kernel.prepare(K[:2], like=kernel.prepare(K))
    with pytest.raises(ValueError, match="between two sets of new inputs are not known"):
        block(kernel, new, new)
    with pytest.raises(ValueError, match=r"k\(x, x\) of new inputs is not known"):
        kernel.diagonal(new)
    with pytest.raises(TypeError, match="Precomputed has no gradient with respect to its inputs"):
        Precomputed().input_gradient(K, K, np.ones((8, 8)))
    assert Precomputed().contract(K, np.ones((8, 8))) == {}


def test_bad_matrices(K):
    with pytest.raises(ValueError, match=r"must be square, but X has shape \(3, 8\)"):
        Precomputed()(K[:3])
    with pytest.raises(ValueError, match="X has 5 columns, but there are 8 training inputs"):
        Precomputed()(K[:, :5], K)
    with pytest.raises(ValueError, match="NaN or infinite"):
        Precomputed()(np.where(np.eye(8), np.nan, K))
    K[2, 5] += 0.25
    with pytest.raises(ValueError, match=r"not symmetric \(entries differ by up to 0.25\)"):
        Precomputed()(K)


def test_rounding_is_not_asymmetry(K):
    noisy = K + 1e-12 * rows(8, 8)
    assert np.array_equal(Precomputed()(noisy), Precomputed()(noisy).T)


# ---- a user's function ----


def linear_block(X, Y):
    return X @ Y.T


@pytest.mark.parametrize("kernel", [Callable(linear_block), Callable(np.dot, pairs=True)], ids=["block", "pairs"])
def test_own_function(kernel):
    X, Y, W = rows(8), rows(4, seed=1), rows(8, 4, seed=2)
    np.testing.assert_allclose(kernel(X, Y), X @ Y.T, rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(kernel.diag(X), (X * X).sum(axis=1))
    np.testing.assert_allclose(kernel.input_gradient(X, Y, W), W @ Y, atol=1e-8)
    check_kernel(kernel, X)
    check_kernel(2.0 * kernel + RBF(), X)
    assert kernel(X.astype(np.float32)).dtype == np.float32


def test_own_function_of_many_rows():
    X = rows(300)
    np.testing.assert_allclose(Callable(linear_block)(X), X @ X.T, rtol=1e-12, atol=1e-13)


def test_own_function_of_any_inputs():
    common = Callable(lambda x, y: float(len(set(x) & set(y))), pairs=True)
    words = ["abc", "bcd", "xyz", ""]
    assert common(words)[0].tolist() == [3.0, 2.0, 0.0, 0.0]
    check_kernel(common, words, gradients=False)
    with pytest.raises(TypeError, match="Callable has no gradient with respect to its inputs"):
        common.input_gradient(words, words, np.ones((4, 4)))
    assert common.contract(words, np.ones((4, 4))) == {}
    assert On(common, "word")(pd.DataFrame({"word": words}))[0].tolist() == [3.0, 2.0, 0.0, 0.0]


class Chain:
    """A graph as networkx has it: iterating gives the names of its nodes, which numpy takes for a row of numbers."""

    def __init__(self, *nodes):
        self.nodes = nodes

    def __len__(self):
        return len(self.nodes)

    def __iter__(self):
        return iter(self.nodes)

    def __getitem__(self, node):
        return self.nodes[node]


def test_own_function_of_objects_with_a_length():
    graphs = [Chain(0, 1, 2), Chain(3, 4, 5), Chain(0, 5, 2)]
    common = Callable(lambda g, h: len(set(g.nodes) & set(h.nodes)), pairs=True)
    assert common(graphs).tolist() == [[3.0, 0.0, 2.0], [0.0, 3.0, 1.0], [2.0, 1.0, 3.0]]
    ends = FeatureMap(lambda graphs: np.array([[g.nodes[0], g.nodes[-1]] for g in graphs], float))
    assert ends(graphs)[0].tolist() == [4.0, 10.0, 4.0]


def test_own_function_of_a_data_frame():
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [4.0, 5.0, 6.0]})
    np.testing.assert_allclose(Callable(np.dot, pairs=True)(frame), frame.to_numpy() @ frame.to_numpy().T)
    np.testing.assert_allclose(On(Callable(np.dot, pairs=True), ["a"])(frame), np.outer(frame["a"], frame["a"]))


@each(
    ("format", "dtype"),
    [*((format, np.float64) for format in ("bsr", "coo", "csc", "csr", "dia", "dok", "lil")), ("csr", np.float32)],
)
def test_own_function_of_a_sparse_matrix(format, dtype):
    X = rows(5).round(1).astype(dtype)
    X[np.abs(X) < 0.6] = 0.0
    for kind in (sparse.coo_array, sparse.coo_matrix):
        thin = kind(X).asformat(format)
        for kernel in (Callable(linear_block), Callable(lambda x, y: x.multiply(y).sum(), pairs=True)):
            K = kernel(thin)
            assert K.dtype == dtype
            np.testing.assert_allclose(K, X @ X.T, atol=1e-5)
            np.testing.assert_allclose(kernel(thin, thin.tocsr()[:2]), X @ X[:2].T, atol=1e-5)
            np.testing.assert_allclose(kernel.diag(thin), (X * X).sum(axis=1), rtol=1e-5)


@pytest.mark.parametrize("Model", [SVC, KernelRidge])
def test_own_function_of_a_sparse_matrix_in_an_estimator(Model):
    X = rows(30).round()
    y = np.where(X[:, 0] > X[:, 1], 1.0, -1.0)
    thin, dense = (Model(kernel=Callable(linear_block)).fit(Z, y) for Z in (sparse.csc_array(X), X))
    np.testing.assert_allclose(thin.predict(sparse.coo_matrix(X)), dense.predict(X), rtol=1e-6)


def test_own_function_of_the_wrong_shape():
    with pytest.raises(
        ValueError, match=r"function returned shape \(4,\) for 4 and 4 inputs; return all pairs, or use"
    ):
        Callable(lambda X, Y: X[:, 0])(rows(4))


def test_own_function_of_bad_inputs():
    with pytest.raises(ValueError, match="NaN or infinite"):
        Callable(linear_block)(np.full((2, 2), np.nan))
    with pytest.raises(ValueError, match="X is empty"):
        Callable(linear_block)([])
    with pytest.raises(ValueError, match="NaN or infinite"):
        Callable(linear_block)(sparse.lil_array(np.full((2, 2), np.nan)))
    with pytest.raises(ValueError, match="pairs is 'no'; it must be True or False"):
        Callable(linear_block, pairs="no")(rows(3))
    with pytest.raises(TypeError, match="X is a single str"):
        Callable(linear_block)("abc")
