"""Fits in the null space of the polynomials, against the saddle system itself and against refits."""

import numpy as np
import pytest
from each_case import each

from representer import Gram
from representer.kernels import RBF, Multiquadric, Polyharmonic, ThinPlate
from representer.solvers.saddle import Polynomials, Restricted, Rotation, Saddle
from representer.testing.kernel_laws import derivative

RNG = np.random.default_rng(0)
X = RNG.uniform(-1.0, 1.0, (30, 2))
Y = np.stack([np.sin(3.0 * X[:, 0]) + X[:, 1], X[:, 0] ** 2 - X[:, 1]], axis=1) + 0.1 * RNG.normal(size=(30, 2))
WEIGHTS = RNG.uniform(0.3, 2.0, 30)
CENTERS = RNG.uniform(-1.0, 1.0, (9, 2))
CASES = [(ThinPlate(), 1), (0.5 * Polyharmonic(4) + RBF(0.7), 2), (Multiquadric(0.5), 0), (RBF(0.4), -1)]
ALL = each(("kernel", "degree"), CASES)


def monomials(X, degree):
    pairs = [(i, j) for i in range(degree + 1) for j in range(degree + 1 - i)]
    return np.stack([X[:, 0] ** i * X[:, 1] ** j for i, j in pairs], axis=1) if pairs else np.empty((len(X), 0))


def saddle(kernel, degree, rows=slice(None), weights=WEIGHTS):
    return Saddle(Gram(kernel, X[rows]), monomials(X[rows], degree), weights[rows])


def restricted(kernel, degree, rows=slice(None), centers=CENTERS, weights=WEIGHTS):
    P = monomials(X[rows], degree), monomials(centers, degree)
    return Restricted(Gram(kernel, X[rows], centers), Gram(kernel, centers), *P, weights[rows])


def values(kernel, degree, solution, Z, centers):
    return kernel(Z, centers) @ solution[0] + monomials(Z, degree) @ solution[1]


@ALL
@each("alpha", [0.0, 0.3])
def test_solves_the_saddle_system(kernel, degree, alpha):
    a, b = saddle(kernel, degree).solve(alpha, Y)
    P, m = monomials(X, degree), b.shape[0]
    system = np.block([[kernel(X) + alpha * np.diag(1.0 / WEIGHTS), P], [P.T, np.zeros((m, m))]])
    expected = np.linalg.solve(system, np.concatenate([Y, np.zeros((m, 2))]))
    np.testing.assert_allclose(np.concatenate([a, b]), expected, rtol=1e-7, atol=1e-8 * np.abs(expected).max())


@ALL
@each("solver", [saddle, restricted])
def test_leaving_one_out_equals_refits(kernel, degree, solver):
    centers = X if solver is saddle else CENTERS
    errors = solver(kernel, degree).leave_one_out(np.array([7.0, 0.3]), Y)[1]
    for i in range(0, 30, 7):
        rest = np.delete(np.arange(30), i)
        fit = solver(kernel, degree, rest).solve(0.3, Y[rest])
        points = X[rest] if centers is X else CENTERS
        expected = Y[i] - values(kernel, degree, fit, X[i : i + 1], points)[0]
        np.testing.assert_allclose(errors[i], expected, rtol=1e-9, atol=1e-11)


@ALL
@each("alpha", [0.0, 0.3])
def test_restricted_fit_has_the_least_objective(kernel, degree, alpha):
    """Normal equations: the gradient is zero along all coefficients that are allowed."""
    a, b = restricted(kernel, degree).solve(alpha, Y)
    P = monomials(CENTERS, degree)
    np.testing.assert_allclose(P.T @ a, 0.0, atol=1e-9)
    residual = WEIGHTS[:, None] * (Y - kernel(X, CENTERS) @ a - monomials(X, degree) @ b)
    by_a = kernel(CENTERS, X) @ residual - alpha * kernel(CENTERS) @ a
    np.testing.assert_allclose(monomials(X, degree).T @ residual, 0.0, atol=1e-9)
    free = np.linalg.svd(P.T)[2][P.shape[1] :] if P.shape[1] else np.eye(len(P))
    np.testing.assert_allclose(free @ by_a, 0.0, atol=1e-9)


