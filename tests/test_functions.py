"""Functions in H: values, norms, algebra, gradients and projections."""

import naive
import numpy as np
import pandas as pd
import polars as pl
import pytest
from each_case import each
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from representer import Function, mean_embedding, project
from representer.kernels import (
    RBF,
    Jaccard,
    Laplacian,
    Linear,
    Matern,
    Normalized,
    On,
    Polynomial,
    Precomputed,
    RationalQuadratic,
    Sigmoid,
    Spectrum,
    Subset,
)
from representer.testing import check_function, check_representer_theorem


def dense(rng, n):
    return rng.normal(size=(n, 3))


def single(rng, n):
    return dense(rng, n).astype(np.float32)


def wide(rng, n):
    return rng.normal(size=(n, 12))


def csr(rng, n):
    return sparse.random_array((n, 20), density=0.3, rng=rng, format="csr")


def strings(rng, n):
    return ["".join(rng.choice(list("ACGT"), size)) for size in rng.integers(2, 12, n)]


def sets(rng, n):
    return [set(rng.choice(8, size).tolist()) for size in rng.integers(0, 5, n)]


def pandas_table(rng, n):
    return pd.DataFrame({"a": rng.normal(size=n), "word": strings(rng, n), "b": rng.integers(0, 3, n)})


def polars_table(rng, n):
    return pl.DataFrame(pandas_table(rng, n).to_dict("list"))


TABLE = On(RBF(), ["a", "b"]) * (On(Spectrum(2), "word") + 1.0)
CASES = {
    "vectors": (RBF(), dense),
    "nested": (Matern(2.0) * (Linear() + 1.0) + 0.5 * Normalized(Polynomial(2)), dense),
    "float32": (RationalQuadratic(), single),
    "wide": (Matern(3.0, nu=2.5), wide),
    "sparse": (RBF(2.0), csr),
    "strings": (Spectrum(2), strings),
    "normalised strings": (Normalized(Spectrum(2)), strings),
    "sets": (Subset(), sets),
    "pandas": (TABLE, pandas_table),
    "polars": (TABLE, polars_table),
}
every_case = each("case", CASES)


def two_functions(rng, case, outputs=()):
    kernel, inputs = CASES[case]
    f = Function(kernel, inputs(rng, 15), rng.normal(size=(15, *outputs)), rng.normal(size=outputs))
    g = Function(kernel, inputs(rng, 10), rng.normal(size=(10, *outputs)), rng.normal(size=outputs))
    return f, g, inputs(rng, 12)


# ---- laws ----


@every_case
@each("outputs", [(), (3,)])
def test_laws(rng, case, outputs):
    f, g, X = two_functions(rng, case, outputs)
    check_function(f, g, X)


def test_laws_of_one_constant_for_several_outputs(rng):
    f = Function(RBF(), dense(rng, 5), rng.normal(size=(5, 2)), 3.0)
    check_function(f, -f, dense(rng, 4))


@every_case
@each("outputs", [(), (2,)])
def test_norm_is_that_of_the_matrix(rng, case, outputs):
    f, g, _ = two_functions(rng, case, outputs)
    K, L = (np.asarray(f.kernel(*pair), np.float64) for pair in ((f.X,), (f.X, g.X)))
    tolerance = {"rel": 1e-6 if case == "float32" else 1e-11}
    inner = np.einsum("i...,ij,j...->...", f.coef, K, f.coef)
    assert f.inner(f) == pytest.approx(inner, **tolerance)
    assert f.norm() == pytest.approx(np.sqrt(inner), **tolerance)
    assert np.shape(f.norm()) == outputs
    assert f.inner(g) == pytest.approx(
        np.einsum("i...,ij,j...->...", f.coef, L, g.coef), abs=1e-5 if case == "float32" else 1e-9
    )


@every_case
def test_reproducing_property(rng, case):
    f, _, X = two_functions(rng, case)
    # <f, k(x, .)> for all x at once: as many outputs as there are points
    points = Function(f.kernel, X, np.eye(12))
    copies = Function(f.kernel, f.X, np.tile(f.coef[:, None], 12))
    tolerance = 1e-4 if case == "float32" else 1e-10
    np.testing.assert_allclose(copies.inner(points) + f.constant, f(X), atol=tolerance)


