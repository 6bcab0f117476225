import numpy as np
import pytest
from each_case import each
from preimage_cases import NESTED, POINTS, PRODUCTS, RADIAL, inputs, random_function, representers
from scipy.optimize import minimize

from representer import Function
from representer.kernels import RBF, Chi2, HistogramIntersection, Linear, Spectrum
from representer.preimage.gradient import gradient
from representer.preimage.target import Target

CASES = RADIAL | PRODUCTS | NESTED


@each("case", CASES)
def test_finds_the_input_of_a_representer(case):
    f = representers(CASES[case], POINTS, inputs())
    np.testing.assert_allclose(gradient(Target(f)), POINTS, atol=5e-3 if case == "Matern" else 2e-4)


def test_gradient_vanishes_where_it_ends(rng):
    target = Target(random_function(NESTED["sum"], rng))
    found = gradient(target, tol=1e-15)
    squares, slopes = target.with_gradients(found, np.arange(6))
    assert np.abs(slopes).max() < 1e-5 * squares.max()


def test_as_low_as_scipy_from_the_same_start(rng):
    target = Target(random_function(RBF(2.0), rng))
    found = target.squared_distances(gradient(target, n_starts=1, tol=1e-13), np.arange(6))
    for o in range(6):
        start = target.X[target.nearest()[o, 0]]
        one = np.array([o])
        result = minimize(lambda z, one=one: target.squared_distances(z[None], one)[0], start, tol=1e-10)
        assert found[o] <= result.fun + 1e-6 or found[o] == pytest.approx(result.fun, rel=1e-3)


def test_more_starts_are_never_worse(rng):
    target = Target(random_function(RBF(0.7), rng, outputs=20))
    numbers = np.arange(20)
    squares = [target.squared_distances(gradient(target, n_starts=s), numbers) for s in (1, 2, 8)]
    assert np.all(squares[1] <= squares[0] + 1e-12)
    assert np.all(squares[2] <= squares[1] + 1e-12)
    assert np.any(squares[2] < squares[0] - 1e-3)


@pytest.mark.parametrize("kernel", [Chi2(), HistogramIntersection()], ids=repr)
def test_histograms_stay_above_zero(kernel, rng):
    X = rng.uniform(size=(12, 4)) * (rng.uniform(size=(12, 4)) > 0.5)
    target = Target(Function(kernel, X, np.append(np.full(6, 0.3), np.full(6, -0.1))))
    found = gradient(target)
    assert np.all(found >= 0)
    assert target.squared_distances(found, np.zeros(1, int)) <= target.to_training().min() + 1e-12


def test_more_rows_than_fit_one_batch(rng):
    X = inputs()
    coef = np.zeros((60, 300))
    coef[rng.integers(0, 60, 300), np.arange(300)] = 1.0
    found = gradient(Target(Function(Linear(), X, coef)), n_starts=2)
    np.testing.assert_allclose(found, coef.T @ X, atol=1e-6)


def test_no_gradient_says_what_to_do():
    with pytest.raises(TypeError, match=r"no gradient .* use method='search'"):
        gradient(Target(Function(Spectrum(2), ["ab", "ba"], np.ones(2))))
