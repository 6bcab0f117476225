"""The bound through landmarks against dense formulas, the exact likelihood and differences."""

import numpy as np
import pytest
from each_case import each
from scipy import stats
from sklearn.base import clone

from representer.kernels import RBF, Linear, Matern, Polynomial
from representer.processes.likelihood import log_marginal_likelihood
from representer.processes.variational import Landmarks, along_diagonal, vjp_diagonal
from representer.testing.kernel_laws import derivative

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 2))
Y = np.sin(X) @ RNG.normal(size=(2, 3)) + 0.1 * RNG.normal(size=(40, 3))
U = RNG.normal(size=(7, 2))
NOISE = 0.2
KERNELS = [
    1.5 * RBF([0.8, 1.3]),
    0.7 * Matern(1.2, nu=2.5) + 0.3 * Linear(),
    0.5 * RBF(2.0) * (Polynomial(2, 0.5, 1.5) + 1.0),
]
ALL = each("kernel", KERNELS)


def landmarks(kernel, X=X, U=U, noise=NOISE, Y=Y):
    A = kernel.prepare(X)
    return Landmarks(kernel, A, kernel.prepare(U, like=A), Y, noise)


def dense_bound(kernel):
    K_u, k = kernel(U), kernel(X, U)
    K_u += 1e-8 * K_u.diagonal().mean() * np.eye(len(U))
    Q = k @ np.linalg.solve(K_u, k.T)
    density = stats.multivariate_normal(cov=Q + NOISE * np.eye(len(X)))
    rest = (kernel.diag(X) - Q.diagonal()).sum()
    return sum(density.logpdf(y) - 0.5 * rest / NOISE for y in Y.T)


@ALL
def test_bound_is_that_of_the_dense_formula(kernel):
    assert landmarks(kernel).bound().value == pytest.approx(dense_bound(kernel), rel=1e-9)


@ALL
def test_bound_is_below_the_likelihood_and_reaches_it(kernel):
    exact = log_marginal_likelihood(kernel, kernel.prepare(X), Y, np.full(len(X), NOISE)).value
    values = [landmarks(kernel, U=X[:m]).bound().value for m in (3, 10, 20, 40)]
    assert np.all(np.diff(values) > 0)
    assert values[-2] < exact
    assert values[-1] == pytest.approx(exact, abs=1e-4)


@ALL
def test_gradient_equals_differences(kernel):
    result = landmarks(kernel).bound()
    start = {
        name: np.asarray(kernel.get_params()[name] or 1.0, float)
        if np.ndim(kernel.get_params()[name]) == 0
        else np.asarray(kernel.get_params()[name])
        for name in result.gradients
    }
    along = {name: value * RNG.uniform(0.5, 1.0, value.shape) for name, value in start.items()}
    by_x, by_u = RNG.normal(size=X.shape), RNG.normal(size=U.shape)

    def value(h, x=0, u=0, theta=0, noise=0):
        changed = {name: (start[name] + theta * h * along[name])[()] for name in start}
        moved = clone(kernel).set_params(**changed)
        return landmarks(moved, X + x * h * by_x, U + u * h * by_u, NOISE + noise * h).bound().value

    expected = {
        "x": np.vdot(result.by_inputs, by_x),
        "u": np.vdot(result.by_landmarks, by_u),
        "theta": sum(np.vdot(result.gradients[name], along[name]) for name in start),
        "noise": result.by_noise,
    }
    for what, slope in expected.items():
        found = derivative(lambda h, what=what: value(h, **{what: 1}), 1e-3)
        assert slope == pytest.approx(found, rel=1e-6), what


@ALL
def test_posterior_is_that_of_the_dense_formula(kernel):
    Z = RNG.normal(size=(5, 2))
    sparse = landmarks(kernel)
    K_u, k, z = kernel(U), kernel(X, U), kernel(Z, U)
    S = K_u + k.T @ k / NOISE
    np.testing.assert_allclose(z @ sparse.mean, z @ np.linalg.solve(S, k.T @ Y) / NOISE, rtol=1e-5, atol=1e-7)
    expected = z @ (np.linalg.inv(K_u) - np.linalg.inv(S)) @ z.T
    np.testing.assert_allclose(z @ sparse.reduction @ z.T, expected, rtol=1e-4, atol=1e-6)


def test_all_inputs_as_landmarks_are_the_exact_posterior():
    kernel, Z = KERNELS[0], RNG.normal(size=(5, 2))
    sparse, A, z = landmarks(kernel, U=X), kernel(X) + NOISE * np.eye(40), kernel(Z, X)
    np.testing.assert_allclose(z @ sparse.mean, z @ np.linalg.solve(A, Y), atol=1e-5)
    np.testing.assert_allclose(z @ sparse.reduction @ z.T, z @ np.linalg.solve(A, z.T), atol=1e-5)


@ALL
def test_gradient_of_the_diagonal(kernel):
    X, w = RNG.normal(size=(70, 2)), RNG.normal(size=70)
    direction = RNG.normal(size=X.shape)
    A = kernel.prepare(X)
    gradients, by_inputs = vjp_diagonal(kernel, A, w), along_diagonal(kernel, A, w)
    found = derivative(lambda h: float(w @ kernel.diag(X + h * direction)), 1e-3)
    assert np.vdot(by_inputs, direction) == pytest.approx(found, rel=1e-8, abs=1e-9)
    assert gradients.keys() == kernel.contract(X, np.diag(w)).keys()
    for name, value in kernel.contract(X, np.diag(w)).items():
        np.testing.assert_allclose(gradients[name], value, rtol=1e-9, atol=1e-9)


def test_equal_landmarks_are_no_trouble():
    twice = landmarks(KERNELS[0], U=np.repeat(U, 2, axis=0)).bound()
    assert twice.value == pytest.approx(landmarks(KERNELS[0]).bound().value, abs=1e-3)


def test_impossible_landmarks():
    with pytest.raises(np.linalg.LinAlgError, match="landmarks"):
        landmarks(-1.0 * RBF())