# ---- values by hand ----


def test_values_by_hand():
    f = Function(RBF(), np.array([[0.0], [1.0]]), [2.0, -1.0], constant=10.0)
    e = np.exp(-0.5)
    np.testing.assert_allclose(f(np.array([[0.0], [1.0]])), [12.0 - e, 9.0 + 2.0 * e], rtol=1e-15)
    assert f.norm() == pytest.approx(np.sqrt(5.0 - 4.0 * e), rel=1e-14)
    np.testing.assert_allclose(f.gradient(np.array([[0.0], [1.0]])), [[-e], [-2.0 * e]], rtol=1e-14)
    g = Function(RBF(), np.array([[1.0]]), [1.0])
    assert f.inner(g) == pytest.approx(2.0 * e - 1.0, rel=1e-14)
    assert f.distance(g) == pytest.approx(np.sqrt(8.0 - 8.0 * e), rel=1e-14)


def test_strings_by_hand():
    f = Function(Spectrum(2), ["ab", "abab"], [1.0, 10.0])
    np.testing.assert_array_equal(f(["ab", "ba", "xy", ""]), [21.0, 10.0, 0.0, 0.0])
    assert f.norm() ** 2 == pytest.approx(1 + 2 * 10 * 2 + 100 * 5)


@pytest.mark.parametrize("case", ["vectors", "nested"])
def test_values_are_those_of_the_formula(rng, case):
    f, _, X = two_functions(rng, case)
    expected = [
        f.constant + sum(c * naive.evaluate(f.kernel, x, z) for c, z in zip(f.coef, f.X, strict=True)) for x in X
    ]
    np.testing.assert_allclose(f(X), expected, rtol=0, atol=1e-12 * np.abs(f.kernel(f.X)).max())


def test_linear_functions_are_dot_products(rng):
    Z, coef, X = dense(rng, 7), rng.normal(size=(7, 2)), dense(rng, 5)
    f = Function(Linear(), Z, coef)
    slopes = Z.T @ coef
    np.testing.assert_allclose(f(X), X @ slopes, atol=1e-13)
    np.testing.assert_allclose(f.norm(), np.linalg.norm(slopes, axis=0), rtol=1e-12)
    np.testing.assert_allclose(f.gradient(X), np.broadcast_to(slopes.T, (5, 2, 3)), rtol=1e-12)


@pytest.mark.parametrize("outputs", [(), (2,)])
def test_many_points(rng, outputs):
    f = Function(RBF(), dense(rng, 600), rng.normal(size=(600, *outputs)), rng.normal(size=outputs))
    X = dense(rng, 700)
    values = f(X)
    np.testing.assert_allclose(values, RBF()(X, f.X) @ f.coef + f.constant, atol=1e-11)
    np.testing.assert_allclose(values[690:], f(X[690:]), atol=1e-11)


@pytest.mark.parametrize("outputs", [(), (2,)])
def test_float32(rng, outputs):
    Z, X, coef = single(rng, 30), single(rng, 20), rng.normal(size=(30, *outputs)).astype("f4")
    f, exact = Function(RBF(), Z, coef, 1.0), Function(RBF(), Z.astype("f8"), coef, 1.0)
    assert f(X).dtype == f.gradient(X).dtype == np.float32
    np.testing.assert_allclose(f(X), exact(X.astype("f8")), atol=1e-5)
    np.testing.assert_allclose(f.gradient(X), exact.gradient(X.astype("f8")), atol=1e-5)
    np.testing.assert_allclose(f.norm(), exact.norm(), rtol=1e-5)


def test_precomputed(rng):
    Z, X, coef = dense(rng, 20), dense(rng, 6), rng.normal(size=(20, 2))
    K, rows = RBF()(Z), RBF()(X, Z)
    f, g = Function(Precomputed(), K, coef, 2.0), Function(RBF(), Z, coef, 2.0)
    np.testing.assert_allclose(f(rows), g(X), atol=1e-13)
    np.testing.assert_allclose(f.norm(), g.norm(), rtol=1e-13)
    np.testing.assert_allclose((2.0 * f - f / 2.0)(rows), 1.5 * g(X), atol=1e-13)
    np.testing.assert_allclose(project(f, K)(rows), g(X), atol=1e-9)
    with pytest.raises(TypeError, match="not vectors"):
        f.gradient(rows)


