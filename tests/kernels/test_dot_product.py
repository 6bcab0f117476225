import re

import naive
import numpy as np
import pytest
from each_case import each
from scipy import sparse
from sklearn.metrics import pairwise

from representer.kernels import ArcCosine, Cosine, Linear, Polynomial, Sigmoid
from representer.testing import check_kernel

WIDTHS = each("width", [3, 12])


def rows(n, width, seed=0):
    return np.random.default_rng(seed).normal(size=(n, width))


def kernels(width):
    L = np.linspace(0.6, 2.5, width)
    return [
        Linear(),
        Linear(0.7),
        Linear(L),
        Polynomial(),
        Polynomial(degree=1, offset=0.0),
        Polynomial(degree=2, offset=0.0, length_scale=1.4),
        Polynomial(degree=5, offset=0.7, length_scale=L),
        Sigmoid(),
        Sigmoid(scale=0.3, offset=-0.2),
        Cosine(),
        ArcCosine(order=0),
        ArcCosine(order=1),
        ArcCosine(order=2),
    ]


CASES = [(kernel, width) for width in (3, 12) for kernel in kernels(width)]


@each(("kernel", "width"), CASES)
def test_formulas(kernel, width):
    naive.check_formulas(kernel, rows(5, width), rows(4, width, seed=1))


@each(("kernel", "width"), CASES)
def test_laws(kernel, width):
    check_kernel(kernel, rows(14, width))
    check_kernel(kernel, rows(14, width).astype(np.float32))


@each(("kernel", "width"), CASES)
def test_sparse(kernel, width):
    X, Y = rows(7, width), rows(4, width, seed=1)
    X[np.abs(X) < 0.6] = Y[np.abs(Y) < 0.6] = 0.0
    naive.check_sparse(kernel, X, Y)


@WIDTHS
def test_equal_to_scikit_learn(width):
    X, Y = rows(6, width), rows(5, width, seed=1)
    pairs = [
        (Linear(0.7)(X, Y), X @ Y.T / 0.49),
        (Polynomial(3, 0.4, 0.7)(X, Y), pairwise.polynomial_kernel(X, Y, degree=3, gamma=1 / 0.49, coef0=0.4)),
        (Sigmoid(0.3, -0.2)(X, Y), pairwise.sigmoid_kernel(X, Y, gamma=0.3, coef0=-0.2)),
        (Cosine()(X, Y), pairwise.cosine_similarity(X, Y)),
    ]
    for ours, theirs in pairs:
        np.testing.assert_allclose(ours, theirs, rtol=1e-11, atol=1e-14)


@pytest.mark.parametrize(
    ("order", "equal", "right", "opposite"), [(0, 1, 1 / 2, 0), (1, 1, 1 / np.pi, 0), (2, 3, 1 / 2, 0)]
)
def test_arc_cosine_of_unit_vectors(order, equal, right, opposite):
    """J_n / pi at the angles 0, pi / 2 and pi, by hand."""
    X = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]])
    np.testing.assert_allclose(ArcCosine(order)(X)[0], [equal, right, opposite], atol=1e-14)
    np.testing.assert_allclose(ArcCosine(order)(3.0 * X), 9.0**order * ArcCosine(order)(X), atol=1e-12)


def test_arc_cosine_is_a_layer_of_ramps(rng):
    weights = rng.normal(size=(400_000, 2))
    x, y = np.array([[1.0, 0.5]]), np.array([[-0.3, 2.0]])
    expected = 2.0 * np.mean(np.maximum(weights @ x[0], 0.0) * np.maximum(weights @ y[0], 0.0))
    assert ArcCosine(1)(x, y)[0, 0] == pytest.approx(expected, rel=1e-2)


@each(
    ("kernel", "with_zero", "both_zero"),
    [(Cosine(), 0.0, 0.0), (ArcCosine(0), 0.5, 0.5), (ArcCosine(1), 0.0, 0.0), (ArcCosine(2), 0.0, 0.0)],
)
@WIDTHS
def test_zero_rows(kernel, with_zero, both_zero, width):
    X = rows(4, width)
    X[1] = 0.0
    K = kernel(X)
    assert np.all(np.delete(K[1], 1) == with_zero)
    assert K[1, 1] == kernel.diag(X)[1] == both_zero
    assert np.all(np.isfinite(kernel.input_gradient(X, X[::-1], np.ones((4, 4)))))
    naive.check_sparse(kernel, X, X[:3])


