from dataclasses import replace

import numpy as np
import pytest
from each_case import each
from ridge_cases import WITH, leave_one_out, problem, values
from sklearn.base import clone

from representer import Gram
from representer.kernels import RBF, Linear, Matern, Polynomial, RationalQuadratic
from representer.solvers.leave_one_out import loo_bytes, loo_error

KERNELS = each(
    "kernel",
    [
        RBF(1.3),
        RBF([0.7, 2.0]),
        RationalQuadratic(1.2, mixture=0.8),
        0.5 * Matern(0.9, nu=2.5) + Linear(2.0) * RBF(1.5) + 0.3,
        Polynomial(degree=2, offset=0.5, length_scale=1.5),
    ],
)


def positive(weighted, intercept, kernel=None, targets=2, n=24, alpha=0.4):
    p = problem(False, intercept, [alpha] * targets, n=n, kernel=kernel)
    return replace(p, weights=np.random.default_rng(7).uniform(0.3, 2.0, n) if weighted else None)


def difference(f, step):
    """The derivative of f at 0 by differences of order eight."""
    coefficients = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}
    return sum(c * (f(k * step) - f(-k * step)) for k, c in coefficients.items()) / step


@WITH
def test_value_equals_n_fits(weighted, intercept):
    p = positive(weighted, intercept)
    value, _, _ = loo_error(p)
    K = values(p)
    predictions = np.array([leave_one_out(K, y, 0.4, p.weights, intercept) for y in p.targets.T]).T
    expected = np.average((predictions - p.targets) ** 2, axis=0, weights=p.weights).mean()
    assert value == pytest.approx(expected, rel=1e-10)


@KERNELS
@each(("weighted", "intercept"), [(False, True), (True, False)])
def test_gradient(kernel, weighted, intercept):
    p = positive(weighted, intercept, kernel)
    _, gradients, by_alpha = loo_error(p)
    assert gradients

    def at(**changes):
        return loo_error(replace(p, gram=Gram(clone(kernel).set_params(**changes), p.gram.X)))[0]

    for name, gradient in gradients.items():
        value = np.asarray(kernel.get_params()[name], float)
        expected = np.empty(value.shape)
        for index in np.ndindex(value.shape):
            unit = np.zeros(value.shape)
            unit[index] = 1.0
            expected[index] = difference(lambda t, unit=unit, v=value, name=name: at(**{name: v + t * unit}), 0.01)
        scale = max(np.abs(expected).max(), 1e-3)
        np.testing.assert_allclose(gradient, expected, rtol=1e-7, atol=1e-8 * scale, err_msg=name)
    expected = difference(lambda t: loo_error(replace(p, alpha=np.full_like(p.alpha, 0.4 + t)))[0], 0.01)
    assert by_alpha == pytest.approx(expected, rel=1e-7)


def test_singular_matrix_is_told():
    p = problem(alpha=[0.0], kernel=Linear())
    with pytest.raises(np.linalg.LinAlgError, match="use a larger alpha"):
        loo_error(p)


def test_bytes(peak_of):
    p = positive(True, True, n=1000)
    loo_error(positive(True, True))  # loops are compiled
    peak, _ = peak_of(lambda: loo_error(p))
    assert 0.8 < peak / loo_bytes(1000, 2, None) < 1.2