# ---- algebra ----


@every_case
@each("outputs", [(), (2,)])
def test_algebra(rng, case, outputs):
    f, g, X = two_functions(rng, case, outputs)
    F, G = f(X), g(X)
    near = {"rtol": 0, "atol": 1e-12 * max(np.abs(F).max(), np.abs(G).max()) if case != "float32" else 1e-4}
    pairs = {
        "f + g": (f + g, F + G),
        "f - g": (f - g, F - G),
        "2 f": (2 * f, 2 * F),
        "f 2": (f * np.float64(2), 2 * F),
        "numpy 2 f": (np.float64(2) * f, 2 * F),
        "f / 4": (f / 4, F / 4),
        "-f": (-f, -F),
        "f + 1": (f + 1, F + 1),
        "1 + f": (1.5 + f, F + 1.5),
        "f - 1": (f - 1, F - 1),
        "1 - f": (1 - f, 1 - F),
        "sum": (sum([f, g, f]), F + G + F),
    }
    for name, (function, expected) in pairs.items():
        np.testing.assert_allclose(function(X), expected, err_msg=name, **near)
    assert (f - g).norm() == pytest.approx(f.distance(g))
    square = f.inner(f) + g.inner(g) - 2 * f.inner(g)
    assert f.distance(g) ** 2 == pytest.approx(square, rel=1e-4 if case == "float32" else 1e-9)


def test_same_support_is_kept(rng):
    X = dense(rng, 5)
    f, g = Function(RBF(), X, np.arange(5.0)), Function(RBF(), X, np.ones(5))
    total = f + g
    assert total.X is X
    np.testing.assert_array_equal(total.coef, np.arange(5.0) + 1)
    assert len((f + Function(RBF(), X.copy(), np.ones(5))).coef) == 10
    assert (f - f).norm() == 0.0
    assert f.distance(Function(RBF(), X.copy(), np.arange(5.0))) == pytest.approx(0.0, abs=1e-6)


def test_operators_leave_their_functions_alone(rng):
    f, g, X = two_functions(rng, "vectors")
    before = f.coef.copy(), f.constant, f(X)
    _ = f + g, 2 * f, -f, f / 3, f + 1
    np.testing.assert_array_equal(f.coef, before[0])
    assert f.constant == before[1]
    np.testing.assert_array_equal(f(X), before[2])


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame])
def test_columns_are_added_by_name(rng, library):
    kernel = On(RBF(), ["a"]) * On(RBF(), ["b"])
    X, Y, Z = (library({"a": rng.normal(size=4), "b": 5.0 + rng.normal(size=4)}) for _ in range(3))
    f, g = Function(kernel, X, np.ones(4)), Function(kernel, Y[["b", "a"]], np.ones(4))
    np.testing.assert_allclose(f(Z) + g(Z), (f + g)(Z), rtol=1e-12)


def test_an_array_and_a_list_add_up(rng):
    X, Y, Z = dense(rng, 4), dense(rng, 3), dense(rng, 5)
    f, g = Function(RBF(), X, np.ones(4)), Function(RBF(), Y.tolist(), np.ones(3))
    np.testing.assert_allclose((f + g)(Z), f(Z) + g(Z), rtol=1e-13)
    h = Function(RBF(), sparse.csr_array(Y), np.ones(3))
    np.testing.assert_allclose((f + h)(Z), f(Z) + h(Z), rtol=1e-13)


def test_outputs_one_by_one(rng):
    f = Function(RBF(), dense(rng, 5), rng.normal(size=(5, 3)), [1.0, 2.0, 3.0])
    X = dense(rng, 4)
    for output in (0, 1, 2, -1):
        np.testing.assert_allclose(f[output](X), f(X)[:, output], rtol=1e-13, atol=1e-13)
        assert f[output].norm() == pytest.approx(f.norm()[output])
    shared = Function(RBF(), dense(rng, 5), rng.normal(size=(5, 3)), 4.0)
    np.testing.assert_allclose(shared[1](X), shared(X)[:, 1], rtol=1e-13)
    with pytest.raises(IndexError):
        f[3]
    with pytest.raises(TypeError, match="single output"):
        f[0][0]


