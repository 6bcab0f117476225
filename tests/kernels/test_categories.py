import numpy as np
import pandas as pd
import polars as pl
import pytest

from representer import GaussianProcessRegressor
from representer.kernels import Categorical, On
from representer.testing import check_gram, check_kernel

ROWS = [["red", 1], ["red", 2], ["blue", 2], ["green", 3], ["blue", 1]]


def naive(X, Y, scales):
    return [[np.exp(-sum((a != b) / s for a, b, s in zip(x, y, scales, strict=True))) for y in Y] for x in X]


def test_equal_to_the_definition():
    assert np.allclose(Categorical([0.5, 2.0])(ROWS), naive(ROWS, ROWS, [0.5, 2.0]))
    assert np.allclose(Categorical()(ROWS), naive(ROWS, ROWS, [1.0, 1.0]))


def test_laws():
    check_kernel(Categorical([0.5, 2.0]), ROWS)
    check_kernel(Categorical(0.7), np.array(ROWS, object))
    check_gram(Categorical(), np.random.default_rng(0).integers(0, 3, (20, 3)))


@pytest.mark.parametrize("library", [pd, pl])
def test_levels_are_compared_by_name(library):
    kind = pd.CategoricalDtype if library is pd else pl.Enum
    one = (
        library.Series("city", ["Rome", "Oslo", "Rome"], dtype=kind(["Oslo", "Rome"]))
        if library is pl
        else pd.Series(["Rome", "Oslo", "Rome"], name="city", dtype=kind(["Oslo", "Rome"]))
    )
    other = ["Oslo", "Bonn", "Rome"]
    expected = naive([[x] for x in one], [[x] for x in other], [1.0])
    for levels in (["Rome", "Oslo", "Bonn"], ["Bonn", "Rome", "Oslo"]):
        two = pl.Series(other, dtype=kind(levels)) if library is pl else pd.Series(other, dtype=kind(levels))
        assert np.allclose(Categorical()(one, two), expected)
    assert np.allclose(Categorical()(one, other), expected)
    assert np.allclose(Categorical()(one, np.array(other)), expected)


def test_whole_numbers_are_levels_of_any_type():
    K = Categorical()(np.array([1, 2, 1]), [1.0, 3.0])
    assert np.allclose(K, naive([[1], [2], [1]], [[1], [3]], [1.0]))


def test_default_length_scale_is_the_expected_number_of_mismatches():
    assert Categorical().with_default_scales([["a", 0], ["b", 0]]).length_scale == pytest.approx(0.5)
    weighted = Categorical().with_default_scales([["a"], ["b"]], np.array([3.0, 1.0])).length_scale
    assert weighted == pytest.approx(Categorical().with_default_scales([["a"]] * 3 + [["b"]]).length_scale)
    assert Categorical().with_default_scales([["a"], ["a"]]).length_scale == 1.0
    assert Categorical(2.0).with_default_scales([["a"], ["b"]]).length_scale == 2.0


def test_a_gaussian_process_learns_which_column_matters():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.choice(list("uvw"), 60), "b": rng.choice(list("xyz"), 60)})
    y = frame["a"].map({"u": 0.0, "v": 1.0, "w": -1.0}) + 0.1 * rng.normal(size=60)
    model = GaussianProcessRegressor(kernel=On(Categorical([1.0, 1.0]), ["a", "b"])).fit(frame, y)
    scales = model.kernel_.get_params()
    scale = next(value for name, value in scales.items() if name.endswith("length_scale"))
    assert scale[1] > 3 * scale[0]


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (pd.DataFrame({"city": ["a", None]}), "Row 1 of 'city' is missing; use Missing"),
        ([["a", "b"], ["c", float("nan")]], "Row 1 of column 1 is missing"),
        ([["a", "b"], ["c"]], "unequal lengths"),
        (np.zeros((2, 2, 2)), "3 dimensions"),
        ([{1}, {2}], "cannot be a label"),
    ],
)
def test_bad_inputs_are_refused(X, message):
    with pytest.raises((TypeError, ValueError), match=message):
        Categorical()(X)


def test_bad_parameters_are_refused():
    with pytest.raises(ValueError, match="length_scale has 3 entries, but X has 2 columns"):
        Categorical([1.0, 1.0, 1.0])(ROWS)
    with pytest.raises(ValueError, match="X has 1 columns where the other inputs of Categorical have 2"):
        Categorical()([["red"]], ROWS)
