import numpy as np

from representer import Gram
from representer._loops import products
from representer.kernels import RBF
from representer.kernels.read_only import readable


def locked(array):
    array.flags.writeable = False
    return array


def test_the_same_memory():
    X = locked(np.arange(6.0).reshape(3, 2))
    view = readable(X)
    assert np.shares_memory(view, X)
    assert (view.flags.writeable, X.flags.writeable) == (True, False)
    assert readable(view) is view
    del X
    assert np.array_equal(view, [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]])  # which it keeps alive


def test_loops_are_not_compiled_once_more(rng):
    X, v = rng.normal(size=(5, 9)), rng.normal(size=5)
    expected = RBF()(X) @ v
    _ = Gram(RBF(), X) @ v
    before = len(products.apply.signatures), len(products.inner_products.signatures)
    np.testing.assert_allclose(Gram(RBF(), locked(X.copy())) @ locked(v.copy()), expected, rtol=1e-12)
    assert (len(products.apply.signatures), len(products.inner_products.signatures)) == before
    assert RBF().prepare(locked(X)).values.flags.writeable