def test_repr(rng):
    X = dense(rng, 5)
    assert repr(Function(RBF(), X, np.ones(5))) == "Function(RBF(), 5 representers)"
    assert repr(Function(RBF(), X, np.ones((5, 2)))) == "Function(RBF(), 5 representers, 2 outputs)"


# ---- gradients ----


@pytest.mark.parametrize(
    "kernel",
    [
        RBF([1.0, 2.0, 0.5]),
        Laplacian(),
        CASES["nested"][0],
        On(RBF(), [2, 0]) * 3.0 + 1.0,
    ],
    ids=repr,
)
def test_gradient(rng, kernel):
    Z, X, coef = dense(rng, 6), dense(rng, 5), rng.normal(size=(6, 2))
    expected = [naive.input_gradient(kernel, X, Z, np.tile(c, (5, 1))) for c in coef.T]
    several = Function(kernel, Z, coef, 5.0).gradient(X)
    assert several.shape == (5, 2, 3)
    scale = max(np.abs(expected).max(), np.abs(kernel(Z)).max())
    np.testing.assert_allclose(several, np.stack(expected, axis=1), rtol=0, atol=1e-12 * scale)
    np.testing.assert_allclose(Function(kernel, Z, coef[:, 0]).gradient(X), expected[0], rtol=0, atol=1e-12 * scale)


@pytest.mark.parametrize("n", [1, 256, 257, 700])
def test_gradient_at_many_points(rng, n):
    f, X = Function(RBF(), dense(rng, 8), rng.normal(size=(8, 2))), dense(rng, n)
    differences = X[:, None, :] - f.X  # n x 8 x 3
    expected = np.einsum("ij,ijf,jo->iof", RBF()(X, f.X), -differences, f.coef)
    np.testing.assert_allclose(f.gradient(X), expected, atol=1e-13)


def test_gradient_of_whole_coefficients(rng):
    X = dense(rng, 4)
    np.testing.assert_array_equal(
        Function(RBF(), X, [1, 2, 3, 4]).gradient(X), Function(RBF(), X, [1.0, 2.0, 3.0, 4.0]).gradient(X)
    )


@pytest.mark.parametrize(("kernel", "inputs"), [(Spectrum(2), strings), (Jaccard(), sets)])
def test_no_gradient_without_vectors(rng, kernel, inputs):
    X = inputs(rng, 4)
    with pytest.raises(TypeError, match="no gradient with respect to its inputs"):
        Function(kernel, X, np.ones(4)).gradient(X)


# ---- projections ----


@every_case
@each("outputs", [(), (2,)])
def test_projection(rng, case, outputs):
    f, _, X = two_functions(rng, case, outputs)
    P = project(f, X)
    near = {"rel": 1e-3, "abs": 1e-3} if case == "float32" else {"rel": 1e-7, "abs": 1e-7}
    assert P.X is X
    np.testing.assert_allclose(P(X), f(X), atol=1e-3 if case == "float32" else 1e-8)
    assert f.norm() ** 2 == pytest.approx(P.norm() ** 2 + (f - P).norm() ** 2, **near)
    assert f.inner(P) == pytest.approx(P.inner(P), **near)
    assert P.distance(project(P, X)) == pytest.approx(np.zeros(outputs), abs=1e-3 if case == "float32" else 1e-6)


def test_memory_of_a_projection(rng, peak_of):
    X = rng.normal(size=(800, 2))
    f = Function(RBF(1.0), X, rng.normal(size=800))
    peak, _ = peak_of(lambda: project(f, X), 16 * 800**2)
    assert peak < 1.2 * 16 * 800**2
    with pytest.raises(MemoryError, match=r"onto 800 representers needs 0.0102 GB, above .* use fewer inputs"):
        project(f, X, memory=10**7)