@each("kind", [np.asarray, sparse.csr_array])
@each("kernel", [Cosine(), ArcCosine(0)])
@each("factor", [2.0**-1040, 1e-200, 1e200, 2.0**1021])
def test_angles_do_not_depend_on_the_scale(kernel, factor, kind):
    X = rows(5, 3)
    X[2, :] = X[3, 1] = 0.0
    if factor < 1e-300:
        X = X.astype(np.float16).astype(float)  # few enough digits for numbers close to the smallest one
    np.testing.assert_allclose(kernel(kind(factor * X)), kernel(X), atol=1e-15)
    assert np.array_equal(kernel.diag(kind(factor * X)), kernel.diag(X))


@each("kind", [np.asarray, sparse.csr_array])
@each(
    ("kernel", "factor"),
    [(Linear(), 1e200), (Linear(1e-200), 1e1), (Polynomial(), 1e60), (Sigmoid(), 1e200), (ArcCosine(2), 1e80)],
)
def test_values_that_overflow_are_refused(kernel, factor, kind):
    with pytest.raises(ValueError, match=rf"Values of {re.escape(repr(kernel))} overflow.*scale them"):
        kernel(kind(factor * rows(4, 3)))


def test_values_may_overflow_in_float32():
    """Solvers that try float32 first take float64 then."""
    assert np.isinf(Polynomial().diag(1e15 * rows(4, 3).astype(np.float32))).all()


def test_cosine_of_a_row_with_itself_is_exactly_one():
    X = rows(50, 7)
    assert np.array_equal(Cosine().diag(X), np.ones(50))
    assert np.array_equal(Cosine()(X).diagonal(), np.ones(50))


@each(
    ("kernel", "definite"),
    [
        (Linear(), True),
        (Polynomial(), True),
        (Polynomial(offset=0.0), True),
        (Polynomial(offset=-0.1), False),
        (Sigmoid(), False),
        (Sigmoid(scale=0.5, offset=3.0), False),
        (ArcCosine(), True),
        (Cosine(), True),
    ],
)
def test_definite(kernel, definite):
    assert kernel.definite is definite
    if not definite:
        X = np.array([[0.0, 0.0], [0.1, 0.0], [3.0, 1.0], [-3.0, 1.0]])
        assert np.linalg.eigvalsh(kernel(X))[0] < -1e-4


@pytest.mark.parametrize("degree", [0, -1, 1.5, 2.0, "two", None])
def test_bad_degree(degree):
    with pytest.raises(ValueError, match=r"degree is .* integer, at least 1"):
        Polynomial(degree=degree)(rows(4, 3))


@each("value", [np.nan, np.inf, "a", None])
@each(("kernel", "name"), [(Polynomial, "offset"), (Sigmoid, "offset"), (Sigmoid, "scale")])
def test_bad_numbers(kernel, name, value):
    with pytest.raises(ValueError, match=rf"{name} is .* finite number"):
        kernel(**{name: value})(rows(4, 3))


@each("length_scale", [0.0, -1.0, np.nan, "wide"])
@each("kernel", [Linear, Polynomial])
def test_bad_length_scale(kernel, length_scale):
    with pytest.raises(ValueError, match=r"length_scale is .* must be a positive number"):
        kernel(length_scale=length_scale)(rows(4, 3))
    with pytest.raises(ValueError, match="length_scale has 2 entries, but X has 3 columns"):
        kernel(length_scale=[1.0, 2.0])(rows(4, 3))


@pytest.mark.parametrize("order", [3, -1, 0.5, "one", None])
def test_bad_order(order):
    with pytest.raises(ValueError, match=r"order is .* orders 0, 1 and 2"):
        ArcCosine(order)(rows(4, 3))
