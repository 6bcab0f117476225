import numpy as np
import pandas as pd
import polars as pl
import pytest
from each_case import each
from hypothesis import given
from hypothesis import strategies as st
from preimage_cases import NESTED, POINTS, PRODUCTS, RADIAL, inputs, representers
from scipy import sparse

import representer
from representer import Function, preimage
from representer.kernels import (
    RBF,
    Callable,
    DotProduct,
    FeatureMap,
    Jaccard,
    Kendall,
    Laplacian,
    Linear,
    Matern,
    Normalized,
    On,
    Periodic,
    Polynomial,
    Precomputed,
    Quadratic,
    RationalQuadratic,
    Spectrum,
    Stationary,
)

ON_VECTORS = ("fixed_point", "gradient", "distances", "learned", "nearest", "auto")


def methods_for(kernel):
    never = {"fixed_point"} if kernel not in RADIAL.values() else set()
    if kernel in NESTED.values():
        never |= {"distances"}
    return [m for m in ON_VECTORS if m not in never]


@each("kernel", [*RADIAL.values(), *PRODUCTS.values(), *NESTED.values()])
def test_preimage_of_a_representer_is_its_input(kernel):
    X = inputs(20)
    for method in methods_for(kernel):
        found = preimage(Function(kernel, X, np.eye(20)[7]), method)
        np.testing.assert_allclose(found.x, X[7], rtol=1e-12)
        assert found.distance == pytest.approx(0.0, abs=1e-6)
        assert found.nearest == 7


def test_mean_under_the_linear_kernel_is_the_mean(rng):
    X = rng.normal(size=(40, 4))
    f = Function(Linear([1.0, 2.0, 0.5, 1.0]), X, np.full(40, 1 / 40))
    for method in ("auto", "distances"):
        np.testing.assert_allclose(preimage(f, method).x, X.mean(axis=0), atol=1e-8)


@pytest.mark.parametrize("kernel", [RBF(), Jaccard()], ids=repr)
def test_mean_of_equal_inputs_is_that_input(kernel):
    X = [{1, 2}] * 3 if kernel == Jaccard() else np.ones((3, 2))
    found = preimage(Function(kernel, X, np.full(3, 1 / 3)))
    assert np.all(found.x == X[0])
    assert found.distance == pytest.approx(0.0, abs=1e-7)


@pytest.mark.parametrize("kernel", [Spectrum(2), Normalized(Spectrum(3))], ids=repr)
def test_mean_of_equal_strings_is_that_string(kernel):
    found = preimage(Function(kernel, ["GATTACA"] * 4, np.full(4, 0.25)))
    assert found.x == "GATTACA"
    assert found.distance == pytest.approx(0.0, abs=1e-7)


KERNELS = [
    RBF(0.8),
    Matern(1.5, nu=0.5),
    Laplacian(2.0),
    RationalQuadratic(),
    2.0 * RBF(1.0) + RBF(3.0),
    Polynomial(2),
    Linear(),
    Periodic(1.0, period=3.0),
    FeatureMap(Quadratic()),
]
REFUSED = {
    repr(kernel): ("fixed_point",) if isinstance(kernel, DotProduct) else ("fixed_point", "distances")
    for kernel in KERNELS
    if not isinstance(kernel, Stationary) or isinstance(kernel, Periodic)
}


@given(
    st.sampled_from(KERNELS),
    st.sampled_from(ON_VECTORS),
    st.integers(0, 2**32 - 1),
    st.integers(1, 12),
    st.sampled_from([np.float32, np.float64]),
)
def test_never_worse_than_the_nearest_training_input(kernel, method, seed, n, dtype):
    """On random problems, in which no method works well; distances are those of `Function.distance`."""
    rng = np.random.default_rng(seed)
    f = Function(kernel, rng.normal(size=(n, 2)).astype(dtype), rng.normal(size=(n, 3)))
    if method in REFUSED.get(repr(kernel), ()):
        with pytest.raises(ValueError, match=r"use method='gradient'"):
            preimage(f, method)
        return
    found = preimage(f, method)
    assert found.x.shape == (3, 2)
    assert found.x.dtype == dtype
    rounding = 100 * np.finfo(dtype).eps * (f.norm() ** 2 + np.abs(kernel.diag(f.X)).max())
    for o in range(3):
        each = [f[o].distance(Function(kernel, f.X[i : i + 1], [1.0])) for i in range(n)]
        reached = f[o].distance(Function(kernel, found.x[o : o + 1], [1.0]))
        assert reached**2 <= min(each) ** 2 + rounding[o]
        assert found.distance[o] ** 2 == pytest.approx(reached**2, abs=rounding[o])
        assert found.nearest_distance[o] ** 2 == pytest.approx(min(each) ** 2, abs=rounding[o])
        assert found.distance[o] <= found.nearest_distance[o]


