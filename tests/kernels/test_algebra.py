import pickle

import naive
import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from representer import kernels
from representer.kernels import (
    RBF,
    Cosine,
    Exp,
    Intersection,
    Linear,
    Matern,
    Normalized,
    Pairwise,
    Polynomial,
    PowerSeries,
    Sigmoid,
    Spectrum,
    Subset,
)
from representer.testing import check_kernel


def rows(n, width=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, width))


def nested(width, dtype=np.float64):
    Z, L = rows(4, width, seed=3).astype(dtype), np.linspace(0.8, 2.0, width)
    return {
        "exp": Exp(0.1 * Linear(L)),
        "exp of a sum": Exp(RBF(L) + 0.1 * Linear()),
        "series": PowerSeries(RBF(L), [0.5, 0.3, 2.0, 1.0]),
        "constant series": PowerSeries(RBF(), (3.0,)),
        "normalized": Normalized(Polynomial(2, length_scale=L)),
        "normalized stationary": Normalized(RBF(L)),
        "normalized twice": Normalized(Normalized(Linear() + 1.0)),
        "pairwise": Pairwise(RBF(L), Z),
        "pairwise of an indefinite kernel": Pairwise(Sigmoid(0.3, 0.1), Z),
        "pairwise of a pairwise": Pairwise(0.5 * Pairwise(Linear(L), Z), Z),
        "all": Normalized(Exp(0.2 * RBF(L) * Linear()) + Pairwise(Matern(), Z) ** 2) * 0.5
        + PowerSeries(Normalized(Polynomial(3)), (0.1, 1.0)),
        "exp of normalized": Exp(Normalized(Linear() + 0.5)) * Pairwise(Exp(-1.0 * RBF()), Z),
    }


def low_dtype(kernel):
    """The type of values of float32 inputs: float64 where they go through anchors of that type."""
    return np.float64 if "Pairwise" in repr(kernel) else np.float32


NESTED = pytest.mark.parametrize(
    ("name", "width"), [(name, width) for width in (3, 12) for name in nested(width)], ids=str
)


@NESTED
def test_formulas(name, width):
    kernel = nested(width)[name]
    naive.check_formulas(kernel, rows(4, width), rows(3, width, seed=1), low_dtype(kernel))


@NESTED
def test_laws(name, width):
    check_kernel(nested(width)[name], rows(14, width))
    check_kernel(nested(width, np.float32)[name], rows(14, width).astype(np.float32))


@pytest.mark.parametrize("name", nested(3))
def test_sparse(name):
    X, Y = rows(7), rows(4, seed=1)
    X[np.abs(X) < 0.4] = Y[np.abs(Y) < 0.4] = 0.0
    naive.check_sparse(nested(3)[name], X, Y, low_dtype(nested(3)[name]))


def test_pairwise_through_all_inputs_is_the_square():
    X = rows(8)
    K = RBF(1.3)(X)
    np.testing.assert_allclose(Pairwise(RBF(1.3), X)(X), K @ K, rtol=1e-12)
    np.testing.assert_allclose(Pairwise(Pairwise(RBF(1.3), X), X)(X), K @ K @ K @ K, rtol=1e-12)


def test_pairwise_of_strings_and_sets():
    strings = ["abab", "bab", "ba", "xyz"]
    K = Spectrum(2)(strings)
    assert np.array_equal(Pairwise(Spectrum(2), strings)(strings), K @ K)
    sets = [{1, 2}, {2}, {3}]
    K = Subset()(sets)
    assert np.array_equal(Pairwise(Subset(), sets)(sets), K @ K)


def test_exp_is_the_limit_of_its_series():
    X = rows(6)
    factorials = np.cumprod([1.0, *range(1, 25)])
    np.testing.assert_allclose(Exp(RBF())(X), PowerSeries(RBF(), 1 / factorials)(X), rtol=1e-14)


def test_rbf_is_a_normalized_exponential():
    X = rows(6)
    np.testing.assert_allclose(Normalized(Exp(Linear(1.3)))(X), RBF(1.3)(X), rtol=1e-12)