@every_case
def test_projection_onto_a_span_that_has_the_function(rng, case):
    f, g, X = two_functions(rng, case)
    P = project(f, (f + g).X)
    tolerance = 1e-3 if case == "float32" else 1e-6
    assert f.distance(P) < tolerance * f.norm()
    np.testing.assert_allclose(P(X), f(X), rtol=0, atol=tolerance * f.norm() * np.sqrt(f.kernel.diag(X).max()))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("kernel", [Matern(), Linear(), RBF(3.0)], ids=repr)
def test_projection_onto_repeated_points(rng, kernel, dtype):
    f = Function(kernel, dense(rng, 15).astype(dtype), rng.normal(size=15))
    X = dense(rng, 8).astype(dtype)
    once, twice = project(f, X), project(f, np.concatenate([X, X, X[:2]]))
    tolerance = 1e-6 if dtype == "f8" else 1e-3
    assert once.distance(twice) < tolerance * f.norm()
    assert twice.norm() <= f.norm() * (1 + tolerance)
    assert np.abs(twice.coef).max() < 1e4 * np.abs(f.coef).max()


@pytest.mark.parametrize(("dtype", "tolerance"), [("f4", 1e-3), ("f8", 1e-6)])
def test_projection_leaves_out_what_is_zero_to_rounding_of_the_inputs(rng, dtype, tolerance):
    # 150 points of a space with 3 dimensions: all other eigenvalues are rounding, of float32 for such inputs
    f, X = Function(Linear(), dense(rng, 50).astype(dtype), rng.normal(size=50)), dense(rng, 150).astype(dtype)
    P = project(f, X)
    assert P.norm() == pytest.approx(f.norm(), rel=tolerance)
    np.testing.assert_allclose(P(X), f(X), rtol=0, atol=tolerance)
    assert np.abs(P.coef).max() < 1.0


def test_projection_by_hand():
    # k(0, .) onto the span of k(1, .) is k(0, 1) k(1, .), since k(1, 1) = 1; the constant stays
    P = project(Function(RBF(), np.array([[0.0]]), [1.0], 7.0), np.array([[1.0]]))
    np.testing.assert_allclose(P.coef, [np.exp(-0.5)], rtol=1e-14)
    assert P.constant == 7.0


# ---- the representer theorem ----

LOSSES = {
    "squared": lambda values, y: float(((values - y) ** 2).sum()),
    "absolute": lambda values, y: float(np.abs(values - y).sum()),
    "hinge": lambda values, y: float(np.maximum(0.0, 1.0 - y * values).sum()),
    "0-1": lambda values, y: float((np.sign(values) != np.sign(y)).sum()),
    "not convex": lambda values, y: float(np.cos(3.0 * values).sum() + np.tanh(values - y).prod()),
    "worst case": lambda values, y: float(np.abs(values - y).max()),
}
REGULARIZERS = {
    "square": lambda r: 0.5 * r**2,
    "norm": lambda r: r,
    "power": lambda r: r**0.3,
    "ball": lambda r: 0.0 if r <= 2.0 else np.inf,
    "steps": lambda r: float(np.floor(2.0 * r)),
    "none": lambda r: 0.0,
}
THEOREM_CASES = ["vectors", "nested", "wide", "strings", "sets", "pandas"]


@given(
    st.sampled_from(list(LOSSES)),
    st.sampled_from(list(REGULARIZERS)),
    st.sampled_from(THEOREM_CASES),
    st.integers(1, 12),
    st.integers(0, 2**32 - 1),
)
def test_representer_theorem(loss, regularizer, case, n, seed):
    rng = np.random.default_rng(seed)
    f, _, X = two_functions(rng, case)
    X, y = X[:n], rng.choice([-1.0, 1.0], n)
    before, after = check_representer_theorem(f, X, lambda values: LOSSES[loss](values, y), REGULARIZERS[regularizer])
    assert before == LOSSES[loss](f(X), y) + REGULARIZERS[regularizer](f.norm())
    assert after <= before + 1e-6 * max(abs(before), 1.0)


