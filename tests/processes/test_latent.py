"""The map from latent points to data, and the climb to the most likely latent points."""

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import rosen, rosen_der

from representer.kernels import RBF, Linear
from representer.processes.latent import LatentMap, climb
from representer.testing.kernel_laws import derivative

RNG = np.random.default_rng(0)
POINTS = RNG.normal(size=(300, 2))
Y = np.sin(POINTS @ RNG.normal(size=(2, 4)))
NOISE = 0.05


def latent_map(kernel):
    A = kernel(POINTS) + NOISE * np.eye(len(POINTS))
    inverse = np.linalg.inv(A)
    return LatentMap(kernel, kernel.prepare(POINTS), inverse @ Y, inverse, NOISE)


def moments(kernel, Z):
    A, k = kernel(POINTS) + NOISE * np.eye(len(POINTS)), kernel(Z, POINTS)
    covariance = kernel(Z) - k @ np.linalg.solve(A, k.T)
    return k @ np.linalg.solve(A, Y), covariance.diagonal()


@pytest.mark.parametrize("kernel", [1.5 * RBF([0.8, 1.3]), RBF(0.7) + 0.5 * Linear()], ids=repr)
def test_density_is_that_of_the_posterior(kernel):
    Z, new = RNG.normal(size=(260, 2)) * 2.0, RNG.normal(size=(260, 4))  # more than one block of rows
    mean, variance = moments(kernel, Z)
    model = latent_map(kernel)
    np.testing.assert_allclose(model.variance(Z), variance, rtol=1e-7, atol=1e-10)
    value, slope = model.log_density(Z, new)
    expected = stats.norm.logpdf(new, mean, np.sqrt(variance + NOISE)[:, None]).sum(axis=1)
    np.testing.assert_allclose(value, expected, rtol=1e-8)
    direction = RNG.normal(size=Z.shape)
    for i in (0, 100, 259):
        found = derivative(
            lambda h, i=i: model.log_density(Z[i : i + 1] + h * direction[i], new[i : i + 1])[0][0], 1e-3
        )
        assert slope[i] @ direction[i] == pytest.approx(found, rel=1e-6, abs=1e-6)


def test_climb_reaches_the_top_of_hard_hills():
    """Rosenbrock's valley from many starts, and a quadratic whose top differs from row to row."""
    Z = RNG.uniform(-2.0, 2.0, size=(25, 2))
    top = climb(
        lambda Z, rows: (-np.apply_along_axis(rosen, 1, Z), -np.apply_along_axis(rosen_der, 1, Z)),
        Z,
        max_iter=300,
        tol=1e-16,
    )
    np.testing.assert_allclose(top, 1.0, atol=1e-6)
    tops, H = RNG.normal(size=(25, 2)), np.array([[2.0, 1.0], [1.0, 9.0]])

    def quadratic(Z, rows):
        d = Z - tops[rows]
        return -0.5 * np.einsum("ij,ij->i", d @ H, d), -d @ H

    np.testing.assert_allclose(climb(quadratic, Z, tol=1e-16), tops, atol=1e-7)


def test_rows_climb_on_their_own():
    kernel = 1.5 * RBF([0.8, 1.3])
    model, new = latent_map(kernel), Y[:40] + 0.1 * RNG.normal(size=(40, 4))
    together = climb(lambda Z, rows: model.log_density(Z, new[rows]), POINTS[:40])
    alone = [climb(lambda Z, rows, i=i: model.log_density(Z, new[i : i + 1]), POINTS[i : i + 1])[0] for i in range(40)]
    np.testing.assert_allclose(together, np.array(alone), atol=1e-6)
    before, after = model.log_density(POINTS[:40], new)[0], model.log_density(together, new)[0]
    assert np.all(after >= before)
    assert np.all(np.abs(model.log_density(together, new)[1]) < 1.0)


def test_starts_at_the_top_or_on_a_plain_stay():
    flat = climb(lambda Z, rows: (np.zeros(len(Z)), np.zeros_like(Z)), POINTS[:3])
    np.testing.assert_array_equal(flat, POINTS[:3])


def test_a_hill_without_footing_ends_the_search():
    """A slope that lies: no step climbs, so rows stay where they are."""
    stay = climb(lambda Z, rows: (-np.abs(Z).sum(axis=1), np.ones_like(Z)), np.zeros((2, 2)))
    np.testing.assert_array_equal(stay, np.zeros((2, 2)))