def test_cosine_is_the_normalized_product():
    X, Y, W = rows(5), rows(4, seed=1), rows(5, 4, seed=2)
    np.testing.assert_allclose(Normalized(Linear())(X, Y), Cosine()(X, Y), rtol=1e-12)
    np.testing.assert_allclose(
        Normalized(Linear()).input_gradient(X, Y, W), Cosine().input_gradient(X, Y, W), atol=1e-13
    )


def test_normalized_is_zero_where_the_kernel_is():
    X = rows(4)
    X[1] = 0.0
    kernel = Normalized(Linear(1.4))
    K = kernel(X)
    assert not K[1].any()
    assert np.array_equal(kernel.diag(X), [1, 0, 1, 1])
    W = rows(4, 4, seed=2)
    np.testing.assert_allclose(kernel.contract(X, W)["kernel__length_scale"], 0.0, atol=1e-13)
    assert np.all(np.isfinite(kernel.input_gradient(X, X, W)))


def test_normalized_strings():
    strings = ["abab", "bab", "x"]
    K = Normalized(Spectrum(2))(strings)
    assert K[0, 1] == pytest.approx(3 / np.sqrt(5 * 2))
    assert K[2].tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("kernel", "definite"),
    [
        (Exp(RBF()), True),
        (Exp(Sigmoid()), False),
        (Exp(-1.0 * RBF()), False),
        (PowerSeries(RBF()), True),
        (Normalized(Linear()), True),
        (Normalized(Sigmoid()), False),
        (Pairwise(Sigmoid(), rows(2)), True),
    ],
    ids=repr,
)
def test_definite(kernel, definite):
    assert kernel.definite is definite


def test_negative_diagonal_is_refused():
    with pytest.raises(ValueError, match=r"-1.0 \* RBF\(\) has negative values k\(x, x\), so it cannot be normalised"):
        Normalized(-1.0 * RBF())(rows(3))


@pytest.mark.parametrize("coefficients", [(), (1.0, -0.1), (np.nan,), (np.inf, 1.0), 2.0, [[1.0]]], ids=repr)
def test_bad_coefficients(coefficients):
    with pytest.raises(ValueError, match=r"coefficients is .* zero or positive"):
        PowerSeries(RBF(), coefficients)(rows(3))


def test_anchors_of_the_wrong_width():
    with pytest.raises(ValueError, match="X has 3 columns where the other inputs of RBF have 2"):
        Pairwise(RBF(), rows(4, 2))(rows(3, 3))


@pytest.mark.parametrize(
    "kernel",
    [
        Pairwise(RBF(1.5), rows(3)),
        Pairwise(RBF(), sparse.csr_array(rows(3))),
        Pairwise(Spectrum(2), ["ab", "abc"]),
        Pairwise(Intersection(), [{1}, {1, 2}]),
        Pairwise(Intersection(), [[1], [1, 2]]),
        Exp(0.5 * PowerSeries(Normalized(Linear()), [1.0, 2.0])),
    ],
    ids=["array", "sparse", "strings", "sets", "lists", "nested"],
)
def test_clone_and_pickle(kernel):
    assert clone(kernel) == kernel
    assert pickle.loads(pickle.dumps(kernel)) == kernel


def test_different_anchors_are_not_equal():
    assert Pairwise(RBF(), rows(3)) != Pairwise(RBF(), rows(3, seed=1))
    assert Pairwise(RBF(), rows(3)) != Pairwise(RBF(), rows(4))


def test_printed_form_can_be_typed():
    for kernel in (Exp(RBF() + 2.0 * Linear()), Normalized(RBF() * Linear()) ** 2, PowerSeries(RBF(0.5), (1.0, 2.0))):
        assert eval(repr(kernel), vars(kernels)) == kernel


def test_nested_parameters():
    kernel = Normalized(Exp(0.5 * RBF(2.0)))
    kernel.set_params(kernel__kernel__factor=0.25, kernel__kernel__kernel__length_scale=3.0)
    assert kernel == Normalized(Exp(0.25 * RBF(3.0)))