@pytest.mark.parametrize("seed", range(5))
def test_representer_theorem_is_strict_outside_the_span(seed):
    rng = np.random.default_rng(seed)
    f, _, X = two_functions(rng, "vectors")
    before, after = check_representer_theorem(f, X[:3], lambda values: float((values**2).sum()), lambda r: r**2)
    assert after < before - 1e-3
    assert before - after == pytest.approx((f - project(f, X[:3])).norm() ** 2, rel=1e-6)


# ---- errors ----


def test_different_spaces(rng):
    X = dense(rng, 4)
    f = Function(RBF(), X, np.ones(4))
    for other, error, words in [
        (Function(RBF(2.0), X, np.ones(4)), ValueError, "different kernels, RBF.*different spaces"),
        (Function(Matern(), X, np.ones(4)), ValueError, "different kernels"),
        (Function(RBF(), X, np.ones((4, 2))), ValueError, "equally many outputs"),
        (np.ones(4), TypeError, "not a Function"),
        ("f", TypeError, "not a Function"),
    ]:
        for operation in (f.inner, f.__add__):
            with pytest.raises(error, match=words):
                operation(other)
    with pytest.raises(TypeError, match="unsupported operand"):
        f * f
    with pytest.raises(TypeError, match="multiply"):
        f * "2"
    with pytest.raises(TypeError):
        f / f


@each(
    ("coef", "error", "words"),
    [
        (np.ones(3), ValueError, r"coef has shape \(3,\), but X has 4 inputs"),
        (np.ones((2, 4)), ValueError, r"coef has shape \(2, 4\), but X has 4 inputs"),
        (np.ones((4, 1, 1)), ValueError, "coef has shape"),
        (1.0, ValueError, "coef has shape"),
        ([1.0, np.nan, 0.0, 0.0], ValueError, r"coef has 1 entries that are NaN or infinite, the first at \(1,\)"),
        ([1.0, np.inf, 0.0, 0.0], ValueError, "coef has 1 entries"),
        (list("abcd"), TypeError, "one number per input"),
        ([1j, 0, 0, 0], TypeError, "one number per input"),
    ],
)
def test_wrong_coefficients(rng, coef, error, words):
    with pytest.raises(error, match=words):
        Function(RBF(), dense(rng, 4), coef)


def test_wrong_constant(rng):
    with pytest.raises(ValueError, match=r"constant has shape \(3,\).*one per output"):
        Function(RBF(), dense(rng, 4), np.ones((4, 2)), np.ones(3))
    with pytest.raises(ValueError, match=r"constant has shape \(1,\)"):
        Function(RBF(), dense(rng, 4), np.ones(4), [1.0])


@pytest.mark.parametrize("constant", [np.nan, np.inf])
def test_constant_must_be_finite(rng, constant):
    with pytest.raises(ValueError, match="constant"):
        Function(RBF(), dense(rng, 4), np.ones(4), constant)


@pytest.mark.parametrize("kernel", ["rbf", None, RBF, lambda x, y: 1.0])
def test_something_else_than_a_kernel(rng, kernel):
    with pytest.raises(TypeError, match=r"pass a kernel object such as RBF\(\), or wrap a function as Callable"):
        Function(kernel, dense(rng, 4), np.ones(4))


@pytest.mark.parametrize(
    "use", [lambda f: f.norm(), lambda f: f.inner(f), lambda f: f.distance(2 * f), lambda f: project(f, f.X)]
)
def test_no_space_without_a_definite_kernel(rng, use):
    f = Function(Sigmoid(), dense(rng, 4), np.ones(4))
    assert f(dense(rng, 3)).shape == (3,)
    with pytest.raises(ValueError, match=r"Sigmoid\(\) is not positive semidefinite.*psd.report"):
        use(f)


def test_wrong_points(rng):
    f = Function(RBF(), dense(rng, 4), np.ones(4))
    with pytest.raises(ValueError, match="X has 2 columns where the other inputs of RBF have 3"):
        f(np.ones((2, 2)))
    with pytest.raises(ValueError, match="NaN"):
        f(np.full((2, 3), np.nan))


# ---- mean embeddings ----


