from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest

from representer import KernelRidge
from representer.kernels import RBF, Categorical, On, kernel_for
from representer.kernels.frame_kernels import look_at
from representer.testing import check_kernel

RNG = np.random.default_rng(0)
N = 24
ADJECTIVES = ["good", "bad", "very", "fine", "day", "night", "never"]


def columns():
    return {
        "age": RNG.normal(40, 10, N),
        "income": np.where(RNG.random(N) < 0.3, np.nan, RNG.lognormal(size=N)),
        "city": RNG.choice(["Rome", "Oslo", "Bonn"], N).tolist(),
        "comment": [" ".join(RNG.choice(ADJECTIVES, 6)) for _ in range(N)],
        "user": [f"u{i}" for i in range(N)],
        "day": np.datetime64("2015-01-01", "ms") + np.arange(N) * np.timedelta64(60, "D"),
        "flag": RNG.random(N) < 0.5,
        "one": [1] * N,
        "dna": ["".join(RNG.choice(list("ACGT"), 20)) for _ in range(N)],
        "series": [RNG.normal(size=RNG.integers(2, 5)).tolist() for _ in range(N)],
    }


EXPECTED = {
    "age": "numbers, with the standard deviation .*: RBF",
    "income": "numbers, .*, some missing: RBF",
    "city": "3 levels: Categorical",
    "comment": "texts of 6 words on average: normalised Words",
    "user": "a different word in each row.*: left out",
    "day": "dates over 1,380 days: RBF of days, and a yearly period",
    "flag": "2 levels: Categorical",
    "one": "the same number in all rows: left out",
    "dna": "sequences of A, C, G and T: normalised Spectrum",
    "series": "series of numbers: GlobalAlignment",
}


@pytest.mark.parametrize("library", [pd, pl])
def test_columns_of_many_kinds(library):
    frame = library.DataFrame(columns())
    if library is pl:
        frame = frame.with_columns(pl.col("income").fill_nan(None))
    choice = kernel_for(frame)
    for name, reason in EXPECTED.items():
        assert pd.Series([choice.reasons[name]]).str.fullmatch(reason).all(), choice.reasons[name]
    assert choice.left_out == ("user", "one")
    assert str(choice).endswith("half the mean of the 7 parts, plus half the product of those without gaps.")
    K = choice.kernel(frame)
    assert np.allclose(K.diagonal(), 1.0)
    assert np.linalg.eigvalsh(K)[0] > 0.0
    y = np.asarray(frame["age"]) / 10 + (np.asarray(frame["city"]) == "Rome")
    assert KernelRidge(1e-3, kernel=choice.kernel).fit(frame, y).score(frame, y) > 0.95


def test_laws():
    frame = pd.DataFrame(columns()).drop(columns=["comment", "series"])  # idf is fitted to the texts at hand
    check_kernel(kernel_for(frame).kernel, frame, gradients=False)


def test_numbers_alone_have_their_own_scales():
    frame = pd.DataFrame({"a": [0.0, 2.0], "b": [0.0, 20.0]})
    assert kernel_for(frame).kernel == On(RBF([np.sqrt(2), 10 * np.sqrt(2)]), ["a", "b"])
    assert "one part" in kernel_for(frame).combination
    gaps = pd.DataFrame({"a": [0.0, 2.0, np.nan], "b": ["x", None, "y"]})
    assert kernel_for(gaps).combination == "The kernel is the mean of the 2 parts."
    assert np.allclose(kernel_for(gaps).kernel(gaps).diagonal(), 1.0)


def test_other_kinds_of_columns():
    graph = SimpleNamespace(edge_index=np.array([[0, 1], [1, 0]]), num_nodes=2)
    frame = pd.DataFrame(
        {
            "tags": [{"a"}, {"a", "b"}, {"b"}],
            "molecule": [graph, graph, graph],
            "pair": [(np.eye(2), [0, 1]), (np.ones((3, 3)) - np.eye(3), [0, 1, 0]), ([(0, 1)], "CO")],
            "level": pd.Categorical(["x", "y", "x"]),
            "same": pd.Categorical(["x", "x", "x"]),
            "maybe": [True, None, False],
            "then": pd.to_datetime(["2020-01-01"] * 3),
            "what": [object(), object(), object()],
            "nothing": [None, None, None],
            "ragged": [[1, [2, 3]], [1, 2], [2]],
        }
    )
    choice = kernel_for(frame)
    assert choice.left_out == ("same", "then", "what", "nothing", "ragged")
    assert choice.reasons["tags"] == "sets: Jaccard"
    assert choice.reasons["molecule"] == choice.reasons["pair"] == "graphs: normalised WeisfeilerLehman"
    assert choice.reasons["maybe"] == "2 levels, some missing: Categorical"
    assert On(Categorical(4 / 9), ["level"]) in [
        choice.kernel.left.kernel.left.left,
        choice.kernel.left.kernel.left.right,
        choice.kernel.left.kernel.right,
        choice.kernel.left.kernel.left,
    ]
    words = pd.DataFrame({"w": [f"word{i % 23}" for i in range(46)]})
    assert kernel_for(words).reasons["w"] == "23 different words: normalised Characters"


def test_frames_that_say_nothing_are_refused():
    with pytest.raises(TypeError, match="takes a data frame, but this is a ndarray"):
        kernel_for(np.zeros((2, 2)))
    with pytest.raises(ValueError, match="a is the same number in all rows; b is empty"):
        kernel_for(pd.DataFrame({"a": [1, 1], "b": [None, None]}))


def test_declared_strings_are_what_they_are_declared():
    names = [f"name{i}" for i in range(30)]
    assert [look_at(pl.Series(names), "x", kind).kind for kind in ("", "text", "sequence")] == ["none", "word", "word"]
    few = pl.Series(["a b c", "d e f"] * 30)
    assert [look_at(few, "x", kind).kind for kind in ("", "text", "sequence")] == ["category", "text", "word"]
    dna = pl.Series(["ACGTACGTACGT"[i % 5 :] for i in range(30)] + ["AACCGGTTAACC"] * 9)
    assert [look_at(dna, "x", kind).kind for kind in ("", "text", "sequence")] == ["dna", "word", "dna"]
