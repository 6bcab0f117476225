"""Bases: <phi(x), phi(y)> is the kernel, in sums and multiples, too, and functions of coordinates have their values."""

import numpy as np
import pytest
from each_case import each

from representer.functions import Function
from representer.gram.design import Design
from representer.kernels import RBF, FeatureMap, Linear, Quadratic
from representer.kernels.basis import Centres, Concatenated, Points, Rescaled, root_of

X = np.random.default_rng(0).normal(size=(12, 3))
Z = X[:5]


def spanned(kernel, centres, combination=None):
    return Centres.on(kernel, kernel, centres, combination)


KERNELS = [
    Linear(2.0),
    FeatureMap(Quadratic()),
    3.0 * Linear(),
    Linear([1.0, 2.0, 3.0]) + 0.5 * FeatureMap(Quadratic()),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_features_of_finite_kernels_have_its_inner_products(kernel):
    basis = kernel.basis(X)
    phi = Design(basis).features(X)
    assert phi.shape == (12, basis.rank)
    np.testing.assert_allclose(phi @ phi.T, kernel(X), rtol=1e-12, atol=1e-12)
    assert kernel.original is kernel


@each("kernel", KERNELS)
@each("outputs", [(), (2,)])
def test_a_function_of_coordinates_has_the_values_of_the_features(kernel, outputs):
    basis = kernel.basis(X)
    w = np.random.default_rng(1).normal(size=(basis.rank, *outputs))
    f = Function(*basis.representers(w))
    np.testing.assert_allclose(f(X), Design(basis).features(X) @ w, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(f.norm(), np.linalg.norm(w, axis=0), rtol=1e-12)


def test_kernels_without_a_basis_say_so():
    for kernel in (RBF(), RBF() + Linear(), Linear() + RBF(), 2.0 * RBF(), -1.0 * Linear()):
        assert kernel.basis is None


def test_functions_of_coordinates_add_up():
    kernel = FeatureMap(Quadratic())
    basis = kernel.basis(X)
    f, g = (Function(*basis.representers(w)) for w in np.eye(basis.rank)[:2])
    np.testing.assert_allclose((f + g)(X), f(X) + g(X))
    with pytest.raises(TypeError, match="not combined"):
        Points(np.eye(2)).followed_by(X)


def test_centres_span_functions_of_the_kernel():
    basis = spanned(RBF(), Z)
    phi = Design(basis).features(X)
    K = RBF()(X, Z)
    np.testing.assert_allclose(phi @ phi.T, K @ np.linalg.solve(RBF()(Z), K.T), atol=1e-10)
    w = np.arange(5.0)
    kernel, centres, coef = basis.representers(w)
    f = Function(kernel, centres, coef)
    np.testing.assert_allclose(f(X), phi @ w, atol=1e-10)
    np.testing.assert_allclose(f.norm(), np.linalg.norm(w))  # H's own norm


def test_combinations_of_centres_span_less():
    S = np.random.default_rng(2).normal(size=(5, 2))
    basis = spanned(RBF(), Z, S)
    phi = Design(basis).features(X)
    K, M = RBF()(X, Z) @ S, S.T @ RBF()(Z) @ S
    np.testing.assert_allclose(phi @ phi.T, K @ np.linalg.solve(M, K.T), atol=1e-10)
    kernel, centres, coef = basis.representers(np.ones(2))
    np.testing.assert_allclose(Function(kernel, centres, coef)(X), phi.sum(axis=1), atol=1e-10)


def test_repeated_centres_are_left_out():
    basis = spanned(RBF(), np.concatenate([Z, Z]))
    assert basis.rank == 5
    assert basis.size == 10
    R = root_of(RBF()(np.concatenate([Z, Z])))
    np.testing.assert_allclose(R.T @ RBF()(np.concatenate([Z, Z])) @ R, np.eye(5), atol=1e-10)
    with pytest.raises(ValueError, match="All functions of the basis are zero"):
        root_of(np.zeros((3, 3)))


def test_precisions():
    basis = spanned(RBF(), Z)
    single = basis.astype(np.float32)
    assert single.dtype == np.float32
    assert single.astype(np.float32) is single
    np.testing.assert_allclose(Design(single).features(X), Design(basis).features(X), atol=1e-4)
    assert (Linear() + Linear()).basis(X).astype(np.float32).dtype == np.float64


@pytest.mark.parametrize("combination", [None, np.random.default_rng(2).normal(size=(40, 30))])
def test_deflated_functions_have_the_same_span_and_coordinates(combination):
    points = np.random.default_rng(3).normal(size=(60, 3))
    basis = spanned(RBF(2.0), points[:40], combination)
    other = basis.deflated()
    assert other.size == basis.size
    assert other.rank == basis.rank
    np.testing.assert_allclose(Design(other).features(points), Design(basis).features(points), atol=1e-6)
    r = len(other.head)
    head = Design(other).features(points[:40])[:, :r]
    values = np.empty((40, other.size))
    other.fill(other.prepare(points[:40]), values)
    np.testing.assert_allclose(values[:, other.head], head, atol=1e-9)  # the head is orthonormal as it is
    w = np.random.default_rng(4).normal(size=basis.rank)
    assert np.array_equal(other.representers(w)[2], basis.representers(w)[2])
    assert np.array_equal(other.points(w[None]).coordinates, w[None])
    assert other.astype(np.float32).dtype == np.float32


def test_sums_of_deflated_functions_keep_digits_in_float32():
    points = np.random.default_rng(3).normal(size=(3000, 8)).astype(np.float32)
    basis = spanned(RBF(4.0), points[:160].astype(float))
    phi = Design(basis).features(points.astype(float))
    errors = []
    for single in (basis.astype(np.float32), basis.astype(np.float32).deflated()):
        design = Design(single)
        errors.append(np.linalg.norm(design.from_moments(design.second_moments(points)) - phi.T @ phi, 2))
    assert errors[1] < 0.1 * errors[0]


def test_sums_and_multiples_are_deflated_by_parts():
    kernel = 2.0 * RBF()
    left, right = spanned(RBF(), Z), spanned(RBF(3.0), X[:6])
    both = Concatenated(RBF() + RBF(3.0), left, Rescaled(kernel, right, 2.0))
    np.testing.assert_allclose(Design(both.deflated()).features(X), Design(both).features(X), atol=1e-9)
