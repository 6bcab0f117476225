import numpy as np
import pytest
from scipy.optimize import minimize, rosen, rosen_der

from representer.preimage.descent import descend


def rosenbrock(Z, index):
    return rosen(Z.T), rosen_der(Z.T).T


def test_rosenbrock_as_scipy_does(rng):
    start = rng.uniform(0.0, 2.0, size=(10, 4))
    found, values = descend(rosenbrock, start, max_iter=500, tol=1e-16)
    np.testing.assert_allclose(found, 1.0, atol=1e-5)
    np.testing.assert_allclose(values, 0.0, atol=1e-11)
    scipy = [minimize(rosen, z, jac=rosen_der, method="L-BFGS-B", options={"ftol": 1e-16}).x for z in start]
    np.testing.assert_allclose(found, scipy, atol=1e-4)


def test_each_row_has_its_own_function_and_end(rng):
    """Quadratics of very different scale: sharing a step or an end would spoil one of them."""
    centres, scales = rng.normal(size=(7, 3)), 10.0 ** np.arange(-3, 4)
    calls = []

    def objective(Z, index):
        calls.append(len(index))
        difference = Z - centres[index]
        return scales[index] * (difference**2).sum(axis=1), 2.0 * scales[index, None] * difference

    found, _ = descend(objective, np.zeros((7, 3)), max_iter=100, tol=1e-14)
    np.testing.assert_allclose(found, centres, atol=1e-6)
    for r in range(7):
        alone, _ = descend(lambda Z, i, r=r: objective(Z, i + r), np.zeros((1, 3)), max_iter=100, tol=1e-14)
        np.testing.assert_array_equal(found[r], alone[0])
    assert calls[0] == 7


def test_quadratic_in_few_calls(rng):
    """L-BFGS finds the minimum of |z - c|^2 as soon as it knows the curvature."""
    calls = []

    def objective(Z, index):
        calls.append(1)
        return ((Z - 3.0) ** 2).sum(axis=1), 2.0 * (Z - 3.0)

    found, _ = descend(objective, rng.normal(size=(5, 4)), max_iter=100, tol=1e-12)
    np.testing.assert_allclose(found, 3.0, atol=1e-6)
    assert len(calls) <= 5


@pytest.mark.parametrize("max_iter", [1, 2, 5, 50])
def test_never_up(rng, max_iter):
    def waves(Z, index):
        return np.sin(5.0 * Z).sum(axis=1) + 0.1 * (Z**2).sum(axis=1), 5.0 * np.cos(5.0 * Z) + 0.2 * Z

    start = 3.0 * rng.normal(size=(50, 2))
    found, values = descend(waves, start, max_iter=max_iter, tol=1e-12, step=10.0)
    assert np.all(values <= waves(start, None)[0])
    np.testing.assert_array_equal(values, waves(found, None)[0])


def test_lower_bound_is_kept():
    def objective(Z, index):
        assert np.all(Z >= 0.0)
        return ((Z - [-1.0, 2.0]) ** 2).sum(axis=1), 2.0 * (Z - [-1.0, 2.0])

    found, _ = descend(objective, np.ones((1, 2)), max_iter=100, tol=1e-14, low=0.0)
    np.testing.assert_allclose(found, [[0.0, 2.0]], atol=1e-5)


def test_start_at_the_minimum_stays():
    found, _ = descend(lambda Z, i: (np.zeros(2), np.zeros((2, 3))), np.ones((2, 3)), max_iter=5, tol=1e-9)
    np.testing.assert_array_equal(found, np.ones((2, 3)))
