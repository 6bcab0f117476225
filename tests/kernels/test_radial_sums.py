"""Residuals by one loop over many rows: those from plain kernel matrices, and only where the loop has the function."""

import numpy as np
import pytest

from representer.gram.design import Design
from representer.kernels import RBF, Matern, RationalQuadratic
from representer.kernels.basis import Centres

rng = np.random.default_rng(0)
rows = rng.normal(size=(700, 12))
w = rng.random(len(rows))
COLUMNS = 3, 12
"""Distances from differences, and from products."""


@pytest.mark.parametrize("columns", COLUMNS)
@pytest.mark.parametrize("nu", [None, 0.5, 1.5, 2.5, np.inf])
def test_against_plain_products(nu, columns):
    kernel = RBF(2.0) if nu is None else Matern(np.resize([1.0, 2.0, 3.0], columns), nu)
    X, (coef, Y) = rows[:, :columns] + 5.0, (rng.normal(size=(n, 2)) for n in (40, len(rows)))
    K = kernel(X, X[:40])
    expected = w[:, None] * (Y - K @ coef)
    for dtype, tol in ((np.float64, 1e-10), (np.float32, 1e-4)):
        design = Design(Centres.on(kernel, kernel, X[:40]).astype(dtype))
        assert design.basis.residuals(design.basis.prepare(X)) is not None
        R = Y.copy()
        sums = design.residuals(X, coef, R, w)
        np.testing.assert_allclose(R, expected, atol=tol * 10)
        np.testing.assert_allclose(sums, K.T @ expected, atol=tol * 100)
        again, alone = Y.copy(), Design(design.basis, threads=1)
        assert np.array_equal(sums, alone.residuals(X, coef, again, w))


class Halved(RBF):
    """A user's kernel with another function of the distance."""

    def phi(self, s):
        super().phi(s)
        s *= 0.5


@pytest.mark.parametrize("kernel", [Halved(2.0), Matern(2.0, 2.0), RationalQuadratic(2.0), 2.0 * RBF(2.0)])
def test_other_functions_have_no_loop(kernel):
    basis = Centres.on(kernel, kernel, rows[:20])
    assert basis.residuals(basis.prepare(rows)) is None
    R, coef = np.ones((len(rows), 1)), rng.normal(size=(20, 1))
    K = kernel(rows, rows[:20])
    np.testing.assert_allclose(Design(basis).residuals(rows, coef, R, w), K.T @ (w[:, None] * (1.0 - K @ coef)))
