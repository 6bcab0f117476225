import numpy as np
import pandas as pd
import polars as pl
import pytest
from each_case import each

from representer import SVC, KernelRidge
from representer.kernels import (
    RBF,
    Bags,
    Categorical,
    GlobalAlignment,
    Graphs,
    Kendall,
    Missing,
    Normalized,
    On,
    Spectrum,
    VertexHistogram,
)
from representer.kernels.missing import missing_entries
from representer.testing import check_gram, check_kernel

NAN = np.nan
WORDS = ["abab", None, "ab", "ba", None, "bb", "abba"]
TABLE = np.array([[1.0, 2.0], [NAN, 1.0], [0.5, 0.1], [2.0, -1.0], [NAN, NAN], [0.3, 1.0]])


def test_a_point_of_its_own():
    K = Missing(Spectrum(2))(WORDS)
    there = [0, 2, 3, 5, 6]
    assert np.array_equal(K[np.ix_(there, there)], Spectrum(2)([WORDS[i] for i in there]))
    assert np.array_equal(K[1], [0, 1, 0, 0, 1, 0, 0])
    assert np.array_equal(Missing(Spectrum(2))([None, "ab"], WORDS), [K[1], K[2]])


def test_laws():
    check_kernel(Missing(Spectrum(2)), WORDS)
    check_gram(Missing(Spectrum(2)), WORDS)
    check_kernel(Missing(RBF(0.7)), TABLE)


def test_all_missing():
    kernel = Missing(RBF())
    nothing = np.full((2, 2), NAN)
    assert np.array_equal(kernel(nothing), np.ones((2, 2)))
    assert np.array_equal(kernel(nothing, TABLE[:2]), [[0, 1], [0, 1]])
    assert np.array_equal(kernel(TABLE[:2], nothing), [[0, 0], [1, 1]])
    assert kernel.with_default_scales(nothing) == kernel
    assert kernel.contract(nothing, np.ones((2, 2))) == {}


def test_scales_come_from_what_is_there():
    found = Missing(RBF()).with_default_scales(TABLE, np.arange(6.0))
    there = ~np.isnan(TABLE).any(axis=1)
    assert found.kernel == RBF().with_default_scales(TABLE[there], np.arange(6.0)[there])


@each(
    "X",
    [
        [1.0, None, NAN, np.datetime64("NaT"), pd.NA, pd.NaT],
        pd.Series(["a", None, NAN, pd.NA, None, pd.NaT]),
        np.array(["a", None, NAN, None, None, None], object),
        np.array([0.0, *[NAN] * 5]),
        pl.Series([1, *[None] * 5]),
        pl.DataFrame({"a": [1.0, *[NAN] * 5], "b": ["x"] * 6}),
        pd.DataFrame({"a": ["x", *[None] * 5], "b": ["x"] * 6}),
        np.array([["a", 1], *[[None, 1]] * 5], object),
        [[1.0, NAN], *[[NAN, NAN]] * 5],
    ],
)
def test_what_counts_as_missing(X):
    assert missing_entries(X).tolist() == [False, *[True] * 5]


def test_what_does_not():
    assert not missing_entries(np.array(["nan", ""])).any()
    assert not missing_entries(Graphs([(0, 1)], [0, 0, 1])).any()
    assert not missing_entries(["", {1}, "None"]).any()
    assert not missing_entries([(np.zeros((2, 2)), ["C", "O"]), [np.zeros(3), np.zeros(4)], [[1.0], [NAN, NAN]]]).any()


def test_parts_of_unequal_lengths():
    graph = np.array([[0, 1], [1, 0]]), ["C", "O"]
    assert Missing(VertexHistogram())([graph, None]).tolist() == [[2.0, 0.0], [0.0, 1.0]]
    bag = [np.zeros(3), np.zeros(4)]
    assert Missing(Bags(GlobalAlignment(1.0)))([bag, None, [[NAN], [NAN, None]]])[0].tolist()[1:] == [0.0, 0.0]


def test_columns_with_gaps_in_an_estimator():
    frame = pd.DataFrame({"size": [1.0, NAN, 3.0, 1.1, 2.9, NAN], "word": ["ab", "ab", None, "ba", "cc", "cc"]})
    kernel = On(Missing(RBF()), ["size"]) + On(Missing(Spectrum(2)), "word")
    model = SVC(kernel=kernel).fit(frame, [0, 0, 1, 0, 1, 1])
    assert model.predict(frame).tolist() == [0, 0, 1, 0, 1, 1]
    assert Missing(Categorical())(frame["word"])[2, 2] == 1.0
    assert Missing(Kendall())(TABLE)[1, 4] == 1.0


@pytest.mark.parametrize("kernel", [Missing(Spectrum(2)), 2.0 * Missing(Normalized(Spectrum(1)))], ids=repr)
def test_features(kernel):
    """Those of the inputs that are there, and one for the others; functions are linear in them."""
    values, names = kernel.features(WORDS)
    np.testing.assert_allclose((values @ values.T).toarray(), kernel(WORDS), rtol=1e-14)
    gone = missing_entries(WORDS)
    assert np.array_equal(values.toarray()[:, names.index("missing")] > 0, gone)
    C = np.random.default_rng(0).normal(size=(2, len(WORDS)))
    for X in (WORDS, [None]):
        A = kernel.prepare(X)
        for new in (["ab", None, "xx"], [None, None]):
            found = kernel.features.linear_form(A, C[:, : len(X)])(kernel.prepare(new, like=A))
            np.testing.assert_allclose(found, C[:, : len(X)] @ kernel(X, new), rtol=1e-14)
    assert kernel.features([None, None])[1] == ["missing"]
    assert Missing(RBF()).features.linear_form(Missing(RBF()).prepare(TABLE), np.ones((1, len(TABLE)))) is None


def test_what_a_missing_input_adds():
    model = KernelRidge(kernel=Missing(Spectrum(1)), alpha=0.1).fit(["ab", None, "b", None], [1.0, 5.0, 2.0, 5.0])
    why = model.function_.explain([None])
    assert why.features == [("missing", pytest.approx(model.predict([None])[0] - why.constant))]