@given(st.integers(0, 2**32 - 1), st.integers(1, 5))
def test_strings_never_worse_than_the_nearest(seed, n):
    rng = np.random.default_rng(seed)
    X = ["".join(rng.choice(list("AC"), size)) for size in rng.integers(0, 6, n)]
    f = Function(Spectrum(2), X, rng.normal(size=n))
    found = preimage(f, n_starts=2, max_iter=3)
    assert found.method == "search"
    assert found.distance <= min(f.distance(Function(Spectrum(2), [x], [1.0])) for x in X) + 1e-9
    assert found.distance == pytest.approx(f.distance(Function(Spectrum(2), [found.x], [1.0])), abs=1e-7)


@pytest.mark.parametrize("method", ["fixed_point", "gradient", "distances", "learned", "nearest"])
def test_several_outputs_are_single_ones(method, rng):
    X = inputs(25)
    f = Function(RBF(2.0), X, rng.uniform(size=(25, 4)) / 25)
    together = preimage(f, method)
    for o in range(4):
        alone = preimage(f[o], method)
        np.testing.assert_allclose(alone.x, together.x[o], atol=1e-7)
        assert alone.distance == pytest.approx(together.distance[o], abs=1e-9)
        assert isinstance(alone.distance, float)
        assert (alone.nearest, alone.method) == (together.nearest[o], method)


def test_many_new_points_are_found():
    f = representers(RBF(3.0), POINTS, inputs())
    for method in ("auto", "gradient", "distances"):
        np.testing.assert_allclose(preimage(f, method).x, POINTS, atol=1e-4)


def test_float32_agrees_with_float64(rng):
    X, coef = inputs(), rng.uniform(size=(60, 3)) / 60
    for method in ("fixed_point", "gradient", "distances", "learned"):
        single, double = (preimage(Function(RBF(2.0), Z, coef), method) for Z in (X.astype(np.float32), X))
        assert single.x.dtype == np.float32
        np.testing.assert_allclose(single.x, double.x, atol=2e-3)
        np.testing.assert_allclose(single.distance, double.distance, rtol=1e-4)


def auto(kernel, X, **options):
    return preimage(Function(kernel, X, np.full(len(X), 1 / len(X))), **options)


def test_rule_of_auto():
    X, words = inputs(5), ["ab", "ba", "aab"]
    assert auto(2.0 * RBF(), X).method == "fixed_point"
    assert auto(RBF() + Linear(), X).method == "gradient"
    assert auto(On(RBF(), [0, 1]), X).method == "gradient"
    assert auto(Spectrum(2), words).method == "search"
    assert auto(Spectrum(2), np.array(words)).method == "search"
    assert auto(Spectrum(2), pd.Series(words, index=[5, 6, 7])).method == "search"
    assert auto(RBF(), X, neighbours=lambda x: [x + 0.1, x - 0.1]).method == "search"
    assert auto(Callable(lambda x, y: 1.0 * (x is y), pairs=True), [object(), object()]).method == "nearest"
    assert auto(Precomputed(), np.eye(3)).method == "nearest"


def test_neighbours_of_vectors():
    X = np.array([[0.0, 0.0], [1.0, 0.5]])
    steps = 0.25 * np.array([[1, 0], [-1, 0], [0, 1], [0, -1]])
    found = auto(Linear(), X, neighbours=lambda x: list(x + steps))
    np.testing.assert_array_equal(found.x, [0.5, 0.25])


def test_whole_numbers_stay_whole_only_where_they_can():
    X = np.array([[0, 1, 2], [1, 0, 2], [0, 2, 1]])
    agreements = Callable(lambda x, y: float(np.sum(x == y)), pairs=True)
    f = Function(agreements, X, np.array([0.5, 0.3, 0.2]))
    assert preimage(f, "search").x.dtype == X.dtype
    assert preimage(f, "nearest").x.dtype == X.dtype
    np.testing.assert_allclose(auto(Linear(), X).x, X.mean(axis=0), atol=1e-8)


