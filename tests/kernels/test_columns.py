import naive
import numpy as np
import pandas as pd
import polars as pl
import pytest
from each_case import each
from scipy import sparse

from representer.gram.tiled import Gram
from representer.kernels import (
    RBF,
    Categorical,
    Chi2,
    Constant,
    Kendall,
    Linear,
    Matern,
    Missing,
    Normalized,
    On,
    Precomputed,
    Sigmoid,
    Spectrum,
    Subset,
)
from representer.testing import check_kernel

DATA = {
    "age": [30.0, 31.0, 55.0, 42.0, 18.0],
    "income": [2.0, 2.0, 7.5, 3.0, 0.5],
    "sequence": ["ACGT", "ACGA", "", "TTTT", "CGTA"],
    "children": [1, 0, 3, 2, 0],
}
FRAMES = each("frame", [pd.DataFrame, pl.DataFrame])
NUMBERS = np.array([DATA["age"], DATA["income"], DATA["children"]], float).T


def mixed():
    return On(RBF(10.0), ["age", "income"]) * On(Spectrum(2), "sequence") + 0.5 * On(Linear(), ["children"])


@FRAMES
def test_tables_equal_arrays(frame):
    X = frame(DATA)
    expected = RBF(10.0)(NUMBERS[:, :2]) * Spectrum(2)(DATA["sequence"]) + 0.5 * np.outer(NUMBERS[:, 2], NUMBERS[:, 2])
    np.testing.assert_allclose(mixed()(X), expected, rtol=1e-13)
    np.testing.assert_allclose(mixed()(X[:2], X), expected[:2], rtol=1e-13)
    np.testing.assert_allclose(mixed().diag(X), expected.diagonal(), rtol=1e-13)


@FRAMES
def test_laws(frame):
    check_kernel(mixed(), frame(DATA))


def test_rows_of_any_index():
    X = pd.DataFrame(DATA, index=[7, 7, 1, 0, 3])
    np.testing.assert_array_equal(mixed()(X), mixed()(pd.DataFrame(DATA)))


def test_same_values_by_columns_and_by_precomputed_gram():
    X = pd.DataFrame(DATA)
    K = mixed()(X)
    np.testing.assert_array_equal(Precomputed()(K), K)
    np.testing.assert_allclose(Precomputed()(mixed()(X[3:], X[:3]), K[:3, :3]), K[3:, :3], rtol=1e-14)


@FRAMES
def test_a_column_of_sets(frame):
    X = frame({"tags": [["a", "b"], ["b"]], "x": [1.0, 2.0]})
    assert On(Subset(), "tags")(X).tolist() == [[4.0, 2.0], [2.0, 2.0]]


@each("kind", [np.asarray, sparse.csr_array, sparse.csr_matrix])
@each("columns", [[0, 2], [2, 0], [-1], (1, 2), np.array([0, 1]), [1, 1]])
def test_arrays(kind, columns):
    X = NUMBERS / 10
    kernel = On(RBF(0.8), columns)
    np.testing.assert_allclose(kernel(kind(X)), naive.gram(naive.rbf, X[:, list(columns)] / 0.8), rtol=1e-12)


@pytest.mark.parametrize("columns", [[0, 2], [2, 0], [-1], [1, 1]], ids=str)
def test_gradients(columns):
    X = np.random.default_rng(0).normal(size=(6, 3))
    kernel = On(RBF(0.8), columns) * Linear() + On(Matern(np.linspace(1, 2, len(columns)), nu=2.5), columns)
    naive.check_formulas(kernel, X[:4], X[4:])
    check_kernel(kernel, X)


@FRAMES
def test_gradients_of_tables(frame):
    X, W = frame(DATA), np.random.default_rng(0).normal(size=(5, 5))
    gradients = mixed().contract(X, W)
    assert gradients.keys() == {
        "left__left__kernel__length_scale",
        "right__factor",
        "right__kernel__kernel__length_scale",
    }
    inner = RBF(10.0).contract(NUMBERS[:, :2], W * Spectrum(2)(DATA["sequence"]))
    assert gradients["left__left__kernel__length_scale"] == pytest.approx(inner["length_scale"], rel=1e-12)
    with pytest.raises(TypeError, match="data frame, which has no gradient"):
        On(RBF(), ["age"]).input_gradient(X, X, W)


def test_inherited_properties():
    assert not On(Sigmoid(), [0]).definite
    assert On(RBF(), [0]).definite
    assert On(RBF(), [0]).rowwise
    assert On(Spectrum(), "a").rowwise
    assert not On(Precomputed(), "a").rowwise
    assert On(RBF(), ["a"]).set_params(kernel__length_scale=2.0) == On(RBF(2.0), ["a"])
    assert On(RBF(), ["a"]) != On(RBF(), ["b"])
    assert (
        repr(On(RBF(), ["a"]) + On(Linear(), "b"))
        == "On(kernel=RBF(), columns=['a']) + On(kernel=Linear(), columns='b')"
    )


@FRAMES
@each(("columns", "missing"), [(["age", "size"], "'size'"), ("size", "'size'"), ([0], "0")])
def test_unknown_columns(frame, columns, missing):
    with pytest.raises(ValueError, match=f"X has no column {missing}; its columns are age, income, sequence, children"):
        On(RBF(), columns)(frame(DATA))


@pytest.mark.parametrize("column", [3, -4, "age", 1.0])
def test_unknown_columns_of_an_array(column):
    with pytest.raises(
        ValueError, match=rf"X is an array with 3 columns, so On cannot pick {column!r}; give column num"
    ):
        On(RBF(), [column])(NUMBERS)