@every_case
def test_mean_embedding_takes_means(case, rng):
    """<f, mu> is the mean of f over the sample, for any f."""
    kernel, draw = CASES[case]
    X = draw(rng, 12)
    k = kernel.with_default_scales(X)
    mu, f = mean_embedding(kernel, X), Function(k, X, rng.normal(size=12).astype(np.float32))
    assert mu.kernel == k
    np.testing.assert_allclose(mu.inner(f), f(X).astype(float).mean(), rtol=1e-5 if case == "float32" else 1e-10)


def test_weighted_mean_is_that_of_repeated_inputs(rng):
    X, times = rng.normal(size=(8, 2)), np.array([1, 0, 2, 3, 1, 1, 0, 4])
    weighted, repeated = mean_embedding(RBF(), X, times), mean_embedding(RBF(), np.repeat(X, times, axis=0))
    np.testing.assert_allclose(weighted.kernel.length_scale, repeated.kernel.length_scale, rtol=1e-12)
    new = rng.normal(size=(5, 2))
    np.testing.assert_allclose(weighted(new), repeated(new), rtol=1e-12)
    np.testing.assert_allclose(mean_embedding(RBF(), X, 0.5 * times)(new), weighted(new), rtol=1e-12)


def test_mean_embeddings_of_a_precomputed_kernel_share_a_matrix(rng):
    X = rng.normal(size=(9, 2))
    K, first = RBF(1.0)(X), np.arange(9) < 4
    one, two = mean_embedding(Precomputed(), K, first), mean_embedding(Precomputed(), K, ~first)
    expected = mean_embedding(RBF(1.0), X[:4]).distance(mean_embedding(RBF(1.0), X[4:]))
    np.testing.assert_allclose(one.distance(two), expected, rtol=1e-12)


def test_means_with_length_scales_of_their_own_cannot_be_compared(rng):
    X, Y = rng.normal(size=(5, 2)), rng.normal(size=(5, 2))
    with pytest.raises(ValueError, match=r"different spaces; give both the same one, such as"):
        mean_embedding(RBF(), X) - mean_embedding(RBF(), Y)
    k = RBF().with_default_scales(np.concatenate([X, Y]))
    assert (mean_embedding(k, X) - mean_embedding(k, Y)).norm() > 0


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0, 2.0], "one number for each of the 3 inputs"),
        ([1.0, -1.0, 1.0], "must not be negative"),
        ([0, 0, 0], "nor all zero"),
        ([1.0, np.nan, 1.0], "NaN"),
        (["a", "b", "c"], "one number for each"),
    ],
)
def test_bad_weights_of_a_mean(weights, message):
    with pytest.raises(ValueError, match=message):
        mean_embedding(RBF(), np.eye(3), weights)


def test_mean_embedding_needs_a_kernel():
    with pytest.raises(TypeError, match="not a kernel"):
        mean_embedding("rbf", np.eye(3))


def test_with_coef_shares_its_inputs(rng):
    X, grid = rng.normal(size=(9, 2)), rng.normal(size=(5, 2))
    f = Function(2.0 * RBF(1.5), X, rng.normal(size=9))
    coef, constant = rng.normal(size=(9, 3)), rng.normal(size=3)
    other = f.with_coef(coef, constant)
    assert other.inputs is f.inputs
    assert np.array_equal(other(grid), Function(f.kernel, X, coef, constant)(grid))
    with pytest.raises(ValueError, match="coef has shape"):
        f.with_coef(np.ones(8))


@pytest.mark.parametrize("kernel", [2.0 * RBF(1.5) + Linear(), Matern(0.7), Spectrum(2)], ids=repr)
def test_prepared_inputs_are_used(kernel, rng):
    X, new = (rng.normal(size=(9, 2)), rng.normal(size=(5, 2))) if kernel.on_vectors else (["abcab", "bca"], ["cab"])
    coef, prepared = rng.normal(size=len(X)), kernel.prepare(X)
    f = Function(kernel, X, coef, 0.5, prepared=prepared)
    assert f.inputs is prepared
    assert np.array_equal(f(new), Function(kernel, X, coef, 0.5)(new))


def test_threads_are_kept(rng):
    f, g = (Function(RBF(1.0), rng.normal(size=(5, 2)), np.ones(5), threads=1) for _ in range(2))
    assert (f + g).threads == (2.0 * f).threads == (f - g).threads == 1