@ALL
def test_all_points_as_centers_are_the_saddle_system(kernel, degree):
    Z = RNG.uniform(-1.0, 1.0, (7, 2))
    whole = values(kernel, degree, saddle(kernel, degree).solve(0.1, Y), Z, X)
    part = values(kernel, degree, restricted(kernel, degree, centers=X).solve(0.1, Y), Z, X)
    np.testing.assert_allclose(part, whole, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("solver", [saddle, restricted])
def test_a_weight_of_two_is_a_point_given_twice(solver):
    weights = np.ones(30)
    weights[4] = 2.0
    twice = np.append(np.arange(30), 4)
    one = solver(ThinPlate(), 1, weights=weights).solve(0.2, Y)
    two = solver(ThinPlate(), 1, twice, weights=np.ones(30)).solve(0.2, Y[twice])
    Z = RNG.uniform(-1.0, 1.0, (7, 2))
    points = (X, X[twice]) if solver is saddle else (CENTERS, CENTERS)
    first, second = (values(ThinPlate(), 1, fit, Z, p) for fit, p in zip((one, two), points, strict=True))
    np.testing.assert_allclose(first, second, rtol=1e-10, atol=1e-11)


def test_as_many_points_as_polynomials_is_the_polynomial():
    rows = slice(0, 3)
    a, b = saddle(ThinPlate(), 1, rows).solve(0.0, Y[rows])
    np.testing.assert_allclose(a, 0.0, atol=1e-14)
    np.testing.assert_allclose(monomials(X[rows], 1) @ b, Y[rows], rtol=1e-12)


@each("shape", [(9, 4), (3, 5), (5, 5), (4, 0), (1, 1)])
@each("dependent", [False, True])
def test_rotation(shape, dependent):
    P = RNG.normal(size=shape)
    if dependent and shape[1] > 1:
        P[:, -1] = P[:, 0] - 2.0 * P[:, 1]
    rotation, n = Rotation(P), shape[0]
    assert rotation.rank == (np.linalg.matrix_rank(P) if P.size else 0)
    Q = rotation.forward(np.eye(n))
    np.testing.assert_allclose(Q.T @ Q, np.eye(n), atol=1e-14)
    np.testing.assert_allclose(Q[:, rotation.rank :].T @ P, 0.0, atol=1e-13)
    C = RNG.normal(size=(n, n))
    np.testing.assert_allclose(rotation.back(C.copy(order="F")), Q.T @ C, atol=1e-13)
    np.testing.assert_allclose(rotation.back(C.copy(order="F"), side="R"), C @ Q, atol=1e-13)
    right = P @ RNG.normal(size=(shape[1], 2))
    b = rotation.solve((Q.T @ right)[: rotation.rank])
    np.testing.assert_allclose(b, np.linalg.pinv(P) @ right, atol=1e-11)


def test_a_point_that_decides_alone_has_no_leave_one_out_error():
    """Six points on a line and one beside it: without that one the plane is not determined."""
    line = np.c_[np.linspace(0.0, 1.0, 6), np.zeros(6)]
    points = np.r_[line, [[0.5, 1.0]]]
    kernel, y = ThinPlate(), RNG.normal(size=(7, 1))
    errors = Saddle(Gram(kernel, points), monomials(points, 1), np.ones(7)).leave_one_out(np.array([0.1]), y)[0]
    assert errors[-1] == 0.0
    assert np.all(errors[:-1] != 0.0)


@pytest.mark.parametrize("rows", [[0, 1, 2, 3, 4, 4], [0, 1, 2, 3, 4, 5]])
def test_singular_matrices(rows):
    kernel = ThinPlate() if rows[-1] == 4 else RBF(1e5)
    with pytest.raises(np.linalg.LinAlgError, match="singular to rounding"):
        saddle(kernel, 1, rows).solve(0.0, Y[rows])
    with pytest.raises(np.linalg.LinAlgError, match="singular to rounding"):
        restricted(kernel, 1, centers=X[rows])


@pytest.mark.parametrize(("degree", "number"), [(-1, 0), (0, 1), (2, 6)])
def test_polynomials(degree, number):
    """They span the monomials, and are between -1 and 1 on the data."""
    p = Polynomials.on(100.0 + X, degree)
    P = p(100.0 + X)
    assert P.shape == (30, number)
    assert np.abs(P).max(initial=0.0) <= 1.0 + 1e-12
    assert np.linalg.matrix_rank(np.hstack([P, monomials(X, degree)])) == number
    gradient, direction = p.gradient(X[:3]), np.array([0.6, -0.8])
    assert gradient.shape == (3, number, 2)
    for j in range(number):
        slope = derivative(lambda h, j=j: p(X[:1] + h * direction)[0, j], 1e-3)
        assert gradient[0, j] @ direction == pytest.approx(slope, rel=1e-8, abs=1e-9)