def test_precomputed_gives_an_index():
    found = preimage(Function(Precomputed(), np.eye(3), np.array([[0.1, 0.9], [0.2, 0.1], [0.8, 0.0]])))
    np.testing.assert_array_equal(found.x, [2, 0])
    assert preimage(Function(Precomputed(), np.eye(3), np.array([0.1, 0.2, 0.8]))).x == 2


def test_rows_of_data_frames_stay_data_frames():
    table = pd.DataFrame({"a": [0.0, 1.0, 5.0], "word": ["ab", "ab", "ba"]}, index=[7, 8, 9])
    kernel = On(RBF(), ["a"]) + On(Spectrum(1), "word")
    found = preimage(Function(kernel, table, np.array([0.1, 0.8, 0.1])))
    assert found.x.equals(table.iloc[[1]])
    coef = np.array([[0.1, 1.0], [0.8, 0.0], [0.1, 0.0]])
    assert preimage(Function(kernel, table, coef)).x.equals(table.iloc[[1, 0]])
    other = preimage(Function(kernel, pl.DataFrame(table.to_dict("list")), coef))
    assert other.x["a"].to_list() == [1.0, 0.0]


def test_rankings_in_data_frames():
    ballots = pd.DataFrame({"Ann": [1, 2, 1, 3], "Bob": [2, 1, 3, 1], "Cid": [3, 3, 2, 2]}, index=[4, 5, 6, 7])
    coef = np.array([[0.3, 1.0], [0.3, 0.0], [0.4, 0.0], [-0.2, 0.0]])
    for table in (ballots, pl.DataFrame(ballots.to_dict("list"))):
        found = preimage(Function(Kendall(), table, coef))
        expected = preimage(Function(Kendall(), ballots.to_numpy(), coef))
        assert np.array_equal(found.x.to_numpy(), expected.x)
        assert type(found.x) is type(table)
        assert list(found.x.columns) == ["Ann", "Bob", "Cid"]


def test_lists_and_frames_of_numbers_are_rows():
    X = inputs(8)
    wanted = auto(RBF(2.0), X).x
    np.testing.assert_allclose(auto(RBF(2.0), X.tolist()).x, wanted, rtol=1e-12)
    np.testing.assert_allclose(auto(RBF(2.0), pd.DataFrame(X)).x, wanted, rtol=1e-12)
    thin = preimage(Function(RBF(2.0), sparse.csr_array(X), np.full(8, 1 / 8))).x
    np.testing.assert_allclose(thin, wanted, atol=1e-5)


@each(
    ("error", "message", "call"),
    [
        (TypeError, r"RBF\(\) is not a Function", lambda f: preimage(RBF())),
        (ValueError, r"method is 'mika'; use 'auto' or one of 'fixed_point'", lambda f: preimage(f, "mika")),
        (ValueError, r"'nearest' takes no tol", lambda f: preimage(f, "nearest", tol=1e-3)),
        (ValueError, r"'fixed_point' takes no alpha", lambda f: preimage(f, alpha=1.0)),
        (TypeError, r"has no option 'n_iter'; its options are n_starts, max_iter", lambda f: preimage(f, n_iter=3)),
        (ValueError, r"n_starts is 0", lambda f: preimage(f, n_starts=0)),
        (ValueError, r"n_neighbours is 1", lambda f: preimage(f, "distances", n_neighbours=1)),
        (ValueError, r"alpha is -1", lambda f: preimage(f, "learned", alpha=-1)),
        (TypeError, r"neighbours is \['x'\]; pass a function", lambda f: preimage(f, neighbours=["x"])),
        (ValueError, r"This Function has no outputs", lambda f: preimage(Function(RBF(), f.X, np.ones((60, 0))))),
        (
            TypeError,
            r"'learned' is for rows of numbers.*method='search'",
            lambda f: preimage(Function(Spectrum(2), ["ab"], [1.0]), "learned"),
        ),
        (
            ValueError,
            r"precomputed kernel knows no inputs.*method='nearest'",
            lambda f: preimage(Function(Precomputed(), np.eye(2), np.ones(2)), "gradient"),
        ),
    ],
)
def test_errors_say_what_to_do(error, message, call):
    with pytest.raises(error, match=message):
        call(Function(RBF(), inputs(), np.ones(60)))


def test_the_public_name_is_the_function():
    assert callable(representer.preimage)
