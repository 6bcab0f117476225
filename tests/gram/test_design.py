"""Sums over rows of a basis: against plain products, for any number of threads, in either precision."""

import numpy as np
import pytest

from representer.gram.design import SLAB_ROWS, Design
from representer.kernels import RBF, Linear
from representer.kernels.basis import Centres

rng = np.random.default_rng(0)
X = rng.normal(size=(SLAB_ROWS + 300, 3))
w = rng.random(len(X))


def design(dtype=np.float64, **options):
    return Design(Centres.on(RBF(), RBF(), X[:20]).astype(dtype), **options)


@pytest.mark.parametrize(("dtype", "rtol"), [(np.float64, 1e-12), (np.float32, 2e-6)])
def test_second_moments(dtype, rtol):
    K = RBF()(X, X[:20])
    np.testing.assert_allclose(design(dtype).second_moments(X, w), (K.T * w) @ K, rtol=rtol)
    np.testing.assert_allclose(design(dtype).second_moments(X), K.T @ K, rtol=rtol)


@pytest.mark.parametrize("columns", [2, 7])
def test_products_with_sides_come_with_second_moments(columns):
    K, sides = RBF()(X, X[:20]), rng.normal(size=(len(X), columns))
    G, sums = design(np.float32).moments(X, sides, w)
    np.testing.assert_allclose(sums, (K.T * w) @ sides, atol=2e-5 * len(X) ** 0.5)
    np.testing.assert_array_equal(G, design(np.float32).second_moments(X, w))
    assert np.array_equal(sums, design(np.float32, threads=1).moments(X, sides, w)[1])


def test_second_moments_of_many_columns_are_symmetric():
    wide = rng.normal(size=(50, 600))
    G = Design(Linear().basis(wide)).second_moments(wide)
    np.testing.assert_allclose(G, wide.T @ wide, atol=1e-10)
    assert np.array_equal(G, G.T)


def test_products():
    d = design()
    phi = d.features(X)
    u = rng.normal(size=(20, 2))
    np.testing.assert_allclose(d.values(X, d.to_features(u)), phi @ u, atol=1e-9)
    for few_or_many in (u, np.tile(u, 5)):  # row by row, and by BLAS
        sums = d.backwards(
            X, d.to_features(few_or_many), lambda rows, f: (w[rows, None] * f, f.sum(), np.array([len(f)]))
        )
        f = phi @ few_or_many
        np.testing.assert_allclose(d.from_sums(sums[0]), phi.T @ (w[:, None] * f), rtol=1e-8, atol=1e-8)
        np.testing.assert_allclose(sums[1], f.sum(), atol=1e-8)
        assert sums[2] == len(X)


def test_orthonormal_rows():
    plain, own = design(), design(orthonormal=True)
    np.testing.assert_allclose(own.second_moments(X, w), plain.from_moments(plain.second_moments(X, w)), atol=1e-7)
    phi = plain.features(X)
    np.testing.assert_allclose(own.second_moments(X), phi.T @ phi, atol=1e-9)
    sums = own.backwards(X, np.zeros((20, 1)), lambda rows, f: (w[rows, None],))
    np.testing.assert_allclose(sums[0][:, 0], phi.T @ w, atol=1e-9)
    assert own.size == 20
    assert own.from_moments(np.eye(20)) is not None


def test_bits_do_not_depend_on_threads():
    one, two = (design(np.float32, threads=t).second_moments(X, w) for t in (1, 2))
    assert np.array_equal(one, two)


@pytest.mark.parametrize("columns", [1, 7])
def test_residuals_are_backwards_for_the_squared_loss(columns):
    d, Y = design(), rng.normal(size=(len(X), columns))
    coef, R = rng.normal(size=(20, columns)), Y.copy()
    K = RBF()(X, X[:20])
    sums = d.residuals(X, coef, R, w)
    np.testing.assert_allclose(R, w[:, None] * (Y - K @ coef), atol=1e-10)
    np.testing.assert_allclose(sums, K.T @ R, atol=1e-9)


def test_columns_have_no_root():
    bare = design().columns.basis
    assert bare.root is None
    np.testing.assert_array_equal(Design(bare).features(X), RBF()(X, X[:20]))


def test_strips_fit_a_tile():
    """In powers of two, which divide slabs."""
    rows = [Design(Linear().basis(np.ones((2, m), dtype)))._strip_rows for m in (10, 1000, 10**5) for dtype in "fd"]
    assert rows == [128, 128, 128, 64, 16, 16]
