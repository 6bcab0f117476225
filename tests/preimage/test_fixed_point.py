import naive
import numpy as np
import pytest
from preimage_cases import NESTED, POINTS, RADIAL, inputs, random_function, representers
from scipy import sparse

from representer import Function
from representer.kernels import RBF, Linear, Matern, RationalQuadratic
from representer.preimage.fixed_point import _evaluate, fixed_point
from representer.preimage.gradient import gradient
from representer.preimage.target import Target


@pytest.mark.parametrize("case", RADIAL)
def test_finds_the_input_of_a_representer(case):
    f = representers(RADIAL[case], POINTS, inputs())
    np.testing.assert_allclose(fixed_point(Target(f)), POINTS, atol=5e-3 if case == "Matern" else 1e-4)


def test_step_is_the_textbook_mean(rng):
    """z <- sum_i a_i k(z, x_i) x_i / sum_i a_i k(z, x_i) for the RBF kernel."""
    X, a, Z = inputs(), rng.uniform(size=(60, 4)), rng.normal(size=(4, 3))
    scale = np.array([0.5, 1.0, 2.0])
    target = Target(Function(3.0 * RBF(scale), X, a))
    squares, means, good = _evaluate(target, Z, np.arange(4))
    assert np.all(good)
    for o in range(4):
        weights = np.array([a[i, o] * naive.rbf(Z[o], X[i], scale) for i in range(60)])
        np.testing.assert_allclose(means[o], weights @ X / weights.sum(), rtol=1e-10)
    np.testing.assert_allclose(squares, target.squared_distances(Z, np.arange(4)), rtol=1e-12)


@pytest.mark.parametrize(
    "kernel", [RBF(1.0), Matern(1.0, nu=1.5), RationalQuadratic(0.7), Matern(1.0, nu=0.5)], ids=repr
)
def test_ends_are_as_low_as_those_of_the_gradient(kernel, rng):
    """Coefficients of both signs: sums of weights vanish, and halved steps and the gradient take over."""
    target = Target(random_function(kernel, rng, outputs=40))
    numbers = np.arange(40)
    by_mean = target.squared_distances(fixed_point(target, n_starts=4), numbers)
    by_gradient = target.squared_distances(gradient(target, n_starts=4), numbers)
    assert np.all(by_mean <= target.to_training().min(axis=1) + 1e-12)
    assert np.mean(by_mean <= by_gradient + 1e-6) >= 0.9


def test_some_sums_of_weights_do_vanish(rng):
    target = Target(random_function(RBF(1.0), rng, outputs=40))
    good = _evaluate(target, target.X[target.nearest()[:, 0]] + 1.0, np.arange(40))[2]
    assert 0 < good.sum() < 40


def test_sparse_inputs_give_the_same(rng):
    X = rng.normal(size=(30, 5)) * (rng.uniform(size=(30, 5)) > 0.6)
    coef = rng.uniform(size=(30, 3)) / 30
    dense = fixed_point(Target(Function(RBF(2.0), X, coef)))
    thin = fixed_point(Target(Function(RBF(2.0), sparse.csr_array(X), coef)))
    np.testing.assert_allclose(thin, dense, atol=1e-5)


def test_inputs_far_from_the_origin(rng):
    X, coef = inputs(), rng.uniform(size=60) / 60
    near = fixed_point(Target(Function(RBF(2.0), X, coef)))
    far = fixed_point(Target(Function(RBF(2.0), X + 1e6, coef)))
    np.testing.assert_allclose(far - 1e6, near, atol=1e-5)


@pytest.mark.parametrize("kernel", [Linear(), NESTED["sum"], NESTED["periodic"]], ids=repr)
def test_other_kernels_are_refused(kernel):
    with pytest.raises(ValueError, match=r"not a function of the distance alone.*method='gradient'"):
        fixed_point(Target(Function(kernel, inputs(), np.ones(60))))
