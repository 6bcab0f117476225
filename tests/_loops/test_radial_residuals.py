"""Strips of radial functions that are used twice: any number of rows, against plain sums."""

import numpy as np
import pytest

from representer._loops import radial_residuals

rng = np.random.default_rng(0)
FUNCTIONS = {
    radial_residuals.EXPONENTIAL: lambda s: np.exp(-s / 2.0),
    radial_residuals.MATERN12: lambda s: np.exp(-np.sqrt(s)),
    radial_residuals.MATERN32: lambda s: (1.0 + np.sqrt(3.0 * s)) * np.exp(-np.sqrt(3.0 * s)),
    radial_residuals.MATERN52: lambda s: (1.0 + np.sqrt(5.0 * s) + 5.0 / 3.0 * s) * np.exp(-np.sqrt(5.0 * s)),
}


@pytest.mark.parametrize("form", FUNCTIONS)
@pytest.mark.parametrize("n", [3, 16, 21])
def test_against_plain_sums(form, n):
    A, B = rng.normal(size=(n, 4)), rng.normal(size=(7, 4))
    B[0] = A[0]  # a distance of zero
    inverse, coef = np.array([1.0, 0.5, 2.0, 1.0]), rng.normal(size=(2, 7))
    s = ((A[:, None] - B) ** 2 * inverse).sum(axis=2)
    K, Y, w = FUNCTIONS[form](s), rng.normal(size=(n, 2)), rng.random(n)
    expected = w[:, None] * (Y - K @ coef.T)
    scaled = [Z * np.sqrt(inverse) for Z in (A, B)]
    norms = [(Z**2).sum(axis=1) for Z in scaled]
    left, right = ((Z, z, raw) for Z, z, raw in zip(scaled, norms, (A, B), strict=True))
    tile = np.empty((8, 7))
    for call in (
        lambda *more: radial_residuals.from_products(left, (*right, inverse), form, *more),
        lambda *more: radial_residuals.from_differences(A, np.ascontiguousarray(B.T), inverse, form, *more),
    ):
        R, out = Y.copy(), np.ones((2, 7))
        call(coef, R, w, tile, out)
        np.testing.assert_allclose(R, expected, atol=1e-12)
        np.testing.assert_allclose(out, 1.0 + expected.T @ K, atol=1e-12)