@FRAMES
def test_text_where_numbers_are_needed(frame):
    with pytest.raises(TypeError, match="RBF needs numbers, but X holds"):
        On(RBF(), ["age", "sequence"])(frame(DATA))


def test_a_single_name_gives_the_column_itself():
    with pytest.raises(ValueError, match="X has 1 dimension where RBF needs rows and columns"):
        On(RBF(), "age")(pd.DataFrame(DATA))


def test_missing_values():
    X = pd.DataFrame({"a": [1.0, None]})
    with pytest.raises(ValueError, match=r"Row 1 of 'a' is missing; use Missing\(RBF\(\)\) or drop it"):
        On(RBF(), ["a"])(X)


def test_negative_histograms():
    with pytest.raises(ValueError, match="Chi2 compares histograms"):
        On(Chi2(), [0])(-NUMBERS)


def test_not_a_table():
    with pytest.raises(TypeError, match="On needs a data frame or a two-dimensional array, but X is a list"):
        On(RBF(), [0])([[1.0], [2.0]])
    with pytest.raises(ValueError, match="X has 1 dimensions; On picks columns of a table with two"):
        On(RBF(), [0])(np.ones(3))
    with pytest.raises(ValueError, match="X is empty"):
        On(RBF(), ["a"])(pd.DataFrame({"a": []}))


def test_constant_beside_columns():
    X = np.ones((2, 3))
    assert not (On(RBF(), [0]) + Constant()).input_gradient(X, X, np.ones((2, 2))).any()


@pytest.mark.parametrize("library", [pd, pl], ids=["pandas", "polars"])
@pytest.mark.parametrize(
    "kernel",
    [
        On(RBF(0.7), ["a", "b"]),
        On(RBF(0.7), ["a"]),
        On(RBF(0.7), ["a"]) * On(Linear(), ["b"]) + On(Spectrum(1), "word"),
    ],
    ids=repr,
)
def test_frames_of_two_precisions_meet_in_the_more_precise(library, kernel, rng):
    def frame(values, dtype):
        columns = {"a": values[:, 0].astype(dtype), "b": values[:, 1].astype(dtype)}
        return library.DataFrame(columns | {"word": list("abca")[: len(values)]})

    X, Y = rng.normal(size=(4, 2)), rng.normal(size=(3, 2)).astype(np.float32)
    wide, single = frame(X, np.float64), frame(Y, np.float32)
    exact = kernel(wide, frame(Y, np.float64))
    assert kernel(wide, single).dtype == kernel(single, wide).dtype == np.float64
    np.testing.assert_allclose(kernel(wide, single), exact, rtol=1e-13)
    np.testing.assert_allclose(kernel(single, wide), exact.T, rtol=1e-13)
    np.testing.assert_allclose(Gram(kernel, wide, single) @ np.ones(3), exact.sum(axis=1), rtol=1e-13)
    assert str(single["a"].dtype).lower() == "float32"  # the caller's frame is left alone


@pytest.mark.parametrize("library", [pd, pl], ids=["pandas", "polars"])
def test_frames_of_one_precision_keep_it(library, rng):
    X = rng.normal(size=(4, 2)).astype(np.float32)
    frame = library.DataFrame({"a": X[:, 0], "b": X[:, 1]})
    mixed = library.DataFrame({"a": X[:, 0], "b": X[:, 1].astype(np.float64)})
    assert On(RBF(0.7), ["a", "b"])(frame, frame).dtype == RBF(0.7)(frame, frame).dtype == np.float32
    assert RBF(0.7)(frame, X).dtype == np.float32
    assert On(RBF(0.7), ["a"])(mixed, mixed).dtype == On(RBF(0.7), ["a"])(mixed).dtype == np.float32
    assert On(RBF(0.7), ["a"])(mixed, frame).dtype == np.float64
    assert RBF(0.7)(frame, X.astype(np.float64)).dtype == RBF(0.7)(X.astype(np.float64), frame).dtype == np.float64


@FRAMES
def test_missing_rows_of_a_column_are_named(frame):
    X = frame(DATA | {"sequence": ["ACGT", "ACGA", None, "TTTT", "CGTA"]})
    with pytest.raises(
        ValueError, match=r"^Row 2 of 'sequence' is missing; use Missing\(Spectrum\(k=2\)\) or drop it\.$"
    ):
        On(Spectrum(2), "sequence")(X)
    assert On(Missing(Spectrum(2)), "sequence")(X)[2].tolist() == [0, 0, 1, 0, 0]
    assert On(Normalized(Missing(Spectrum(2))), "sequence")(X)[2, 2] == 1.0


@FRAMES
def test_rankings_and_categories_of_columns(frame):
    X = frame(DATA)
    assert np.allclose(On(Kendall(), ["age", "income", "children"])(X), Kendall()(NUMBERS))
    assert np.allclose(On(Categorical(), ["sequence", "children"])(X)[0, 1], np.exp(-2))


@pytest.mark.parametrize("kernel", [RBF([1.0, 2.0]), RBF(1.0) + Linear()])
@pytest.mark.parametrize("library", [pd, pl])
def test_missing_numbers_are_told_by_column(kernel, library):
    frame = library.DataFrame({"age": [1.0, 2.0, 3.0], "size": [1.0, None, 2.0]})
    with pytest.raises(ValueError, match=r"^Row 1 of 'size' is missing; use Missing\(.*\) or drop it\.$"):
        On(kernel, ["age", "size"])(frame)
    assert On(Missing(kernel), ["age", "size"])(frame)[1].tolist() == [0.0, 1.0, 0.0]
